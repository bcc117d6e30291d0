"""One browser for all tests of a process, and a page of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.browser import Browser, NoBrowser
from support.page import Page


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        started = Browser()
    except NoBrowser as error:
        pytest.skip(str(error))
    with started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with browser.page() as page:
        yield page
