import sys
import warnings

import pytest


def test_passes(record_property):
    record_property("ticket", "A-1")


def test_fails():
    assert [1, 2] == [1, 3]


def test_prints():
    print("to stdout <&> \x1b[31mred\x1b[0m")
    print("to stderr", file=sys.stderr)
    warnings.warn("careful", UserWarning, stacklevel=1)


@pytest.mark.skip(reason="not today")
def test_skipped(): ...


@pytest.fixture
def broken():
    raise RuntimeError("no database")


def test_setup_error(broken): ...


@pytest.fixture
def untidy():
    yield
    raise OSError("cannot clean up")


def test_teardown_error(untidy): ...


def test_fails_twice(untidy):
    raise ValueError("first")


@pytest.mark.xfail(reason="known bug")
def test_xfailed():
    raise AssertionError("as known")


@pytest.mark.xfail(reason="was a bug")
def test_xpassed(): ...


@pytest.mark.xfail(strict=True, reason="was a bug")
def test_xpassed_strictly(): ...


@pytest.mark.parametrize("name", ["a b", "<é&>", "x::y"])
def test_named(name): ...


class TestGroup:
    def test_inside(self): ...
