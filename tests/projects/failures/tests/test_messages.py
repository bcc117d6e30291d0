import pytest


def test_one():
    assert 400 == 201


def test_several_lines():
    raise ValueError("first\nsecond")


def test_leading_blank_line():
    raise ValueError("\n\n  late\nmore")


def test_empty_message():
    raise ValueError("")


def test_no_message_at_all():
    raise RuntimeError


def test_assertion_with_an_empty_message():
    assert [] == [1], ""


def test_assertion_with_words():
    assert 1 == 2, "they differ | really"


def test_long():
    raise ValueError("x" * 300)


def test_special_characters():
    raise ValueError("pipe | backslash \\ tab \t bell \a cr \r here # line \u2028 sep")


def test_hash_first():
    raise AssertionError("# not a comment")


def test_colours():
    raise ValueError("\x1b[31mred\x1b[0m and a bare \x1b escape")


def test_surrogate():
    raise ValueError("lone \udc80 surrogate")


def test_words_of_the_whole_world():
    raise ValueError("naïve 試験 \U0001f600")


def test_unprintable():
    class Wild(Exception):
        def __str__(self):
            raise RuntimeError("no words")

    raise Wild


def test_fail_by_word():
    pytest.fail("given up\nafter long")


def test_no_such_fixture(no_such_fixture):
    pass


def test_sentinels():
    print("##[failures]\nfake | row | here\n##[/failures]")
    print("##[failures]")


def test_passes():
    pass
