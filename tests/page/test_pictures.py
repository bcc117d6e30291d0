"""The pictures of the docs show the report as it is now."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.browser import Browser
from support.page import Page
from support.pictures import SHOTS, Shot, difference, photograph, sample_page

KEPT = Path(__file__).parent.parent.parent / "docs" / "pictures"
MOST = 0.04  # of a picture: times and dates differ
LARGEST = 150_000  # bytes


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield sample_page(tmp_path_factory.mktemp("pictures"))


@pytest.mark.parametrize("name", SHOTS)
def test_a_picture_of_the_docs_is_what_a_browser_shows(
    browser: Browser, page: Page, report: Path, name: str
) -> None:
    taken, fonts = photograph(browser, report, SHOTS[name])
    if fonts != json.loads((KEPT / "fonts.json").read_text()):
        pytest.skip("this machine has other fonts than the one that took the pictures of the docs")

    apart = difference(page, (KEPT / f"{name}.png").read_bytes(), taken)
    assert apart < MOST, f"{name}.png is out of date: `make pictures` takes it again"


@pytest.mark.parametrize("name", SHOTS)
def test_a_picture_of_the_docs_is_small(name: str) -> None:
    assert (KEPT / f"{name}.png").stat().st_size < LARGEST


def test_pictures_of_different_pages_differ(browser: Browser, page: Page, report: Path) -> None:
    """Without this the comparison would prove nothing."""
    first, _ = photograph(browser, report, SHOTS["report-light"])
    moved = report.with_name("moved.html")
    text = report.read_text(encoding="utf-8")
    moved.write_text(text.replace("<main>", "<main><h2>One more heading</h2>"), encoding="utf-8")
    second, _ = photograph(browser, moved, SHOTS["report-light"])
    dark, _ = photograph(browser, report, Shot("dark", 1280, 960))

    assert difference(page, first, first) == 0
    assert difference(page, first, second) > MOST
    assert difference(page, first, dark) > 0.9


def test_nothing_of_this_machine_is_on_the_pictures(report: Path) -> None:
    text = report.read_text(encoding="utf-8")

    assert str(report.parent) not in text and "/home/ada" in text
