"""Both halves of an answer, text and structure: they say the same, each within the same budget."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from proctor.errors import ProctorError
from proctor.mcp_server import shorten
from proctor.mcp_server.pages import page
from proctor.mcp_server.records import Record
from proctor.mcp_server.runs import Run
from proctor.mcp_server.size import cut, lines_within, weight
from proctor.outcome import RunOutcome
from proctor.render.agent import Detail, agent_text
from proctor.render.agent_budget import agent_text_within
from proctor.render.discovery_tree import discovery_tree
from proctor.render.masking import plain
from proctor.render.tokens import estimate
from proctor.result import RunResult
from proctor.wire.document.discovery import discovery

_REFUSAL = 2000  # characters
_FULL_TEXT = 6000  # tokens of the text beside a whole document


class Reply(msgspec.Struct, frozen=True):
    text: str
    document: dict[str, Any] | None = None
    is_error: bool = False


def refusal(error: ProctorError) -> Reply:
    """What kept the tests from running: one text, because some clients show no more."""
    return Reply(f"{cut(str(error), _REFUSAL)} [{error.slug}]", is_error=True)


def busy(under_way: Sequence[str]) -> str:
    return f"as many runs are under way as this server allows ({', '.join(under_way)}); ask again later"


def finished(record: Record, detail: str, budget: int) -> Reply:
    if record.result.outcome is RunOutcome.USAGE_ERROR:
        return _unusable(record.result, record.mask)
    match detail:
        case "full":
            return Reply(_text(record, _FULL_TEXT), record.whole())
        case "summary":
            return Reply(_summary_text(record, budget), shorten.summary(record.document, budget, record.mask))
    return Reply(_text(record, budget), shorten.failures(record.document, budget, record.mask))


def _unusable(result: RunResult, mask: bool) -> Reply:
    said = plain(result.reason or result.output.text().strip(), mask)
    what = "the run did not begin" if result.run.everything else "targets, keywords or markers"
    return Reply(cut(f"{what}: {said}", _REFUSAL), is_error=True)


def part(record: Record, select: str, offset: int, limit: int, budget: int) -> Reply:
    if select == "failures" and not offset and limit >= len(record.document.tests):
        short = shorten.failures(record.document, budget, record.mask)
        if "tests" in short:  # otherwise they come page by page
            return Reply(_text(record, budget), short)
    found = page(record, select, offset, limit, budget)
    return Reply(found.text, found.document)


def still_running(run: Run) -> Reply:
    so_far = run.so_far
    assert so_far is not None  # it has begun
    again = f'get_run(run_id="{so_far.run_id}", wait=50)'
    document: dict[str, Any] = {
        "run_id": so_far.run_id,
        "outcome": str(RunOutcome.RUNNING),
        "exit_code": None,
        "summary": so_far.summary,
        "tests": [],
        "current_test": so_far.current,
        "omitted": {"call": again},
    }
    failed = so_far.summary["failed"] + so_far.summary["errors"]
    of = f" of {so_far.total}" if so_far.total else ""
    return Reply(f"running {so_far.done}{of} tests done, {failed} failed so far\nmore: {again}\n", document)


def discovered(result: RunResult, mask: bool, offset: int, limit: int, budget: int) -> Reply:
    if result.outcome is RunOutcome.USAGE_ERROR:
        return _unusable(result, mask)
    found = discovery(result, offset, min(limit, len(result.selected)))
    whole = plain(found, mask)
    errors = [
        {name: cut(error[name], 300) for name in ("file", "message", "traceback")}
        for error in whole["collection_errors"]
    ]
    shown_errors = shorten.fill(errors, budget // 2)
    document: dict[str, Any] = {**whole, "tests": [], "collection_errors": shown_errors, "omitted": {}}
    document["tests"] = shorten.fill(whole["tests"], budget - weight(document) - 50)
    shown = offset + len(document["tests"])
    left = max(0, found.total - shown)
    note = ""
    if left:
        document["omitted"] = {"tests": left, "call": f"the same call with offset={shown}"}
        note = f"{left} more: the same call with offset={shown}\n"
    if len(errors) > len(shown_errors):
        document["omitted"]["collection_errors"] = len(errors) - len(shown_errors)
    tree = discovery_tree(found.tests[: len(document["tests"])])
    said = agent_text(result, _our_words(mask)) if result.collection_errors else ""
    text = f"{found.total} tests\n{note}{said}{tree}"
    return Reply(lines_within(text, budget, f"the same call with offset={shown}"), document)


def _text(record: Record, budget: int) -> str:
    """A green one is the verdict alone; its URI is in the other half."""
    result, rest = record.result, shorten.call(record.run_id, "failures")
    ours = _our_words(record.mask)
    text = agent_text(result, ours)
    if text != agent_text(result, Detail(mask=record.mask)):  # it knows of more than it tells
        text += f'more: get_test(run_id="{record.run_id}", node_id=ID)\n'
    if estimate(text, budget) <= budget:
        return text
    note = f"more: {rest}\n"
    return lines_within(agent_text_within(result, budget - estimate(note), ours) + note, budget, rest)


def _our_words(mask: bool) -> Detail:
    """The usual hints are commands for a shell."""
    return Detail(kept=False, mask=mask)


def _summary_text(record: Record, budget: int) -> str:
    verdict = agent_text(record.result).splitlines()[0]
    ids = shorten.failing_ids(record.document)
    rest = shorten.call(record.run_id, "failures")
    return lines_within("\n".join([verdict, *ids]) + "\n", budget, rest)
