"""The result document: every field of it, and what it says when it is read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.full_runs import AT, FACTS, FAILED, LONG, RECORDS, STARTED, result_of
from support.golden import agree, told
from support.pieces import pieces

from proctor import events as e
from proctor.errors import StreamError
from proctor.outcome import Outcome
from proctor.relay import Relay
from proctor.wire.document import writer as document
from proctor.wire.document.run import DocumentRun
from proctor.wire.document.schema import Captured, Document, read, without_result

GOLDEN = Path(__file__).parents[1] / "golden"


def load(path: str) -> str:
    return f"text of {path}"


def written(facts: tuple[e.Event, ...]) -> bytes:
    return b"".join(document.chunks(result_of(facts), load, "run/output.txt"))


def run_of(data: bytes, size: int = 1000) -> list[e.Entry]:
    reader = DocumentRun()
    for piece in pieces(data, size):
        assert reader.feed(piece) == []
    return reader.close()


@pytest.mark.parametrize("name", RECORDS)
def test_a_document_has_every_field(name: str) -> None:
    data = written(RECORDS[name])

    assert data.endswith(b"}\n")
    agree(GOLDEN / f"document-{name}.json", json.dumps(json.loads(data), indent=1) + "\n")


@pytest.mark.parametrize("name", RECORDS)
def test_a_document_is_read_back_as_these_events(name: str) -> None:
    entries = run_of(written(RECORDS[name]))

    assert [(entry.seq, entry.at) for entry in entries] == [(n, 0.0) for n in range(len(entries))]
    agree(GOLDEN / f"document-{name}.txt", told(entry.event for entry in entries))


@pytest.mark.parametrize("name", RECORDS)
def test_a_document_of_a_document_says_the_same(name: str) -> None:
    first = json.loads(written(RECORDS[name]))
    relay = Relay(STARTED, [])
    for entry in run_of(written(RECORDS[name])):
        relay.publish(entry.event, 0.0, entry.suite)
    again = json.loads(b"".join(document.chunks(relay.result, load)))

    same = (
        "run_id",
        "outcome",
        "reason",
        "not_run",
        "exit_code",
        "signal",
        "notices",
        "collection_errors",
        "warnings",
        "fixed",
        "compared_with",
        "baseline",
    )
    assert {key: again.get(key) for key in same} == {key: first.get(key) for key in same}
    kept = ("node_id", "history", "baseline", "baseline_reason")
    tests = [[{key: test.get(key) for key in kept} for test in found["tests"]] for found in (again, first)]
    assert tests[0] == tests[1]
    assert again["summary"] | {"deselected": 0} == first["summary"] | {
        "deselected": 0
    }  # it does not name them


@pytest.mark.parametrize("count", [0, 1, 199, 200, 201, 400, 401])
def test_a_list_in_pieces_is_the_list(count: int) -> None:
    tests = tuple(e.TestFinished(str(n), Outcome.PASSED) for n in range(count))

    found = json.loads(written(tests))

    assert [test["node_id"] for test in found["tests"]] == [str(n) for n in range(count)]


def test_a_long_traceback_is_read_from_its_file() -> None:
    gone = msgspec.structs.replace(FAILED, files=())

    assert document.test(FAILED, load).traceback == "text of files/long.txt"
    assert document.test(gone, load).traceback == "short"


PASSED = e.TestFinished("a", Outcome.PASSED, 1.0000009, place=AT, phases=(e.Phase("call", "passed"),) * 3)


@pytest.mark.parametrize(
    "event, expected",
    [
        (PASSED, {}),
        (msgspec.structs.replace(PASSED, phases=PASSED.phases[:2]), {"place": {"file": "t.py", "line": 3}}),
        (
            msgspec.structs.replace(PASSED, properties={"x": 1}),
            {"place": {"file": "t.py", "line": 3}, "properties": {"x": 1}},
        ),
    ],
)
def test_a_test_that_passed_says_no_more_than_it_must(
    event: e.TestFinished, expected: dict[str, Any]
) -> None:
    base = {"node_id": "a", "outcome": "passed", "duration": 1.000001, "message": None, "traceback": None}

    assert json.loads(msgspec.json.encode(document.test(event, load))) == base | expected


# Read back for one test


def test_what_a_test_wrote_is_read_with_it() -> None:
    found = read(written(FACTS))

    assert found.captured("t.py::fails") == (
        Captured("call", "stdout", "out"),
        Captured("call", "stderr", "err"),
        Captured("call", "log", "INFO root: hello"),
    )
    assert found.captured("t.py::passes") == ()
    assert found.not_run == ("t.py::never",)


@pytest.mark.parametrize("name", RECORDS)
def test_every_test_is_read_back_as_it_was_written(name: str) -> None:
    events = result_of(RECORDS[name]).tests.values()

    of_run: dict[str, Any] = {"suite": "", "quarantined": False, "quarantine_reason": ""}
    of_run |= {"history": None, "baseline": "", "baseline_reason": ""}
    found = [msgspec.structs.replace(test, **of_run) for test in read(written(RECORDS[name])).tests]

    assert found == [document.test(event, load) for event in events]


@pytest.mark.parametrize("name", RECORDS)
def test_the_schema_names_every_field_that_is_written(name: str) -> None:
    found = json.loads(written(RECORDS[name]))

    assert set(found) - {"omitted"} <= set(Document.__struct_fields__)


def test_a_document_with_half_a_character_is_read() -> None:
    raw = written(FACTS).replace(b'"out"', b'"\\ud800"')

    assert read(raw).captured("t.py::fails")[0].text == "\\ud800"


def test_a_test_without_a_result_has_its_name_and_its_files() -> None:
    test = without_result("a", "running", (LONG,))

    assert (test.node_id, test.outcome, test.files) == ("a", "running", (LONG,))
    assert (test.duration, test.message, test.traceback) == (0.0, None, None)


def test_a_document_with_an_outcome_of_a_later_version_is_read_but_is_no_run_of_ours() -> None:
    raw = written(FACTS).replace(b'"outcome":"failed"', b'"outcome":"exploded"')

    assert "exploded" in {test.outcome for test in read(raw).tests}
    with pytest.raises(StreamError, match="not a result document: 'exploded'"):
        run_of(raw)


@pytest.mark.parametrize(
    "data, cause",
    [
        (b"", "truncated"),
        (b"[]", "Expected `object`"),
        (b'{"schema":"x","run_id":"r","outcome":7}', "at `$.outcome`"),
        (b'{"schema":"x","run_id":"r","outcome":"passed","x":' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_document_is_refused(data: bytes, cause: str) -> None:
    for reading in (run_of, read):
        with pytest.raises(StreamError, match=r"^not a result document: ") as raised:
            reading(data)
        assert cause in str(raised.value)
