"""The full log: what is written is read back, and newer things are skipped."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.full_runs import CASES
from support.golden import agree
from support.streams import EVENTS as EVENTS_OF_A_RUN
from support.streams import numbered

from proctor import events as e
from proctor.errors import StreamError
from proctor.fold import begin, fold
from proctor.outcome import Outcome, RunOutcome
from proctor.wire.stream import log as jsonl

GOLDEN = Path(__file__).parents[1] / "golden" / "written"
STARTED = e.RunStarted("id", "pytest", ("python", "-m", "pytest"), "/p", "/py", "2026-01-01T00:00:00Z")
PLACE = e.Place("test_a.py", 3)
EVENTS: list[e.Event] = [
    STARTED,
    e.TestsPlanned(("a", "b"), "c0ffee", 2, 3, own=True, gaps=("c.py could not be loaded",)),
    e.SuiteEntered(
        "t/a.t", "tap", ("perl", "t/a.t"), "/p", source="lines", shard_of="t", tries=2, retold=True
    ),
    e.SuiteDescribed("/p", {"python": "3.11"}, {"a": [1]}),
    e.CollectorFinished("test_a.py", "passed", (e.Child("test_a.py::t", "Function", 0, True),)),
    e.TestsSelected(("a", "b"), {"a": ("slow",)}, {"a": PLACE}, {"a": "database"}),
    e.TestsDeselected(("c",)),
    e.SuiteStarted("pytest", "2026-01-01T00:00:00+00:00", 2),
    e.CollectionFailed("x.py", e.Failure("ImportError", "ImportError: no", PLACE), "Traceback"),
    e.TestStarted("a", PLACE),
    e.TestFinished("a", Outcome.PASSED, 0.25, place=PLACE, phases=(e.Phase("call", "passed", 0.25),)),
    e.TestFinished(
        "b",
        Outcome.FAILED,
        message="boom\nmore",
        traceback="E boom",
        failure=e.Failure("ValueError", "boom", PLACE),
        files=(e.File("a.log", "files/000001-a.log", 3),),
        properties={"x": 1},
    ),
    e.TestFinished("d", Outcome.PASSED, passed_in=(0.1, 0.2, 0.3), testout=e.OutputLink("o.txt", "files/o")),
    e.AttemptFailed(e.TestFinished("f", Outcome.CRASH, 0.5, "SIGSEGV", worker="gw0")),
    e.TestFinished(
        "f", Outcome.PASSED, session=2, worker="gw1", attempts=(e.Attempt(Outcome.CRASH, 0.5, "SIGSEGV"),)
    ),
    e.TestsQuarantined({"b": "see #12"}),
    e.TestOverdue("d", 1.5),
    e.SessionStarted(2, died=True, tests=3),
    e.ResultAmended("d", {"status": "error", "deep": {"x": [1]}}),
    e.FileAttached("d", e.File("a.log", "files/000001-a.log", 3)),
    e.WarningRecorded("UserWarning", "careful", "a.py", 1),
    e.SessionInterrupted(e.Failure("KeyboardInterrupt")),
    e.SessionBroke(e.Failure("RuntimeError", "x"), "trace"),
    e.SessionFinished(1, 2, 0.5, 1.0),
    e.OutputReceived("stderr", "text\n"),
    e.StatusExplained(RunOutcome.USAGE_ERROR, "what?"),
    e.ChannelBroken("garbage"),
    e.FaultTraced("Segmentation fault", (PLACE,), "Fatal"),
    e.RunStopped(RunOutcome.TIMEOUT),
    e.ProcessExited(-11, "SIGSEGV"),
    e.SuiteMissing("node", "node is not on PATH", required=True),
    e.SummaryPrinted("TOTAL 99%\n"),
    e.OutputQuoted(("FAIL too low",), explains=True),
    e.Noticed("hello"),
    e.HistoryCompared(
        {
            "a": e.TestHistory(
                "still", e.EarlierRun("20260101-000000-aaaaaa", "c0ffee", "2026-01-01T00:00:00Z")
            ),
            "b": e.TestHistory("flaky", failed=3, results=20),
        },
        ("c",),
        e.EarlierRun("20260101-000000-bbbbbb"),
    ),
    e.BaselineCompared(
        "main", "c0ffee", {"a": "fails", "b": "unknown"}, "some cannot be told", {"b": "gone"}
    ),
    e.SuiteFinished(RunOutcome.FAILED, 1.0, ("c",), "why"),
    e.RunFinished(RunOutcome.CRASHED, 1.5, ("c",), "why"),
]


@pytest.mark.parametrize("name", [*CASES, "every event"])
def test_a_run_is_logged_in_these_lines(name: str) -> None:
    result = begin(STARTED)
    lines = []
    for seq, (suite, event) in enumerate(numbered(CASES.get(name, EVENTS))):
        entry = e.Entry(seq, 0.1234567, suite, event)
        fold(result, entry)
        lines.append(jsonl.encode(entry, result))
        assert jsonl.decode(lines[-1]) == e.Entry(seq, 0.123457, suite, event)

    agree(GOLDEN / f"log-{name.replace(' ', '-')}.txt", b"".join(lines).decode())


def test_events_of_one_moment_are_logged_like_others() -> None:
    parts = [e.TestFinished(f"t/{word}", word, part_of="t", message="no") for word in Outcome]
    events = [*parts, *EVENTS, e.TestFinished("\ud800", Outcome.PASSED)]
    entries = [e.Entry(7 + number, 0.1234567, 0, event) for number, event in enumerate(events)]

    for some in (entries, entries[:-1]):
        at_once = jsonl.encode_all(some[0], events[: len(some)], begin(STARTED))
        assert at_once == jsonl.encode_lines(some, begin(STARTED))


def test_there_is_an_example_of_every_event() -> None:
    assert {type(event) for event in EVENTS} == set(e.Event.__args__)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_what_is_written_is_read_back(event: e.Event) -> None:
    entry = e.Entry(7, 1.25, 0, event)

    line = jsonl.encode(entry, begin(STARTED))

    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert jsonl.decode(line) == entry


def test_the_lines_of_the_public_stream_have_its_fields() -> None:
    result = begin(STARTED)
    lines = [json.loads(jsonl.encode(e.Entry(0, 0.0, 0, event), result)) for event in EVENTS]
    suite = next(line for line in lines if line["type"] == "suite")
    passed, failed = (line for line in lines if line["type"] == "test" and line["label"] in "ab")
    final = lines[-1]

    assert (suite["count"], suite["rustc"], suite["build"]) == (2, "none", "2026-01-01T00:00:00+00:00")
    assert (passed["status"], passed["duration"], passed["file"], passed["line"]) == (
        "ok",
        250_000_000,
        "test_a.py",
        3,
    )
    assert "reason" not in passed
    assert (failed["status"], failed["reason"]) == ("fail", "boom")
    assert final["results"].keys() == {"ok", "fail", "ignore"}
    types = {line["type"] for line in lines}
    assert types == {"suite", "test", "final", "start", "output", "attachment", "note", "exit"}


def test_what_a_newer_writer_adds_is_skipped() -> None:
    assert jsonl.decode(b'{"type":"hologram","seq":1,"at":0.5,"depth":3}') is None
    assert jsonl.decode(b'{"type":"note","kind":"mood","seq":1,"at":0.5}') is None
    assert jsonl.decode(b'{"type":"exit","seq":1,"at":0.5,"code":3,"mood":"bad"}') == e.Entry(
        1, 0.5, 0, e.ProcessExited(3)
    )


@pytest.mark.parametrize(
    "line", [b"", b"hello", b"[]", b'{"type":1}', b'{"type":"test","seq":1,"at":0}', b"\xff"]
)
def test_what_is_not_a_line_of_ours_is_a_clear_error(line: bytes) -> None:
    with pytest.raises(StreamError, match="not a line"):
        jsonl.decode(line)


@given(st.binary(max_size=100))
def test_any_bytes_are_an_entry_nothing_or_a_clear_error(line: bytes) -> None:
    try:
        jsonl.decode(line)
    except StreamError:
        pass


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@given(TEXT, TEXT, st.floats(0, 1e6))
def test_any_text_survives(name: str, message: str, seconds: float) -> None:
    event = e.TestFinished(name, Outcome.FAILED, seconds, message=message)

    assert jsonl.decode(jsonl.encode(e.Entry(0, 0.0, 0, event), begin(STARTED))) == e.Entry(0, 0.0, 0, event)


@given(EVENTS_OF_A_RUN)
def test_any_events_survive_and_what_cannot_be_encoded_is_written_out(events: list[e.Event]) -> None:
    for number, event in enumerate(events):
        entry = e.Entry(number, 0.5, 0, event)
        line = jsonl.encode(entry, begin(STARTED))
        again = jsonl.decode(line)

        assert line.count(b"\n") == 1
        if "\\udc80" not in line.decode():
            assert again == entry
        else:
            assert again is not None
            assert jsonl.encode(again, begin(STARTED)) == line
