"""The structured half of an answer: the text for agents first, then rows as far as the budget goes.

A row repeats a part of the text, for clients that work with fields. Rows and fields together may have three
times the tokens of the text plus a fixed number and those of what the run was compared with, and never more
than the budget. `omitted` lists what is left out, with the calls that return it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import msgspec

from proctor.events import CANNOT_TELL, FAILS, OWN_FILES, STILL, UNKNOWN, SuiteMissing
from proctor.failure_row import error
from proctor.mcp_server.calls import full_call, page_call
from proctor.mcp_server.size import cut, fill, weight
from proctor.outcome import BAD, FLAKY, QUARANTINED, Outcome, RunOutcome
from proctor.render.agent_budget import LEAST
from proctor.render.history_words import COMMIT
from proctor.render.masking import plain
from proctor.render.secrets import masked
from proctor.render.tokens import estimate
from proctor.wire.document.schema import CollectionError, Document, Test, TestAttempt

Values: TypeAlias = dict[str, Any]
#: The text for agents in that many tokens.
Compose: TypeAlias = Callable[[int], str]

FIXED, TIMES = 300, 3  # tokens that an answer may cost beside the text, and how many times the text
_TIMES_OF_A_SUMMARY = 2
MESSAGE = 120  # characters of the message of a row
_FEW_FIXED = 5  # tests that are named
_REF = 60  # characters of a name
_MESSAGES = (MESSAGE, 60)
_TAIL = 600  # characters of the output where the text does not say why a run ended
_TAIL_TOKENS = 250
_LONG_OUTPUT = 8000  # characters
_PAGED = ("tests", "not_run", "collection_errors", "warnings", "notices")
_UNEXPLAINED = (RunOutcome.CRASHED, RunOutcome.INTERNAL_ERROR, RunOutcome.INCOMPLETE, RunOutcome.USAGE_ERROR)


def rows(document: Document) -> list[tuple[str, Any]]:
    """Everything in a run but tests that passed at once, with the names of the lists, the worst first; of
    equals, those that did not fail before."""
    tests = [test for test in document.tests if test.outcome != Outcome.PASSED or test.flaky]
    tests.sort(key=lambda test: (_rank(test), _is_old(test)))
    return [
        *(("collection_errors", error) for error in document.collection_errors),
        *(("tests", test) for test in tests),
        *behind(document, "not_run", "warnings", "notices"),
    ]


def behind(document: Document, *names: str) -> Iterator[tuple[str, Any]]:
    return ((name, item) for name in names for item in getattr(document, name))


def _rank(test: Test) -> int:
    if test.flaky or (test.quarantined and test.outcome in BAD):
        return 2
    return 0 if test.outcome in (Outcome.CRASH, Outcome.TIMEOUT) else 1 if test.outcome in BAD else 3


def _is_old(test: Test) -> bool:
    """It failed before: on the baseline or, if nobody looked there, in earlier runs."""
    if test.baseline not in ("", CANNOT_TELL):
        return test.baseline == FAILS
    return test.history is not None and test.history.word == STILL


def told_by(test: Test) -> Test | TestAttempt:
    """What tells why a test failed: of a flaky one, its first try that did."""
    tries = (one for one in test.attempts if one.outcome in BAD)
    return next(tries, test) if test.flaky else test


def raised_at(item: Test | CollectionError) -> str:
    """Where a failure was raised, else where the test is."""
    failure = told_by(item).failure if isinstance(item, Test) else item.failure
    place = failure.place if failure else None
    if place is None and isinstance(item, Test):
        place = item.place
    return str(place) if place else ""


def row(item: Any, mask: bool, size: int = MESSAGE) -> Any:
    """A test or a file that could not be collected in short: the first line of its message, and its place."""
    if isinstance(item, Test):
        message = plain(told_by(item).message, mask)
        short = {
            "node_id": item.node_id,
            "outcome": item.outcome,
            "duration": round(item.duration, 3),
            "message": error(message, length=size) if message else message,
            "traceback": None,
            **{name: True for name in (FLAKY, QUARANTINED) if getattr(item, name)},
        }
    elif isinstance(item, CollectionError):
        message = error(plain(item.message, mask), length=size)
        short = {"file": item.file, "message": message, "traceback": ""}
    else:
        return item
    short |= {"place": place} if (place := raised_at(item)) else {}
    return {**short, **_compared(item)}


def _compared(item: Test | CollectionError) -> Values:
    """What earlier runs and another commit say of it, in short."""
    history, baseline = short_history(msgspec.to_builtins(item.history)), item.baseline
    return {**({"history": history} if history else {}), **({"baseline": baseline} if baseline else {})}


def short_history(found: Values | None) -> Values:
    """The word, and since which commit (`2dba883-dirty`) or, without git, which run; nothing where nothing is
    known."""
    if found is None or found["word"] == UNKNOWN:
        return {}
    short = {name: value for name, value in found.items() if value is not None}
    if isinstance(since := found.get("since"), dict):  # it is not short yet
        commit = since["commit"][:COMMIT] + "-dirty" * bool(since.get("dirty"))
        short["since"] = commit if since["commit"] else since["run_id"]
    return short


def failures(document: Document, compose: Compose, budget: int, mask: bool = False) -> Values:
    items = rows(document)
    base = _base(document, mask)
    base["omitted"] = _omitted(document, base, items, 0)
    if budget - weight(base) < LEAST:
        return _least(document, compose, budget, items)
    base["text"] = text = text_within(compose, budget - weight(base))
    room = FIXED + TIMES * estimate(text) + (_TAIL_TOKENS if base["text_output"] else 0)
    room = min(budget, room + weight(_compared_with(document)))
    listed = [item for item in items if item[0] not in ("warnings", "notices")]  # the text has those
    for size in _MESSAGES:
        taken = fill((row(item, mask, size) for _, item in listed), room - weight(base))
        if len(taken) == len(listed):
            break
    while True:
        short = {**base, **_lists(listed, taken)}
        short["omitted"] = _omitted(document, short, items, len(taken))
        if weight(short) <= room or not taken:
            return short
        taken.pop()


def _base(document: Document, mask: bool) -> Values:
    """The answer without its rows."""
    tail = ""
    if document.outcome in _UNEXPLAINED and document.text_output.strip():
        tail = _tail(plain(document.text_output, mask))
    return {
        **_verdict(document),
        **({"current_test": document.current_test} if document.current_test else {}),
        "tests": [],
        "collection_errors": [],
        "json_report": {},
        "text_output": tail,
        "omitted": {},
    }


def _verdict(document: Document, all_counts: bool = True) -> Values:
    """What every answer begins with."""
    return {
        "text": "",
        "run_id": document.run_id,
        "outcome": document.outcome,
        "exit_code": document.exit_code,
        **({"restarts": document.restarts} if document.restarts else {}),
        "summary": counts(document, all_counts),
        **({"missing": list(map(_missing, document.missing))} if document.missing else {}),
        **(_compared_with(document) if all_counts else {}),
    }


def _compared_with(document: Document) -> Values:
    """The run before this one, and the commit that failures were run on; the tests have what these say."""
    found: Values = {}
    if document.compared_with is not None:
        run = document.compared_with
        commit = {"commit": run.commit[:COMMIT]} if run.commit else {}
        found["compared_with"] = {"run_id": run.run_id, **commit}
    if 0 < len(document.fixed or ()) <= _FEW_FIXED:
        found["fixed"] = list(document.fixed or ())
    if (baseline := document.baseline) is not None:
        ref = cut(masked(baseline.ref), _REF)
        found["baseline"] = {"ref": ref, "commit": baseline.commit[:COMMIT]}
        found["baseline"] |= {"reason": cut(masked(baseline.reason), MESSAGE)} if baseline.reason else {}
    return found


def counts(document: Document, all_counts: bool = True) -> Values:
    """Those of few runs only where there are some."""
    found = document.summary.items()
    return {name: n for name, n in found if n or (all_counts and name not in (FLAKY, QUARANTINED))}


def _missing(suite: SuiteMissing) -> Values:
    """The text has its reason whole."""
    return {"runner": suite.runner, "reason": cut(masked(suite.reason), MESSAGE), "required": suite.required}


def _tail(text: str) -> str:
    text = text.rstrip()
    if len(text) <= _TAIL:
        return text
    return f"[… {len(text) - _TAIL} characters …]{text[-_TAIL:]}"


def _lists(listed: list[tuple[str, Any]], taken: list[Any]) -> Values:
    lists: Values = {"tests": [], "collection_errors": []}
    for (name, _), item in zip(listed, taken, strict=False):
        lists.setdefault(name, []).append(item)
    return lists


def _omitted(document: Document, short: Values, items: list[tuple[str, Any]], taken: int) -> Values:
    """What is missing of each list and of the output, other fields by their names, and how to get them."""
    left: Values = dict(Counter(name for name, _ in items[taken:]))
    calls = [page_call(document.run_id, "failures", taken)] if left else []
    if passed := document.summary.get("passed"):
        left["passed"] = passed
    if len(document.text_output) > _LONG_OUTPUT:  # not something to ask for with all the rest
        calls.append(page_call(document.run_id, "output"))
    left["fields"] = _fields(document, short, [item for name, item in items[:taken] if name != "not_run"])
    left["call"] = "; ".join([*calls, full_call(document.run_id)])
    return left


def _fields(document: Document, short: Values, shown: list[Any]) -> list[str]:
    """Names of fields that are not empty and are left out or cut. Lists with pages are counted instead."""
    kept = [name for name, value in short.items() if value]
    names = [
        name
        for name in Document.__struct_fields__
        if name not in (*kept, *_PAGED) and getattr(document, name)
    ]
    if kept_output := short.get("text_output"):
        names += ["text_output"] if kept_output != document.text_output else []
    if any(item.traceback for item in shown):
        names.append("traceback")
    if any(isinstance(item, Test) and _has_files(item) for item in shown):
        names.append("files")
    return names


def _has_files(test: Test) -> bool:
    """That it attached itself."""
    return test.testout is not None or any(not file.name.endswith(OWN_FILES) for file in test.files)


def _least(document: Document, compose: Compose, budget: int, items: list[tuple[str, Any]]) -> Values:
    """Text, verdict, counts."""
    counted: Values = dict(Counter(name for name, _ in items))
    calls = [page_call(document.run_id, "failures", 0)] if counted else []
    call = "; ".join([*calls, full_call(document.run_id)])
    short: Values = {}
    for all_counts in (True, False):
        omitted = {**counted, "fields": ["all others"], "call": call}
        short = {**_verdict(document, all_counts), "omitted": omitted}
        if budget - weight(short) >= LEAST // 2:
            break
    short["text"] = text_within(compose, budget - weight(short))
    return short


def summary(document: Document, ids: list[str], compose: Compose, budget: int) -> Values:
    """The text, the outcome, the counts, and as many failing IDs as fit."""
    short: Values = {}
    for all_counts in (True, False):
        short = {**_verdict(document, all_counts), "failing": []}
        short["omitted"] = _omitted_ids(document, short, ids)
        if budget - weight(short) >= LEAST // 2:
            break
    short["text"] = text = text_within(compose, budget - weight(short))
    room = FIXED + _TIMES_OF_A_SUMMARY * estimate(text) + weight(_compared_with(document))
    room = min(budget, room)
    short["failing"] = fill(ids, room - weight(short))
    short["omitted"] = _omitted_ids(document, short, ids)
    return short


def _omitted_ids(document: Document, short: Values, ids: list[str]) -> Values:
    shown = len(short["failing"])
    more: Values = {"failing": len(ids) - shown} if len(ids) > shown else {}
    calls = [page_call(document.run_id, "ids", shown)] if more else []
    return {**more, "fields": ["all others"], "call": "; ".join([*calls, full_call(document.run_id)])}


def text_within(compose: Compose, room: int) -> str:
    """The text in at most `room` tokens of JSON, which takes more of them than the text itself."""
    allowed = room
    while weight(text := compose(allowed)) > room and allowed > 1:
        over = weight(text) - room
        allowed = max(1, min(allowed - over, estimate(text) - 1))
    return text if weight(text) <= room else cut(text.split("\n")[0], room)
