"""Everything in a page may come from an attacker: no text of a run becomes markup, and none of it is lost."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.any_results import results
from support.made_runs import run_of
from support.parsed_html import attributes, by_id, parsed, rows, shown

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.render.page import test_rows
from proctor.render.page.ansi import coloured
from proctor.render.page.markup import html, line, visible
from proctor.render.page.run_page import run_page
from proctor.render.page.timeline import Timeline
from proctor.result import RunResult

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!--",
    "--><img src=x onerror=alert(1)>",
    "<![CDATA[",
    "\u2028\u2029",
    "\u202egnp.exe\u2066\u200f\u061c",
    "\ud800 lone",
    "nul\0nul",
    "\x1b]0;title\x07\x1b[31mred",
    "\ufffe\U0001ffff\ufdd0",
    "' onmouseover='alert(1)",
    '" autofocus onfocus="alert(1)',
    "javascript:alert(1)",
    "{{ 7 * 7 }}{% raw %}",
    "&lt;b&gt; &amp;",
    "a\r\nb\tc\x0b\x0c\x85",
]
texts = st.text(max_size=60) | st.sampled_from(HOSTILE)


@given(texts)
def test_text_is_read_back_as_it_was_shown(text: str) -> None:
    body = parsed(f"<!DOCTYPE html><title>t</title><p title='{html(text)}'>{html(text)}".encode()).find(
        "body"
    )
    paragraph = body.find("p") if body is not None else None
    assert paragraph is not None

    assert (paragraph.text or "") == line(text)
    assert paragraph.get("title") == line(text)
    assert not [letter for letter in line(text) if letter < " " or "\x7f" <= letter < "\xa0"]


@given(texts)
def test_colours_never_lose_a_character_or_make_markup(text: str) -> None:
    body = parsed(f"<!DOCTYPE html><title>t</title><pre>\n{coloured(text)}</pre>".encode()).find("body")
    assert body is not None

    assert "".join(body.itertext()) == visible(text.replace("\r\n", "\n"))
    assert {element.tag for element in body.iter()} <= {"body", "pre", "span"}


@given(results())
def test_any_run_is_a_valid_page_without_foreign_markup(result: RunResult) -> None:
    root = parsed(run_page(result, Timeline()))

    assert len(list(root.iter("script"))) == len(list(root.iter("style"))) == 1
    assert not [name for _, name, _ in attributes(root) if name.startswith("on") or name == "style"]
    assert not list(root.iter("img"))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_in_every_place_is_only_text(text: str) -> None:
    failure = e.Failure(
        text, text, e.Place(text, 3), text, text, notes=(text,), locals=(text,), source=(text,)
    )
    phase = e.Phase("call", "failed", stdout=text, stderr=text, failure=failure, subtest=text, longrepr=text)
    test = e.TestFinished(
        text or "t", Outcome.FAILED, 1.0, text, text, e.Place(text), failure, (phase,),
        files=(e.File(text, text, 5),), worker=text, attempts=(e.Attempt(Outcome.CRASH, 1, text),),
    )  # fmt: skip
    result = run_of(
        e.TestsQuarantined({"held": text}),
        e.SuiteDescribed(text, {text: text}),
        test,
        e.TestFinished("held", Outcome.ERROR, message=text),
        e.TestFinished("s", Outcome.SKIPPED, message=text),
        e.CollectionFailed(f"{text}.py", failure, text),
        e.WarningRecorded(text, text, text, 1),
        e.SummaryPrinted(text),
        e.OutputReceived("stdout", text),
        e.SuiteMissing(text, text),
        e.Noticed(text),
        e.HistoryCompared({test.test: e.TestHistory(e.NEW)}, (text,), e.EarlierRun(text, text)),
        cwd=f"/{text}",
    )
    root = parsed(run_page(result))
    attributes_of = list(attributes(root))

    assert line(text) in "".join(root.itertext())
    assert line(test.test) in rows(root)
    assert len(list(root.iter("script"))) == 1
    assert not list(root.iter("img"))
    assert not [
        name for _, name, _ in attributes_of if name.startswith("on") or name in ("style", "autofocus")
    ]
    assert all(value.startswith("#") for _, name, value in attributes_of if name == "href")


def test_hostile_names_in_the_data_of_the_script_cannot_end_it() -> None:
    names = [f"t.py::{text}{n}" for n in range(400) for text in HOSTILE]
    result = run_of(*(e.TestFinished(name, Outcome.PASSED) for name in names), outcome=RunOutcome.PASSED)
    assert len(names) > test_rows.IN_HTML
    page = b"".join(run_page(result))
    data = json.loads(by_id(parsed(page), "data").text or "")

    assert [f"t.py::{name}" for name in data["groups"][0]["names"]] == [line(name) for name in names]
    assert shown(by_id(parsed(page), "shown")) == f"{len(names)} tests"


def test_marks_of_direction_and_controls_are_made_visible() -> None:
    assert visible("a\u202eb\u200fc\0d") == "a\\x202eb\\u200fc\\x00d"
    assert line("a\nb") == "a\\nb"
