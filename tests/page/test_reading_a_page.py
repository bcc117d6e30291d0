"""A page can be read without scripts, in the dark, on a telephone and on paper."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.full_runs import RECORDS
from support.page import Page
from support.pages import ROWS, assert_quiet, page_of_events, page_of_example
from support.records import GREEN

from proctor import events as e
from proctor.outcome import Outcome

WIDTH = "[document.documentElement.scrollWidth, innerWidth]"
LONG = "tests/" + "a_long_name_" * 30 + ".py::test_" + "x" * 300


@pytest.fixture
def red(tmp_path: Path) -> Path:
    return page_of_example("accounts", tmp_path)


def test_failures_and_rows_are_there_without_scripts(page: Page, red: Path) -> None:
    page.open(red)
    failures = page.evaluate("document.querySelector('#failures').innerText")
    rows = page.evaluate("[...document.querySelectorAll('#tests [data-id]')].map(row => row.dataset.id)")
    page.turn_scripts_off()
    page.open(red)

    assert page.evaluate("document.querySelector('#failures').innerText") == failures
    assert rows == page.evaluate(
        "[...document.querySelectorAll('#tests [data-id]')].map(row => row.dataset.id)"
    )
    assert rows and failures
    assert_quiet(page)


def test_five_thousand_tests_have_rows_without_scripts(page: Page, tmp_path: Path) -> None:
    tests = [f"t{n // 100}.py::test_{n}" for n in range(5_000)]
    page.turn_scripts_off()
    page.open(page_of_events([e.TestFinished(test, Outcome.PASSED, 0.1) for test in tests], tmp_path))

    rows = page.evaluate("[...document.querySelectorAll('#tests [data-id]')].map(row => row.dataset.id)")
    assert sorted(rows) == sorted(tests)
    page.click("#tests summary")
    assert len(page.evaluate(ROWS)) == 100


def test_dark_pages_are_dark(page: Page, red: Path) -> None:
    brightness = []
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        page.open(red)
        page.settle()
        brightness.append(
            page.evaluate(
                "['backgroundColor', 'color'].map(of => getComputedStyle(document.body)[of]"
                ".match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => +a + +b))"
            )
        )
        assert_quiet(page)

    (light_ground, light_text), (dark_ground, dark_text) = brightness
    assert light_ground > 600 > 200 > light_text
    assert dark_ground < 200 < 500 < dark_text


@pytest.mark.parametrize("name", [*RECORDS, "green", "long"])
@pytest.mark.parametrize("width", [360, 768])
def test_a_narrow_page_does_not_scroll_sideways(page: Page, tmp_path: Path, name: str, width: int) -> None:
    message = "E: " + "y" * 500
    long = (
        e.TestFinished(LONG, Outcome.FAILED, 0.1, message, "trace " * 90, failure=e.Failure("E", message)),
    )
    runs = {**RECORDS, "green": GREEN, "long": long}
    page.resize(width, 640)
    page.open(page_of_events(runs[name], tmp_path))
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.settle()

    assert page.evaluate(WIDTH) == [width, width]


def test_a_real_failure_fits_into_360_pixels(page: Page, red: Path) -> None:
    page.resize(360, 640)
    page.open(red)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    page.settle()

    assert page.evaluate(WIDTH) == [360, 360]


def test_on_paper_there_are_failures_and_no_controls(page: Page, red: Path) -> None:
    page.open(red)
    failures = page.evaluate("document.querySelectorAll('details.failure').length")
    page.prefer("light", media="print")

    assert (
        page.evaluate(
            "[...document.querySelectorAll('.failure h3')].filter(one => one.checkVisibility()).length"
        )
        == failures
    )
    assert (
        page.evaluate(
            "[...document.querySelectorAll('button, input')].filter(one => one.checkVisibility()).length"
        )
        == 0
    )
    assert page.print_pdf().startswith(b"%PDF-")
    assert_quiet(page)


def test_a_page_printed_in_the_dark_has_a_white_ground(page: Page, red: Path) -> None:
    page.open(red)
    page.prefer("dark", media="print")
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert ground in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
