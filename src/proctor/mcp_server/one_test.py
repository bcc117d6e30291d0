"""All that is known about one test of a run, within a budget."""

from __future__ import annotations

from typing import Any

from proctor import decoding
from proctor.archive.lookup import Frame, KeptRun, kept_locals, whole_difference
from proctor.mcp_server.calls import uri
from proctor.mcp_server.reply import Reply
from proctor.mcp_server.shorten import characters, cut_short, smaller
from proctor.mcp_server.size import cut, weight
from proctor.render.kept_test import kept_test_text, locals_text
from proctor.render.masking import plain
from proctor.render.tokens import estimate
from proctor.wire.document.schema import Captured, Document, Test

_MOST_CHARACTERS = 20  # of a token, on average: longer texts are cut without a closer look
_LONGEST_ID = 200  # characters
_SIZES = (100_000, 30_000, 10_000, 3_000, 1_000, 300, 100, 0)  # characters of one text


def one_test(run: KeptRun, mask: bool, node_id: str, budget: int, with_locals: bool = False) -> Reply:
    """Raises a UsageError that names the nearest tests if there is no such one."""
    found = run.test(node_id)
    node_id = found.node_id  # the caller may have written it with escapes
    below = plain(run.below(node_id), mask)
    test = plain(found, mask)
    printed = plain(captured(run.document, node_id), mask)
    whole = {
        "run_id": run.document.run_id,
        "run_outcome": run.document.outcome,
        "directory": str(run.folder),
        "test": test,
        "captured": printed,
        "results_below": below,
    }
    frames = plain(kept_locals(run, found), mask) if with_locals else []
    if with_locals:
        whole["locals"] = frames
    shown = kept_test_text(
        decoding.convert(test, Test),
        [Captured(when, kind, text) for when, texts in printed.items() for kind, text in texts.items()],
        decoding.convert(below, list[Test]),
        str(run.folder),
        run.notes,
    )
    shown += "\n" + locals_text(decoding.convert(frames, list[Frame])) if frames else ""
    ids = [test.node_id for test in run.document.tests]
    part = f"tests/{ids.index(node_id)}" if node_id in ids else "result.json"
    where = uri(run.document.run_id, part)
    for size in _SIZES:
        short = smaller(whole, size)
        if lost := characters(whole, short):
            short["omitted"] = cut_short(run.document.run_id, lost, part)
        if weight(short, budget) <= budget:
            break
    else:
        short = {
            "run_id": run.document.run_id,
            "test": {"node_id": cut(node_id, 100), "outcome": found.outcome},
            "omitted": {"whole": where},
        }
    return Reply(_text(shown, where, budget), short)


def difference(run: KeptRun, mask: bool, node_id: str, offset: int, budget: int) -> Reply:
    """All that differs between the values that a test compared; `offset` counts characters of it."""
    test = run.test(node_id)
    whole = plain(whole_difference(run, test), mask)
    document: dict[str, Any] = {
        "run_id": run.document.run_id,
        "test": {"node_id": cut(test.node_id, _LONGEST_ID), "outcome": test.outcome},
        "difference": "",
        "omitted": {},
    }
    text = whole[offset : offset + budget * _MOST_CHARACTERS]
    while True:
        shown = offset + len(text)
        if left := max(0, len(whole) - shown):
            document["omitted"] = {"difference": left, "call": f"the same call with offset={shown}"}
        document["difference"] = text
        taken = weight(document)
        if taken <= budget or not text:
            break
        text = _lines_of(text, min(len(text) - 1, len(text) * budget // (taken + 1)))
    more = f"{left} more characters: {document['omitted']['call']}\n" if left else ""
    return Reply(text + more, document)


def _lines_of(text: str, size: int) -> str:
    """At most that many characters, and whole lines if there is one."""
    end = text.rfind("\n", 0, size) + 1
    return text[: end or size]


def captured(document: Document, node_id: str) -> dict[str, dict[str, str]]:
    """What the test printed and logged, by phase."""
    phases: dict[str, dict[str, str]] = {}
    for part in document.captured(node_id):
        phases.setdefault(part.when, {})[part.kind] = part.text
    return phases


def _text(text: str, where: str, budget: int) -> str:
    if estimate(text, budget) <= budget:
        return text
    note = f"\nwhole: {where}\n"
    room = budget - estimate(note)
    size = min(len(text), room * _MOST_CHARACTERS)
    while (taken := estimate(short := cut(text, size))) > room:
        size = min(size - 1, size * room // taken)
    return short + note
