from __future__ import annotations

import base64
import json
import re
from hashlib import sha256
from typing import Any
from xml.etree.ElementTree import Element

import pytest
from support.histories import compared
from support.made_runs import failed, passed, run_of
from support.parsed_html import attributes, by_class, by_id, parsed, rows, shown

from proctor import events as e
from proctor.fold import begin, fold
from proctor.outcome import Outcome, RunOutcome
from proctor.relay import Relay
from proctor.render.page import evidence, failures, test_rows
from proctor.render.page.around import IMAGE, Around
from proctor.render.page.run_page import run_page
from proctor.render.page.timeline import Timeline
from proctor.render.verdict_line import counts
from proctor.result import RunResult

PNG = b"\x89PNG\r\n\x1a\n" + bytes(40)


def page_of(*facts: e.Event, around: Around | None = None, **more: Any) -> Element:
    return parsed(run_page(run_of(*facts, **more), around=around))


def failing(root: Element) -> list[Element]:
    return by_class(root, "failure")


def test_the_policy_allows_the_style_and_the_script_of_the_page_and_nothing_else() -> None:
    root = page_of(*passed("a"))
    policy = next(meta.get("content", "") for meta in root.iter("meta") if meta.get("http-equiv"))
    style, script = (next(root.iter(name)).text or "" for name in ("style", "script"))
    hashes = [base64.b64encode(sha256(text.encode()).digest()).decode() for text in (script, style)]

    assert policy == (
        f"default-src 'none'; script-src 'sha256-{hashes[0]}'; style-src 'sha256-{hashes[1]}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )


def test_the_policy_comes_before_what_it_is_about() -> None:
    page = b"".join(run_page(run_of(*passed("a"))))

    assert page.index(b"Content-Security-Policy") < page.index(b"<style>") < page.index(b"<script>")


def test_no_element_has_a_style_or_a_handler_and_nothing_is_loaded() -> None:
    attached = (e.File("shot.png", "files/shot.png", len(PNG)),)
    test = e.TestFinished("a", Outcome.FAILED, message="m", files=attached)
    root = page_of(test, around=Around(lambda path: path, lambda path, most: PNG))
    found = list(attributes(root))

    assert not [name for _, name, _ in found if name == "style" or name.startswith("on")]
    assert {value[:11] for _, name, value in found if name == "src"} == {"data:image/"}
    assert all(value.startswith("#") or "://" not in value for _, name, value in found if name == "href")
    assert {"link", "iframe", "object", "base"}.isdisjoint(element.tag for element in root.iter())


def test_a_page_has_a_language_a_title_and_landmarks() -> None:
    root = page_of(*passed("a"), outcome=RunOutcome.PASSED)

    assert root.get("lang") == "en"
    assert shown(next(root.iter("title"))) == "1 passed · project"
    for landmark in ("header", "nav", "main", "footer", "h1"):
        assert len(list(root.iter(landmark))) == 1


def test_the_sections_come_in_the_order_in_which_people_ask_for_them() -> None:
    timeline = Timeline()
    relay = Relay(e.RunStarted("r", "pytest", ("pytest",), "/project", "/python", ""), [timeline])
    history = compared(("a", e.TestHistory(e.NEW)))
    slow = e.TestFinished("b", Outcome.PASSED, 2.0)
    for event in (failed("a", "boom"), slow, history, e.Noticed("look")):
        relay.publish(event, 3.0)
    relay.publish(e.RunFinished(RunOutcome.FAILED, 4.0), 4.0)
    root = parsed(run_page(relay.result, timeline))
    marks = ("bar", "where", "compared", "failures", "suites", "timeline", "slowest", "all", "tests", "notes")
    found = [element.get("id") or element.get("class") or "" for element in root.iter()]

    assert [found.index(mark) for mark in marks] == sorted(found.index(mark) for mark in marks)
    assert [shown(link) for link in next(root.iter("nav")).iter("a")] == [
        "Failures 1",
        "Suite",
        "Timeline",
        "Slowest",
        "All tests 2",
        "Notes 1",
    ]


def test_links_of_the_navigation_lead_to_sections() -> None:
    root = page_of(failed("a", "boom"), *passed("b"))

    for link in next(root.iter("nav")).iter("a"):
        by_id(root, link.get("href", "")[1:])


@pytest.mark.parametrize(
    ("facts", "outcome", "headline"),
    [
        (passed("a", "b"), RunOutcome.PASSED, "2 passed"),
        ([failed("a", "m"), *passed("b")], RunOutcome.FAILED, "1 failed"),
        ([e.TestFinished("a", Outcome.CRASH)], RunOutcome.CRASHED, "Crash"),
        ([], RunOutcome.NO_TESTS, "No tests"),
        (passed("a"), RunOutcome.INCOMPLETE, "Incomplete"),
        (passed("a"), RunOutcome.RUNNING, "Running"),
    ],
)
def test_the_largest_text_is_the_verdict(facts: list[e.Event], outcome: RunOutcome, headline: str) -> None:
    root = page_of(*facts, outcome=outcome)

    assert shown(next(root.iter("h1"))) == headline


def everything() -> list[e.Event]:
    """One test of each outcome, a file that cannot be collected, a flaky test and one in quarantine."""
    tests: list[e.Event] = [e.TestFinished(f"t.py::{outcome}", outcome) for outcome in Outcome]
    flaky = e.TestFinished("t.py::flaky", Outcome.PASSED, attempts=(e.Attempt(Outcome.FAILED, 0.1, "m"),))
    held = e.TestFinished("t.py::held", Outcome.FAILED, message="m")
    broken = e.CollectionFailed("broken.py", e.Failure("SyntaxError", "invalid syntax"))
    return [e.TestsQuarantined({"t.py::held": "slow network"}), *tests, flaky, held, broken]


def test_the_numbers_of_the_page_are_those_of_the_result() -> None:
    result = run_of(*everything())
    root = parsed(run_page(result))
    told = [shown(next(root.iter("h1"))), *map(shown, by_class(root, "counts")[0])]
    words = [shown(row.find("b")) for row in rows(root).values()]

    assert told == counts(result)
    assert {word: words.count(word) for word in words} == {
        **{outcome.replace("_", " "): 1 for outcome in Outcome},
        "flaky": 1,
        "quarantined": 1,
    }
    assert shown(by_id(root, "shown")) == f"{len(words)} tests"


def test_the_bar_has_a_part_for_each_count() -> None:
    result = run_of(*everything())
    bar = by_class(parsed(run_page(result)), "bar")[0]

    assert [shown(part) for part in bar][1:] == counts(result)


@pytest.mark.parametrize(
    ("outcome", "of_run", "told"),
    [
        (Outcome.CRASH, RunOutcome.CRASHED, "1 crashed"),
        (Outcome.TIMEOUT, RunOutcome.TIMEOUT, "1 timed out"),
    ],
)
def test_the_bar_is_not_green_where_the_headline_tells_of_the_only_failure(
    outcome: Outcome, of_run: RunOutcome, told: str
) -> None:
    root = page_of(e.TestFinished("a", outcome), *passed("b"), outcome=of_run)
    bar = by_class(root, "bar")[0]

    assert [shown(part) for part in bar][1:] == [told, "1 passed"]
    assert shown(by_class(root, "counts")[0]) == f"{told} 1 passed"


def test_a_suite_without_tests_is_not_green() -> None:
    (suite,) = by_class(page_of(e.SuiteFinished(RunOutcome.NO_TESTS), outcome=RunOutcome.NO_TESTS), "suites")

    assert [row.get("class") for row in suite.iter("li")] == ["odd"]


def test_what_a_baseline_says_is_counted() -> None:
    baseline = e.BaselineCompared("main", "2dba883aaaa", {"a": e.FAILS, "b": e.PASSES, "c": e.FAILS})
    tests = [failed(name, f"{name.upper()}: x") for name in "abcd"]
    told = "Baseline main@2dba883: 2 failed there too, 1 passed there, 1 cannot be told"

    assert shown(by_class(page_of(*tests, baseline), "compared")[0]) == told


def test_the_first_three_failures_are_unfolded() -> None:
    root = page_of(*(failed(f"t{n}", f"E{n}: boom {chr(97 + n)}", ("t.py", n)) for n in range(5)))

    assert [failure.get("open") is not None for failure in failing(root)] == [True, True, True, False, False]


def test_failures_of_one_cause_are_told_once_with_all_their_tests() -> None:
    root = page_of(*(failed(f"t.py::t{n}", "ValueError: no", ("app.py", 3)) for n in range(4)))
    failure = failing(root)[0]

    assert len(failing(root)) == 1
    assert "and 3 more" in shown(failure)
    assert [shown(one) for one in by_class(failure, "tests")[0].iter("li")] == [
        f"t.py::t{n}" for n in range(4)
    ]


def test_a_failure_has_its_difference_its_output_and_the_command_to_run_it_again() -> None:
    failure = e.Failure(
        "AssertionError", "assert 1 == 2", e.Place("t.py", 3), difference=("at ['a']: 1 != 2",)
    )
    phase = e.Phase(
        "call", "failed", stdout="\x1b[31mred\x1b[0m words", failure=failure, log=({"msg": "note"},)
    )
    test = e.TestFinished(
        "t.py::t", Outcome.FAILED, message="assert 1 == 2", failure=failure, phases=(phase,)
    )
    found = failing(page_of(test))[0]
    command = next(found.iter("button"))

    assert "['a']: 1 != 2" in shown(by_class(found, "reason")[0])
    assert shown(by_class(found, "f1")[0]) == "red"
    assert [shown(part[0]) for part in by_class(found, "text")] == ["stdout of call", "log of call"]
    assert command.get("class") == "copy"
    assert command.get("data-copy") == "proctor run t.py::t"


@pytest.mark.parametrize(("tests", "label"), [(5, "Run again"), (6, "Run all failures again")])
def test_a_command_that_runs_all_failures_says_so(tests: int, label: str) -> None:
    root = page_of(*(failed(f"t{n}", "ValueError: no", ("app.py", 3)) for n in range(tests)))
    command = by_class(root, "command")[0]

    assert shown(by_class(command, "label")[0]) == label


def test_words_that_differ_are_marked_inside_of_lines() -> None:
    lines = ("at line 2:", "- the old word", "+ the new word")
    test = failed("t", "assert == fails", ("t.py", 3), difference=lines)
    found = failing(page_of(test))[0]

    assert [shown(one) for one in by_class(found, "less")] == ["old"]
    assert [shown(one) for one in by_class(found, "more")] == ["new"]


def test_a_row_of_a_failing_test_leads_to_its_failure_and_back() -> None:
    root = page_of(*(failed(f"t.py::t {n}", "ValueError: no", ("app.py", 3)) for n in range(2)))
    link = next(rows(root)["t.py::t 1"].iter("a"))

    assert link.get("href") == "#failure-1"
    assert failing(root)[0].get("id") == "failure-1"
    assert [one.get("href") for one in by_class(root, "tests")[0].iter("a")] == [
        f"#test=t.py%3A%3At%20{n}" for n in range(2)
    ]


def test_small_images_are_part_of_the_page_and_other_files_are_linked() -> None:
    data = {"a.png": PNG, "b.svg": b"<svg onload=alert(1)>", "c.png": PNG, "d.bin": b"GIF8 not quite"}
    files = tuple(e.File(name, f"files/{name}", len(content)) for name, content in data.items())
    large = e.File("e.png", "files/e.png", IMAGE + 1)
    around = Around(lambda path: path, lambda path, most: data[path.removeprefix("files/")][:most])
    test = e.TestFinished("t", Outcome.FAILED, message="m", files=(*files, large))
    found = by_class(page_of(test, around=around), "files")[0]

    assert [image.get("alt") for image in found.iter("img")] == ["a.png", "c.png"]
    assert [link.get("href") for link in found.iter("a")] == [f"files/{name}" for name in (*data, "e.png")]


def test_files_without_a_directory_are_named_and_not_linked() -> None:
    test = e.TestFinished("t", Outcome.FAILED, message="m", files=(e.File("a.txt", "files/a.txt", 3),))
    found = by_class(page_of(test), "files")[0]

    assert not list(found.iter("a"))
    assert "a.txt 3 bytes" in shown(found)


@pytest.mark.parametrize(
    ("begins", "shown_head"),
    [(b"the first line\nand mo", "THE FIRST LINE"), (b"only one lo", "ONLY ONE"), (b"one-word", "")],
)
def test_a_long_output_has_its_head_its_tail_and_a_link_to_all_of_it(begins: bytes, shown_head: str) -> None:
    phase = e.Phase(
        "call", "failed", files={"stdout": "call-stdout.txt"}, tails={"stdout": "the last line\n"}
    )
    kept = e.File("call-stdout.txt", "files/1.txt", 10_000_000)
    test = e.TestFinished("t", Outcome.FAILED, message="m", phases=(phase,), files=(kept,))
    around = Around(lambda path: path, lambda path, most: begins, str.upper)
    text = by_class(page_of(test, around=around), "text")[0]

    left_out = kept.size - len("the last line\n") - (len(shown_head) + 1 if shown_head else 0)
    told = f"{shown_head} … {left_out} characters are left out … the last line"
    assert shown(next(text.iter("pre"))) == told.strip()
    assert next(text.iter("a")).get("href") == "files/1.txt"


def test_a_text_of_ten_megabytes_is_cut() -> None:
    phase = e.Phase("call", "failed", stdout="first\n" + "x" * 10_000_000 + "\nlast")
    page = b"".join(run_page(run_of(e.TestFinished("t", Outcome.FAILED, message="m", phases=(phase,)))))

    assert len(page) < 200_000
    assert b"first\n" in page
    assert b"\nlast</pre>" in page


def wrote(test: str, text: str, *more: e.Phase) -> e.TestFinished:
    failure = e.Failure("ValueError", "ValueError: no", e.Place("app.py", 3))
    phase = e.Phase("call", "failed", stdout=text, failure=failure)
    return e.TestFinished(test, Outcome.FAILED, message="no", failure=failure, phases=(phase, *more))


def test_what_other_tests_of_a_cause_wrote_is_folded_where_it_differs() -> None:
    root = page_of(wrote("a", "one"), wrote("b", "two"), wrote("c", "one"), wrote("d", ""), wrote("e", "two"))
    (failure,) = failing(root)
    first, others = by_class(failure, "text")[0], by_class(failure, "tests")[1]

    assert shown(first) == "stdout of call (a) one"
    assert shown(others) == "What 1 other test of this cause wrote stdout of call (b) two"
    assert others.get("open") is None


def test_of_many_tests_of_a_cause_a_few_are_heard_and_the_rest_is_counted() -> None:
    (failure,) = failing(page_of(*(wrote(f"t{n}", f"{n} " * 9_000) for n in range(10))))
    others = by_class(failure, "tests")[1]

    assert len(by_class(others, "text")) == 5
    assert shown(others).endswith("4 more wrote something else")
    assert all("characters are left out" in shown(text) for text in by_class(others, "text"))


def test_what_a_test_wrote_stands_in_one_cause_only() -> None:
    broke = e.Phase("teardown", "failed", stderr="late", failure=e.Failure("KeyError", "KeyError: 'x'"))
    found = failing(page_of(wrote("a", "one", broke), wrote("b", "two", broke)))

    assert len(found) == 2
    assert [len(by_class(one, "text")) for one in found] == [4, 0]


def test_a_test_with_very_many_texts_shows_the_first_of_them() -> None:
    parts = [e.Phase("call", "failed", subtest=f"n={n}", stdout=f"part {n}") for n in range(30)]
    (failure,) = failing(page_of(wrote("a", "whole", *parts)))[:1]

    assert len(by_class(failure, "text")) == 20
    assert "11 more texts" in shown(failure)


def test_files_that_are_not_named_are_counted() -> None:
    files = tuple(e.File(f"{n}.txt", f"files/{n}.txt", 1_000) for n in range(30))
    found = by_class(page_of(e.TestFinished("t", Outcome.FAILED, message="m", files=files)), "files")[0]

    assert len(list(found.iter("li"))) == 20
    assert "19.txt 1.0 kB and 10 more" in shown(found)


def test_images_take_a_bounded_part_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "_IMAGES", 2 * len(PNG))
    files = tuple(e.File(f"{n}.png", f"files/{n}.png", len(PNG)) for n in range(3))
    around = Around(lambda path: path, lambda path, most: PNG)
    test = e.TestFinished("t", Outcome.FAILED, message="m", files=files)
    found = by_class(page_of(test, around=around), "files")[0]

    assert [image.get("alt") for image in found.iter("img")] == ["0.png", "1.png"]
    assert len(list(found.iter("a"))) == 3


