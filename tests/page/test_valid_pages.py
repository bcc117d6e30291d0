"""Pages are valid HTML, by a strict reader, and pass all rules of axe-core in light and in dark."""

from __future__ import annotations

from pathlib import Path

import html5lib
import pytest
from support import axe
from support.full_runs import RECORDS
from support.page import Page
from support.pages import page_of_events, page_of_example
from support.projects import proctor
from support.records import GREEN

RUNS = {**RECORDS, "green": GREEN}


@pytest.fixture
def history(tmp_path: Path) -> Path:
    """A page of two runs."""
    root = page_of_example("shop", tmp_path).parent
    target = tmp_path / "history.html"
    proctor("run", "--format", "agent", cwd=root)
    asked = proctor("history", "--format", "html", "-o", str(target), cwd=root)
    assert asked.code == 0, asked.err
    return target


def check(page: Page, path: Path) -> None:
    html5lib.HTMLParser(strict=True).parse(path.read_text(encoding="utf-8"))
    for scheme in ("light", "dark"):
        page.prefer(scheme)
        page.open(path)
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        page.settle()
        assert axe.faults(page) == [], scheme


@pytest.mark.parametrize("name", RUNS)
def test_whatever_a_run_can_tell_makes_a_valid_page(page: Page, tmp_path: Path, name: str) -> None:
    check(page, page_of_events(RUNS[name], tmp_path))


@pytest.mark.parametrize("name", ["accounts", "crash", "programs"])
def test_the_page_of_an_example_is_valid(page: Page, tmp_path: Path, name: str) -> None:
    check(page, page_of_example(name, tmp_path))


def test_the_page_of_a_history_is_valid(page: Page, history: Path) -> None:
    check(page, history)


def test_axe_finds_what_it_should(page: Page, tmp_path: Path) -> None:
    """Without this its silence would prove nothing."""
    path = tmp_path / "bad.html"
    path.write_text(
        "<!doctype html><title>x</title><p style='color:#eee;background:#fff'>faint</p><img src=x>"
    )
    page.open(path)

    found = " ".join(axe.faults(page))
    assert all(rule in found for rule in ("html-has-lang", "color-contrast", "image-alt"))
