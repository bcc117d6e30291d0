"""Laws of the control channel, for any input: the union's, the decoder's, and what an attacker cannot do."""

from __future__ import annotations

import copy
import json
import tracemalloc
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.control import decode
from support.control_vectors import VECTORS, stream_of

from proctor.wire.control.decoder import (
    Broken,
    ControlDecoder,
    Disconnected,
    Duration,
    ExitCode,
    FileChunk,
    FileOpened,
    Frame,
    Noop,
    Reconnect,
    encode,
)
from proctor.wire.control.ledger import STATUSES, Body, Finished, Ledger, Partial, union

SCALARS = (
    st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6)
)
KEYS = st.sampled_from(["a", "b", "c", "x-y"])  # few, so that messages meet
WITHOUT_NULL = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
VALUES = st.recursive(
    st.none() | SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=6,
)
OBJECTS = st.dictionaries(KEYS, VALUES, max_size=4)
OBJECTS_WITHOUT_NULL = st.dictionaries(KEYS, WITHOUT_NULL, max_size=4)


def joined(*parts: Body) -> Body:
    result: Body = {}
    for part in parts:
        union(result, copy.deepcopy(part))
    return result


def by_the_seed(old: Body, new: Body) -> Body:
    """The seed's list of rules, one after the other, without any of our short cuts."""
    result = dict(old)
    for key, value in new.items():
        before = result.get(key)
        if value is None:
            result.pop(key, None)
        elif isinstance(value, list) and isinstance(before, list):
            result[key] = [*before, *value]
        elif isinstance(value, dict):
            result[key] = by_the_seed(before if isinstance(before, dict) else {}, value)
        else:
            result[key] = value
    return result


# --- the union


@given(OBJECTS, OBJECTS)
def test_a_union_is_what_the_seed_says(old: dict[str, Any], new: dict[str, Any]) -> None:
    old = joined(old)

    assert exactly(joined(old, new), by_the_seed(old, new))


@given(OBJECTS, KEYS)
def test_null_deletes_and_deletes_once(old: dict[str, Any], key: str) -> None:
    gone = joined(old, {key: None})

    assert gone == {other: value for other, value in joined(old).items() if other != key}
    assert joined(old, {key: None}, {key: None}) == gone


@given(OBJECTS)
def test_nothing_changes_nothing(old: dict[str, Any]) -> None:
    assert joined(old, {}) == joined(old)


@given(st.lists(VALUES, max_size=3), st.lists(VALUES, max_size=3))
def test_arrays_are_appended_as_they_are_with_their_nulls(old: list[Any], new: list[Any]) -> None:
    assert joined({"a": old}, {"a": new}) == {"a": [*old, *new]}


@given(OBJECTS, OBJECTS)
def test_objects_are_united_in_depth(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert joined({"a": old}, {"a": new}) == {"a": joined(old, new)}


@given(WITHOUT_NULL, WITHOUT_NULL)
def test_another_type_replaces(old: Any, new: Any) -> None:
    if type(old) is not type(new):
        assert exactly(joined({"a": old}, {"a": new}), {"a": new})


@given(OBJECTS_WITHOUT_NULL, OBJECTS_WITHOUT_NULL, OBJECTS_WITHOUT_NULL)
def test_the_order_of_uniting_does_not_matter_where_types_agree(
    a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]
) -> None:
    """Where a type changes it does: the middle message would replace what the last then adds to."""
    shaped = [{**shape(part)} for part in (a, b, c)]

    assert joined(shaped[0], joined(shaped[1], shaped[2])) == joined(joined(shaped[0], shaped[1]), shaped[2])


def shape(body: Body) -> Body:
    """The same values, with the type as a part of the key."""
    return {
        f"{key}-{type(value).__name__}": shape(value) if isinstance(value, dict) else value
        for key, value in body.items()
    }


# --- partials


@given(st.lists(OBJECTS, min_size=1, max_size=4), st.sampled_from(["", "x"]), st.booleans())
def test_partials_and_their_close_add_up_to_the_union_of_all(
    parts: list[dict[str, Any]], name: str, closed: bool
) -> None:
    named: Body = {"name": name} if name else {}
    messages = [{**named, **part} for part in parts]
    stream = b"".join(encode({**message, "partial": True}) for message in messages[: len(messages) - closed])
    stream += encode(messages[-1]) if closed else b""

    frames, decoder = decode(stream)

    assert decoder.error is None
    finished = [frame for frame in frames if isinstance(frame, Finished)] or list(decoder.ledger.close(0))
    made_by_us = {} if closed or name else {"status", "testout", "note", "by"}
    body = {key: value for key, value in finished[0].body.items() if key not in made_by_us}
    alone = closed and len(parts) == 1  # it closes nothing, and is passed on as it is
    assert exactly(body, messages[0] if alone else joined(named, *parts))