def test_words_of_the_history_stand_beside_failures() -> None:
    still = e.TestHistory(e.STILL, e.EarlierRun("r1", "2dba883aaaa"))
    known = compared(("a", e.TestHistory(e.NEW)), ("b", still), fixed=("c",))
    root = page_of(failed("a", "A: x"), failed("b", "B: y"), *passed("c"), known)

    assert "1 new, 1 still failing, 1 fixed" in shown(by_class(root, "compared")[0])
    assert [shown(by_class(one, "history")[0]) for one in failing(root)] == ["new", "still since 2dba883"]


def test_the_commit_of_the_run_stands_at_the_top() -> None:
    known = e.HistoryCompared(checkout=e.CheckedOut("ab023bf0000", "main", dirty=True))

    assert "main ab023bf with changes" in shown(by_class(page_of(*passed("a"), known), "where")[0])


def test_what_a_report_of_another_tool_does_not_say_is_left_out() -> None:
    result = begin(e.RunStarted("", "", (), "", "", "", retold=True))
    fold(result, e.Entry(0, 0.0, 0, e.TestFinished("a", Outcome.PASSED)))
    fold(result, e.Entry(1, 0.0, 0, e.RunFinished(RunOutcome.PASSED)))
    text = shown(parsed(run_page(result)))

    assert "took" not in text and "asked for" not in text


