"""Which tests must stay together, by the list of a project's tests."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.errors import UsageError
from proctor.phases import is_collector
from proctor.result import RunResult, SuiteResult
from proctor.shards.split import Group
from proctor.unique_names import without_number

PYTEST = "pytest"


def groups(found: RunResult) -> list[Group]:
    """The tests of each file, and of files that have tests of the same `xdist_group`."""
    made: dict[tuple[str, str], Group] = {}
    names: dict[str, str] = {}
    for suite in found.suites:
        runner, joined = suite.entered.runner, _joined(suite)
        for test in suite.selected:
            _check_name(test, suite, names)
            file = _file(test, suite)
            name = joined.get(file, file)
            group = made.get((runner, name)) or made.setdefault((runner, name), Group(name, runner, []))
            group.tests += [test] * (suite.doubled[test].times if test in suite.doubled else 1)
    return list(made.values())


def skipped_files(found: RunResult) -> set[str]:
    """Of pytest: they have no tests, and pytest counts them."""
    suites = [suite for suite in found.suites if suite.entered.runner == PYTEST]
    return {test.test for suite in suites for test in suite.tests.values() if is_collector(test)}


def _file(test: str, suite: SuiteResult) -> str:
    """The test itself where its file is not known."""
    if suite.entered.runner == PYTEST:
        return test.partition("::")[0]
    place = suite.places.get(test)
    return place.file if place is not None else test


def _joined(suite: SuiteResult) -> dict[str, str]:
    """Files that marks join, each with the first of its files, by name."""
    leaders: dict[str, str] = {}

    def leader(name: str) -> str:
        path = [name]
        while leaders.get(path[-1], path[-1]) != path[-1]:
            path.append(leaders[path[-1]])
        leaders.update(dict.fromkeys(path, path[-1]))
        return path[-1]

    for file, mark in _pairs(suite):
        first, second = sorted((leader(file), leader(mark)))
        leaders[second] = first
    files = {file for file, _ in _pairs(suite)}
    firsts: dict[str, str] = {}
    for file in sorted(files):
        firsts.setdefault(leader(file), file)
    return {file: firsts[leader(file)] for file in files}


def _pairs(suite: SuiteResult) -> Iterator[tuple[str, str]]:
    """Files and the groups of their tests, which are no files."""
    return ((_file(test, suite), f"\0{group}") for test, group in suite.groups.items())


def _check_name(test: str, suite: SuiteResult, names: dict[str, str]) -> None:
    """In a run of several suites, the second test of a name has a number that its own suite does not know."""
    plain = without_number(test)
    other = names.get(plain) if plain != test else None
    if other is not None and other != suite.name:
        raise UsageError(f"{other} and {suite.name} both have a test {plain}: plan one of them with --runner")
    names[test] = suite.name
