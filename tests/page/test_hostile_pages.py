"""Whatever tests are called and print is text on the page: nothing of it is run, fetched or lost."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.browser import Browser
from support.page import Page
from support.pages import assert_quiet, page_of_events, search
from support.streams import EVENTS

from proctor import events as e
from proctor.outcome import Outcome

CANARY = "<img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>"
HOSTILE = (
    CANARY,
    "</script><script>document.title='run'</script>",
    "<!--<script>",
    "--><svg onload=\"document.title='run'\">",
    "]]>&lt;&amp;&#x3c;",
    "'\"`onmouseover=alert(1)",
    "javascript:document.title='run'",
    "a\u2028b\u2029c",
    "\u202egnol\u202c \u2066x\u2069\u200f",
    "\x1b[31;1mred\x1b[0m \x1b]8;;http://example.invalid/\x07link\x1b]8;;\x07 \x1b[2J\x1b[H",
    "\x00\x01\x7f\x85",
    "\ud800 lone \udfff",
    "{{ 7 * 7 }} {% raw %}",
    "a\r\nb\tc",
    "😀 é 漢字 \u0301",
    "</title></style></textarea></pre></details>",
    "&#0;&#x110000;",
)


def run_of(text: str) -> list[e.Event]:
    """A run that has this text wherever a text can be."""
    place = e.Place(f"{text}.py", 3)
    failure = e.Failure(text, f"{text}: {text}", place, text, f"{text} other")
    attempt = e.Attempt(Outcome.FAILED, 0.1, text, failure)
    phase = e.Phase(
        "call", "failed", 0.1, longrepr=text, failure=failure, stdout=text, stderr=text, subtest=text
    )
    files = (e.File(text, f"files/{text}", 9),)
    return [
        e.SuiteEntered(text, "pytest", (text,), text, text),
        e.SuiteDescribed(text, {text: text}, {text: text}),
        e.CollectionFailed(text, failure, text),
        e.WarningRecorded(text, text, text, 1, "runtest"),
        e.TestsQuarantined({f"{text}::kept": text}),
        e.TestFinished(
            f"{text}.py::{text}", Outcome.FAILED, 0.1, text, text, place, failure, (phase,), files=files,
            attempts=(attempt,), worker=text,
        ),
        e.TestFinished(f"{text}::skipped", Outcome.SKIPPED, 0.1, text),
        e.TestFinished(f"{text}::kept", Outcome.FAILED, 0.1, text, text),
        e.TestFinished(f"{text}.py::{text}/part", Outcome.WARN, 0.0, text, part_of=f"{text}.py::{text}"),
        e.OutputReceived("stdout", text),
        e.OutputReceived("stderr", text),
        e.Noticed(text),
        e.SuiteMissing(text, text, False),
    ]  # fmt: skip


def assert_harmless(page: Page) -> None:
    assert_quiet(page)
    assert page.evaluate("document.title") != "run"
    foreign = (
        "document.querySelectorAll('svg script, img[onerror], iframe, object, embed, base, form, [style]')"
    )
    assert page.evaluate(f"{foreign}.length") == 0
    scripts = "[...document.scripts].filter(one => !one.type).length"
    assert page.evaluate(scripts) == 1
    addresses = "[...document.querySelectorAll('a[href]')].map(one => one.protocol)"
    assert set(page.evaluate(addresses)) <= {"file:"}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_stays_text(page: Page, tmp_path: Path, text: str) -> None:
    page.open(page_of_events(run_of(text), tmp_path))
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    search(page, "is:failed")

    assert_harmless(page)


def test_hostile_text_stays_text_in_the_data_of_a_large_run(page: Page, tmp_path: Path) -> None:
    tests = [e.TestFinished(f"a.py::{text}{n}", Outcome.PASSED) for n in range(400) for text in HOSTILE]
    page.open(page_of_events(tests, tmp_path))
    search(page, "script")

    assert_harmless(page)


def test_markup_can_be_read_as_it_was_written(page: Page, tmp_path: Path) -> None:
    page.open(page_of_events(run_of(CANARY), tmp_path))

    assert CANARY in page.evaluate("document.querySelector('#failures').textContent")


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(max_size=30))
@example("\u2067<\u2028")
def test_any_text_stays_text(browser: Browser, text: str) -> None:
    with browser.page() as page, tempfile.TemporaryDirectory() as directory:
        page.open(page_of_events(run_of(text), Path(directory)))

        assert_harmless(page)


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EVENTS)
def test_the_page_of_any_events_is_quiet(browser: Browser, events: list[e.Event]) -> None:
    with browser.page() as page, tempfile.TemporaryDirectory() as directory:
        page.open(page_of_events(events, Path(directory)))

        assert_harmless(page)
