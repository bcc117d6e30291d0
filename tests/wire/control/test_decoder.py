"""The control channel, at the level of parsed results: every vector, in pieces of every size."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.control import decode
from support.control_vectors import VECTORS, matches, same, stream_of

from proctor.wire.control.decoder import (
    Broken,
    ControlDecoder,
    Disconnected,
    Duration,
    DurationAction,
    ExitCode,
    FileChunk,
    FileOpened,
    Frame,
    Noop,
    Reconnect,
    encode,
)
from proctor.wire.control.ledger import Finished, Ledger, Limits, Partial, union

SIZES = [1, 2, 3, 7, 0]  # 0: whole


def results_of(
    data: bytes, size: int, exit_code: int
) -> tuple[list[dict[str, Any]], str | None, list[Frame]]:
    frames, decoder = decode(data, size)
    error = str(decoder.error) if decoder.error else None
    finished = [frame for frame in frames if isinstance(frame, Finished)]
    results = [frame.body for frame in [*finished, *decoder.ledger.close(exit_code, error=error)]]
    for result in results:
        if result.pop("by", None) == "proctor":
            result.pop("note")
    return results, decoder.error.kind if decoder.error else None, frames


def files_of(frames: list[Frame]) -> dict[tuple[str | None, str], bytes]:
    files: dict[tuple[str | None, str], bytes] = {}
    current: tuple[str | None, str] = (None, "")
    for frame in frames:
        if isinstance(frame, FileOpened):
            current = (frame.result, frame.name)
            files[current] = b""
        elif isinstance(frame, FileChunk):
            files[current] += frame.data
    return files


def operations(frames: list[Frame]) -> list[list[Any]]:
    found: list[list[Any]] = []
    for frame in frames:
        match frame:
            case ExitCode():
                found.append(["exitcode", frame.code])
            case Noop():
                found.append(["noop"])
            case Disconnected():
                found.append(["disconnect"])
            case Reconnect():
                found.append(["reconnect", frame.mode])
            case Duration(action="save" | "restore"):
                found.append(["duration", frame.action])
            case Duration():
                found.append(["duration", frame.action, frame.seconds])
    return found


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_a_vector_gives_the_same_results_however_its_bytes_arrive(vector: dict[str, Any], size: int) -> None:
    stream = stream_of(vector)
    if size and len(stream) > 100_000:
        size *= 1000  # byte by byte, these would take minutes

    results, error, frames = results_of(stream, size, vector["exit_code"])

    expected = vector["expected"]
    assert same(results, expected["results"])
    assert error == expected["error"]
    if "ops" in expected:
        assert operations(frames) == expected["ops"]
    received = files_of(frames)
    for result, files in expected["files"].items():
        for name, content in files.items():
            if (result or None, name) in received:
                assert matches(received[result or None, name], content)


def test_every_vector_is_there() -> None:
    assert len(VECTORS) == 157


def test_an_error_says_where_what_and_the_likely_cause() -> None:
    body = b'{"status": "pass"}'
    _, decoder = decode(b"noop\nresult 19\n" + body + b"x")

    assert "JSON is 18 bytes, the line announced 19" in str(decoder.error)
    assert "byte 33" in str(decoder.error)  # where the JSON has ended, and more comes
    assert "rule R3" in str(decoder.error)


def test_a_carriage_return_is_explained() -> None:
    _, decoder = decode(b"noop\r\n")

    assert "binary mode" in str(decoder.error)


def test_after_an_error_it_stays_broken() -> None:
    decoder = ControlDecoder(Ledger())

    assert isinstance(decoder.feed(b"bogus\n")[-1], Broken)
    assert decoder.feed(b"noop\n") == []
    assert decoder.close() == []


def test_a_claimed_length_allocates_nothing() -> None:
    frames, decoder = decode(b'result 60\n{"status":"pass","files":[{"name":"f","length":4000000000}]}x')

    assert files_of(frames) == {(None, "f"): b"x"}
    assert decoder.error is not None
    assert decoder.error.kind == "truncated"


def test_bytes_that_went_to_a_file_directly_count_and_end_it() -> None:
    head = encode({"name": "x", "files": [{"name": "f", "length": 5}, {"name": "g", "length": 2}]})
    decoder = ControlDecoder(Ledger())

    assert decoder.direct == 0
    assert decoder.feed(head + b"ab") == [FileOpened("x", "f", 5), FileChunk(b"ab")]
    assert decoder.direct == 3
    assert decoder.went_by(2) == []
    assert decoder.direct == 1
    assert decoder.went_by(1) == [FileOpened("x", "g", 2)]
    assert decoder.direct == 2
    (finished,) = decoder.went_by(2)
    assert isinstance(finished, Finished)
    assert (decoder.direct, decoder.offset) == (0, len(head) + 7)
    assert decoder.feed(b"noop\nbogus\n")[0] == Noop()
    assert decoder.error is not None
    assert (decoder.error.offset, decoder.error.before) == (len(head) + 12, b"noop\n")  # what was seen


def test_it_is_open_until_the_end_a_disconnect_or_an_error() -> None:
    for stream in (b"", b"disconnect\n", b"bogus\n"):
        decoder = ControlDecoder(Ledger())
        assert decoder.open is True
        decoder.feed(stream)
        decoder.close()
        assert decoder.open is False
        assert decoder.feed(b"noop\n") == decoder.close() == []


def test_as_many_durations_are_restored_as_were_saved() -> None:
    save, restore = b"duration save\n", b"duration restore\n"
    for saved, restored in ((1, 1), (1, 2), (3, 2), (3, 3), (3, 4)):
        _, decoder = decode(save * saved + restore * restored)
        assert (decoder.error is None) == (restored <= saved)
    _, decoder = decode((save + restore) * 3 + restore)
    assert decoder.error is not None


@pytest.mark.parametrize("length, whole", [(16, True), (15, True), (17, False)])
def test_a_result_may_be_as_long_as_the_limit(length: int, whole: bool) -> None:
    body = b"{" + b" " * (length - 2) + b"}"
    for size in (1, 0):
        _, decoder = decode(b"result %d\n" % length + body, size, Limits(json=16))
        assert (decoder.error is None) == whole


def test_a_duration_that_no_clock_can_count_is_as_good_as_endless() -> None:
    (duration,), _ = decode(b"duration +" + b"9" * 4000 + b"d\n")

    assert duration == Duration(DurationAction.ADD, 10**11)


@pytest.mark.parametrize("length", [4094, 4095, 4096])
def test_a_line_is_at_most_4096_bytes_with_its_end(length: int) -> None:
    line = b"exitcode " + b"0" * (length - len(b"exitcode "))
    for pieces in ([line + b"\n"], [line, b"\n"]):
        decoder = ControlDecoder(Ledger())
        for piece in pieces:
            decoder.feed(piece)
        assert (decoder.error is None) == (length < 4096)


@pytest.mark.parametrize(
    "limits, stream, word",
    [
        (Limits(results=1), b"result 2\n{}result 2\n{}", "results"),
        (
            Limits(partials=1),
            b'result 27\n{"name":"a","partial":true}result 27\n{"name":"b","partial":true}',
            "partials",
        ),
        (Limits(files=1), encode({"files": [{"name": n, "length": 0} for n in "ab"]}), "files"),
        (Limits(file_bytes=3), encode({"files": [{"name": "a", "length": 4}]}), "file_bytes"),
        (Limits(json=10), b"result 11\n", "at most 10"),
    ],
)
def test_a_quota_is_refused_by_name(limits: Limits, stream: bytes, word: str) -> None:
    _, decoder = decode(stream, limits=limits)

    assert decoder.error is not None
    assert word in str(decoder.error)


def test_the_closing_message_is_told_apart_from_what_it_closes() -> None:
    first = {"name": "x", "partial": True, "a": [1]}
    frames, _ = decode(encode(first) + encode({"name": "x", "status": "pass", "a": [2]}))

    assert isinstance(frames[0], Partial)
    assert frames[0].body == {"name": "x", "a": [1]}
    assert isinstance(frames[1], Finished)
    assert frames[1].body == {"name": "x", "a": [1, 2], "status": "pass"}
    assert json.loads(frames[1].raw) == {"name": "x", "status": "pass", "a": [2]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(min_size=1, max_size=4), JSON, max_size=4)


@given(st.binary(max_size=300), st.integers(min_value=1, max_value=9))
def test_any_bytes_end_in_frames_or_one_clear_error(data: bytes, size: int) -> None:
    frames, decoder = decode(data, size)

    assert sum(isinstance(frame, Broken) for frame in frames) == (decoder.error is not None)
    assert [type(f) for f in frames if not isinstance(f, FileChunk)] == [
        type(f) for f in decode(data)[0] if not isinstance(f, FileChunk)
    ]


@given(st.lists(OBJECTS.map(lambda o: {f"x-{key}": value for key, value in o.items()}), max_size=5))
def test_what_is_encoded_is_decoded(bodies: list[Any]) -> None:
    frames, decoder = decode(b"".join(encode(body) for body in bodies))

    assert decoder.error is None
    assert [frame.body for frame in frames if isinstance(frame, Finished)] == bodies


@given(OBJECTS, OBJECTS)
def test_a_union_has_no_null_at_its_top_and_forgets_nothing_else(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    start: dict[str, Any] = {}
    union(start, json.loads(json.dumps(old)))
    merged = json.loads(json.dumps(start))
    union(merged, new)

    assert None not in merged.values()
    assert merged.keys() == {key for key in start.keys() | new.keys() if new.get(key, 0) is not None}


@given(OBJECTS, OBJECTS, OBJECTS)
def test_a_union_does_not_depend_on_how_messages_are_grouped_when_nothing_is_deleted(
    a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]
) -> None:
    def without_null(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: without_null(item) for key, item in value.items() if item is not None}
        return value

    def joined(*parts: Any) -> dict[str, Any]:
        result: dict[str, Any] = {}
        for part in parts:
            union(result, json.loads(json.dumps(part)))
        return result

    a, b, c = without_null(a), without_null(b), without_null(c)
    assert joined(a, b, c) == joined(joined(a, b), c)