SAID = st.sampled_from([{}, {"status": None}, {"status": "pass"}, {"status": "fail"}])


@given(
    st.lists(st.tuples(st.sampled_from(["", "a", "b"]), SAID, st.booleans()), max_size=8), st.integers(0, 9)
)
def test_a_result_has_the_status_that_was_last_said_of_it_and_none_after_a_null(
    messages: list[tuple[str, dict[str, Any], bool]], size: int
) -> None:
    """By the plainest of models: a word for each name that is open."""
    stream, still_open, closed = b"", dict[str, str | None](), list[tuple[str, str | None]]()
    for name, said, partial in messages:
        named = {"name": name} if name else {}
        stream += encode({**named, **said, **({"partial": True} if partial else {})})
        status = said.get("status", still_open.get(name))
        if partial:
            still_open[name] = status
        else:
            still_open.pop(name, None)
            closed.append((name, status))

    frames, _ = decode(stream, size)

    finished = [frame for frame in frames if isinstance(frame, Finished)]
    assert [(frame.name or "", frame.body.get("status")) for frame in finished] == closed


@given(st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12))
def test_open_partials_are_flushed_in_the_order_of_their_first_appearance(
    messages: list[tuple[str, bool]],
) -> None:
    stream = b"".join(encode({"name": name, "partial": partial}) for name, partial in messages)

    _, decoder = decode(stream)

    still_open: dict[str, None] = {}
    for name, partial in messages:
        if partial:
            still_open[name] = None
        else:
            still_open.pop(name, None)
    assert [finished.name for finished in decoder.ledger.close(0)] == [*still_open, None]


# --- frames, there and back

STATUS = st.sampled_from(sorted(STATUSES))
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0/"), min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..")
)
FILES = st.dictionaries(NAMES, st.binary(max_size=40), max_size=3)


@st.composite
def messages(draw: st.DrawFn) -> tuple[bytes, list[Frame]]:
    """The bytes of one message, and the frames they stand for."""
    kind = draw(st.sampled_from(["result", "result", "exitcode", "duration", "noop", "reconnect"]))
    match kind:
        case "exitcode":
            code = draw(st.integers(-(10**9), 10**9))
            return b"exitcode %d\n" % code, [ExitCode(code)]
        case "duration":
            sign = draw(st.sampled_from(["", "+", "-"]))
            count, unit = draw(st.integers(0, 10**6)), draw(st.sampled_from(["", "s", "m", "h", "d"]))
            seconds = count * {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}[unit]
            action: Any = {"": "set", "+": "add", "-": "sub"}[sign]
            return f"duration {sign}{count}{unit}\n".encode(), [Duration(action, seconds)]
        case "noop":
            return b"noop\n", [Noop()]
        case "reconnect":
            always = draw(st.booleans())
            return (
                (b"reconnect always\n", [Reconnect("always")])
                if always
                else (b"reconnect\n", [Reconnect("once")])
            )
    body: Body = {f"x-{key}": value for key, value in draw(OBJECTS_WITHOUT_NULL).items()}
    # A name of its own each time, as far as chance goes: what meets is the business of other tests.
    name = f"{draw(st.uuids())}/{draw(st.text(max_size=5))}"
    body |= {"name": name, "status": draw(STATUS)}
    files = draw(FILES)
    partial = draw(st.booleans())
    frames: list[Frame] = []
    if files:
        body["files"] = [{"name": file, "length": len(data)} for file, data in files.items()]
        for file, data in files.items():
            frames += [FileOpened(name, file, len(data)), *([FileChunk(data)] if data else [])]
    sent = encode({**body, "partial": partial})
    raw = sent.partition(b"\n")[2]
    frames.append(Partial(name, body, raw) if partial else Finished(name, body, raw))
    return sent + b"".join(files.values()), frames


CONVERSATIONS = st.lists(messages(), max_size=6)


def cut(data: bytes, at: list[int]) -> list[bytes]:
    borders = [0, *sorted(place % (len(data) + 1) for place in at), len(data)]
    return [data[start:end] for start, end in pairwise(borders)]


def heard(pieces: list[bytes]) -> list[Frame]:
    """All frames, with the chunks of a file put together again."""
    decoder = ControlDecoder(Ledger())
    found: list[Frame] = []
    for frame in [frame for piece in pieces for frame in decoder.feed(piece)] + decoder.close():
        last = found[-1] if found else None
        if isinstance(frame, FileChunk) and isinstance(last, FileChunk):
            found[-1] = FileChunk(last.data + frame.data)
        else:
            found.append(frame)
    return found


