"""The log of a run off a terminal: what it says before the report."""

from __future__ import annotations

import pytest
from support.streams import BUILD, STARTED, StringWriter, publish_suites

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.render.plain_log import HEARTBEAT, PlainLog, sign_of_life

PYTEST = e.SuiteDescribed("/p", {"python": "3.11.7", "pytest": "9.0.2"})


def log() -> tuple[Relay, StringWriter]:
    heard = StringWriter()
    return Relay(STARTED, [PlainLog(heard)]), heard


@pytest.mark.parametrize("count, tests", [(1, "1 test"), (142, "142 tests"), (12_000, "12,000 tests")])
def test_it_begins_with_the_runner_its_version_and_the_number_of_tests(count: int, tests: str) -> None:
    relay, heard = log()
    relay.publish(PYTEST, 0.1)
    assert heard.text() == ""
    relay.publish(e.SuiteStarted("pytest", BUILD, count), 0.2)
    relay.publish(e.TestStarted("a"), 0.3)

    assert heard.text() == f"pytest 9.0.2, Python 3.11.7: {tests}\n"


@pytest.mark.parametrize(
    "name, runner, toolchain, who",
    [
        ("unittest", "unittest", {"python": "3.9.1"}, "unittest, Python 3.9.1"),
        ("node", "node", {"node": "20.20.2"}, "node 20.20.2"),
        ("web", "vitest", {"vitest": "3.1.0", "node": "20.20.2"}, "web, vitest 3.1.0, node 20.20.2"),
        ("api", "cargo", {"rustc": "rustc 1.95.0 (598076 2026-04-14)"}, "api, cargo, rustc 1.95.0"),
        ("command", "command", {}, "command"),
        ("a\x1b[31mb\n", "tap", {}, "ab\\n, tap"),
    ],
)
def test_every_runner_is_introduced(name: str, runner: str, toolchain: dict[str, str], who: str) -> None:
    relay, heard = log()
    relay.publish(e.SuiteEntered(name, runner, (), "/p"), 0.0)
    relay.publish(e.SuiteDescribed("/p", toolchain), 0.1)
    relay.publish(e.SuiteStarted(name, BUILD, 3), 0.2)

    assert heard.text() == f"{who}: 3 tests\n"


def test_a_suite_that_finds_its_tests_on_its_way_is_introduced_by_its_first_test_and_once() -> None:
    relay, heard = log()
    relay.publish(e.SuiteDescribed("/p", {"pytest": "9.0.2"}), 0.1)
    relay.publish(e.TestStarted("a"), 0.2)
    relay.publish(e.TestFinished("a", Outcome.PASSED), 0.3)
    relay.publish(e.SuiteStarted("pytest", BUILD, 1), 0.4)

    assert heard.text() == "pytest 9.0.2: running\n"


def test_each_of_several_suites_is_introduced_when_it_begins_and_a_build_or_an_empty_suite_is_not() -> None:
    heard = StringWriter()
    relay = Relay(STARTED, [PlainLog(heard)])
    facts: list[e.Event] = [
        e.SuiteEntered("build", "cargo", (), "/p", source="build"),
        e.CollectionFailed("src/lib.rs", e.Failure("", "unused")),
        e.SuiteFinished(RunOutcome.PASSED),
        e.SuiteEntered("one", "cargo", (), "/p", source="lines"),
        e.SuiteStarted("one", BUILD, 1),
        e.TestFinished("a", Outcome.PASSED),
        e.SuiteFinished(RunOutcome.PASSED),
        e.SuiteEntered("two", "cargo", (), "/p", source="lines"),
        e.SuiteStarted("two", BUILD, 0),
        e.SuiteFinished(RunOutcome.NO_TESTS),
        e.SuiteEntered("three", "node", (), "/p"),
        e.TestFinished("b", Outcome.FAILED, message="no"),
    ]
    publish_suites(relay, facts, 0.5)

    assert heard.text().splitlines() == [
        "ERROR cannot collect src/lib.rs: unused",
        "one, cargo: 1 test",
        "three, node: running",
        "FAILED b: no",
    ]


def test_a_short_green_run_is_two_lines() -> None:
    relay, heard = log()
    relay.publish_all(
        [
            PYTEST,
            e.SuiteStarted("pytest", BUILD, 1),
            e.TestStarted("a"),
            e.TestFinished("a", Outcome.PASSED),
            e.SessionFinished(0),
            e.ProcessExited(0),
        ],
        0.5,
    )
    relay.tick(1.0)
    relay.close(1.0)

    assert heard.text() == "pytest 9.0.2, Python 3.11.7: 1 test\n1 passed in 1.00s\n"


def test_it_tells_every_half_minute_how_far_the_run_is_whatever_else_it_wrote() -> None:
    relay, heard = log()
    relay.tick(HEARTBEAT - 1)
    assert heard.text() == ""
    relay.tick(HEARTBEAT)
    assert heard.text() == "... 30s: collecting\n"
    relay.tick(HEARTBEAT + 1)
    relay.publish(e.TestFinished("a", Outcome.FAILED, message="no"), HEARTBEAT * 2 - 1)
    relay.tick(HEARTBEAT * 2)

    assert heard.text().splitlines()[1:] == ["pytest: running", "FAILED a: no", "... 1m00s: 1 done, 1 failed"]


def test_a_sign_of_life_has_the_counts_and_names_what_runs_longest() -> None:
    relay = Relay(STARTED, [])
    relay.publish(e.SuiteStarted("pytest", "", 9), 0.0)
    assert sign_of_life(relay.result, 30.0) == "30s: 0/9"
    relay.publish(e.TestFinished("z", Outcome.PASSED), 1.0)
    relay.publish_all([e.TestStarted(name) for name in ("a\x07", "b", "c")], 5.0)
    relay.publish_all([e.TestStarted(name) for name in ("d", "e")], 20.0)

    assert sign_of_life(relay.result, 95.0) == (
        "1m35s: 1/9, 1 passed; running a\\x07 (1m30s), b (1m30s), c (1m30s), 2 more"
    )


def test_a_log_never_shows_a_smaller_total_than_before() -> None:
    relay, heard = log()
    relay.publish(e.SuiteStarted("pytest", BUILD, 40), 0.0)
    relay.tick(HEARTBEAT)
    relay.publish(e.SuiteStarted("pytest", BUILD, 8), 40.0)
    relay.tick(HEARTBEAT * 2)

    assert heard.text().splitlines()[1:] == ["... 30s: 0/40", "... 1m00s: 0/40"]
