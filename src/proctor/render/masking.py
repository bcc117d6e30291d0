"""Secrets masked in values: results, events, documents. Ids, paths and our own words stay as they are."""

from __future__ import annotations

from functools import cache
from operator import is_not
from typing import Any, TypeVar

import msgspec

from proctor.events import Entry, RunFinished, SuiteFinished, TestsDeselected, TestsSelected
from proctor.relay import Sink
from proctor.render.secrets import MASK, masked
from proctor.result import Excerpt, RunResult

_Value = TypeVar("_Value")

#: Names and places, which are of use only as they are, and words of ours: in documents, and in our own types.
_KEYS = frozenset(
    {"node_id", "nodeid", "part_of", "run_id", "not_run", "current_test", "file", "path", "name"}
    | {"keywords", "outcome", "command", "interpreter", "root", "directory"}
)
_FIELDS = _KEYS | {"test", "subtest", "fixture", "id", "cwd", "source"}
_FIELDS |= {"selected", "deselected", "markers", "places", "children"}


def masked_values(value: _Value) -> _Value:
    """The same value with every text in it masked but ids and paths; what has no secret is not copied."""
    found: _Value = _masked(value)
    return found


def plain(value: Any, mask: bool) -> Any:
    """A value as JSON has it: dicts, lists, texts and numbers; masked if that is wanted."""
    values = msgspec.to_builtins(value)
    return masked_values(values) if mask else values


class Masked:
    """Gives a sink masked events, and masked results when a suite or the run has ended."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self.name = sink, sink.name

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if isinstance(entry.event, RunFinished):
            so_far = masked_values(so_far)
        elif isinstance(entry.event, SuiteFinished):
            suites = list(so_far.suites)
            suites[entry.suite] = masked_values(suites[entry.suite])
            so_far = msgspec.structs.replace(so_far, suites=suites)
        self._sink.handle(masked_values(entry), so_far)

    def tick(self, now: float, so_far: RunResult) -> None:
        self._sink.tick(now, so_far)


def _masked(value: Any) -> Any:
    if type(value) is str:
        new = masked(value)
        return value if new == value else new
    if isinstance(value, msgspec.Struct):
        return _struct(value)
    if isinstance(value, dict):
        named = {name: _named(name, item) for name, item in value.items()}
        return named if any(item is not value[name] for name, item in named.items()) else value
    if isinstance(value, list | tuple):
        items = [_masked(item) for item in value]
        return type(value)(items) if any(map(is_not, items, value)) else value
    if isinstance(value, Excerpt) and (new := masked(value.text())) != value.text():
        value = Excerpt()
        value.add(new)
    return value


def _struct(value: msgspec.Struct) -> msgspec.Struct:
    changed = {}
    for name in _fields(type(value)):
        item = getattr(value, name)
        if item and (new := _masked(item)) is not item:
            changed[name] = new
    return msgspec.structs.replace(value, **changed) if changed else value


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Those that may hold a secret."""
    kept = _FIELDS | {"tests"} if kind in (TestsSelected, TestsDeselected) else _FIELDS
    return tuple(name for name in kind.__struct_fields__ if name not in kept)


def _named(name: Any, item: Any) -> Any:
    """A name can give away what is behind it: a test may report its `password` as a fact of its own."""
    if isinstance(item, msgspec.Struct):
        return _struct(item)
    if name in _KEYS:
        return item
    if type(item) is str and masked(f"{name}={item!r}").endswith(f"{name}='{MASK}'"):
        return MASK
    return _masked(item)
