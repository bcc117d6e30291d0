"""Answers about runs and projects: text and structure, each within the budget."""

from __future__ import annotations

from typing import Any

from proctor import decoding
from proctor.describe import Description
from proctor.errors import ProctorError
from proctor.mcp_server import brief, shorten
from proctor.mcp_server.calls import HINTS, page_call
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.run_data import RunData
from proctor.mcp_server.runs import ServerRun
from proctor.mcp_server.size import cut, fill, lines_within, weight
from proctor.outcome import RunOutcome
from proctor.render.agent import Detail, agent_text
from proctor.render.agent_budget import agent_text_within
from proctor.render.discovery_tree import discovery_tree, missing_lines, skipped_lines
from proctor.render.masking import plain
from proctor.render.secrets import masked
from proctor.render.tokens import estimate
from proctor.result import RunResult
from proctor.wire.document.discovery import Skipped, Unlisted, discovery

_REFUSAL = 2000  # characters
_SMALL = 1000  # tokens of a budget
_FULL_TEXT = 6000  # tokens of the text beside a whole document
_ERROR_FIELDS = ("file", "message", "traceback")
_ERROR_SIZES = (300, 100, 0)  # characters of a text of a file that could not be collected
_LISTED = 100  # markers or programs


def refusal(error: ProctorError) -> Reply:
    """One text, because some clients show no more."""
    return Reply(f"{cut(masked(str(error)), _REFUSAL)} [{error.slug}]", is_error=True)


def finished(data: RunData, detail: str, budget: int, limited: bool = False) -> Reply:
    """The answer about a run, the same for every call. `limited`: the caller gave the budget."""
    if data.result.outcome is RunOutcome.USAGE_ERROR:
        return _unusable(data.result, data.mask)

    def compose(room: int) -> str:
        return _text(data, room)

    if detail == "full":
        document = _whole(data, budget, limited)
        return Reply(document["text"], document)
    if detail == "summary":
        document = brief.summary(data.document, data.result.failing, compose, budget)
    else:
        document = brief.failures(data.document, compose, budget, data.mask)
    # A text that leaves room for the fields beside it is short if the budget is.
    return Reply(compose(budget) if budget < _SMALL else document["text"], document)