def test_a_run_without_tests_has_a_page() -> None:
    root = page_of(outcome=RunOutcome.NO_TESTS)

    assert not rows(root)
    assert shown(by_id(root, "shown")) == "0 tests"


def test_a_run_that_broke_before_its_tests_says_why() -> None:
    broke = e.SessionBroke(e.Failure("INTERNALERROR", "no room"), "Traceback: no room left")
    root = page_of(broke, outcome=RunOutcome.INTERNAL_ERROR)

    assert "no room left" in shown(failing(root)[0])


def test_only_tests_worth_a_look_are_called_slow() -> None:
    slow, quick = e.TestFinished("slow", Outcome.PASSED, 0.1), e.TestFinished("quick", Outcome.PASSED, 0.099)
    without = page_of(quick)

    assert [shown(row) for row in by_id(page_of(slow, quick), "slowest").iter("li")] == ["slow 100ms"]
    assert not by_class(without, "slowest")
    assert "Slowest" not in shown(next(without.iter("nav")))


def test_counts_of_suites_and_files_are_in_the_words_of_the_verdict() -> None:
    bad = [e.TestFinished(f"t.py::e{n}", Outcome.ERROR) for n in range(2)]
    root = page_of(*bad, e.TestFinished("t.py::c", Outcome.CRASH), e.TestFinished("t.py::t", Outcome.TIMEOUT))

    assert "2 errors, 1 crashed, 1 timed out" in shown(by_class(root, "suites")[0])
    assert "2 errors, 1 crashed, 1 timed out" in shown(by_id(root, "tests"))


