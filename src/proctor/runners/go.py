"""Plan a run of Go's tests: `go test -json`, read as it comes.

A test is `package::Test/subtest`, by the package's import path.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from proctor.errors import UsageError
from proctor.failure_row import unescaped
from proctor.launch import Launch, Lines
from proctor.places import program
from proctor.runners import matching
from proctor.runners.go_sources import MODULE_FILES, Package, directories, modules, packages
from proctor.runners.plan import Plan, not_a_target
from proctor.spec import RunSpec
from proctor.unique_names import without_number

Wanted: TypeAlias = dict[str, list[str]]  # patterns of packages -> tests in them; none: all tests

_EVERY_TEST = "^(Test|Example|Fuzz)"
_BENCHMARK = "Benchmark"
_REST = "-args"  # what follows is for the tests


def detect(root: Path) -> bool:
    return any(_has_tests(root / top) for top in modules(root))


def owns(target: str, root: Path) -> bool:
    name = target.partition("::")[0]
    path = root / name
    if path.is_dir():
        return _has_tests(path)
    return path.suffix == ".go" or _is_package(name, root)


def plan(spec: RunSpec, environ: Mapping[str, str]) -> Plan:
    root, chosen = Path(spec.root), spec.selection
    if chosen.markers:
        raise UsageError("go has no markers; -k selects tests by their names, `-- -tags TAG` files by tags")
    if not any((root / name).is_file() for name in MODULE_FILES):
        raise UsageError(f"no go.mod and no go.work in {root}; -C names the directory that has one")
    go = program("go", environ)
    if not go:
        raise UsageError("no go on PATH: expected Go 1.21 or newer")
    known = packages(root)
    wanted = _wanted(chosen.targets, root, known)
    deselected: list[str] = []
    if chosen.keywords:
        wanted, deselected = _by_keywords(chosen.keywords, wanted, known)
    groups = _together(wanted, known)
    launches = [_launch(go, patterns, tests, known, spec, len(groups) == 1) for patterns, tests in groups]
    return Plan(tuple(launches), tuple(deselected))


def _wanted(targets: tuple[str, ...], root: Path, known: list[Package]) -> Wanted:
    if not targets:
        return {_below(top): [] for top in modules(root)}
    wanted: Wanted = {}
    for target in targets:
        pattern, tests = _named(target, root, known)
        if pattern in wanted and not (wanted[pattern] and tests):
            wanted[pattern] = []
        else:
            wanted.setdefault(pattern, []).extend(tests)
    return wanted


def _named(target: str, root: Path, known: list[Package]) -> tuple[str, list[str]]:
    """A package or several, and the tests in it."""
    name, _, test = target.partition("::")
    path = root / name
    if not name or name.startswith("-") or "\0" in target:
        raise _no_target(target)
    if path.is_dir() and path.is_relative_to(root):
        directory = path.relative_to(root).as_posix()
        return (_at(directory), _readings(test)) if test else (_below(directory), [])
    if path.suffix == ".go" and path.is_file() and path.is_relative_to(root):
        return _in_file(path.relative_to(root).as_posix(), known)
    if not test and not _is_package(name, root):
        raise _no_target(target)
    return name, _readings(test) if test else []


def _in_file(file: str, known: list[Package]) -> tuple[str, list[str]]:
    tests = [test for package in known for test in package.tests if test.file == file]
    if file.endswith("_test.go") and not tests:
        raise UsageError(f"no test in {file}: expected functions such as TestX(t *testing.T)")
    return _at(Path(file).parent.as_posix()), [test.name.partition("::")[2] for test in tests]


def _no_target(target: str) -> UsageError:
    expected = "a directory, a file, a package, or a test's id such as example.com/shop::TestPrice/tea"
    return not_a_target(target, expected)


def _is_package(name: str, root: Path) -> bool:
    return any(f"{name}/".startswith(f"{module}/") for module in modules(root).values())


def _readings(test: str) -> list[str]:
    """As it is, and as a row of the failure index may have had it."""
    return list(dict.fromkeys(map(_once, (test, unescaped(test)))))


def _once(test: str) -> str:
    """go numbers subtests itself; proctor numbers only other tests."""
    return test if "/" in test else without_number(test)


def _at(directory: str) -> str:
    return "." if directory == "." else f"./{directory}"


def _below(directory: str) -> str:
    return "./..." if directory == "." else f"./{directory}/..."


def _covers(pattern: str, package: Package) -> bool:
    if pattern.endswith("/..."):
        outer = pattern.removesuffix("/...").removeprefix("./")
        return outer == "." or f"{package.directory}/".startswith(f"{outer}/")
    return pattern in (package.path, _at(package.directory))


def _by_keywords(expression: str, wanted: Wanted, known: list[Package]) -> tuple[Wanted, list[str]]:
    """Tests by their names in the sources; their subtests are not known yet."""
    matches = matching.in_name(expression)
    found: Wanted = {}
    deselected = []
    for pattern, tests in wanted.items():
        for package in known:
            if not _covers(pattern, package):
                continue
            for test in package.tests:
                inside = [name for name in tests if _top(name) == test.name.partition("::")[2]]
                if tests and not inside:
                    continue
                if matches(test.name):
                    own = inside or [test.name.partition("::")[2]]
                    found.setdefault(_at(package.directory), []).extend(own)
                else:
                    deselected.append(test.name)
    return found, deselected


def _top(test: str) -> str:
    return test.partition("/")[0]


def _together(wanted: Wanted, known: list[Package]) -> list[tuple[list[str], list[str]]]:
    """As few runs of go as can be: what selects tests is the same for all packages of one."""
    whole = [pattern for pattern, tests in wanted.items() if not tests]
    named = {pattern: tests for pattern, tests in wanted.items() if tests}
    groups: list[tuple[list[str], list[str]]] = [(whole, [])] if whole else []
    every = list(dict.fromkeys(test for tests in named.values() for test in tests))
    if named and not any(_runs_more(pattern, tests, every, known) for pattern, tests in named.items()):
        return [*groups, (list(named), every)]
    return [*groups, *(([pattern], tests) for pattern, tests in named.items())]


def _runs_more(pattern: str, tests: list[str], every: list[str], known: list[Package]) -> bool:
    """Whether a package has one of the tests that are wanted of others."""
    others = {_top(test) for test in every if test not in tests}
    inside = [package for package in known if _covers(pattern, package)]
    return bool(others) and (not inside or any(others & {*package.names} for package in inside))


def _launch(
    go: str, patterns: list[str], tests: list[str], known: list[Package], spec: RunSpec, only: bool
) -> Launch:
    arguments = list(spec.arguments)
    rest = arguments[arguments.index(_REST) :] if _REST in arguments else []
    options = _options(tests, spec) + arguments[: len(arguments) - len(rest)]
    tops = {_top(test) for test in tests}
    covered = [package for package in known if any(_covers(pattern, package) for pattern in patterns)]
    inside = [test for package in covered for test in package.tests]
    places = [test for test in inside if not tests or test.name.partition("::")[2] in tops]
    return Launch(
        (go, "test", "-json", *options, *patterns, *rest),
        spec.root,
        spec.runner if only else f"{spec.runner} {' '.join(patterns)}",
        Lines(
            "go-list" if spec.collect_only else "go-json",
            known=tuple(places),
            wanted=_expected(tests, covered, spec.collect_only),
        ),
        memory=spec.memory,
    )


def _expected(tests: list[str], covered: list[Package], listing: bool) -> tuple[str, ...]:
    """The ids that must turn up. A function that is in no source is refused right away."""
    doubled = {unescaped(test) for test in tests if unescaped(test) != test}
    found = []
    for test in tests:
        owners = [package for package in covered if _top(test) in package.names]
        if test.startswith(_BENCHMARK):
            continue  # sources are read for tests alone
        if covered and not owners:
            names = ", ".join(sorted(name for package in covered for name in package.names))
            where = ", ".join(package.path for package in covered)
            raise UsageError(f"no test {_top(test)!r} in {where}; it has {names or 'none'}")
        if len(owners) == 1 and test not in doubled and not listing:
            found.append(f"{owners[0].path}::{test}")
    return tuple(found)


def _options(tests: list[str], spec: RunSpec) -> list[str]:
    """No result from go's cache, whole paths, and no time limit but ours."""
    options = ["-count=1", "-fullpath", "-timeout=0"]
    if spec.maxfail == 1:
        options.append("-failfast")
    if spec.workers and spec.workers != "auto":
        options += [f"-p={spec.workers}", f"-parallel={spec.workers}"]
    if spec.collect_only:
        tops = dict.fromkeys(_top(test) for test in tests)
        return [*options, f"-list={_alternatives(tops) if tests else _EVERY_TEST}"]
    if benchmarks := [test for test in tests if test.startswith(_BENCHMARK)]:
        options.append(f"-bench={_alternatives(benchmarks)}")
    if tests:
        run = [test for test in tests if test not in benchmarks]
        options.append(f"-run={_alternatives(run) if run else '^$'}")
    return options


def _alternatives(tests: Iterable[str]) -> str:
    return "|".join("/".join(f"^{re.escape(part)}$" for part in test.split("/")) for test in tests)


def _has_tests(top: Path) -> bool:
    return any(any(directory.glob("*_test.go")) for directory in directories(top))
