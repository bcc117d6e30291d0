"""What a reporter says about its session and its tests, as events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from proctor import events as e
from proctor.outcome import Outcome
from proctor.unique_names import UniqueNames
from proctor.wire.control.ledger import Finished, Partial
from proctor.wire.control.session import SessionReader, concluded

WHY = e.Failure("E", "E: x", e.Place("t.py", 3))
WHY_SAID = {"type": "E", "message": "E: x", "place": {"file": "t.py", "line": 3}}


def reader() -> SessionReader:
    return SessionReader("pytest", "run/output.txt", UniqueNames())


def session(**facts: Any) -> Partial:
    body = {"proctor": facts}
    return Partial(None, body, json.dumps(body).encode())


def started(test: str, **more: Any) -> Partial:
    body = {"name": test, "file": "t.py", "line": 3, **more}
    return Partial(test, body, json.dumps(body).encode())


def finished(test: str, raw: bytes | None = None, **body: Any) -> Finished:
    body = {"name": test, "status": "pass", **body}
    return Finished(test, body, json.dumps(body).encode() if raw is None else raw)


COLLECTOR = {
    "id": "t.py",
    "outcome": "passed",
    "children": [{"id": "t.py::a", "type": "F", "line": 4, "tested": True}],
}


@pytest.mark.parametrize(
    "facts, events",
    [
        ({}, []),
        (
            {"suite": {"root": "/p", "environment": {"K": "v"}}, "python": "3.12", "toolchain": {"tap": "1"}},
            [e.SuiteDescribed("/p", {"tap": "1", "python": "3.12"}, {"K": "v"})],
        ),
        ({"deselected": ["a", "b"]}, [e.TestsDeselected(("a", "b"))]),
        ({"selected": ["a"], "markers": {"a": ["slow"]}}, [e.TestsSelected(("a",), {"a": ("slow",)})]),
        (
            {"collectors": [COLLECTOR], "selected": ["t.py::a", "t.py::b"]},
            [
                e.CollectorFinished("t.py", "passed", (e.Child("t.py::a", "F", 4, True),)),
                e.TestsSelected(("t.py::a", "t.py::b"), {}, {"t.py::a": e.Place("t.py", 5)}),
            ],
        ),
        (
            {"warnings": [{"category": "W", "message": "old", "file": "t.py", "line": 1}]},
            [e.WarningRecorded("W", "old", "t.py", 1)],
        ),
        ({"internal_error": {"failure": WHY_SAID, "traceback": "T"}}, [e.SessionBroke(WHY, "T")]),
        ({"internal_error": {}}, [e.SessionBroke(e.Failure())]),
        ({"interrupted": WHY_SAID}, [e.SessionInterrupted(WHY)]),
        ({"broken": "no disk"}, [e.ChannelBroken("the reporter in the test process failed: no disk")]),
        ({"finished": {"exit_status": 1, "collected": 3}}, [e.SessionFinished(1, 3)]),
    ],
)
def test_each_fact_of_a_session_is_an_event(facts: dict[str, Any], events: list[e.Event]) -> None:
    assert reader().read(session(**facts)) == events


def test_a_result_of_the_session_that_says_nothing_to_us_is_no_event() -> None:
    assert reader().read(Partial(None, {"status": "error"}, b'{"status":"error"}')) == []
    assert reader().read(Finished(None, {"status": "error"})) == []


def test_versions_that_came_before_are_told_with_the_suite() -> None:
    reading = reader()

    assert reading.read(session(python="3.12", pytest="9.0")) == []
    assert reading.read(session(suite={"root": "/p"})) == [
        e.SuiteDescribed("/p", {"python": "3.12", "pytest": "9.0"})
    ]


def test_a_suite_begins_once_when_all_is_collected_and_its_errors_follow() -> None:
    error = {"id": "u.py", "failure": WHY_SAID, "longrepr": "long"}
    failed = e.CollectionFailed("u.py", WHY, "long")
    later = {"id": "v.py", "failure": WHY_SAID}
    reading = reader()

    assert reading.read(session(collection_errors=[error, error])) == []  # two workers say it
    reading.read(session(selected=["a", "b"]))
    assert reading.read(session(collection_ended=0.5)) == [
        e.SuiteStarted("pytest", "1970-01-01T00:00:00.500000+00:00", 3),
        failed,
    ]
    assert reading.read(session(collection_ended=1.5)) == []
    assert reading.read(session(collection_errors=[error, later])) == [e.CollectionFailed("v.py", WHY)]
    assert reading.close() == []


def test_errors_of_a_suite_that_never_began_are_told_at_the_end_once() -> None:
    reading = reader()
    reading.read(session(collection_errors=[{"id": "u.py", "failure": WHY_SAID}]))

    assert reading.close() == [e.CollectionFailed("u.py", WHY)]
    assert reading.close() == []


def test_a_test_starts_where_it_says_and_what_it_says_later_is_about_it() -> None:
    reading = reader()
    reading.read(session(collectors=[COLLECTOR]))

    assert (reading.start(), reading.full_name(None), reading.full_name("x")) == ([], "pytest", "x")
    assert reading.read(started("t.py::a")) == [e.TestStarted("t.py::a", e.Place("t.py", 3))]
    assert reading.read(started("t.py::a", mine=1)) == [
        e.ResultAmended("t.py::a", {"file": "t.py", "line": 3, "mine": 1})
    ]
    assert reading.read(started("t.py::b", line=None)) == [e.TestStarted("t.py::b", e.Place("t.py", 0))]
    assert reading.read(started("t.py::c", file=None)) == [
        e.ResultAmended("t.py::c", {"file": None, "line": 3})
    ]


def test_a_test_that_passed_is_told_in_its_short_form() -> None:
    reading = reader()
    reading.read(started("a"))
    file = e.File("f", "files/f", 1)
    body: dict[str, Any] = {
        "proctor": {"passed_in": [1.0, 2.0, 4.0], "keywords": ["k"]},
        "file": "t.py",
        "line": 3,
    }

    assert reading.read(finished("a", **body), (file,)) == [
        e.TestFinished(
            "a",
            Outcome.PASSED,
            7.0,
            place=e.Place("t.py", 3),
            passed_in=(1.0, 2.0, 4.0),
            keywords=("k",),
            files=(file,),
        )
    ]
    (again,) = reading.read(finished("b", **body, mine=1))
    assert (again.properties, again.place) == ({"mine": 1}, None)


PHASES = [{"when": "call", "outcome": "failed", "duration": 0.5, "failure": WHY_SAID, "longrepr": "long"}]


@pytest.mark.parametrize("raw", [None, b'{"name":"a"}', b'{"proctor":{"keywords":["k"]}}'])
def test_a_test_is_concluded_from_its_phases_whether_they_came_at_once_or_before(raw: bytes | None) -> None:
    reading = reader()
    reading.read(started("a"))
    (event,) = reading.read(finished("a", raw, proctor={"phases": PHASES, "keywords": ["k"]}, mine=1))

    assert (event.outcome, event.seconds, event.failure) == (Outcome.FAILED, 0.5, WHY)
    assert (event.message, event.traceback) == ("E: x", "long")
    assert (event.place, event.properties) == (e.Place("t.py", 3), {"mine": 1})
    assert event.phases == (e.Phase("call", "failed", 0.5, failure=WHY, longrepr="long"),)


def test_a_result_that_a_test_reports_is_a_part_of_it() -> None:
    reading = reader()
    reading.read(started("t.py::a"))
    file = e.File("f", "files/f", 1)

    (part,) = reading.read(finished("t.py::a/x", status="warn", testout="o"), (file,))
    (same,) = reading.read(finished("t.py::a/x"))
    (other,) = reading.read(finished("t.py::b/x"))

    assert (part.test, part.outcome, part.part_of, part.files) == (
        "t.py::a/x",
        Outcome.WARN,
        "t.py::a",
        (file,),
    )
    assert part.testout == e.OutputLink("o", "run/output.txt")
    assert (same.test, same.part_of) == ("t.py::a/x#2", "t.py::a")
    assert other.part_of == "t.py::b/x"


def test_a_test_that_the_end_cut_short_is_left_to_those_who_know_how_it_ended() -> None:
    reading = reader()
    reading.read(started("a"))

    assert reading.read(finished("a", b"")) == []
    (event,) = reading.read(finished("b", b"", status="error"))  # a part of nothing that we know
    assert (event.test, event.outcome) == ("b", Outcome.ERROR)


CRASH = e.CrashSite("t.py", 3, "E: crash")
SKIPPED = e.Phase("call", "skipped", reason="Skipped: not today")


@pytest.mark.parametrize(
    "phases, message, traceback, failure",
    [
        ([e.Phase("call", "passed", longrepr="x")], None, None, None),
        ([SKIPPED], "not today", None, None),
        ([e.Phase("setup", "skipped", longrepr="long")], "long", None, None),
        ([e.Phase("call", "skipped", wasxfail="reason: known", longrepr="long")], "known", "long", None),
        ([e.Phase("call", "passed", wasxfail="")], None, None, None),
        ([e.Phase("call", "passed", wasxfail="fixed?", longrepr="x")], "fixed?", None, None),
        ([e.Phase("call", "failed", failure=WHY, crash=CRASH, longrepr="long")], "E: crash", "long", WHY),
        ([e.Phase("call", "failed", failure=WHY)], "E: x", None, WHY),
        ([e.Phase("call", "failed", longrepr="long")], "long", "long", e.Failure("", "long")),
        (
            [
                SKIPPED,
                e.Phase("call", "failed", failure=WHY, longrepr="1"),
                e.Phase("teardown", "failed", longrepr="2"),
            ],
            "E: x\n2",
            "1\n2",
            WHY,
        ),
        (
            [
                e.Phase("call", "failed", subtest="[n=1]", failure=WHY, longrepr="sub"),
                e.Phase("call", "failed", subtest="[n=2]", longrepr="other"),
                e.Phase("call", "failed", longrepr="contains 2 failed subtests"),
            ],
            "[n=1]: E: x\n[n=2]: other",
            "sub\nother",
            WHY,
        ),
        (
            [
                e.Phase("call", "failed", subtest="[n=1]", longrepr="sub"),
                e.Phase("call", "failed", failure=WHY),
                e.Phase("call", "skipped", subtest="[n=2]", reason="later"),
            ],
            "[n=1]: sub\nE: x",
            "sub",
            e.Failure("", "[n=1]: sub"),
        ),
        (
            [e.Phase("call", "skipped", subtest="[n=2]", reason="later"), e.Phase("call", "passed")],
            None,
            None,
            None,
        ),
    ],
)
def test_a_test_says_what_those_of_its_phases_say_that_decided(
    phases: list[e.Phase], message: str | None, traceback: str | None, failure: e.Failure | None
) -> None:
    event = concluded("a", tuple(phases))

    assert (event.message, event.traceback, event.failure) == (message, traceback, failure)


def test_a_test_whose_worker_died_has_crashed() -> None:
    before = [e.Phase("setup", "passed"), e.Phase("call", "passed")]

    for phases in ([], before):
        assert concluded("a", (*phases, e.Phase("???", "failed"))).outcome is Outcome.CRASH


def test_a_conclusion_has_all_that_was_said() -> None:
    place, file = e.Place("t.py", 3), e.File("f", "files/f", 1)
    phases = (e.Phase("setup", "passed", 0.25), e.Phase("call", "passed", 0.5))

    assert concluded("a", phases, place, ("k",), (file,), {"mine": 1}) == e.TestFinished(
        "a",
        Outcome.PASSED,
        0.75,
        place=place,
        phases=phases,
        keywords=("k",),
        files=(file,),
        properties={"mine": 1},
    )


@pytest.mark.parametrize(
    "facts", [{"passed_in": [0.1, 0.2, 0.3]}, {"phases": [{"when": "call", "outcome": "passed"}]}]
)
@pytest.mark.parametrize("status", ["fail", "error"])
def test_a_test_that_is_reported_as_failed_has_not_passed_whatever_its_phases_say(
    facts: dict[str, Any], status: str
) -> None:
    body = {"name": "a", "status": status, "proctor": facts}
    (event,) = reader().read(Finished("a", body, json.dumps(body).encode()))

    assert isinstance(event, e.TestFinished)
    assert event.outcome is Outcome.ERROR
