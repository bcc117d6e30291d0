"""Which Rust tests are selected by ids, files and directories, before and after the tests are listed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from proctor.errors import UsageError
from proctor.runners import matching
from proctor.runners.plan import not_a_target
from proctor.unique_names import without_number

#: Beginnings of the arguments that select targets or packages.
TARGETS = ("--lib", "--bin", "--test", "--example", "--bench", "--all-targets")
_PACKAGES = ("-p", "--package", "--exclude")
_WORKSPACE = ("--workspace", "--all")

_ID = re.compile(r"[^\W\d]\w*(?:::[^\0]*)?")
_EXPECTED = "a .rs file, a directory, or an id such as crate::module::test"


#: Tests by their ids, with the files that they are in: their own, and that of their target.
Tests = Mapping[str, tuple[Path, ...]]


class Wanted(msgspec.Struct, frozen=True):
    """Nothing in it means everything."""

    ids: tuple[str, ...] = ()
    paths: tuple[Path, ...] = ()

    def narrowed(self) -> tuple[str, ...]:
        """Options for cargo, so that it builds no more than it must for these ids."""
        if self.paths or not self.ids:
            return ()
        parts = [name.split("::") for name in self.ids]
        packages = dict.fromkeys(crate.replace("_", "[_-]") for crate, *_ in parts)
        options = [f"--package={package}" for package in packages]
        if all(len(part) > 1 for part in parts):
            options += dict.fromkeys(_target(part[1]) for part in parts)
        return tuple(options)

    def may_have(self, suite: str) -> bool:
        """Whether any test of that suite can be meant."""
        return bool(self.paths or not self.ids) or any(
            _inside(name, suite) or _inside(suite, name) for name in self.ids
        )

    def among(self, tests: Tests, keywords: str, strict: bool) -> set[str]:
        """The tests that are meant. `strict`: something has to be, by each of the targets."""
        chosen = set(tests) if not (self.ids or self.paths) else set()
        for name in self.ids:
            found = _by_id(name, tests)
            if strict and not found:
                raise UsageError(f"no test {name!r}; {_near(name, tests)}")
            chosen.update(found)
        for path in self.paths:
            inside = [
                test for test, files in tests.items() if any(path in (file, *file.parents) for file in files)
            ]
            if strict and not inside:
                raise UsageError(f"cargo has no test in {path}; `proctor discover` lists all tests")
            chosen.update(inside)
        return set(filter(matching.in_name(keywords), chosen))


def wanted(targets: tuple[str, ...], root: Path) -> Wanted:
    ids, paths = [], []
    for target in targets:
        path = root / target
        if target and "\0" not in target and path.exists():
            paths.append(path.absolute())
        elif _ID.fullmatch(target):
            ids.append(target)
        else:
            raise not_a_target(target, _EXPECTED, root)
    return Wanted(tuple(ids), tuple(paths))


def package_free(arguments: tuple[str, ...]) -> Iterator[str]:
    """Arguments for cargo without those that choose packages."""
    left = iter(arguments)
    for argument in left:
        if argument in _PACKAGES:
            next(left, None)
        elif argument not in _WORKSPACE and not argument.startswith(("--package=", "--exclude=")):
            yield argument


def doc_filters(asked: list[str], every: list[str]) -> tuple[tuple[str, ...], set[str]]:
    """Options by which rustdoc runs these tests, and all tests that it then runs: it splits names at spaces,
    so others may match too."""
    words = tuple(dict.fromkeys(name.split()[-1] for name in asked))
    matched = [name for name in every if any(word in name for word in words)]
    skipped: list[str] = []
    for name in matched:
        if name not in asked and not any(word in name for word in skipped):
            skipped += [word for word in name.split() if not any(word in other for other in asked)][:1]
    running = {name for name in matched if not any(word in name for word in skipped)}
    return (*words, *(f"--skip={word}" for word in skipped)), running


def _target(part: str) -> str:
    kind, slash, name = part.partition("/")
    return f"--{kind}={name}" if slash else "--lib"


def _inside(name: str, outer: str) -> bool:
    return name == outer or name.startswith(f"{outer}::")


def _by_id(name: str, tests: Tests) -> list[str]:
    """A test by its very name; else all tests below it, as of a module."""
    for one in (name, without_number(name)):
        if one in tests:
            return [one]
    return [test for test in tests if _inside(test, name)]


def _near(name: str, tests: Tests) -> str:
    last = name.rpartition("::")[2]
    alike = [test for test in tests if test.endswith(f"::{last}")][:5]
    return f"did you mean {', '.join(alike)}?" if alike else "`proctor discover` lists all tests"
