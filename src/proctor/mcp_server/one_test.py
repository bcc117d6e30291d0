"""All that is known about one test of a run, within a budget."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.archive.lookup import KeptRun
from proctor.mcp_server.brief import uri
from proctor.mcp_server.budget import cut, tokens, weight
from proctor.mcp_server.records import Record
from proctor.render.kept_test import test_text
from proctor.render.masking import masked_values
from proctor.wire.document.reader import KeptTest

_CAPTURED = ("stdout", "stderr", "log")
_SIZES = (100_000, 30_000, 10_000, 3_000, 1_000, 300, 100, 0)  # characters of one text


class OneTest(msgspec.Struct, frozen=True):
    document: dict[str, Any]
    text: str


def one_test(run: KeptRun, record: Record, node_id: str, budget: int) -> OneTest:
    """Raises a UsageError that names the nearest tests if there is no such one."""
    test = run.test(node_id)
    node_id = test.node_id  # it may have been written with escapes
    whole = {
        "run_id": run.run_id,
        "run_outcome": run.outcome,
        "directory": str(run.path),
        "test": msgspec.to_builtins(test),
        "captured": captured(record, node_id),
        "results_below": msgspec.to_builtins(run.below(node_id)),
    }
    if record.mask:
        whole = masked_values(whole)
    shown = test_text(
        msgspec.convert(whole["test"], KeptTest),
        msgspec.convert(whole["results_below"], list[KeptTest]),
        str(run.path),
        run.notes,
    )
    whole["test"].pop("captured", None)  # by phase it is there already
    number = _number(record, node_id)
    where = uri(run.run_id, f"tests/{number}") if number is not None else uri(run.run_id)
    for size in _SIZES:
        short = _shortened(whole, size)
        if short != whole:
            short["omitted"] = {"characters": weight(whole) - weight(short), "whole": where}
        if weight(short) <= budget:
            break
    else:
        short = {
            "run_id": run.run_id,
            "test": {"node_id": cut(node_id, 100), "outcome": test.outcome},
            "omitted": {"whole": where},
        }
    return OneTest(short, _text(shown, where, budget))


def captured(record: Record, node_id: str) -> dict[str, dict[str, str]]:
    """What the test printed and logged, by phase."""
    for test in record.document["json_report"].get("tests", ()):
        if test.get("nodeid") == node_id:
            phases = {
                when: {name: _words(phase[name]) for name in _CAPTURED if phase.get(name)}
                for when, phase in test.items()
                if isinstance(phase, dict)
            }
            return {when: texts for when, texts in phases.items() if texts}
    return {}


def _words(said: Any) -> str:
    return said if isinstance(said, str) else "\n".join(str(line.get("msg", line)) for line in said)


def _number(record: Record, node_id: str) -> int | None:
    ids = (test["node_id"] for test in record.document["tests"])
    return next((number for number, known in enumerate(ids) if known == node_id), None)


def _shortened(value: Any, size: int) -> Any:
    if isinstance(value, str):
        return cut(value, max(size, 60))
    if isinstance(value, dict):
        return {name: _shortened(item, size) if name != "node_id" else item for name, item in value.items()}
    if isinstance(value, list):
        room = max(1, size // 20)
        return [_shortened(item, size) for item in value[:room]]
    return value


def _text(text: str, where: str, budget: int) -> str:
    if tokens(text) <= budget:
        return text
    note = f"\nwhole: {where}\n"
    room = budget - tokens(note)
    while tokens(text) > room:
        text = cut(text, min(len(text) - 1, len(text) * room // tokens(text)))
    return text + note
