"""
>>> area(2)
4
"""


def area(side):
    """
    >>> area(3)
    10
    """
    return side * side


class Square:
    """
    >>> Square().side  # doctest: +SKIP
    5
    """

    def grow(self):
        """
        >>> Square().grow()
        Traceback (most recent call last):
        ...
        NotImplementedError
        """
        raise NotImplementedError
