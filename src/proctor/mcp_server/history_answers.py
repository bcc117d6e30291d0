"""Answers about the history of a project: pages of runs, of the results of a test, or of tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from proctor.history.project import ProjectHistory
from proctor.mcp_server.access import Access
from proctor.mcp_server.calls import history_call
from proctor.mcp_server.listing import listed
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.schemas import GetHistory
from proctor.mcp_server.size import weight
from proctor.remembered import SCHEMA, FlakyTest, RememberedResult, RememberedRun, SlowTest
from proctor.render.history_words import COMMIT
from proctor.render.neutral import neutral
from proctor.render.secrets import masked
from proctor.render.tokens import estimate
from proctor.text import first_line

_ALL = 10**9  # items
_MESSAGE = 200  # characters
_ROOM = 50  # tokens for what is beside the rows


def history_answer(asked: GetHistory, access: Access, root: Path, budget: int, mask: bool) -> Reply:
    """Only of the server's own roots."""
    history = ProjectHistory(root, access.environ, access.roots)
    with history.store() as store:
        questions = history.questions(store) if store is not None else None
        head: dict[str, Any] = {"schema": SCHEMA}
        if asked.select == "flaky":
            flaky = history.flaky(store) if store is not None else []
            return _page(asked, head, "tests", flaky, _flaky_line, budget)
        if asked.select == "slow":
            slow = questions.slow() if questions is not None else []
            return _page(asked, head, "tests", slow, _slow_line, budget)
        if not asked.node_id:
            runs = questions.runs(_ALL) if questions is not None else []
            return _page(asked, head, "runs", runs, _run_line, budget)
        name, results = questions.results(asked.node_id, -1) if questions is not None else (asked.node_id, [])
        told = [_told(result, mask) for result in results]
        return _page(asked, head | {"test": name}, "results", told, _result_line, budget)


def _told(result: RememberedResult, mask: bool) -> RememberedResult:
    message = first_line(masked(result.message) if mask else result.message, _MESSAGE)
    return msgspec.structs.replace(result, message=message)


def _page(
    asked: GetHistory,
    head: dict[str, Any],
    name: str,
    items: Sequence[Any],
    line: Callable[[Any], str],
    budget: int,
) -> Reply:
    wanted = items[asked.offset : asked.offset + asked.limit]
    title = f"{head['test']}: " if "test" in head else ""
    title = f"{neutral(title)}{len(items)} {_noun(asked, name)}"
    given = asked.model_dump(include=asked.model_fields_set - {"offset"})
    call = history_call(given, len(items))
    room = budget - max(weight(head), estimate(title)) - estimate(call) - _ROOM
    rows, lines = listed(wanted, _row, line, room)
    document = {**head, name: rows, "omitted": {}}
    left = len(items) - asked.offset - len(rows)
    if left > 0:
        call = history_call(given, asked.offset + len(rows))
        document["omitted"] = {name: left, "call": call}
        lines.append(f"{left} more: {call}")
    return Reply("\n".join([title, *lines]) + "\n", document)


def _noun(asked: GetHistory, name: str) -> str:
    return f"{asked.select} tests" if name == "tests" else name


def _row(item: Any) -> dict[str, Any]:
    """Without what says nothing."""
    values: dict[str, Any] = msgspec.to_builtins(item)
    return {name: value for name, value in values.items() if value not in ("", [], ()) and name != "final"}


def _result_line(result: RememberedResult) -> str:
    attempt = f"try {result.attempt}" if result.attempt > 1 else ""
    place = f"> {neutral(result.place)}" if result.place else ""
    words = [result.outcome, attempt, f"{result.duration:.3f}s", result.started[:19], result.commit[:COMMIT]]
    return " ".join(
        filter(None, [*words, neutral(result.branch), result.run_id, place, neutral(result.message)])
    )


def _run_line(run: RememberedRun) -> str:
    commit = run.commit[:COMMIT] + ("+" if run.dirty and run.commit else "")
    counts = f"{run.failed} failed {run.passed} passed of {run.tests}"
    part = "imported" if run.imported else "" if run.whole else neutral(" ".join(run.asked))
    words = [run.run_id, run.outcome, f"{run.duration:.1f}s", commit, neutral(run.branch), counts, part]
    return " ".join(filter(None, words))


def _flaky_line(test: FlakyTest) -> str:
    return f"{neutral(test.node_id)} failed {test.failed} of {test.results}, last {test.last[:19]}"


def _slow_line(test: SlowTest) -> str:
    return f"{neutral(test.node_id)} {test.before:.3f}s to {test.after:.3f}s"