def test_suites_that_could_not_run_are_named() -> None:
    root = page_of(*passed("a"), e.SuiteMissing("node", "node is not installed"))

    assert "node is not installed" in shown(by_id(root, "suites"))


def test_notices_warnings_and_reasons_of_skips_are_at_the_end() -> None:
    skipped = e.TestFinished("s", Outcome.SKIPPED, message="no network")
    warned = e.WarningRecorded("DeprecationWarning", "old", "app.py", 3)
    notes = shown(by_id(page_of(skipped, warned, e.Noticed("a notice")), "notes"))

    assert all(part in notes for part in ("a notice", "no network", "DeprecationWarning", "old", "app.py:3"))


def many(number: int) -> RunResult:
    tests = [
        e.TestFinished(f"tests/test_{n // 100}.py::t{n}", Outcome.PASSED, n / 1e4) for n in range(number)
    ]
    return run_of(*tests, failed("tests/test_0.py::bad", "ValueError: </script>"))


def data_of(root: Element) -> Any:
    return json.loads(by_id(root, "data").text or "")


def test_many_tests_are_data_for_the_script_and_counts_for_who_has_none() -> None:
    number = test_rows.IN_HTML
    root = parsed(run_page(many(number)))
    data = data_of(root)
    names = {group["prefix"] + name for group in data["groups"] for name in group["names"]}

    assert names == set(many(number).tests)
    assert list(rows(root)) == ["tests/test_0.py::bad"]
    assert shown(by_class(root, "told")[-1]) == "100 passed"
    assert shown(by_id(root, "shown")) == f"{number + 1} tests"


