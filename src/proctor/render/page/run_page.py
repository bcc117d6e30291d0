"""The page of a run: the verdict first, then what went wrong and why, then everything else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proctor.render.page import facts
from proctor.render.page.around import Around
from proctor.render.page.evidence import Text, shown_text
from proctor.render.page.failures import Failures, failures
from proctor.render.page.template import page
from proctor.render.page.test_rows import TestList, data, listed, test_list
from proctor.render.page.timeline import Timeline, draw
from proctor.render.verdict_line import verdict_of_tests
from proctor.result import RunResult

OUTPUT_FILE = "output.txt"  # of a run's directory: what its processes wrote


def run_page(
    result: RunResult, timeline: Timeline | None = None, around: Around | None = None
) -> Iterator[bytes]:
    """In pieces; `result` is masked already, where secrets are to be masked."""
    around = around or Around()
    found, numbers = failures(result, around)
    tests = test_list(result, numbers)
    places = dict(facts.where(result))
    project = places.pop("project", "")
    drawing = draw(timeline, result) if timeline is not None else ""
    values: dict[str, Any] = {
        "title": " · ".join(filter(None, (verdict_of_tests(result) or result.outcome, project))),
        "tone": facts.tone(result.outcome),
        "project": project or "Test run",
        "headline": facts.headline(result),
        "counts": facts.beside(result),
        "said": facts.said(result),
        "bar": facts.bar(result),
        "where": list(places.items()),
        "compared": facts.compared(result),
        "failures": found,
        "made_good": list(facts.made_good_rows(result)),
        "suites": facts.suite_rows(result),
        "timeline": drawing,
        "slowest": facts.slow_rows(result),
        "tests": tests,
        "rows": listed(tests),
        "data": data(tests),
        "notices": result.notices,
        "others": list(facts.other_rows(result)),
        "outputs": list(_outputs(result, around)),
        "settings": list(facts.settings(result)),
    }
    values["sections"] = list(_sections(values, found, tests))
    return page("run.html", values)


def _sections(
    values: dict[str, Any], found: Failures, tests: TestList
) -> Iterator[tuple[str, str, int | None]]:
    """(id, name, number) of each part that the page has, in its order."""
    if found.count or values["made_good"]:
        yield "failures", "Failures", found.count or None
    yield "suites", "Suites" if len(values["suites"]) > 1 else "Suite", None
    if values["timeline"]:
        yield "timeline", "Timeline", None
    if values["slowest"]:
        yield "slowest", "Slowest", None
    yield "all", "All tests", tests.total
    yield "notes", "Notes", len(values["notices"]) or None


def _outputs(result: RunResult, around: Around) -> Iterator[Text]:
    """What processes wrote outside of tests, and what plugins printed at the end."""
    for suite in result.suites:
        if suite.printed.strip():
            yield shown_text(f"Printed after the tests of {suite.name}", suite.printed)
    link = around.link(OUTPUT_FILE)
    for title, text in (("Output", result.output.text()), ("Errors", result.stderr.text())):
        if text.strip():
            yield shown_text(f"{title} of the processes", text, link)
