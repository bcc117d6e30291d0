"""A control stream that is looked at for its own sake."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from support.control_vectors import VECTORS, stream_of
from support.golden import agree
from support.pieces import pieces

from proctor.wire.control.check import Checked, ControlCheck, readable
from proctor.wire.control.decoder import encode
from proctor.wire.control.ledger import Limits

GOLDEN = Path(__file__).parents[1] / "golden" / "control-checks.txt"


def checked(data: bytes, size: int = 0, limits: Limits | None = None) -> Checked:
    check = ControlCheck(limits)
    for piece in pieces(data, size):
        check.feed(piece)
    return check.close()


def told(stream: bytes, size: int = 0) -> str:
    text = msgspec.json.encode(checked(stream, size).document()).decode()
    return re.sub('"not JSON: [^"]*"', '"not JSON: …"', text)  # in the words of a library


def test_every_vector_is_told_in_these_words() -> None:
    agree(GOLDEN, "".join(f"{vector['name']}\n    {told(stream_of(vector))}\n" for vector in VECTORS))


@pytest.mark.parametrize("size", [1, 7])
def test_a_check_does_not_depend_on_how_the_bytes_arrive(size: int) -> None:
    streams = [stream_of(vector) for vector in VECTORS if not vector["expected"]["error"]]

    for stream in streams:
        if len(stream) < 2000:
            assert checked(stream, size).document() == checked(stream).document()


def test_files_count_when_their_result_is_whole() -> None:
    files = [{"name": name, "length": length} for name, length in (("f", 2), ("g", 3))]
    whole = encode({"name": "a", "status": "pass", "files": files}) + b"ffggg"
    partial = encode({"name": "b", "partial": True, "files": files}) + b"ffggg"
    found = checked(whole + partial + encode({"files": files}) + b"ff")

    assert (found.files, found.file_bytes) == (4, 10)
    assert (found.results, found.own, found.partials) == ({"pass": 1}, False, ["b"])
    assert found.error is not None


def test_what_comes_after_a_disconnect_is_counted_and_not_read() -> None:
    found = checked(encode({}) + b"noop\nnoop\ndisconnect\nbogus")

    assert (found.unread, found.size, found.error) == (5, len(encode({})) + 21, None)
    assert (found.words, found.results, found.own) == ({"noop": 2, "disconnect": 1}, {"none": 1}, True)


def test_a_limit_is_that_of_the_run() -> None:
    check = ControlCheck(Limits(results=1))
    assert not check.broken
    check.feed(encode({}) + encode({}))

    assert check.broken
    assert check.close().document()["error"]["rule"] == "limits"


def test_a_partial_whose_output_is_also_a_file_is_found_at_the_end() -> None:
    body = {"name": "a", "partial": True, "testout": "o"}
    stream = encode(body) + encode({"name": "a", "partial": True, "files": [{"name": "o", "length": 0}]})
    found = checked(stream)

    assert found.error is not None
    assert (found.error.kind, found.error.rule, found.error.offset) == ("bad_result", "T2", len(stream))
    assert checked(encode(body)).error is None
    assert checked(encode({**body, "status": "error"})).error is None


def test_bytes_are_shown_in_one_line_of_ascii() -> None:
    assert readable(b"a\n\xff\\\0") == r"a\n\xff\\\x00"
