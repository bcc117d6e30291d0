"""What a target or a `-k` word that matches nothing was probably meant to be.

By names of files and by the source of Python tests: nothing is imported or run. Used after a mistake only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path

from proctor import nearest as words
from proctor.errors import UsageError
from proctor.runners import matching
from proctor.runners.python_names import source_files, tests_in, without_parameter

_MOST = 3  # targets that a message names
_COMPARED = 5000  # IDs


def suggestion(target: str, root: Path) -> str:
    """The end of a message about a target that is not there."""
    path, colons, _ = target.partition("::")
    if colons and without_parameter(target) in {f"{path}::{name}" for name in _in_file(path, root)}:
        return f"; the test has other parameters, `proctor discover {_relative(path, root)}` lists them"
    return words.meant(nearest(target, root))


def nearest(target: str, root: Path) -> list[str]:
    """Paths or IDs of tests that are like the target, relative to the project."""
    target = re.sub(r"\.py:[0-9]+$", ".py", target)  # without the line
    path, colons, name = target.partition("::")
    if os.path.exists(root / path):
        return _nearest_test(path, without_parameter(name), root) if colons else []
    found = _nearest_paths(path, root)
    if not colons:
        return found or _nearest_name(without_parameter(target), root)
    for file in found:
        if without_parameter(name) in _in_file(file, root):
            return [f"{file}::{name}"]
    return [test for file in found for test in _nearest_test(file, without_parameter(name), root)] or (
        _nearest_name(without_parameter(name), root)
    )


def check_path(target: str, root: Path) -> None:
    """Raises a UsageError for a Python file that is not there."""
    path = re.sub(r"\.py:[0-9]+$", ".py", target.partition("::")[0])  # without the line
    if path.endswith(".py") and not os.path.exists(root / path):
        raise UsageError(f"no such file: {path}{suggestion(target, root)}")


def unmatched(keywords: str, tests: Collection[str]) -> str:
    """A message about a `-k` expression that matched none of these tests."""
    said = f"no test matches -k {keywords!r}"
    try:
        expected = list(_words(keywords))
    except UsageError:  # pytest may take what we cannot read
        return said
    for word in expected:
        if any(word.lower() in test.lower() for test in tests):
            continue
        by_part: dict[str, str] = {}
        for test in islice(tests, _COMPARED):
            for part in _parts(test, word):
                by_part.setdefault(part, test)
        if near := words.nearest(word, by_part):
            return f"{said}; did you mean {near[0]}, as in {by_part[near[0]]}?"
    return said


def _words(keywords: str) -> Iterator[str]:
    """The words of an expression, without those that are negated."""
    waiting = [matching.read(keywords)]
    while waiting:
        match waiting.pop(0):
            case matching.Word(text):
                yield text
            case matching.All(parts) | matching.Some(parts):
                waiting = [*parts, *waiting]
            case matching.Not():
                pass


def _parts(test: str, word: str) -> Iterator[str]:
    """The names in an ID, and the parts of them that have as many words as this one."""
    size = word.count("_") + 1
    for name in re.split(r"::|[/.\[\]\s]", test):
        if name:
            yield name
            pieces = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[^A-Z_]+", name)
            yield from ("_".join(pieces[at : at + size]) for at in range(len(pieces) - size + 1))


def _nearest_paths(path: str, root: Path) -> list[str]:
    """With another name for the first part that is not there; else files of such a name elsewhere.

    Never the name of a file outside of the project: a client of the server must not learn any.
    """
    parts = Path(_relative(path, root)).parts
    for at, part in enumerate(parts):
        directory = root.joinpath(*parts[:at])
        if part in (os.sep, os.pardir) or (at and os.path.islink(directory)):
            return []
        if not os.path.exists(directory / part):
            near = _by_core(part, _entries(directory))
            found = [Path(*parts[:at], name, *parts[at + 1 :]) for name in near]
            if there := [file.as_posix() for file in found if os.path.exists(root / file)]:
                return there
            break
    if not path.endswith(".py"):
        return []
    by_name: dict[str, str] = {}
    for name, _ in source_files(root):
        by_name.setdefault(name.rpartition("/")[2], name)
    return [by_name[name] for name in _by_core(Path(path).name, by_name)]


def _nearest_test(path: str, name: str, root: Path) -> list[str]:
    """Tests of a file, or of the others if none of its own is like this."""
    near = _by_core(name, _in_file(path, root))
    return [f"{_relative(path, root)}::{known}" for known in near] or _nearest_name(_last(name), root)


def _nearest_name(name: str, root: Path) -> list[str]:
    """By the names of all tests, classes and entries of the project's directory."""
    by_name = {entry: [entry] for entry in _entries(root)}
    for test in tests_in(source_files(root)):
        *classes, function = test.name.split("::")
        by_name.setdefault(function, []).append(test.id)
        for at, known in enumerate(classes, 1):
            ids = by_name.setdefault(known, [])
            if (group := f"{test.file}::{'::'.join(classes[:at])}") not in ids:
                ids.append(group)
    return [test for known in _by_core(_last(name), by_name) for test in by_name[known]][:_MOST]


def _by_core(name: str, known: Iterable[str]) -> list[str]:
    """Of the known names, those like this one, apart from what names of tests have in common."""
    by_core: dict[str, list[str]] = {}
    for other in known:
        by_core.setdefault(_core(other), []).append(other)
    return [other for core in words.nearest(_core(name), by_core, _MOST) for other in by_core[core]][:_MOST]


def _core(name: str) -> str:
    """`shop` of `test_shop.py`, `Cart::add` of `TestCart::test_add`."""
    stem = name.removesuffix(".py").removesuffix("_test")
    return "::".join(re.sub(r"^(?:test_(?=.)|Test(?=[A-Z]))", "", part) for part in stem.split("::")) or name


def _in_file(path: str, root: Path) -> list[str]:
    """The names of a file's tests and of their classes."""
    if not os.path.isfile(root / path):
        return []
    found: dict[str, None] = {}
    for test in tests_in([(path, root / path)]):
        parts = test.name.split("::")
        found.update(dict.fromkeys("::".join(parts[:size]) for size in range(1, len(parts) + 1)))
    return list(found)


def _entries(directory: Path) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if not name.startswith((".", "__pycache__")))
    except OSError:
        return []


def _relative(path: str, root: Path) -> str:
    return Path(path).relative_to(root).as_posix() if Path(path).is_relative_to(root) else path


def _last(name: str) -> str:
    return name.rpartition("::")[2]
