"""One test for each way to end."""

import logging
import sys
import warnings

import pytest
from product import divide


@pytest.fixture
def broken_setup():
    raise LookupError("no room in setup")


@pytest.fixture
def broken_teardown():
    yield
    raise LookupError("no room in teardown")


def test_passes():
    assert divide(4, 2) == 2


def test_fails_by_assert():
    total = 2
    assert total == 3


def test_fails_by_comparison():
    assert [1, 2, 3] == [1, 2, 4], "lists of a message"


def test_fails_with_several_lines():
    raise ValueError("first line\nsecond line")


def test_fails_in_the_product():
    divide(1, 0)


def test_fails_on_purpose():
    pytest.fail("on purpose")


def test_error_in_setup(broken_setup):
    pass


def test_error_in_teardown(broken_teardown):
    pass


def test_fails_and_error_in_teardown(broken_teardown):
    assert not "the call"


def test_skips():
    pytest.skip("not today")


@pytest.mark.skip(reason="never again")
def test_skipped_by_mark():
    pass


@pytest.mark.xfail(reason="known fault")
def test_fails_as_expected():
    divide(1, 0)


@pytest.mark.xfail(reason="known fault")
def test_passes_unexpectedly():
    pass


@pytest.mark.xfail(reason="known fault", strict=True)
def test_passes_against_a_strict_mark():
    pass


def test_prints_and_logs():
    print("words on stdout")
    sys.stderr.write("words on stderr\n")
    logging.getLogger("matrix").warning("words in %s", "the log")
    assert not "prints"


def test_warns():
    warnings.warn("an old way", DeprecationWarning)


def test_unwanted_is_deselected():
    pass
