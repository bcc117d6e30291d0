"""Writes the pages: gives them the files of a run and the history, which they do not read themselves."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from proctor.archive.inside import Folder, open_inside
from proctor.errors import ProctorError, UsageError
from proctor.result import RunResult

if TYPE_CHECKING:
    from proctor.cli.writers import Output
    from proctor.history.project import ProjectHistory
    from proctor.history.store import Store
    from proctor.remembered import RememberedResult
    from proctor.render.page.around import Around
    from proctor.render.page.timeline import Timeline


def check_installed() -> None:
    if find_spec("jinja2") is None:
        raise UsageError("HTML pages need jinja2: install it with `pip install 'proctor[html]'`")


def run_writer(output: Output) -> tuple[Timeline, Callable[[RunResult], None]]:
    """What follows the run, and what writes its page when it is over."""
    check_installed()
    from proctor.render.page.timeline import Timeline

    timeline = Timeline()

    def write(result: RunResult) -> None:
        from proctor.render.masking import masked_failures
        from proctor.render.page.run_page import run_page

        shown = masked_failures(result) if output.settings.mask else result
        output.file.writelines(run_page(shown, timeline, _around(output, result)))
        output.file.flush()

    return timeline, write


def write_history(history: ProjectHistory, store: Store | None, limit: int | None, path: str | None) -> None:
    """`limit`: of runs; None: the usual number. `path`: None is stdout."""
    from proctor.cli.whole_file import output_file
    from proctor.render.page.history_page import RUNS, TESTS, Trends, history_page

    trends = Trends(history.root.name)
    if store is not None:
        questions = history.questions(store)
        trends.runs = questions.runs(RUNS if limit is None else limit)
        trends.flaky = sorted(history.flaky(store), key=lambda one: -one.failed / (one.results or 1))
        trends.slowest, trends.slower = questions.slowest(TESTS), questions.slow()
    with output_file(path) as file:
        file.writelines(history_page(trends))


def _around(output: Output, result: RunResult) -> Around:
    from proctor.render.page.around import Around
    from proctor.render.secrets import masked

    def strips(tests: Sequence[str]) -> Mapping[str, Sequence[RememberedResult]]:
        return _earlier_results(result, tests)

    folder = output.directory()
    if folder is None:
        return Around(strips=strips)
    page = os.path.dirname(os.path.abspath(output.path or "-"))
    return Around(
        link=lambda path: _link(folder, path, page),
        read=lambda path, most: _read(folder, path, most),
        mask=masked if output.settings.mask else str,
        strips=strips,
    )


def _earlier_results(result: RunResult, tests: Sequence[str]) -> dict[str, Sequence[RememberedResult]]:
    """What the history of the project has; nothing for a run that was not compared with it."""
    project = result.run.invocation.project if result.run.invocation else result.run.cwd
    if result.history is None or not os.path.isdir(project):
        return {}
    from proctor.history.project import ProjectHistory
    from proctor.render.page.strip import MOST

    history = ProjectHistory(Path(project), os.environ)
    found: dict[str, Sequence[RememberedResult]] = {}
    try:
        with history.store() as store:
            if store is None:
                return {}
            for test in tests:
                with suppress(UsageError):  # it is new, or has a name that others have, too
                    found[test] = history.questions(store).results(test, MOST)[1]
    except ProctorError:
        pass  # history only adds
    return found


def _link(folder: Folder, path: str, page: str) -> str:
    """From the directory of the page to a file of the run: a relative address, and nothing else."""
    try:
        os.close(open_inside(folder, path))
    except OSError:
        return ""
    there = os.path.join(os.path.abspath(folder.path), path)
    return quote(os.path.relpath(there, page).encode("utf-8", "surrogateescape"))


def _read(folder: Folder, path: str, most: int) -> bytes:
    try:
        with os.fdopen(open_inside(folder, path), "rb") as file:
            return file.read(most)
    except OSError:
        return b""
