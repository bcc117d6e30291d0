"""Results in normal form, a line each, as events."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.reports import events_of

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import Outcome

END = e.SessionFinished(None)


def line(**body: object) -> bytes:
    return json.dumps(body).encode() + b"\n"


@pytest.mark.parametrize(
    "body, event",
    [
        ({"test": "t", "status": "pass"}, e.TestFinished("t", Outcome.PASSED)),
        ({"test": "t"}, e.TestFinished("t", Outcome.INFO)),
        ({"test": "t", "name": "t", "status": "skip"}, e.TestFinished("t", Outcome.SKIPPED)),
        (
            {"test": "t/a/b", "name": "a/b", "status": "warn", "note": "careful"},
            e.TestFinished(
                "t/a/b", Outcome.WARN, message="careful", properties={"note": "careful"}, part_of="t"
            ),
        ),
        (
            {"test": "t", "status": "pass", "testout": "out.txt", "testout_path": "/run/out.txt"},
            e.TestFinished("t", Outcome.PASSED, testout=e.OutputLink("out.txt", "/run/out.txt")),
        ),
        (
            {"test": "t", "status": "pass", "files": [{"name": "f", "path": "files/f", "length": 3}, {}]},
            e.TestFinished("t", Outcome.PASSED, files=(e.File("f", "files/f", 3), e.File("", "", 0))),
        ),
        (
            {"test": "t", "status": "pass", "files": None, "proctor": {"phases": []}, "mine": 1},
            e.TestFinished("t", Outcome.PASSED, properties={"mine": 1}),
        ),
    ],
)
def test_a_line_is_a_test_or_a_part_of_one(body: dict[str, Any], event: e.TestFinished) -> None:
    assert events_of(line(**body), "results") == [event, END]


def test_a_name_that_comes_again_gets_a_number_and_an_empty_line_is_none() -> None:
    found = events_of(line(test="t") + b"\n \n" + line(test="t"), "results")

    assert [event.test for event in found[:-1]] == ["t", "t#2"]


@pytest.mark.parametrize(
    "data, cause",
    [
        (b"[]", "Expected `object`"),
        (b"{", "truncated"),
        (b'{"status":"pass"}', "missing required field `test`"),
        (b'{"test":1}', "at `$.test`"),
        (b'{"test":"t","status":"passed"}', "at `$.status`"),
        (b'{"test":"t","status":[]}', "at `$.status`"),
        (b'{"test":"t","testout":{}}', "at `$.testout`"),
        (b'{"test":"t","files":[1]}', "at `$.files[0]`"),
        (b'{"test":"t","files":[{"name":"f","length":"x"}]}', "at `$.files[0].length`"),
        (b'{"test":"t","x":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_line_that_is_no_result_is_named(data: bytes, cause: str) -> None:
    with pytest.raises(StreamError) as raised:
        events_of(b"\n" + data + b"\n", "results")

    assert str(raised.value).startswith("results: line 2 is not a result: ")
    assert cause in str(raised.value)