def comparable(frames: list[Frame]) -> list[Any]:
    """What must not depend on the pieces: all but the bytes that had not come when the channel broke."""
    return [
        (frame.error.kind, frame.error.rule, frame.error.offset, frame.error.message, frame.error.before)
        if isinstance(frame, Broken)
        else frame
        for frame in frames
    ]


@given(CONVERSATIONS, st.lists(st.integers(0, 10**6), max_size=8), st.booleans())
def test_every_frame_comes_back_however_its_bytes_arrive(
    conversation: list[Any], at: list[int], disconnects: bool
) -> None:
    stream = b"".join(sent for sent, _ in conversation) + (b"disconnect\nignored" if disconnects else b"")
    expected = [frame for _, frames in conversation for frame in frames]

    assert heard(cut(stream, at)) == expected + ([Disconnected()] if disconnects else [])


# --- any bytes at all

LIKELY = st.lists(
    st.sampled_from(
        [
            *(
                b"result ",
                b"2",
                b"{}",
                b"16",
                b'{"partial":true}',
                b"35",
                b'{"files":[{"name":"f","length":3}]}',
            ),
            *(b"noop", b"duration ", b"save", b"restore", b"exitcode ", b"disconnect"),
            *(b"\n", b" ", b"\r", b"\xc3\xa9"),
        ]
    ),
    max_size=14,
).map(b"".join)


@given(LIKELY | st.binary(max_size=200), st.lists(st.integers(0, 10**6), max_size=8))
def test_any_bytes_give_the_same_frames_and_the_same_error_whatever_the_pieces(
    data: bytes, at: list[int]
) -> None:
    assert comparable(heard(cut(data, at))) == comparable(heard([data]))


@given(st.sampled_from([stream_of(v) for v in VECTORS]).filter(lambda s: len(s) < 5000), st.data())
def test_a_vector_with_one_byte_changed_does_not_crash_and_tells_its_place(
    stream: bytes, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, max(0, len(stream) - 1)))
    changed = stream[:place] + bytes([data.draw(st.integers(0, 255))]) + stream[place + 1 :]

    frames, decoder = decode(changed)

    if decoder.error is not None:
        assert isinstance(frames[-1], Broken)
        assert 0 <= decoder.error.offset <= len(changed)
        assert changed[: decoder.error.offset].endswith(decoder.error.before)
        assert changed[decoder.error.offset :].startswith(decoder.error.after)


@given(st.binary(max_size=60), st.lists(st.binary(max_size=20), max_size=4))
def test_what_is_broken_stays_broken(first: bytes, later: list[bytes]) -> None:
    decoder = ControlDecoder(Ledger())
    decoder.feed(b"bogus\n" + first)
    error = decoder.error

    assert [decoder.feed(piece) for piece in later] == [[]] * len(later)
    assert decoder.close() == []
    assert decoder.error is error


@given(CONVERSATIONS, st.binary(min_size=1, max_size=20).filter(lambda junk: junk[0] != ord("\n")))
def test_what_was_complete_before_an_error_stays(conversation: list[Any], junk: bytes) -> None:
    stream = b"".join(sent for sent, _ in conversation)
    expected = [frame for _, frames in conversation for frame in frames]

    assert heard([stream + b"?" + junk + b"\n"])[: len(expected)] == expected


# --- memory


def test_a_claimed_length_of_16_mib_takes_memory_only_as_its_bytes_come() -> None:
    decoder = ControlDecoder(Ledger())
    tracemalloc.start()
    try:
        decoder.feed(b"result %d\n" % (16 << 20))
        claimed, _ = tracemalloc.get_traced_memory()
        for size in range(1000, 1064):
            decoder.feed(b" " * size)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert claimed < 10_000
    assert 64_000 < peak < 256_000


def test_the_bytes_of_a_file_are_passed_on_and_not_kept() -> None:
    decoder = ControlDecoder(Ledger())
    decoder.feed(encode({"files": [{"name": "f", "length": 1 << 30}]}))
    piece = b"x" * (1 << 16)
    tracemalloc.start()
    try:
        for _ in range(256):
            (chunk,) = decoder.feed(piece)
            assert isinstance(chunk, FileChunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 8 * len(piece)


def test_a_line_without_end_is_refused_before_it_is_long() -> None:
    decoder = ControlDecoder(Ledger())
    fed = 0
    while decoder.open:
        decoder.feed(b"x" * 100)
        fed += 100

    assert fed <= 4200


def exactly(found: Any, expected: Any) -> bool:
    """JSON values with their types: 1 is neither true nor 1.0."""
    return json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)
