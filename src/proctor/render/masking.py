"""Masks secrets in results, events and documents. IDs, paths and proctor's own words stay as they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from operator import is_not
from typing import Any, TypeVar

import msgspec

from proctor.events import (
    BaselineCompared,
    Entry,
    Failure,
    HistoryCompared,
    Phase,
    RunFinished,
    SuiteFinished,
    TestFinished,
    TestsDeselected,
    TestsPlanned,
    TestsSelected,
)
from proctor.outcome import Outcome
from proctor.relay import Sink
from proctor.render.secrets import HINTS, MASK, cut_beginning, masked, masked_and_found
from proctor.result import Excerpt, RunResult

_Value = TypeVar("_Value")
_Struct = TypeVar("_Struct", bound=msgspec.Struct)

#: Names and places, which are useful only unchanged, and proctor's own words, in documents and types.
_KEYS = frozenset(
    {"node_id", "nodeid", "part_of", "run_id", "not_run", "current_test", "file", "path", "name"}
    | {"fixed", "keywords", "outcome", "interpreter", "root", "directory", "started", "build", "runner"}
)
_FIELDS = _KEYS | {"test", "subtest", "fixture", "id", "cwd", "source"}
_FIELDS |= {"selected", "deselected", "markers", "places", "groups", "children"}
#: Facts whose tests are names alone, or names with words of proctor.
_OF_TESTS = (TestsPlanned, TestsSelected, TestsDeselected, HistoryCompared, BaselineCompared)
_DIFFERENCE = re.compile(r"at (?P<path>.{1,500}?)(?: (?:line|character|byte) \d+)?:(?=\s|\Z)")
_LAST_NAME = re.compile(r"(\w{1,100})['\"]?\]?\Z")


def masked_values(value: _Value) -> _Value:
    """The same value with every text in it masked but ids and paths; what has no secret is not copied."""
    found: _Value = _Masking().value(value)
    return found


def masked_failures(result: RunResult) -> RunResult:
    """The same for a text that tells nothing of tests that passed: these stay as they are."""
    found: RunResult = _Masking(passing=False).value(result)
    return found


def plain(value: Any, mask: bool) -> Any:
    """A value as JSON has it: dicts, lists, texts and numbers; masked if that is wanted."""
    values = msgspec.to_builtins(value)
    return masked_values(values) if mask else values


class Masked:
    """Gives a sink masked events, and masked results when a suite or the run has ended."""

    def __init__(self, sink: Sink) -> None:
        self._sink, self.name = sink, sink.name
        self._masking = _Masking()

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if isinstance(entry.event, RunFinished):
            so_far = self._masking.value(so_far)
        elif isinstance(entry.event, SuiteFinished):
            suites = list(so_far.suites)
            suites[entry.suite] = self._masking.value(suites[entry.suite])
            so_far = msgspec.structs.replace(so_far, suites=suites)
        self._sink.handle(self._masking.value(entry), so_far)

    def tick(self, now: float, so_far: RunResult) -> None:
        self._sink.tick(now, so_far)


class _Masking:
    """One way through values. What was found in one text of a test is masked in all its texts."""

    def __init__(self, passing: bool = True) -> None:
        self._passing = passing
        self._known: dict[str, None] = {}
        self._found: dict[str, None] = {}
        #: Tests with their masked copies, by identity: a result holds the tests of the events before it.
        self._tests: dict[int, tuple[TestFinished, TestFinished]] = {}

    def value(self, value: Any) -> Any:
        if type(value) is str:
            new, found = masked_and_found(value, self._known)
            self._found.update(dict.fromkeys(found))
            return value if new == value else new
        if isinstance(value, msgspec.Struct):
            return self._test(value) if isinstance(value, TestFinished) else self._struct(value)
        if isinstance(value, dict):
            is_test = "node_id" in value or "nodeid" in value  # of a document
            return self._twice(self._dict, value) if is_test else self._dict(value)
        if isinstance(value, list | tuple):
            items = _without_arguments([self.value(item) for item in value])
            return type(value)(items) if any(map(is_not, items, value)) else value
        if isinstance(value, Excerpt) and (new := masked(value.text())) != value.text():
            value = Excerpt()
            value.add(new)
        return value

    def _test(self, test: TestFinished) -> TestFinished:
        if test.outcome is Outcome.PASSED and not test.attempts:  # has little to mask, and there are many
            return self._twice(self._struct, test) if self._passing else test
        if id(test) not in self._tests:
            self._tests[id(test)] = test, self._twice(self._struct, test)
        return self._tests[id(test)][1]

    def _twice(self, mask: Callable[[_Value], _Value], test: _Value) -> _Value:
        """Masks twice if it finds a secret: other texts may hold the same secret without its name."""
        self._found = {}
        new = mask(test)
        if self._found:
            self._known = self._found
            new = mask(test)
            self._known = {}
        return new

    def _dict(self, value: dict[Any, Any]) -> dict[Any, Any]:
        named = {name: self._named(name, item) for name, item in value.items()}
        return named if any(item is not value[name] for name, item in named.items()) else value

    def _struct(self, value: _Struct) -> _Struct:
        changed = {}
        for name in _fields(type(value)):
            item = getattr(value, name)
            if item and (new := self.value(item)) is not item:
                changed[name] = new
        if isinstance(value, Phase) and value.tails:
            changed["tails"] = self._tails(value.tails)
        if isinstance(value, Failure) and value.difference:
            lines = _difference(changed.get("difference", value.difference))
            if lines != value.difference:
                changed["difference"] = lines
        return msgspec.structs.replace(value, **changed) if changed else value

    def _tails(self, tails: dict[str, str]) -> dict[str, str]:
        """The ends of long texts: a value that has begun before them is known by nothing."""
        return {kind: self.value(cut_beginning(text)) for kind, text in tails.items()}

    def _named(self, name: Any, item: Any) -> Any:
        """A name can give away what is behind it: a test may report its `password` as a fact of its own."""
        if isinstance(item, msgspec.Struct):
            return self.value(item)
        if name in _KEYS:
            return item
        if name == "difference" and isinstance(item, list | tuple):
            lines = type(item)(_difference(item)) if all(type(line) is str for line in item) else item
            return self.value(item if lines == item else lines)
        if type(name) is str and any(hint in name.lower() for hint in HINTS):
            item = _behind(name, item)
        return self.value(item)


def _behind(name: str, item: Any) -> Any:
    """The value of this name, masked if the name is that of a secret."""
    from proctor.render import secret_names as names

    wanted = names.grade(name)
    if wanted in (names.HEADER, names.COOKIE) and type(item) is str:
        return masked(f"{name}: {item}").removeprefix(f"{name}: ")
    if wanted not in (names.ANY, names.KEYLIKE):
        return item
    if type(item) is int:
        return MASK if wanted == names.ANY and names.secret(str(item), name, wanted) else item
    if type(item) is str:
        return MASK if names.secret(item, name, wanted, in_quotes=True) else item
    if isinstance(item, list | tuple):
        texts = [_behind(name, one) if type(one) is str and " " not in one else one for one in item]
        return type(item)(texts) if any(map(is_not, texts, item)) else item
    return item


def _without_arguments(items: list[Any]) -> list[Any]:
    """The arguments of a command, where an option and its value are two: `--password`, `x`."""
    for at, (option, value) in enumerate(pairwise(items)):
        if type(option) is str and option[:1] == "-" and type(value) is str and value[:1] != "-":
            items[at + 1] = _argument(option, value)
    return items


def _argument(option: str, value: str) -> str:
    both = f"{option} {value}"
    return value if masked(both) == both else masked(both).removeprefix(f"{option} ")


def _difference(lines: Sequence[str]) -> tuple[str, ...]:
    """What differs under a name that gives it away is masked whole, in all the lines that tell it."""
    shown: list[str] = []
    hidden = False
    for line in lines:
        if head := _DIFFERENCE.match(line):
            hidden = _is_secret(head["path"])
            shown.append(f"{head[0]} {MASK}" if hidden else line)
        elif not hidden:
            shown.append(line)
    return tuple(shown)


def _is_secret(path: str) -> bool:
    if not any(hint in path.lower() for hint in HINTS):
        return False
    from proctor.render import secret_names as names

    name = _LAST_NAME.search(path)
    return name is not None and names.grade(name[1]) == names.ANY


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """Those that may hold a secret."""
    kept = _FIELDS | {"tests", "more", "fixed", "reasons"} if kind in _OF_TESTS else _FIELDS
    return tuple(name for name in kind.__struct_fields__ if name not in kept)
