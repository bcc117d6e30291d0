from __future__ import annotations

from typing import Any

from support.parsed_html import by_id, parsed, shown

from proctor.remembered import FlakyTest, RememberedRun, SlowTest
from proctor.render.page.history_page import RUNS, TESTS, Trends, history_page


def run(number: int, **more: Any) -> RememberedRun:
    facts: dict[str, Any] = {
        "run_id": f"run{number}", "started": f"2026-01-{number:02}T12:00:00Z", "outcome": "passed",
        "duration": 10.0 * number, "commit": "2dba883aaaa", "dirty": False, "branch": "main", "root": "/p",
        "whole": True, "asked": (), "imported": False, "passed": 9, "failed": 0, "tests": 10,
    }  # fmt: skip
    return RememberedRun(**facts | more)


def test_the_page_has_a_bar_for_each_run_with_the_oldest_on_the_left() -> None:
    runs = [run(2, outcome="failed", failed=1, passed=8), run(1)]
    root = parsed(history_page(Trends("shop", runs)))
    outcomes = [shown(bar.find("title")) for bar in by_id(root, "outcomes").iter("g")]
    durations = [shown(bar.find("title")) for bar in by_id(root, "durations").iter("g")]

    assert shown(next(root.iter("h1"))) == "1 of 2 runs passed"
    assert outcomes == [
        "1 January 2026, 12:00:00 UTC, main 2dba883: 9 passed, 1 other",
        "2 January 2026, 12:00:00 UTC, main 2dba883: 1 failed, 8 passed, 1 other",
    ]
    assert durations[1].endswith(": 20.00s")


def test_a_run_that_failed_is_seen_however_few_tests_did() -> None:
    runs = [run(1, outcome="crashed", failed=0, passed=100_000, tests=100_000)]
    (bar,) = by_id(parsed(history_page(Trends("shop", runs))), "outcomes").iter("g")
    heights = {rect.get("class"): float(rect.get("height", "")) for rect in bar.iter("rect")}

    assert heights["bad"] == 10


def test_bars_of_as_many_tests_are_as_high_whether_a_run_failed_or_not() -> None:
    runs = [run(2, outcome="failed", failed=1, passed=408, tests=410), run(1, passed=409, tests=410)]
    bars = by_id(parsed(history_page(Trends("shop", runs))), "outcomes").iter("g")
    heights = [
        sum(float(rect.get("height", "")) for rect in bar.iter("rect") if rect.get("class") != "ground")
        for bar in bars
    ]

    assert abs(heights[0] - heights[1]) < 0.5


def test_the_lists_have_ten_tests_each() -> None:
    flaky = [FlakyTest(f"flaky{n}", 3, 20) for n in range(20)]
    slowest = [(f"slow{n}", 9.0 - n / 10) for n in range(20)]
    slower = [SlowTest(f"slower{n}", 0.1, 0.4, 20) for n in range(20)]
    root = parsed(history_page(Trends("shop", [run(1)], flaky, slowest, slower)))

    for number, row in ((1, "flaky0 failed 3 of 20"), (2, "slow0 9.00s"), (3, "slower0 100ms to 400ms")):
        listed = by_id(root, f"list-{number}")
        assert len(list(listed.iter("li"))) == TESTS
        assert row in shown(listed)


def test_tests_of_milliseconds_are_not_called_slow() -> None:
    root = parsed(history_page(Trends("shop", [run(1)], slowest=[("slow", 0.1), ("quick", 0.099)])))

    assert [shown(row) for row in by_id(root, "list-1").iter("li")] == ["slow 100ms"]


def test_the_page_has_as_many_runs_as_were_asked_for() -> None:
    runs = [run(1, run_id=f"r{n}") for n in range(RUNS + 1)]

    assert len(list(by_id(parsed(history_page(Trends("shop", runs))), "runs").iter("li"))) == RUNS + 1


def test_hostile_names_are_only_text() -> None:
    text = "</script><script>alert(1)</script>\u202e\0"
    named = run(1, branch=text, run_id=text, commit=text, asked=(text,), whole=False)
    root = parsed(history_page(Trends(text, [named], [FlakyTest(text, 1, 2)], [(text, 1.0)])))

    assert len(list(root.iter("script"))) == 1


def test_a_project_without_runs_has_a_page() -> None:
    assert "No runs yet" in shown(parsed(history_page(Trends("shop"))))