def _whole(data: RunData, budget: int, limited: bool) -> dict[str, Any]:
    """The whole document; cut if it does not fit into a budget that the caller gave."""
    text = _text(data, budget if limited else _FULL_TEXT)
    whole = {"text": text, **data.whole()}
    if not limited or weight(whole, budget) <= budget:
        return whole
    shorter = brief.text_within(lambda room: _text(data, room), budget // 2)
    cut_down = shorten.within(data.document, shorter, budget, data.mask)
    return cut_down or brief.failures(data.document, lambda room: _text(data, room), budget, data.mask)


def _unusable(result: RunResult, mask: bool) -> Reply:
    why = plain(result.reason or result.output.text().strip(), mask)
    what = "the run did not begin" if result.run.everything else "targets, keywords or markers"
    return Reply(cut(f"{what}: {why}", _REFUSAL), is_error=True)


def still_running(run: ServerRun) -> Reply:
    so_far = run.so_far
    assert so_far is not None  # it has begun
    again = f'get_run(run_id="{so_far.run_id}", wait=50)'
    failed = so_far.summary["failed"] + so_far.summary["errors"]
    of = f" of {so_far.total}" if so_far.total else ""
    said = f"{so_far.done}{of} tests done, {failed} failed so far"
    if so_far.total is None and not so_far.done:
        said = so_far.doing
    text = f"running {said}\nmore: {again}\n"
    document: dict[str, Any] = {
        "text": text,
        "run_id": so_far.run_id,
        "outcome": str(RunOutcome.RUNNING),
        "exit_code": None,
        "summary": so_far.summary,
        "tests": [],
        "current_test": so_far.current,
        "omitted": {"call": again},
    }
    return Reply(text, document)


def discovered(result: RunResult, mask: bool, offset: int, limit: int, budget: int) -> Reply:
    """Behind the tests, `offset` counts files that could not be collected; the first are on every page."""
    if result.outcome is RunOutcome.USAGE_ERROR:
        return _unusable(result, mask)
    found = discovery(result, offset, min(limit, len(result.selected)))
    whole = plain(found, mask)
    first = max(0, offset - found.total)  # of the errors
    errors = whole["collection_errors"]
    for size in _ERROR_SIZES:
        shown_errors = fill((_error(error, size) for error in errors[first:]), budget // 2)
        if shown_errors:
            break
    document: dict[str, Any] = {**whole, "tests": [], "collection_errors": shown_errors, "omitted": {}}
    document["skipped"] = fill(whole["skipped"], budget // 4)
    document["tests"] = fill(whole["tests"], budget - weight(document) - 60)
    if whole["tests"] and not document["tests"]:  # first the tests, then, with the next calls, the errors
        document["collection_errors"] = shown_errors = []
        document["tests"] = fill(whole["tests"], budget - weight(document) - 60)
    if not document["tests"] and not shown_errors:  # one that is larger than the budget
        document["tests"] = [shorten.remains(test) for test in whole["tests"][:1]]
        if not document["tests"]:
            document["collection_errors"] = shown_errors = [*map(shorten.remains, errors[first : first + 1])]
    shown = offset + len(document["tests"])
    left = {
        "tests": max(0, found.total - shown),
        "collection_errors": len(errors) - first - len(shown_errors),
    }
    next_offset = shown if left["tests"] else found.total + first + len(shown_errors)
    rest = f"the same call with offset={next_offset}"
    note = ""
    if omitted := {name: count for name, count in left.items() if count > 0}:
        document["omitted"] = {**omitted, "call": rest}
        note = f"{sum(omitted.values())} more: {rest}\n"
    tree = discovery_tree(found.tests[: len(document["tests"])])
    no_calls = Detail(hints=None, mask=mask)  # a list of tests is not kept
    faults = agent_text(result, no_calls) if result.collection_errors else ""
    skips = skipped_lines([decoding.convert(skip, Skipped) for skip in document["skipped"]])
    missing = missing_lines([decoding.convert(suite, Unlisted) for suite in whole["missing"]])
    return Reply(
        lines_within(f"{found.total} tests\n{note}{faults}{tree}{skips}{missing}", budget, rest), document
    )


def _error(error: dict[str, Any], size: int) -> dict[str, Any]:
    return {name: cut(error[name], size) if name != "file" else error[name] for name in _ERROR_FIELDS}


def described(about: Description, mask: bool) -> Reply:
    """What a run of the project would use. Names and paths stay; the words of its files may hold anything."""
    document: dict[str, Any] = {
        "project": str(about.root),
        "runner": ",".join(about.runners),
        "runners": list(about.runners),
        "programs": about.programs[:_LISTED],
        "test_paths": about.test_paths,
        "markers": plain(about.markers[:_LISTED], mask),
        "problem": plain(str(about.problem), mask) if about.problem else None,
    }
    if about.reads_text:
        document["problem"] = (
            f"pytest {about.pytest} is too old for the plugin: its text output is read instead"
        )
    lines = [f"project {about.root}, runner {document['runner']}"]
    lines += [f"problem: {document['problem']}"] if document["problem"] else []
    lines += plain(about.notices, mask)
    if python := about.interpreter:
        version = ".".join(map(str, python.version))
        usable = [other.path for other in about.candidates if other.usable]
        document |= {
            "interpreter": {"path": python.path, "why": python.why, "version": version},
            "others": list(dict.fromkeys(path for path in usable if path != python.path)),
            "pytest": about.pytest,
            "plugins": about.plugins,
        }
        plugins = ", ".join(f"{name} {number}" for name, number in about.plugins.items())
        lines += [f"python {version} {python.path} ({python.why})", f"pytest {about.pytest or 'none'}"]
        lines += [f"plugins: {plugins}"] if plugins else []
        lines += [f"other interpreters: {', '.join(document['others'])}"] if document["others"] else []
    for name in ("test_paths", "markers", "programs"):
        lines += [f"{name}: {', '.join(document[name])}"] if document[name] else []
    return Reply("\n".join(lines) + "\n", document)


def _text(data: RunData, budget: int) -> str:
    """A green one is the verdict alone."""
    detail = Detail(hints=HINTS, mask=data.mask)
    text = agent_text(data.result, detail)
    if estimate(text, budget) <= budget:
        return text
    text = agent_text_within(data.result, budget, detail)
    return lines_within(text, budget, page_call(data.run_id, "ids"))
