from __future__ import annotations

from xml.etree.ElementTree import fromstring

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.render.page.timeline import UNITS, Timeline, draw

STARTED = e.RunStarted("r", "pytest", ("pytest",), "/project", "/python", "2026-01-01T12:00:00Z")


def drawn(*facts: tuple[float, e.Event], seconds: float = 10.0, started: e.RunStarted = STARTED) -> str:
    timeline = Timeline()
    relay = Relay(started, [timeline])
    for at, event in facts:
        relay.publish(event, at)
    relay.publish(e.RunFinished(RunOutcome.FAILED, seconds), seconds)
    return str(draw(timeline, relay.result))


def ended(test: str, seconds: float, outcome: Outcome = Outcome.PASSED, worker: str = "") -> e.TestFinished:
    return e.TestFinished(test, outcome, seconds, worker=worker)


def test_each_worker_has_a_lane_with_how_busy_it_was() -> None:
    svg = drawn((5.0, ended("a", 5.0, worker="gw0")), (10.0, ended("b", 10.0, worker="gw1")))
    labels = [text.text for text in fromstring(svg).iter("text")][:2]

    assert labels == ["pytest gw0: 1 test, busy 50%", "pytest gw1: 1 test, busy 100%"]


def test_a_failure_is_named_and_higher_than_a_pass() -> None:
    svg = fromstring(drawn((2.0, ended("a", 1.0)), (4.0, ended("<b>", 2.0, Outcome.FAILED))))
    (bad,) = [rect for rect in svg.iter("rect") if rect.get("class") == "bad"]
    (busy,) = [path for path in svg.iter("path") if path.get("class") == "busy"]

    assert bad.find("title").text == "<b>: failed after 2.00s"
    assert bad.get("height") == "16"
    assert busy.get("d") == "M100 3h300v10h-300z"


def test_tests_whose_ends_arrived_together_stand_one_before_the_other() -> None:
    svg = fromstring(drawn(*((8.0, ended(f"t{n}", 2.0)) for n in range(3))))
    (busy,) = [path for path in svg.iter("path") if path.get("class") == "busy"]

    assert busy.get("d") == "M200 3h600v10h-600z"


def test_another_session_is_a_mark() -> None:
    svg = fromstring(
        drawn((1.0, ended("a", 1.0)), (5.0, e.SessionStarted(2, died=True)), (6.0, ended("b", 1.0)))
    )
    (mark,) = [rect for rect in svg.iter("rect") if rect.get("class") == "restart"]

    assert mark.get("x") == "500.0"


def test_a_crash_is_seen_beside_the_session_that_follows_it() -> None:
    crash = ended("a", 0.0, Outcome.CRASH)
    svg = fromstring(drawn((5.0, crash), (5.0, e.SessionStarted(2, died=True)), (6.0, ended("b", 1.0))))
    marks = {
        rect.get("class"): (float(rect.get("x", "")), float(rect.get("width", "")))
        for rect in svg.iter("rect")
    }

    assert sum(marks["bad"]) <= marks["restart"][0]


def test_time_without_a_test_is_left_free() -> None:
    svg = fromstring(drawn((1.0, ended("a", 1.0)), (9.0, ended("b", 1.0))))
    (busy,) = [path for path in svg.iter("path") if path.get("class") == "busy"]

    assert busy.get("d") == "M0 3h100v10h-100zM800 3h100v10h-100z"


def test_however_many_tests_there_are_the_drawing_is_small() -> None:
    tests = [
        (n / 1000, ended(f"t{n}", 0.0005, Outcome.FAILED if n % 2 else Outcome.PASSED)) for n in range(20_000)
    ]

    assert len(drawn(*tests, seconds=20.0)) < 60 * UNITS


def test_a_record_that_does_not_say_when_tests_ran_has_no_drawing() -> None:
    assert drawn((0.0, ended("a", 5.0)), (0.0, ended("b", 5.0))) == ""
    assert drawn((5.0, ended("a", 5.0)), started=e.RunStarted("r", "", (), "", "", "", retold=True)) == ""
    assert drawn() == ""
