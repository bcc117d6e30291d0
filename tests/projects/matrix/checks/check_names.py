"""Names that are hard to read, and tests in classes."""

import unittest

import pytest


@pytest.mark.parametrize(
    "text",
    [
        "two words",
        u"\u00e9t\u00e9",
        "a::b",
        "a|b",
        "x PASSED]",
        "y FAILED [ 50%]",
        "a - b",
        "new\nline",
        "",
        "same",
        "same",
    ],
)
def test_name(text):
    assert text not in ("a::b", "x PASSED]", "a - b")


@pytest.mark.parametrize("number", [1, 2.5, None, True])
@pytest.mark.parametrize("second", [len, "z"], ids=["len", "zet"])
def test_two_parameters(number, second):
    assert number is not None


class TestGroup(object):
    def test_inside(self):
        pass

    def test_that_fails_inside(self):
        self.helper()

    def helper(self):
        raise RuntimeError("from a helper")

    class TestDeeper(object):
        def test_deep(self):
            assert 1 == 2


class Old(unittest.TestCase):
    def setUp(self):
        self.value = 1

    def test_equal(self):
        self.assertEqual(self.value, 1)

    def test_not_equal(self):
        self.assertEqual(self.value, 2)

    def test_skips(self):
        self.skipTest("not in old times")

    @unittest.skip("never in old times")
    def test_skipped(self):
        pass

    @unittest.expectedFailure
    def test_expected(self):
        self.assertEqual(self.value, 2)
