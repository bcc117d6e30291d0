"""Many test ids in little room, every one of them still there: `FILE::{a,b}`, or `all of FILE`.

What is between the braces is separated by commas; a comma inside brackets, such as those of a parameter, does
not separate. An id whose own braces or brackets could be mistaken for ours is written as it is.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from proctor.render.neutral import neutral
from proctor.render.tokens import estimate
from proctor.result import RunResult

MOST_NAMED = 40  # tests that are named one by one; more are counted by file

_PLAIN = re.compile(r"\w+")


def file_of(test: str) -> str:
    """The file part of a pytest id; of any other name, nothing."""
    file, colons, _ = test.partition("::")
    return file if colons else ""


def function_of(test: str) -> str:
    """The id without the parameter, if it has one."""
    return test.partition("[")[0] if test.endswith("]") else test


def parametrized_of(test: str) -> str:
    """The function of an id that has a parameter; of any other, nothing."""
    return function_of(test) if test.endswith("]") else ""


class Known:
    """How many tests of a run there are under each name that can stand for all of them."""

    @classmethod
    def of(cls, result: RunResult) -> Known:
        tests = (test.test for test in result.tests.values() if not test.part_of)
        return cls([*tests, *result.not_run])

    def __init__(self, tests: Iterable[str]) -> None:
        tests = list(tests)
        self.files = Counter(map(file_of, tests))
        self.functions = Counter(map(parametrized_of, tests))
        for test in self.functions.keys() & set(tests):  # its name is taken: it cannot stand for others
            del self.functions[test]


def factored(tests: Sequence[str], known: Known) -> list[str]:
    """Lines that name all these tests, each once."""
    files, rest = _whole(tests, known.files, file_of)
    functions, rest = _whole(rest, known.functions, parametrized_of)
    whole = [neutral(name) for name in (*files, *functions)]
    plain = [name for name in whole if " " not in name]
    lines = ["all of " + " ".join(plain)] if plain else []
    lines += [f"all of {name}" for name in whole if " " in name]
    groups: dict[str, list[str]] = {}
    for test in rest:
        scope, name = _split(test)
        groups.setdefault(scope, []).append(name)
    for scope, names in groups.items():
        lines += _braced(scope, names)
    return lines


def by_file(tests: Sequence[str], known: Known, room: int) -> tuple[list[str], int]:
    """The files of these tests with how many each has, as far as `room` tokens go; and how many those are.

    `all of a.py x10 b.py x150`, then a line for each file of which some tests are not among these.
    """
    counted = Counter(map(file_of, tests))
    whole: list[str] = []
    partly: list[str] = []
    named = 0
    for file, count in counted.items():
        is_whole = known.files[file] == count
        text = f"{neutral(file)} x{count}" + ("" if is_whole else f" of {known.files[file]}")
        room -= estimate(text) + 1
        if room < 0:
            break
        (whole if is_whole else partly).append(text)
        named += count
    return [*(["all of " + " ".join(whole)] if whole else []), *partly], named


def fitted(tests: Sequence[str], known: Known, room: int) -> tuple[list[str], int]:
    """As many of the first of these tests as `room` tokens can name, and how many that are."""
    few, many = 0, len(tests)
    while few < many:
        middle = (few + many + 1) // 2
        if estimate("\n".join(factored(tests[:middle], known)), room) <= room:
            few = middle
        else:
            many = middle - 1
    return factored(tests[:few], known), few


def _whole(
    tests: Sequence[str], known: Counter[str], group: Callable[[str], str]
) -> tuple[list[str], list[str]]:
    """Groups of two or more tests that are all here, and the tests that are in no such group."""
    here = Counter(map(group, tests))
    whole = [name for name, count in here.items() if name and count > 1 and known[name] == count]
    chosen = set(whole)
    return whole, [test for test in tests if group(test) not in chosen]


def _split(test: str) -> tuple[str, str]:
    """What ids have in common, and what is their own: the function, or the parameter in its brackets."""
    function = function_of(test)
    if function != test:
        return (function, test[len(function) :]) if _balanced(test[len(function) :]) else ("", test)
    scope, colons, name = test.rpartition("::")
    return (scope + colons, name) if colons and _PLAIN.fullmatch(name) else ("", test)


def _balanced(parameter: str) -> bool:
    """A parameter that can stand in a list: its brackets close where it ends, and it has no braces."""
    depth = 0
    for at, letter in enumerate(parameter):
        depth += (letter == "[") - (letter == "]")
        if letter in "{}" or (depth == 0 and at < len(parameter) - 1):
            return False
    return depth == 0


def _braced(scope: str, names: list[str]) -> Iterator[str]:
    if len(names) == 1 or not scope:
        yield from (neutral(scope + name) for name in names)
        return
    start = _shared_start(names)
    listed = ",".join(neutral(name[len(start) :]) for name in names)
    yield f"{neutral(scope)}{start}{{{listed}}}"


def _shared_start(names: list[str]) -> str:
    """What plain names have in common, up to an underscore: `test_users_` of its tests."""
    first, last = min(names), max(names)
    if first.startswith("["):
        return ""
    size = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[: first.rfind("_", 0, size) + 1]
