"""Which Python test a short name stands for: `test_get`, `TestApi::test_get`, `test_api.py:31`.

Only the source of the test files is read: nothing is imported, so generated tests are not found.
Only a target that is no path is looked up, so the usual run reads no file.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from proctor.errors import UsageError
from proctor.runners.walk import nearest_files
from proctor.text import named

_TEST_FILE = re.compile(r"test.*\.py|.*_tests?\.py")
_LINE = re.compile(r"(?P<file>.+\.py):(?P<line>[0-9]{1,9})")
_MOST_FILES = 5000
_MOST_BYTES = 4 << 20  # of a file that is read
_NAMED = 5  # matches that an error names
_NEAREST = 3


class Found(msgspec.Struct, frozen=True):
    """A test function by its source."""

    file: str  # relative to the project
    name: str  # with its classes: `TestApi::test_get`
    first: int  # lines, decorators included
    last: int

    @property
    def id(self) -> str:
        return f"{self.file}::{self.name}"


def resolved(target: str, root: Path) -> str:
    """The id that a target stands for, if that is one; the target itself if nothing matches it.

    Raises a UsageError that names them if several tests match, or if a line is in no test.
    """
    if found := _LINE.fullmatch(target):
        return _at_line(target, found["file"], int(found["line"]), root)
    path, colons, rest = target.partition("::")
    if path.endswith(".py"):
        return _in_file(target, path, rest if colons else "", root)
    return _named(target, root)


def _at_line(target: str, file: str, line: int, root: Path) -> str:
    files = _matching_files(file, root)
    if not files:
        return target
    if len(files) > 1:
        raise _ambiguous(target, [f"{name}:{line}" for name in files], "files")
    tests = list(tests_in([(files[0], root / files[0])]))
    here = [test for test in tests if test.first <= line <= test.last]
    if here:
        return max(here, key=lambda test: test.first).id  # the innermost
    tests.sort(key=lambda test: min(abs(line - test.first), abs(line - test.last)))
    near = ", ".join(f"{test.id} (lines {test.first} to {test.last})" for test in tests[:_NEAREST])
    raise UsageError(f"no test at {target!r}; the nearest: {near or 'none, the file has no tests'}")


def _in_file(target: str, path: str, name: str, root: Path) -> str:
    """A file below another directory than the target names."""
    files = _matching_files(path, root)
    if not name:
        ids = files
    elif len(files) == 1:
        ids = [f"{files[0]}::{name}"]
    else:
        tests = tests_in([(file, root / file) for file in files])
        plain, parameter = without_parameter(name), name[len(without_parameter(name)) :]
        ids = [f"{test.id}{parameter}" for test in tests if test.name == plain]
    return _only(target, ids)


def _named(target: str, root: Path) -> str:
    """A test function, a class, or a class and its method."""
    plain = without_parameter(target)
    if not re.fullmatch(r"[^\W\d]\w*(?:::[^\W\d]\w*)*", plain):
        return target
    matches: dict[str, None] = {}
    for test in tests_in(source_files(root)):
        if test.name == plain or test.name.endswith(f"::{plain}"):
            matches[test.id + target[len(plain) :]] = None
        elif f"::{test.name}".find(f"::{plain}::") >= 0:
            at = f"::{test.name}".index(f"::{plain}::")
            matches[f"{test.file}::{test.name[: at + len(plain)]}"] = None
    return _only(target, list(matches))


def _only(target: str, ids: list[str]) -> str:
    if len(ids) > 1:
        raise _ambiguous(target, ids, "tests")
    return ids[0] if ids else target


def _ambiguous(target: str, ids: list[str], what: str) -> UsageError:
    return UsageError(f"{target!r} matches {len(ids)} {what}: {named(ids, _NAMED)}; name one of them")


def without_parameter(name: str) -> str:
    return name.partition("[")[0] if name.endswith("]") else name


def _matching_files(path: str, root: Path) -> list[str]:
    """The file itself, or those below other directories whose path ends so."""
    if (root / path).is_file():
        return [path]
    end = "/" + path.removeprefix("./")
    return [name for name, _ in source_files(root) if f"/{name}".endswith(end)]


def source_files(root: Path) -> Iterator[tuple[str, Path]]:
    found = (file for file in nearest_files(root) if _TEST_FILE.fullmatch(file.name))
    for _, file in zip(range(_MOST_FILES), found, strict=False):
        yield file.relative_to(root).as_posix(), file


def tests_in(files: Iterator[tuple[str, Path]] | list[tuple[str, Path]]) -> Iterator[Found]:
    for name, path in files:
        try:
            with path.open("rb") as file:
                tree = ast.parse(file.read(_MOST_BYTES))
        except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        yield from _functions(name, tree.body, "")


def _functions(file: str, body: list[ast.stmt], scope: str) -> Iterator[Found]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield from _functions(file, node.body, f"{scope}{node.name}::")
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            yield Found(file, f"{scope}{node.name}", first, node.end_lineno or node.lineno)
