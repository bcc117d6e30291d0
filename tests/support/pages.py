"""Pages of runs, made through the command line, and what is asked of every one of them in a browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

from proctor import events as e
from support.cli import converted
from support.page import Page
from support.projects import run_suite
from support.records import recorded

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
LEFT_OUT = shutil.ignore_patterns("__pycache__", ".proctor", ".pytest_cache", "node_modules")
#: Identities of the tests that can be seen, in their order.
ROWS = """[...document.querySelectorAll("#tests [data-id]")]
    .filter(row => row.checkVisibility()).map(row => row.dataset.id)"""


def copy_of_example(name: str, home: Path) -> Path:
    return shutil.copytree(EXAMPLES / name, home / name, ignore=LEFT_OUT)


def page_of_example(name: str, home: Path, *arguments: str) -> Path:
    return page_of_run(copy_of_example(name, home), *arguments)


def page_of_run(root: Path, *arguments: str) -> Path:
    page = root / "report.html"
    ran = run_suite(root, "--format", "agent", "-o", f"html={page}", *arguments)
    assert page.exists(), ran.err
    return page


def page_of_report(data: bytes, home: Path) -> Path:
    _, content, said = converted(data, "html")
    assert content, said
    page = home / "page.html"
    page.write_bytes(content)
    return page


def page_of_events(events: Iterable[e.Event], home: Path) -> Path:
    """Of a run in which this is said to have happened."""
    _, lines = recorded(tuple(events))
    return page_of_report(b"".join(lines), home)


def assert_quiet(page: Page) -> None:
    """No message, no exception, nothing against its policy, no request."""
    assert (page.complaints, page.requests) == ([], [])
    assert page.evaluate("document.title") and page.evaluate("document.querySelector('main').innerText")


def search(page: Page, words: str) -> list[str]:
    """Type into the search field; returns the tests that are left."""
    page.evaluate("document.querySelector('#search').select()")
    page.evaluate("document.querySelector('#search').focus()")
    page.type(words)
    page.settle()
    found: list[str] = page.evaluate(ROWS)
    return found
