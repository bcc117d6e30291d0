"""What an error of the control channel says: the byte, what is around it, the rule, the likely cause."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.control_vectors import VECTORS, named, stream_of
from support.golden import agree

from proctor.errors import ControlError
from proctor.wire.control.decoder import ControlDecoder
from proctor.wire.control.ledger import Ledger
from proctor.wire.control.rules import RULES

GOLDEN = Path(__file__).parents[1] / "golden"


def error_of(*pieces: bytes) -> ControlError:
    decoder = ControlDecoder(Ledger())
    for piece in pieces:
        decoder.feed(piece)
    decoder.close()
    assert decoder.error is not None
    return decoder.error


def test_the_seeds_own_example_is_a_byte_short_and_is_told_so() -> None:
    error = error_of(stream_of(named("seed-full-stream-literal-109")))

    assert (error.kind, error.rule, error.offset) == ("bad_json", "R3", 119)
    assert error.cause == "JSON is 108 bytes, the line announced 109"
    assert error.before.endswith(b'"length": 13}]}')
    assert error.after.startswith(b"contents of A")
    assert "rule R3, byte 119, after b'" in str(error)


MISTAKES = [
    (b"noop\r\n", 4, "C3", "binary mode"),
    (b"\xef\xbb\xbfnoop\n", 0, "C2", "byte order mark"),
    (b"\xff\xfen\0o\0\n\0", 0, "C2", "UTF-16"),
    (b"noop\n\n", 5, "C3", "an LF too many"),
    (b" noop\n", 0, "C3", "the word comes first"),
    (b"noop", 4, "C13", "its LF is missing"),
    (b"noop\nresult 2", 13, "C13", "cut off"),
    (b"result 2{}\n", 0, "C6", "the LF after `result 2` is missing"),
    (b"result  2\n{}", 0, "C6", "two spaces"),
    (b"result 2 \n{}", 0, "C6", "a space at the end"),
    (b"result 2.0\n{}", 0, "C6", "decimal digits"),
    (b"resutl 2\n{}", 0, "C9", "misspelt `result`"),
    (b"DISCONNECT\n", 0, "C9", "misspelt `disconnect`"),
    (b"noop;\n", 0, "C9", "misspelt `noop`"),
    (b"result\t2\n{}", 0, "C9", "a tab"),
    (b'result{"status":"pass"}\n', 0, "C9", "after `result` comes one space"),
    (b'{"status": "pass"}\n', 0, "C9", "JSON without a `result N` line"),
    (b"result 2\n{}{}\n", 11, "C9", "two results at once"),
    (b"result 4\n{}{}", 11, "R4", "two results at once"),
    (b"result 4\n[{}]", 9, "R4", "each result after a `result N` line of its own"),
    (b"all is well\n", 0, "C9", "printed to this descriptor"),
    (b"gr\xc3\xbc\xc3\x9fe\n", 2, "C2", "printed to this descriptor"),
    (b"x" * 5000, 0, "C5", "printed to this descriptor"),
    (b"result 2\n{}\n", 11, "C3", "the LF after the JSON is not in its length"),
    (
        b'result 35\n{"files":[{"name":"f","length":2}]}abc\n',
        47,
        "C9",
        "its announced length is too small",
    ),
    (
        b'result 35\n{"files":[{"name":"f","length":2}]}ab\n',
        47,
        "C3",
        "after a file that its length did not",
    ),
    (b'result 35\n{"files":[{"name":"f","length":2}]}a', 46, "F2", "`length` is too large"),
    (b'result 19\n{"status": "pass"}', 28, "R3", "JSON is 18 bytes, the line announced 19"),
    (b'result 19\n{"status": ', 21, "R3", "while it was writing"),
    (b'result 17\n{"status": "pass"}', 27, "R3", "JSON is 18 bytes, the line announced 17"),
    (
        'result 18\n{"note": "grüßen"}'.encode(),
        28,
        "R3",
        "JSON is 20 bytes, the line announced 18, which is its number of characters: count bytes",
    ),
    (b"result 7\n{'a':1}", 10, "R3", "single quotes"),
    (b'result 9\n{"a":"\n"}', 15, "R3", "inside a string"),
    (b'result 10\n{"a": NaN}', 16, "R3", "no such number"),
    (b'result 15\n{"a": -Infinity}', 16, "R3", "no such number"),
    (b'result 14\n{"a":"\\ud800"}', 16, "R3", "half a character"),
    (b'result 9\n{"a":"\xff"}', 15, "R3", "another encoding"),
    (b"result 5\n\xef\xbb\xbf{}", 9, "R3", "without a BOM"),
    (b"result 4\n{\0}\0", 9, "R3", "UTF-16"),
]


@pytest.mark.parametrize("stream, offset, rule, cause", MISTAKES)
def test_a_mistake_that_people_make_is_named_at_its_byte(
    stream: bytes, offset: int, rule: str, cause: str
) -> None:
    error = error_of(stream)

    assert cause in error.cause
    assert (error.offset, error.rule) == (offset, rule)
    assert error.before == stream[max(0, offset - 40) : offset]
    assert error.after == stream[offset : offset + 40]
    assert f"likely cause: {error.cause}" in str(error)


def test_errors_are_told_in_these_words() -> None:
    """All of a message is there for the one who has to find the mistake."""
    vectors = {v["name"]: stream_of(v) for v in VECTORS if v["expected"]["error"]}
    mistakes = {repr(stream)[:60]: stream for stream, *_ in MISTAKES}
    others = {
        "nested": b"result 200000\n" + b"[" * 200_000,
        "two lines": b"noop\nexitcode 1x\n",
        **{
            line: f"{line}\n".encode()
            for line in ("disconnect now", "noop 1", "reconnect never", "duration", "result")
        },
        **{f"{word[:8]}…": f"{word}\n".encode() for word in ("w" * 50, "result " + "9" * 30, "result 000")},
        "half a line after others": b"noop\nnoo",
        "half a result": b'result 9\n{"a":',
        "half a file": b'result 35\n{"files":[{"name":"f","length":9}]}abc',
        "an object at the border": b"result 2\n{}result 0000000\n",
    }
    streams = vectors | mistakes | others

    told = "".join(f"{name}\n    {error_of(streams[name])}\n" for name in streams)
    told = re.sub("not JSON: .*?(?=; likely| \\(rule)", "not JSON: …", told)  # in the words of a library

    agree(GOLDEN / "control-errors.txt", told)


def test_characters_counted_as_bytes_are_guessed_even_where_the_rest_has_not_come() -> None:
    error = error_of('result 18\n{"note": "grüßen"}'.encode()[:28])

    assert "counts bytes, not characters" in error.cause
    assert error.after == b""


def test_what_went_by_long_ago_is_still_shown() -> None:
    error = error_of(b'result 41\n{"status": "pass", ', b'"name": "in a"       }', b"bo", b"gus\n")

    assert error.before == b'"status": "pass", "name": "in a"       }'
    assert error.after == b"bogus\n"


def test_nesting_without_end_is_an_error_with_no_guess() -> None:
    error = error_of(b"result 200000\n" + b"[" * 200_000)

    assert "nested too deeply" in str(error)
    assert error.cause == ""


def test_every_rule_that_a_vector_breaks_has_its_sentence() -> None:
    broken = [stream_of(vector) for vector in VECTORS if vector["expected"]["error"]]

    assert {error_of(stream).rule for stream in broken} <= RULES.keys()
    assert len(broken) > 60


def test_the_manual_has_every_rule_in_the_same_words() -> None:
    manual = (Path(__file__).parents[3] / "docs" / "reference" / "control.md").read_text()

    assert [
        f"| {rule} | {says} |" for rule, says in RULES.items() if f"| {rule} | {says} |\n" not in manual
    ] == []
