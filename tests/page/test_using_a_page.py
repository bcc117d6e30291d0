"""What a person does on a page: searching, following links and copying, with the mouse and with keys."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from support.page import Page
from support.pages import ROWS, assert_quiet, page_of_events, page_of_example, search
from support.streams import entered

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome

ODD = "b.py::test_odd[a b/c#d?é%25<i>]"
RUN: tuple[e.Event, ...] = (
    entered("unit"),
    e.TestFinished("a.py::test_quick", Outcome.PASSED, 0.01),
    e.TestFinished("a.py::test_slow", Outcome.PASSED, 2.5),
    e.TestFinished("b.py::test_broken", Outcome.FAILED, 90.0, "E: x", failure=e.Failure("E", "E: x")),
    e.TestFinished(ODD, Outcome.SKIPPED, 0.0, "not here"),
    e.SuiteFinished(RunOutcome.FAILED, 93.0),
    entered("node"),
    e.TestFinished("c.js::adds", Outcome.FAILED, 0.5, "E: y", failure=e.Failure("E", "E: y")),
    e.TestFinished("c.js::waits", Outcome.PASSED, 1.5),
    e.SuiteFinished(RunOutcome.FAILED, 2.0),
)
TESTS = [event.test for event in RUN if isinstance(event, e.TestFinished)]


@pytest.fixture
def opened(page: Page, tmp_path: Path) -> Page:
    page.open(page_of_events(RUN, tmp_path))
    return page


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("test_slow", {"a.py::test_slow"}),
        ("TEST_SLOW", {"a.py::test_slow"}),
        ("is:failed", {"b.py::test_broken", "c.js::adds"}),
        ("is:failed suite:node", {"c.js::adds"}),
        ("slow>1s", {"a.py::test_slow", "b.py::test_broken", "c.js::waits"}),
        ("slow>1s is:passed suite:unit", {"a.py::test_slow"}),
        ("slow>1m", {"b.py::test_broken"}),
        ("slow>600ms c.js", {"c.js::waits"}),
        ("is:skipped odd", {ODD}),
        ("no such test", set()),
        ("is:failed [", set()),
    ],
)
def test_all_words_of_a_search_must_match(opened: Page, words: str, found: set[str]) -> None:
    assert set(search(opened, words)) == found
    assert opened.evaluate("document.querySelector('#shown').textContent").split()[0] == str(len(found))
    assert_quiet(opened)


def test_an_empty_search_brings_everything_back(opened: Page) -> None:
    before = opened.evaluate("document.querySelector('#tests').innerText")
    search(opened, "adds")
    opened.evaluate("document.querySelector('#search').select()")
    opened.press("Backspace")

    assert opened.evaluate("document.querySelector('#tests').innerText") == before
    assert opened.evaluate("document.querySelector('#shown').textContent").split()[0] == str(len(TESTS))


def test_the_number_of_tests_that_are_left_is_announced(opened: Page) -> None:
    assert opened.evaluate("document.querySelector('#shown').getAttribute('aria-live')") == "polite"


@pytest.mark.parametrize("test", TESTS)
def test_a_link_to_a_test_opens_the_page_at_it(page: Page, tmp_path: Path, test: str) -> None:
    page.open(page_of_events(RUN, tmp_path), f"#test={quote(test, safe='')}")

    assert test in page.evaluate(ROWS)
    assert page.evaluate("document.activeElement.dataset.id") == test
    at = page.evaluate("document.activeElement.getBoundingClientRect().y")
    assert 0 <= at < page.evaluate("innerHeight")
    assert_quiet(page)


@pytest.mark.parametrize("more", [0, 5_000], ids=["rows", "data"])
def test_a_link_is_the_id_as_it_is_though_the_page_shows_it_otherwise(
    page: Page, tmp_path: Path, more: int
) -> None:
    odd = ["x\ny", "x\\ny", "x\ty", "x y", "x  y", "X y", "x\x1b[31my", "xy", "x\u202ey", "x\\x202ey", "\x00",
           "x\ry", "%0A", "a#b&c\"d'e", "{{ 7 }}", "\u2028", "é", "y" * 10_000]  # fmt: skip
    tests = [e.TestFinished(f"t.py::{name}", Outcome.PASSED) for name in odd]
    tests += [e.TestFinished(f"t.py::n{n}", Outcome.PASSED) for n in range(more)]
    page.open(page_of_events(tests, tmp_path))
    at = "[...document.activeElement.parentElement.children].indexOf(document.activeElement)"
    found = []
    for name in odd:
        page.evaluate(f"location.hash = '#test=' + encodeURIComponent({json.dumps('t.py::' + name)})")
        page.settle()
        found.append(page.evaluate(at))

    assert found == list(range(len(odd)))
    assert_quiet(page)


def test_a_link_to_a_test_works_on_an_open_page_and_after_a_search(opened: Page) -> None:
    search(opened, "is:passed")
    opened.evaluate(f"location.hash = '#test=' + encodeURIComponent({ODD!r})")
    opened.settle()

    assert opened.evaluate("document.activeElement.dataset.id") == ODD


@pytest.mark.parametrize("fragment", ["#test=", "#test=%E0%A4%A", "#test=gone", "#test=%00", "#nothing"])
def test_a_link_that_leads_nowhere_does_no_harm(page: Page, tmp_path: Path, fragment: str) -> None:
    page.open(page_of_events(RUN, tmp_path), fragment)

    assert_quiet(page)


@pytest.mark.parametrize("allowed", [True, False], ids=["with leave", "without leave"])
def test_a_button_copies_the_command(page: Page, tmp_path: Path, allowed: bool) -> None:
    """Without leave the page cannot use the clipboard by itself, and does as if a person had copied."""
    path = page_of_example("shop", tmp_path)
    page.allow(*(["clipboardReadWrite", "clipboardSanitizedWrite"] if allowed else []))
    page.open(path)
    command = page.evaluate("document.querySelector('button.copy').dataset.copy")
    page.click("button.copy")
    page.wait_until("document.querySelector('button.copy').textContent.startsWith('Copied')")

    assert command.startswith("proctor run")
    page.allow("clipboardReadWrite")
    assert page.evaluate("navigator.clipboard.readText()") == command
    assert_quiet(page)


def test_the_first_three_failures_are_unfolded(page: Page, tmp_path: Path) -> None:
    failures = [
        e.TestFinished(
            f"a.py::test_{n}", Outcome.FAILED, 0.1, f"E{n}: x", failure=e.Failure(f"E{n}", f"E{n}: x")
        )
        for n in range(5)
    ]
    page.open(page_of_events(failures, tmp_path))

    assert page.evaluate("[...document.querySelectorAll('details.failure')].map(one => one.open)") == [
        *(True, True, True),
        *(False, False),
    ]


def test_everything_can_be_reached_and_unfolded_with_keys(opened: Page) -> None:
    """Tab goes through links, folds and fields in the order of the page; Enter unfolds what is folded."""
    reached = []
    for _ in range(60):
        opened.press("Tab")
        where = opened.evaluate("(at => at.id || at.className || at.tagName)(document.activeElement)")
        if where == "BODY":
            break
        reached.append(where)
    opened.evaluate("document.querySelector('#tests summary').focus()")
    before = opened.evaluate("document.querySelector('#tests details').open")
    opened.press("Enter")

    assert "search" in reached and "copy" in reached and reached.count("SUMMARY") >= 2, reached
    assert opened.evaluate("document.querySelector('#tests details').open") is not before


def test_what_has_the_focus_is_marked(opened: Page) -> None:
    opened.press("Tab")
    style = opened.evaluate(
        "(style => [style.outlineStyle, parseFloat(style.outlineWidth)])"
        "(getComputedStyle(document.activeElement))"
    )

    assert style[0] != "none" and style[1] >= 1
