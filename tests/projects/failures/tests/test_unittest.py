import unittest


class Case(unittest.TestCase):
    def test_equal(self):
        self.assertEqual({"a": 1}, {"a": 2})

    @unittest.expectedFailure
    def test_unexpected_success(self):
        pass

    def test_subtests(self):
        for number in range(3):
            with self.subTest("odd", number=number):
                self.assertEqual(number % 2, 0)


class Unset(unittest.TestCase):
    def setUp(self):
        raise OSError("no setup")

    def test_never(self):
        pass
