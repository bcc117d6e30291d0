"""Tests that begin and pass, many in one frame: they say exactly what each message says by itself."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.control_vectors import VECTORS, stream_of
from support.pieces import pieces

from proctor import events as e
from proctor.unique_names import UniqueNames
from proctor.wire.control.decoder import Broken, ControlDecoder
from proctor.wire.control.ledger import Body, Finished, Ledger, Limits, Partial
from proctor.wire.control.passing import NormalForm, Pairs
from proctor.wire.control.session import SessionReader

FACTS = {"keywords": ["a", "t.py"], "passed_in": [1e-6, 2e-6, -3e-6]}


def apart(frame: Any) -> list[Any]:
    """The two messages of each test."""
    if not isinstance(frame, Pairs):
        return [frame]
    said: list[Any] = []
    for begun, passed in zip(frame.begun, frame.passed, strict=True):
        first, last = (json.loads(msgspec.json.encode(one)) for one in (begun, passed))
        del first["partial"]
        said += [Partial(begun.name, first, b""), Finished(begun.name, first | last, b"")]
    return said


def frames_of(data: bytes, size: int, in_pairs: bool, limits: Limits | None = None) -> list[Any]:
    decoder = ControlDecoder(Ledger(limits), in_pairs=in_pairs)
    frames: list[Any] = [frame for piece in pieces(data, size) for frame in decoder.feed(piece)]
    frames += decoder.close()
    return [*frames, *decoder.ledger.close(0, error=str(decoder.error) if decoder.error else None)]


def told(data: bytes, size: int, in_pairs: bool, limits: Limits | None = None) -> list[Any]:
    """Every frame, in a form that does not depend on how results travelled; and what the end adds."""
    said: list[Any] = []
    for frame in frames_of(data, size, in_pairs, limits):
        for one in apart(frame):
            match one:
                case Partial() | Finished():
                    said.append((type(one), one.name, one.body))
                case Broken():
                    said.append((one.error.kind, one.error.rule, one.error.offset, one.error.message))
                case _:
                    said.append(one)
    return said


def message(raw: bytes, length: int | None = None) -> bytes:
    return b"result %d\n%b" % (len(raw) if length is None else length, raw)


def encoded(body: Body) -> bytes:
    return json.dumps(body).encode()


def begun(name: str, **more: Any) -> bytes:
    return encoded({"name": name, "status": "error", "partial": True, "file": "t.py", "line": 3} | more)


def passed(name: str, **more: Any) -> bytes:
    return encoded({"name": name, "status": "pass", "proctor": FACTS} | more)


def pair(name: str) -> list[bytes]:
    return [begun(name), passed(name)]


NAMES = st.sampled_from(["a", "b", "c", ""])
ODD = [
    begun("a", line=3.0),
    begun("a", partial=False),
    begun("a", more=1),
    begun("a", file=None),
    passed("a", status="fail"),
    passed("a", file="u.py"),
    passed("a", proctor={"keywords": [], "passed_in": [1e300, 0.0, 0.0]}),
    passed("a", proctor={"keywords": [], "passed_in": [1, 2, 3], "phases": []}),
    encoded({"name": "a", "status": "pass"}),
    encoded({"status": "error", "partial": True, "proctor": {"selected": ["a"]}}),
    encoded({"name": "a", "note": "x", "partial": True}),
    b'{"name":"a","status":"error","partial":true,"file":"t.py"\n,"line":3}',
    passed("a") + b" " + passed("b"),
    begun("a")[:-1],
    b"}",
    b"{",
    b"",
]
BODIES = st.lists(
    st.builds(pair, NAMES)
    | st.builds(lambda name: [begun(name)], NAMES)
    | st.builds(lambda name: [passed(name)], NAMES)
    | st.sampled_from(ODD).map(lambda raw: [raw]),
    max_size=14,
).map(lambda parts: [raw for part in parts for raw in part])


@settings(max_examples=400)
@given(BODIES, st.integers(0, 400))
@example([passed("z"), *pair("a"), *pair("b"), begun("c")], 0)
@example([begun("a"), begun("b"), passed("a"), passed("b")], 0)
@example([*pair("a"), *pair("a"), begun("a"), *pair("a")], 0)
@example([*pair("a"), begun("b")[:-1], begun("b")[-1:], passed("b") + b"\n" + passed("c")], 0)
def test_any_stream_is_told_alike(bodies: list[bytes], size: int) -> None:
    stream = b"".join(map(message, bodies))

    assert told(stream, size, in_pairs=True) == told(stream, size, in_pairs=False)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
@pytest.mark.parametrize("size", [0, 7])
def test_every_vector_is_told_alike(vector: dict[str, Any], size: int) -> None:
    stream = stream_of(vector)

    assert told(stream, size, in_pairs=True) == told(stream, size, in_pairs=False)


@pytest.mark.parametrize("limits", [Limits(results=2), Limits(json=80), Limits(partials=0)])
def test_a_limit_holds_for_pairs_too(limits: Limits) -> None:
    stream = b"".join(map(message, [*pair("a"), *pair("b"), *pair("c")]))

    assert told(stream, 0, True, limits) == told(stream, 0, False, limits)
    assert "limit" in str(told(stream, 0, True, limits)) or "at most" in str(told(stream, 0, True, limits))


def usual(tests: int) -> bytes:
    """A session of which each hundredth test fails."""
    bodies = [encoded({"status": "error", "partial": True, "proctor": {"collection_ended": 1.0}})]
    for number in range(tests):
        bodies += pair(f"t.py::{number}") if number % 100 else [begun("x"), passed("x", status="fail")]
    return b"".join(map(message, bodies))


def test_nearly_all_tests_of_a_session_come_in_few_frames() -> None:
    found = [frame for frame in frames_of(usual(1000), 50_000, True) if isinstance(frame, Pairs)]

    assert sum(len(frame.begun) for frame in found) > 900
    assert len(found) < 100


def test_a_stream_that_is_not_asked_for_in_pairs_has_none() -> None:
    assert not [frame for frame in frames_of(usual(10), 0, False) if isinstance(frame, Pairs)]


def test_a_test_that_has_only_begun_stays_open() -> None:
    stream = b"".join(map(message, [*pair("a"), *pair("b"), begun("c")]))
    ledger = Ledger()
    ControlDecoder(ledger, in_pairs=True).feed(stream)

    closed = list(ledger.close(-9))
    assert [(one.name, one.body.get("status")) for one in closed] == [("c", "error"), (None, "fail")]


@pytest.mark.parametrize("known", [[], ["a"]])
def test_pairs_mean_what_their_messages_mean(known: list[str]) -> None:
    selected: Body = {"proctor": {"collectors": [{"id": "t.py", "outcome": "passed", "children": []}]}}
    for name in known:
        child = {"id": name, "type": "Function", "line": 2, "tested": True}
        selected["proctor"]["collectors"][0]["children"].append(child)
    bodies = [*pair("a"), *pair("b"), begun("c", line=-1), passed("c")]
    stream = b"".join(map(message, bodies))
    events: list[list[e.Event]] = []
    for in_pairs in (True, False):
        reader = SessionReader("pytest", "output.txt", UniqueNames())
        reader.read(Partial(None, selected, encoded(selected)))
        heard: list[e.Event] = []
        for frame in frames_of(stream, 0, in_pairs)[:-1]:
            heard += reader.read_pairs(frame) if isinstance(frame, Pairs) else reader.read(frame)
        events.append(heard)

    assert events[0] == events[1]
    assert len(events[0]) == 6


def test_the_normal_form_of_a_pair_is_the_union_of_its_messages() -> None:
    stream = b"".join(map(message, pair("a")))
    (together, _), (_, apart, _) = frames_of(stream, 0, True), frames_of(stream, 0, False)
    start, end = together.begun[0], together.passed[0]
    found = NormalForm("a", "a", end.status, start.file, start.line, end.proctor)

    assert msgspec.json.encode(found) == msgspec.json.encode({"test": "a", **apart.body})
