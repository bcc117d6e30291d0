"""Pages of many tests: the script draws what was asked for, in pieces, and never all of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.page import Page
from support.pages import ROWS, assert_quiet, page_of_events, search

from proctor import events as e
from proctor.outcome import Outcome

NODES = "document.querySelectorAll('*').length"
#: Where the file stands in the window, or its row that a link leads to.
FILE = """(document.activeElement.dataset.id ? document.activeElement
    : [...document.querySelectorAll('.path')].find(one => one.textContent === '%s')
).getBoundingClientRect().y"""
MOST_NODES = 40_000
MOST_HEAP = 100_000_000  # bytes


def many(tests: int) -> Iterator[e.Event]:
    """Every thousandth fails."""
    for n in range(tests):
        outcome = Outcome.FAILED if n % 1_000 == 7 else Outcome.PASSED
        message = "E: x" if outcome is Outcome.FAILED else None
        failure = e.Failure("E", "E: x") if message else None
        yield e.TestFinished(
            f"tests/t{n // 100:03d}.py::test_{n}", outcome, n % 3 * 0.7, message, failure=failure
        )


@pytest.mark.parametrize("count", [6_000, 60_000])
def test_a_large_page_is_searched_and_stays_small(page: Page, tmp_path: Path, count: int) -> None:
    path = page_of_events(many(count), tmp_path)
    page.open(path)

    assert f"{count:,}" in _said(page) or str(count) in _said(page)
    failed = search(page, "is:failed")
    assert failed == [f"tests/t{n // 100:03d}.py::test_{n}" for n in range(7, count, 1_000)]
    assert search(page, "test_4007 is:failed") == [] if count <= 4_007 else ["tests/t040.py::test_4007"]
    assert page.evaluate(NODES) < MOST_NODES
    assert page.heap() < MOST_HEAP
    assert_quiet(page)


def test_a_link_to_a_test_works_where_rows_are_data(page: Page, tmp_path: Path) -> None:
    test = "tests/t055.py::test_5555"
    page.open(page_of_events(many(6_000), tmp_path), f"#test={test.replace('/', '%2F').replace(':', '%3A')}")

    assert page.evaluate("document.activeElement.dataset.id") == test
    assert_quiet(page)


@pytest.mark.parametrize("count", [5_000, 5_001, 50_000, 50_001])
def test_search_links_and_order_work_on_both_sides_of_each_limit(
    page: Page, tmp_path: Path, count: int
) -> None:
    path = page_of_events(many(count), tmp_path)
    page.open(path, "#test=tests%2Ft010.py%3A%3Atest_1007")
    assert page.evaluate("document.activeElement.dataset.id") == "tests/t010.py::test_1007"
    assert page.evaluate("!!document.querySelector('#data')") is (count > 5_000)
    assert (search(page, "t012.py::test_1234 is:passed") == ["tests/t012.py::test_1234"]) is (count <= 50_000)
    assert len(search(page, "is:failed")) == count // 1_000

    page.evaluate("document.querySelector('#sort').value = 'slow'")
    page.evaluate("document.querySelector('#sort').dispatchEvent(new Event('change'))")
    first, *_ = search(page, "is:failed")
    assert int(first.rpartition("_")[2]) % 3 == 2
    page.evaluate("location.hash = '#test=tests%2Ft012.py%3A%3Atest_1234'")
    page.settle()
    assert ("tests/t012.py::test_1234" in page.evaluate(ROWS)) is (count <= 50_000)
    assert 0 < page.evaluate(FILE % "tests/t012.py") < page.evaluate("innerHeight")  # or its counts
    assert_quiet(page)


@pytest.mark.parametrize("count", [5_000, 5_001])
def test_failing_tests_have_rows_without_scripts(page: Page, tmp_path: Path, count: int) -> None:
    page.turn_scripts_off()
    page.open(page_of_events(many(count), tmp_path))
    ids = page.evaluate("[...document.querySelectorAll('#tests li.failed')].map(one => one.dataset.id)")

    assert ids == [f"tests/t{n // 100:03d}.py::test_{n}" for n in range(7, count, 1_000)]
    assert page.evaluate("document.querySelectorAll('#tests li').length") == (count if count == 5_000 else 5)


def test_a_link_finds_a_test_in_a_file_that_is_not_listed(page: Page, tmp_path: Path) -> None:
    tests = [e.TestFinished(f"-f{n}.py::a", Outcome.PASSED) for n in range(5_001)]
    page.open(page_of_events(tests, tmp_path), "#test=-f4444.py%3A%3Aa")

    assert page.evaluate("document.activeElement.dataset.id") == "-f4444.py::a"
    assert_quiet(page)


def test_rows_are_drawn_in_pieces(page: Page, tmp_path: Path) -> None:
    page.open(page_of_events(many(6_000), tmp_path))
    first = search(page, "test_")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    page.wait_until(f"{ROWS}.length > {len(first)}")

    assert 0 < len(first) < 1_000
    assert_quiet(page)


def test_beyond_fifty_thousand_what_passed_is_counted_by_file(page: Page, tmp_path: Path) -> None:
    page.open(page_of_events(many(60_000), tmp_path))

    assert search(page, "is:passed") == []
    text = page.evaluate("document.querySelector('#tests').textContent")
    assert "100 passed" in text and "99 passed" in text
    assert_quiet(page)


def test_a_large_page_without_scripts_names_failures_and_counts_the_rest(page: Page, tmp_path: Path) -> None:
    page.turn_scripts_off()
    page.open(page_of_events(many(6_000), tmp_path))

    assert "test_1007" in page.evaluate("document.querySelector('#failures').textContent")
    assert "100 passed" in page.evaluate("document.querySelector('#tests').textContent")
    assert_quiet(page)


def _said(page: Page) -> str:
    text: str = page.evaluate("document.body.innerText")
    return text
