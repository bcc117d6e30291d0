import pytest
from shop import prices


@pytest.fixture
def bad_setup():
    prices.price("setup")


@pytest.fixture
def bad_teardown():
    yield
    raise OSError("not closed")


def test_setup(bad_setup):
    pass


def test_teardown(bad_teardown):
    pass


def test_call_and_teardown(bad_teardown):
    assert False


@pytest.mark.xfail(reason="done already")
def test_xpass_with_a_reason():
    pass


@pytest.mark.xfail
def test_xpass_without_a_reason():
    pass


@pytest.mark.xfail
def test_xfail():
    assert False


@pytest.mark.skip(reason="not now")
def test_skip():
    assert False
