"""What is made of a process that prints its results, beyond what its own report says."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.streams import STARTED

from proctor import events as e
from proctor.fold import begin
from proctor.launch import Build, KnownTest, Lines
from proctor.outcome import Outcome
from proctor.wire.reports.lines import LineReader

KNOWN = tuple(KnownTest(f"p::Test{n}", "a_test.go", n) for n in (1, 2, 3))


def go(reader: str = "go-json", known: tuple[KnownTest, ...] = KNOWN) -> LineReader:
    return LineReader("go", "/project", Lines(reader, known=known))


SO_FAR = begin(STARTED).suites[0]


def lines(*actions: tuple[str, str]) -> bytes:
    said = [{"Action": action, "Package": "p"} | ({"Test": test} if test else {}) for action, test in actions]
    return b"".join(json.dumps(line).encode() + b"\n" for line in said)


DIED = lines(("run", "Test1"), ("pass", "Test1"), ("run", "Test2"), ("run", "Test2/sub"), ("fail", ""))


def told(reader: LineReader, data: bytes, status: int) -> list[e.Event]:
    return [*reader.feed(data), *reader.close(status, SO_FAR)]


def ended(events: list[e.Event]) -> dict[str, Outcome]:
    return {event.test: event.outcome for event in events if isinstance(event, e.TestFinished)}


def test_known_tests_that_a_dead_process_never_came_to_are_named() -> None:
    events = told(go(), DIED, 1)

    assert ended(events) == {"p::Test1": "passed", "p::Test2": "crash", "p::Test2/sub": "crash"}
    [selected] = [event for event in events if isinstance(event, e.TestsSelected)]
    assert selected == e.TestsSelected(("p::Test3",), places={"p::Test3": e.Place("a_test.go", 3)})
    [crash] = [event for event in events if isinstance(event, e.TestFinished) and event.test == "p::Test2"]
    assert crash.failure is not None
    assert crash.failure.place == crash.place == e.Place("a_test.go", 2)


def test_a_part_of_a_test_is_where_its_test_is() -> None:
    events = told(go(), DIED, 1)
    places = {event.test: event.place for event in events if isinstance(event, e.TestStarted)}

    assert places["p::Test2/sub"] == e.Place("a_test.go", 2)


def test_a_part_is_where_the_innermost_known_test_is() -> None:
    known = tuple(KnownTest(name, "x.t", line) for line, name in enumerate(("a", "a/b"), 1))
    events = told(*tap("1..2", "ok 1 - a/b/c/d", "ok 2 - a/x", known=known), 0)
    places = [event.place for event in events if isinstance(event, e.TestFinished)]

    assert places == [e.Place("x.t", 2), e.Place("x.t", 1)]


def test_what_we_ended_did_not_crash() -> None:
    reader = go()
    reader.stopped = True
    events = told(reader, DIED, -2)

    assert ended(events) == {"p::Test1": "passed"}
    assert [event.tests for event in events if isinstance(event, e.TestsSelected)] == [("p::Test3",)]


def test_a_process_that_came_to_its_end_has_lost_nothing() -> None:
    events = told(go(), lines(("run", "Test1"), ("pass", "Test1"), ("pass", "")), 0)

    assert not any(isinstance(event, e.TestsSelected) for event in events)


def tap(*points: str, **more: Any) -> tuple[LineReader, bytes]:
    reader = LineReader("suite", "/project", Lines("tap", **more))
    return reader, "".join(f"{point}\n" for point in points).encode()


def test_tests_are_told_under_the_names_by_which_they_can_be_run() -> None:
    events = told(*tap("1..1", "not ok 1 - a", prefix="t/x.t::", build="2026-01-01T00:00:00Z"), 1)

    assert events == [
        e.SuiteStarted("suite", "2026-01-01T00:00:00Z", 1, prefix="t/x.t::"),
        e.TestFinished("t/x.t::a", Outcome.FAILED, failure=e.Failure()),
        e.SessionFinished(None, 1),
    ]


def test_a_suite_begins_with_what_it_was_built_with_and_with_its_list() -> None:
    known = (KnownTest("a", "x.t", 3), KnownTest("b", "", 0))
    events = told(*tap("1..2", "ok 1 - a", "ok 2 - b", listed=True, known=known, toolchain={"perl": "5"}), 0)

    assert events == [
        e.SuiteDescribed("/project", {"perl": "5"}),
        e.TestsSelected(("a", "b"), places={"a": e.Place("x.t", 3)}),
        e.SuiteStarted("suite", "", 2),
        e.TestFinished("a", Outcome.PASSED, place=e.Place("x.t", 3)),
        e.TestFinished("b", Outcome.PASSED),
        e.SessionFinished(None, 2),
    ]


def test_known_tests_are_those_that_run_if_there_are_as_many() -> None:
    known = tuple(KnownTest(name, "x.t", 3) for name in ("a", "b"))
    at = {"a": e.Place("x.t", 3), "b": e.Place("x.t", 3)}

    assert told(*tap("1..2", "ok 1 - a", "ok 2 - b", known=known), 0)[0] == e.TestsSelected(
        ("a", "b"), places=at
    )
    for others in (known[:1], (*known, known[0])):
        assert told(*tap("1..3", "ok 1 - a", known=others), 0)[0] == e.SuiteStarted("suite", "", 3)
    elsewhere = tap("1..2", "ok 1 - a", "ok 2 - b", known=known, prefix="t/")
    assert isinstance(told(*elsewhere, 0)[0], e.SuiteStarted)
    late = told(*tap("ok 1 - x", "ok 2 - b", "1..2", known=known), 0)
    assert not any(isinstance(event, e.TestsSelected) for event in late)


def test_a_known_kind_of_test_is_told_with_it() -> None:
    known = (KnownTest("a", "", 0, "bench"),)
    (finished,) = [
        event for event in told(*tap("1..1", "ok 1 - a", known=known), 0) if isinstance(event, e.TestFinished)
    ]

    assert finished.subtype == "bench"


def test_lines_of_output_one_after_the_other_are_one_piece() -> None:
    events = told(*tap("one", "two", "1..1", "three", "ok 1 - a", "four"), 0)

    assert [event for event in events if isinstance(event, e.OutputReceived)] == [
        e.OutputReceived("stdout", "one\ntwo\n"),
        e.OutputReceived("stdout", "three\nfour\n"),
    ]


@pytest.mark.parametrize(
    "root, base, file, shown",
    [
        ("", "", "/project/src/a.go", "src/a.go"),
        ("", "", "a.go", "a.go"),
        ("/crates", "", "/project/a.go", "/project/a.go"),
        ("/crates", "/crates/crate/", "a.go", "crate/a.go"),
        ("/crates", "/crates/crate", "/crates/b.go", "b.go"),
        ("/crates", "/elsewhere", "a.go", "/elsewhere/a.go"),
    ],
)
def test_a_place_is_seen_from_the_project(root: str, base: str, file: str, shown: str) -> None:
    yaml = ("  ---", "  at:", f"    file: {file}", "    line: 7", "  ...")
    events = told(*tap("1..1", "not ok 1 - a", *yaml, root=root, base=base), 1)
    (finished,) = [event for event in events if isinstance(event, e.TestFinished)]

    assert finished.failure == e.Failure("", "", e.Place(shown, 7))


@pytest.mark.parametrize(
    "said, stderr, failure",
    [
        ((), "", e.Failure("", "tap: there is no plan")),
        (("oh no",), "", e.Failure("", "oh no")),
        (("first", "x.t line 7, near }", "last"), "", e.Failure("", "x.t line 7, near }", e.Place("x.t", 7))),
        ((), "error: broken\n --> src/a.rs:3:4\n", e.Failure("", "error: broken", e.Place("src/a.rs", 3))),
        (
            (),
            "/project/run.sh: line 12: no\n",
            e.Failure("", "/project/run.sh: line 12: no", e.Place("run.sh", 12)),
        ),
        (("out",), "err\n", e.Failure("", "err")),
    ],
)
def test_a_process_that_failed_before_it_had_any_test_says_why_in_what_else_it_wrote(
    said: tuple[str, ...], stderr: str, failure: e.Failure
) -> None:
    reader, data = tap(*said)
    events = reader.feed(data)
    reader.hear(stderr)
    events += reader.close(2, SO_FAR)

    suite, failed = [event for event in events if not isinstance(event, e.OutputReceived)][-2:]
    assert suite == e.SuiteStarted("suite", "", 1)
    assert failed == e.CollectionFailed("suite", failure, "\n".join([*said, stderr]).strip())


@pytest.mark.parametrize(
    "status, last",
    [
        (0, e.ChannelBroken("tap: 1 of 2 planned tests were reported")),
        (3, e.ChannelBroken("tap: 1 of 2 planned tests were reported; the process exited with 3")),
        (-9, e.TestFinished("a", Outcome.PASSED)),
        (None, e.TestFinished("a", Outcome.PASSED)),
    ],
)
def test_a_report_that_is_cut_short_is_held_against_the_end_of_the_process(
    status: int | None, last: e.ChannelBroken | e.TestFinished
) -> None:
    reader, data = tap("1..2", "ok 1 - a")
    events = [*reader.feed(data), *reader.close(status, SO_FAR)]

    assert [event for event in events if not isinstance(event, e.SuiteStarted)][-1] == last


def test_a_test_that_was_running_explains_a_report_that_is_cut_short() -> None:
    running = begin(STARTED).suites[0]
    running.running["b"] = 0.0
    reader, data = tap("1..2", "ok 1 - a")
    reader.feed(data)

    assert not any(isinstance(event, e.ChannelBroken) for event in reader.close(3, running))


def test_a_report_that_broke_is_told_once() -> None:
    reader = LineReader("suite", "/project", Lines("junit"))

    assert reader.feed(b"<testsuites></b>") == [e.ChannelBroken("junit: line 1: mismatched tag")]
    assert reader.feed(b"<c/>") == reader.close(1, SO_FAR) == []

    silent = LineReader("suite", "/project", Lines("junit"))
    assert silent.close(0, SO_FAR) == [e.ChannelBroken("junit: line 1: no element found")]


def test_a_list_of_tests_has_their_places_and_is_no_report_of_them() -> None:
    reader = LineReader("go", "/project", Lines("go-list", known=KNOWN))
    said = [
        {"Action": "output", "Package": "p", "Output": f"{line}\n"}
        for line in ("Test1", "BenchmarkX", "ok p 0.1s")
    ]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in [*said, {"Action": "pass", "Package": "p"}])

    events = told(reader, data, 0)

    assert [event for event in events if isinstance(event, e.TestsSelected)] == [
        e.TestsSelected(("p::Test1",), places={"p::Test1": e.Place("a_test.go", 1)}),
        e.TestsSelected(("p::BenchmarkX",)),
    ]
    assert not ended(events)


def test_what_a_build_complains_of_is_seen_from_the_project() -> None:
    at = {"file_name": "src/lib.rs", "line_start": 3, "is_primary": True}
    about = {
        "reason": "compiler-message",
        "target": {"kind": ["lib"], "name": "a", "src_path": "/w/a/src/lib.rs"},
    }
    said: list[dict[str, Any]] = [
        {**about, "message": {"level": level, "message": "no", "rendered": "no\n", "spans": [at]}}
        for level in ("warning", "error")
    ]
    said[0]["message"]["rendered"] = "unused\n"
    data = b"".join(json.dumps(line).encode() + b"\n" for line in [*said, {"reason": "build-finished"}])
    reader = LineReader("build", "/w", Build("cargo-build", root="/w", base="/w/a"))

    events = told(reader, data, 101)

    assert e.WarningRecorded("", "no", "a/src/lib.rs", 3, "build") in events
    assert e.CollectionFailed("a/src/lib.rs", e.Failure("", "no", e.Place("a/src/lib.rs", 3)), "no") in events


def test_a_process_that_told_why_it_has_no_tests_is_not_asked_again() -> None:
    reader = LineReader("go", "/project", Lines("go-json"))
    output = {"Action": "output", "Package": "p", "Output": "a.go:3:4: undefined: x\n"}
    said = [{"Action": "start", "Package": "p"}, output, {"Action": "fail", "Package": "p"}]
    data = b"".join(json.dumps(line).encode() + b"\n" for line in said)

    for cut_short in (b"", b'{"Action": "start", "Package": "q"}\n'):
        events = told(reader, data + cut_short, 1)
        assert [event.file for event in events if isinstance(event, e.CollectionFailed)] == ["p"]


def test_the_parts_of_a_failure_are_seen_from_the_project_too() -> None:
    yaml = ("  ---", "  at:", "    file: /project/a.js", "    line: 7", "  stdout: said", "  ...")
    events = told(*tap("1..1", "not ok 1 - a", *yaml), 1)
    (finished,) = [event for event in events if isinstance(event, e.TestFinished)]
    (phase,) = finished.phases

    assert phase.failure == finished.failure == e.Failure("", "", e.Place("a.js", 7))
    assert phase.stdout == "said"


def test_a_build_has_what_it_made() -> None:
    reader = LineReader("build", "/project", Build("cargo-build"))

    assert reader.artifacts == ()
    assert tap()[0].artifacts == ()
