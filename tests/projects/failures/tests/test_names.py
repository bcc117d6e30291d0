import pytest


@pytest.mark.parametrize("value", [0], ids=["a|b"])
def test_pipe(value):
    assert value


@pytest.mark.parametrize("value", [0], ids=["a\\b"])
def test_backslash(value):
    assert value


@pytest.mark.parametrize("value", [0], ids=["a\nb\x1b[1m#"])
def test_newline_and_escape(value):
    assert value


@pytest.mark.parametrize("value", [0], ids=[" a | b :: c "])
def test_separators(value):
    assert value
