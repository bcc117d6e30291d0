"""The public stream as a projection of events: every promise of its suite line is kept, whatever happens."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from support.full_runs import BASELINE, HISTORY, RECORDS
from support.golden import agree, told
from support.streams import (
    BUILD,
    EVENTS,
    STARTED,
    Log,
    Recorder,
    Strict,
    objects,
    read,
    strict_lines,
    violations,
)

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.replay import Replay
from proctor.wire.stream import log as jsonl
from proctor.wire.stream.reader import StreamReader

GOLDEN = Path(__file__).parents[1] / "golden" / "written"
PLACE = e.Place("test_a.py", 3)
PROGRAMS = msgspec.structs.replace(STARTED, source="program")


def run(*finished: e.Event, selected: tuple[str, ...] = (), count: int | None = None) -> list[e.Event]:
    """A session that came to its end, around these events."""
    names = selected or tuple(event.test for event in finished if isinstance(event, e.TestFinished))
    bad = any(
        isinstance(event, e.TestFinished) and event.outcome in ("failed", "error") for event in finished
    )
    begin: list[e.Event] = [
        e.TestsSelected(names),
        e.SuiteStarted("pytest", BUILD, len(names) if count is None else count),
    ]
    return [*begin, *finished, e.SessionFinished(int(bad)), e.ProcessExited(int(bad))]


def cases(events: list[e.Event], started: e.RunStarted = STARTED) -> list[dict[str, Any]]:
    lines = strict_lines(events, started)
    assert violations(b"".join(lines)) == []
    return [line for line in objects(lines) if line["type"] == "test"]


@pytest.mark.parametrize("name", RECORDS)
def test_a_run_is_told_in_these_lines(name: str) -> None:
    lines = strict_lines(RECORDS[name])

    assert violations(b"".join(lines)) == []
    agree(GOLDEN / f"stream-{name}.txt", b"".join(lines).decode())


@pytest.mark.parametrize("name", RECORDS)
def test_a_stream_is_read_back_as_these_events(name: str) -> None:
    reader = StreamReader()
    data = b"".join(strict_lines(RECORDS[name])) + b"not an object\n"
    entries = [*reader.feed(data), *reader.close()]

    agree(GOLDEN / f"stream-{name}-read.txt", "".join(f"{n.seq} {n.at} {told([n.event])}" for n in entries))


def test_the_suite_comes_first_with_its_count_and_the_final_line_last() -> None:
    lines = objects(
        strict_lines(run(e.TestFinished("a", Outcome.PASSED), e.TestFinished("b", Outcome.FAILED)))
    )

    assert [line["type"] for line in lines] == ["suite", "test", "test", "final"]
    assert (lines[0]["count"], lines[0]["build"], lines[0]["rustc"]) == (2, BUILD, "none")
    assert lines[0]["extra"]["proctor"] == {"rev": 1}
    assert lines[-1]["results"] == {"ok": 1, "fail": 1, "ignore": 0}
    assert lines[-1]["extra"]["outcome"] == "failed"


def test_a_suite_whose_count_is_known_is_written_as_it_goes() -> None:
    strict = Strict()
    relay = Relay(STARTED, [strict])
    seen = []
    for event in run(e.TestStarted("a"), e.TestFinished("a", Outcome.PASSED)):
        relay.publish(event, 0.1)
        seen.append([line["type"] for line in objects(strict.lines)])

    assert seen == [[], [], ["suite"], ["suite", "test"], ["suite", "test"], ["suite", "test"]]


def test_the_parts_of_programs_are_held_until_they_can_be_counted() -> None:
    events = run(*(e.TestFinished(name, Outcome.PASSED) for name in ("p/1", "p/2", "p")), selected=("p",))
    strict = Strict()
    relay = Relay(PROGRAMS, [strict])
    for event in events:
        relay.publish(event, 0.1)

    assert strict.lines == []
    relay.close(1.0)
    assert [line.get("count") for line in objects(strict.lines)] == [3, None, None, None, None]


@pytest.mark.parametrize(
    ("outcome", "status", "word"),
    [
        (Outcome.PASSED, "ok", None),
        (Outcome.FAILED, "fail", None),
        (Outcome.SKIPPED, "ignore", None),
        (Outcome.ERROR, "fail", "error"),
        (Outcome.XFAILED, "ignore", "xfail"),
        (Outcome.XPASSED, "ok", "xpass"),
        (Outcome.CRASH, "fail", "crash"),
        (Outcome.TIMEOUT, "fail", "timeout"),
        (Outcome.NOT_RUN, "ignore", "not_run"),
        (Outcome.INFO, "ok", "info"),
        (Outcome.WARN, "ok", "warn"),
    ],
)
def test_every_outcome_has_a_status_and_where_that_is_not_enough_a_word(
    outcome: Outcome, status: str, word: str | None
) -> None:
    (test,) = cases(run(e.TestFinished("a", outcome, message="why")))

    assert test["status"] == status
    assert test.get("extra", {}).get("outcome") == word
    assert ("reason" in test) == (status == "fail")
    if status == "ignore":
        assert test["extra"]["skip_reason"] == "why"


def test_a_strict_xpass_is_a_failure_that_says_so() -> None:
    (test,) = cases(run(e.TestFinished("a", Outcome.FAILED, message="[XPASS(strict)] never")))

    assert (test["status"], test["extra"]["outcome"]) == ("fail", "xpass")


def test_the_facts_of_a_test_are_where_readers_look_for_them() -> None:
    phases = (e.Phase("setup", "passed", 0.1, stdout="one\n"), e.Phase("call", "failed", 0.2, stdout="two\n"))
    failure = e.Failure("ValueError", "first\nsecond", e.Place("lib.py", 9), "1", "2")
    (test,) = cases(
        run(
            e.TestFinished(
                "a",
                Outcome.FAILED,
                0.3,
                message="first\nsecond",
                traceback="trace",
                place=PLACE,
                failure=failure,
                phases=phases,
            )
        )
    )

    assert (test["file"], test["line"], test["duration"], test["stdout"]) == (
        "test_a.py",
        3,
        300_000_000,
        "one\ntwo\n",
    )
    assert test["reason"] == "first"
    assert test["extra"]["failure"] == {
        "type": "ValueError",
        "message": "first\nsecond",
        "file": "lib.py",
        "line": 9,
        "trace": "trace",
        "expected": "1",
        "actual": "2",
    }
    assert [phase["duration"] for phase in test["extra"]["phases"]] == [100_000_000, 200_000_000]


def test_a_reason_is_one_short_line_even_where_nothing_was_said() -> None:
    long, empty = cases(
        run(
            e.TestFinished("a", Outcome.FAILED, message="\n \nx" + "y" * 600),
            e.TestFinished("b", Outcome.FAILED),
        )
    )

    assert len(long["reason"]) == 500
    assert empty["reason"] == "failed"


def test_repeated_names_get_numbers_and_keep_their_own() -> None:
    tests = cases(run(*[e.TestFinished("a", Outcome.PASSED)] * 3, selected=("a",), count=3))[:3]

    assert [test["label"] for test in tests] == ["a", "a#2", "a#3"]
    assert [test.get("extra", {}).get("id") for test in tests] == [None, "a", "a"]


def test_a_lone_surrogate_is_written_as_literal_text() -> None:
    (test,) = cases(run(e.TestFinished("a\udc80", Outcome.FAILED, message="\udcff")))

    assert (test["label"], test["reason"]) == ("a\\udc80", "\\udcff")


def test_what_was_selected_and_never_ran_is_ignored_as_not_run() -> None:
    tests = cases([*run(e.TestFinished("a", Outcome.PASSED), selected=("a", "b"))[:-2], e.ProcessExited(0)])

    assert [(test["label"], test["status"]) for test in tests[:2]] == [("a", "ok"), ("b", "ignore")]
    assert tests[1]["extra"]["outcome"] == "not_run"


def test_tests_that_were_counted_and_never_named_are_there_too() -> None:
    tests = cases(run(e.TestFinished("a", Outcome.PASSED), count=3))

    assert [test["label"] for test in tests] == ["a", "pytest: test 2 of 3", "pytest: test 3 of 3", "pytest"]


def test_a_count_that_nobody_can_have_meant_is_not_written_out() -> None:
    tests = objects(strict_lines(run(e.TestFinished("a", Outcome.PASSED), count=999_999_999)))[1:-1]

    assert len(tests) == 1 + 1000 + 1  # which R9 then finds to be fewer than were announced, and so they are
    assert tests[1000]["label"] == "pytest: test 1001 of 999999999"
    assert (tests[-1]["status"], tests[-1]["extra"]["phase"]) == ("fail", "run")


def test_a_file_that_cannot_be_collected_is_a_failing_test_and_counts() -> None:
    failed = e.CollectionFailed("x.py", e.Failure("ImportError", "ImportError: no", PLACE), "Traceback")
    lines = objects(strict_lines([e.SuiteStarted("pytest", BUILD, 1), failed, e.SessionFinished(2)]))

    assert lines[0]["count"] == 1
    assert (lines[1]["label"], lines[1]["status"], lines[1]["reason"]) == ("x.py", "fail", "ImportError: no")
    assert (lines[1]["extra"]["outcome"], lines[1]["extra"]["phase"]) == ("error", "collect")


def test_what_comes_beyond_the_count_gets_a_suite_of_its_own() -> None:
    lines = objects(strict_lines(run(*(e.TestFinished(name, Outcome.PASSED) for name in "abc"), count=2)))

    assert [line["type"] for line in lines] == ["suite", "test", "test", "final", "suite", "test", "final"]
    assert (lines[4]["name"], lines[4]["count"]) == ("pytest (beyond the count)", 1)


@pytest.mark.parametrize("known", [(), ("a",)])
def test_a_run_that_did_not_pass_has_a_failing_test_whatever_its_tests_did(known: tuple[str, ...]) -> None:
    tests = [e.TestFinished(name, Outcome.PASSED) for name in known]
    lines = strict_lines([*run(*tests)[:-2], e.ProcessExited(-9, "SIGKILL")])

    assert violations(b"".join(lines)) == []
    reasons = [line["reason"] for line in objects(lines) if line.get("status") == "fail"]
    assert reasons == ["crashed: SIGKILL"]


@given(EVENTS)
@settings(max_examples=300)
def test_whatever_happens_the_public_stream_keeps_its_rules(events: list[e.Event]) -> None:
    lines = strict_lines(events)

    assert violations(b"".join(lines)) == []


@given(EVENTS)
def test_no_test_is_lost_and_no_failure_is_read_back_as_a_pass(events: list[e.Event]) -> None:
    recorder = Recorder()
    relay = Relay(STARTED, [recorder])
    for event in events:
        relay.publish(event, 0.5)
    result = relay.close(1.0)
    found = read(b"".join(strict_lines(events)))

    told = sum(len(one.tests) + len(one.collection_errors) for one in found)
    kinds = e.TestFinished | e.CollectionFailed
    said = sum(
        isinstance(entry.event, kinds) and getattr(entry.event, "outcome", "") != "not_run"
        for entry in recorder.entries
    )
    assert told == said
    if result.outcome is not RunOutcome.PASSED:
        assert any(one.outcome is not RunOutcome.PASSED for one in found)


@given(EVENTS)
def test_the_projection_of_the_replayed_log_is_that_of_the_live_run(events: list[e.Event]) -> None:
    live, kept = Strict(), Log()
    relay = Relay(STARTED, [live, kept])
    for event in events:
        relay.publish(event, 0.5)
    relay.close(1.0)
    log = [jsonl.decode(line) for line in kept.lines]

    replayed = Strict()
    replay = Replay(lambda: [replayed], lambda result: None)
    replay.take(entry for entry in log if entry is not None)

    if not _has_surrogates(events):
        assert replayed.lines == live.lines


def _has_surrogates(events: list[e.Event]) -> bool:
    try:
        msgspec.json.encode(msgspec.to_builtins(events))
    except UnicodeEncodeError:
        return True
    return False


def test_what_earlier_runs_say_changes_no_line_whenever_it_comes() -> None:
    words = (HISTORY, BASELINE)
    plain = [event for event in RECORDS["compared"] if event not in words]

    for at in range(1, len(plain)):
        assert strict_lines([*plain[:at], *words, *plain[at:]]) == strict_lines(plain)
