"""The rules of the club, which can be changed."""

RULES = {"guests": 2}
