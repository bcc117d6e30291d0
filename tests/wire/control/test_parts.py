"""Many results in one frame say exactly what each says by itself, whatever the stream is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.control_vectors import VECTORS, stream_of
from support.pieces import pieces

from proctor.wire.control.decoder import Broken, ControlDecoder
from proctor.wire.control.ledger import Body, Finished, Ledger, Limits, Parts


def told(data: bytes, size: int, in_parts: bool, limits: Limits | None = None) -> list[Any]:
    """Every frame, in a form that does not depend on how results travelled; and what the end adds."""
    decoder = ControlDecoder(Ledger(limits), in_parts)
    frames: list[Any] = [frame for piece in pieces(data, size) for frame in decoder.feed(piece)]
    frames += decoder.close()
    frames += decoder.ledger.close(0, error=str(decoder.error) if decoder.error else None)
    said: list[Any] = []
    for frame in frames:
        match frame:
            case Parts():
                assert frame.names == [body["name"] for body in frame.bodies]
                said += frame.bodies
            case Finished():
                said.append(frame.body)
            case Broken():
                said.append((frame.error.kind, frame.error.rule, frame.error.offset, frame.error.message))
            case _:
                said.append(frame)
    return said


def message(raw: bytes, length: int | None = None) -> bytes:
    return b"result %d\n%b" % (len(raw) if length is None else length, raw)


def plain(name: str, status: str = "pass") -> bytes:
    return json.dumps({"name": name, "status": status}).encode()


BODIES = st.one_of(
    st.builds(plain, st.text(max_size=4), st.sampled_from(["pass", "fail", "good"])),
    st.builds(plain, st.sampled_from(["a", "b"])),  # names that come again
    st.sampled_from(
        [
            b"{}",
            b'{"name":"a","status":"pass","partial":true}',
            b'{"name":"a","status":"pass","x":{"y":1}}',
            b'{"name":"a","status":"pass","x":null,"y":[null,{"z":null}]}',
            b'{"name":"a","status":null}',
            b'{"name":"a","status":"fail","partial":true,"files":null}',
            b'{"name":"a","status":["pass"]}',
            b'{"name":"c","status":"pass","files":[{"name":"f","length":9}]}result 2\n',
            b'{"name":"d","status":"pass","files":[{"name":"f","length":0}]}',
            b'{"name":"e","status":"pass","files":[{"name":"f","length":3}]}',
            b'{"status":"pass"}',
            b'{"name":"a",\n"status":"pass"}',
            b' {"name":"a","status":"pass"} ',
            b'{"name":null,"status":"pass"}',
            b'{"name":"a","status":"pass"},{"name":"b","status":"pass"}',
            b'{"name":"x}',
            b'{y","status":"pass"}',
            b'{"name":"a","status":"pass","status":"fail"}',
            b'{"name":"\xff","status":"pass"}',
            b'{"name":"\\ud800","status":"pass"}',
        ]
    ),
    st.binary(max_size=12),
)
STREAMS = st.lists(
    st.builds(message, BODIES, st.none() | st.integers(0, 60))
    | st.sampled_from([b"noop\n", b"exitcode 3\n"]),
    max_size=8,
).map(b"".join)


@settings(max_examples=400)
@given(STREAMS, st.integers(0, 40))
@example(
    message(b'{"name":"x}') + message(b'{y","status":"pass"}') + message(plain("a") + b"," + plain("b")), 0
)
@example(message(plain("a") + b',{"name":"b"') + message(b'"status":"pass"}'), 0)
def test_any_stream_is_told_alike(stream: bytes, size: int) -> None:
    assert told(stream, size, in_parts=True) == told(stream, size, in_parts=False)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
@pytest.mark.parametrize("size", [0, 7])
def test_every_vector_is_told_alike(vector: dict[str, Any], size: int) -> None:
    stream = stream_of(vector)

    assert told(stream, size, in_parts=True) == told(stream, size, in_parts=False)


@pytest.mark.parametrize("limits", [Limits(results=2), Limits(json=30)])
def test_a_limit_holds_in_bulk_too(limits: Limits) -> None:
    stream = b"".join(message(plain(f"{'long' * number}{number}")) for number in range(4))

    assert told(stream, 0, True, limits) == told(stream, 0, False, limits)
    assert "limits" in str(told(stream, 0, True, limits)) or "at most" in str(told(stream, 0, True, limits))


class Counting(Ledger):
    """How many results were received in each step."""

    def __init__(self) -> None:
        super().__init__()
        self.steps: list[int] = []

    def receive_parts(self, bodies: list[Body]) -> Parts | None:
        found = super().receive_parts(bodies)
        self.steps.append(len(bodies) if found else 0)
        return found


def usual(number: int) -> bytes:
    """Each tenth with a file."""
    body: Body = {"name": str(number), "status": "pass", "note": "x" * number, "group": "a"}
    if number % 10:
        return message(json.dumps(body).encode())
    return message(json.dumps(body | {"files": [{"name": "f", "length": 9}]}).encode()) + b"contents!"


def test_a_long_stream_is_taken_in_few_steps() -> None:
    stream = b"".join(map(usual, range(300)))
    decoder = ControlDecoder(ledger := Counting(), in_parts=True)
    frames = [frame for piece in pieces(stream, 10_000) for frame in decoder.feed(piece)]

    names: list[str | None] = []
    for frame in frames:
        names += (
            frame.names if isinstance(frame, Parts) else [frame.name] if isinstance(frame, Finished) else []
        )
    assert names == list(map(str, range(300)))
    assert sum(ledger.steps) > 240
    assert decoder.offset == len(stream)


def test_a_stream_that_is_not_asked_for_in_parts_has_none() -> None:
    decoder = ControlDecoder(ledger := Counting())
    frames = decoder.feed(message(plain("a")) * 3)

    assert all(isinstance(frame, Finished) for frame in frames)
    assert ledger.steps == []