def test_few_enough_tests_have_rows_without_a_script() -> None:
    root = parsed(run_page(many(test_rows.IN_HTML - 1)))

    assert len(rows(root)) == test_rows.IN_HTML
    assert not [element for element in root.iter() if element.get("id") == "data"]


def test_of_very_many_tests_those_that_passed_are_only_counted() -> None:
    root = parsed(run_page(many(test_rows.IN_DATA)))
    data = data_of(root)

    assert [name for group in data["groups"] for name in group["names"]] == ["bad"]
    assert shown(by_id(root, "shown")) == "50001 tests; 1 is listed, the others are counted by file"
    assert "1 failed, 100 passed" in shown(by_id(root, "tests"))


def test_failures_have_rows_however_many_tests_were_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_rows, "IN_HTML", 5)
    monkeypatch.setattr(test_rows, "IN_DATA", 10)
    skipped = [e.TestFinished(f"a.py::s{n}", Outcome.SKIPPED) for n in range(20)]
    bad = [failed(f"{file}.py::bad", "boom") for file in ("a", "z")]
    root = page_of(*skipped, *bad)

    assert list(rows(root)) == ["a.py::bad", "z.py::bad"]
    assert [group["names"] for group in data_of(root)["groups"]] == [["bad"], ["bad"]]


def test_the_data_names_the_failure_of_a_test() -> None:
    data = data_of(parsed(run_page(many(test_rows.IN_HTML))))
    group = data["groups"][0]
    at = group["names"].index("bad")

    assert group["causes"] == {str(at): 1}
    assert data["words"][group["words"][at]] == "failed"


def test_many_causes_have_a_line_each_and_more_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "_WHOLE", 2)
    monkeypatch.setattr(failures, "_LINES", 3)
    root = page_of(*(failed(f"t{n}", f"E{n}: boom", ("t.py", n)) for n in range(9)))

    assert len(failing(root)) == 2
    assert "and 4 more causes" in shown(by_id(root, "failures"))
    assert "9 causes" in shown(by_id(root, "failures"))


def test_a_green_page_is_folded_and_a_red_one_is_not() -> None:
    green = page_of(*passed("a"), outcome=RunOutcome.PASSED)
    red = page_of(failed("a", "boom"))

    assert not [fold for fold in by_class(green, "fold") if fold.get("open") is not None]
    assert all(fold.get("open") is not None for fold in by_class(red, "fold"))


def test_the_script_is_small() -> None:
    script = next(page_of(*passed("a")).iter("script")).text or ""

    assert len(re.findall(r"\S", script)) < 8_000
