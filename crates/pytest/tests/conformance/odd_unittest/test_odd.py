import unittest


class Große(unittest.TestCase):
    def test_größe(self):
        pass

    def test_日本(self):
        self.fail()


class Names(unittest.TestCase):
    def test(self):
        pass

    def test__(self):
        pass

    def testCamel(self):
        self.fail()


setattr(Names, "test_" + "x" * 300, lambda self: self.fail())
setattr(Names, "test with blanks", lambda self: self.fail())
setattr(Names, "test (in brackets)", lambda self: self.fail())
