"""Turns a request into a plan: what will be started, in which interpreter. Runs no code of the project."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

import msgspec

from proctor import config
from proctor.config import Settings
from proctor.errors import InterpreterError, UsageError
from proctor.places import user_cache
from proctor.process import interpreter as interpreters
from proctor.runners import table
from proctor.runners.plan import Plan, PythonRunner, Runner, Suite, suites
from proctor.spec import Python, RunSpec
from proctor.wire.control.ledger import Limits

_UNDERSTOOD_BY = {
    "repeat": ("pytest",),
    "locals": ("pytest",),
    "verbosity": ("pytest",),
    "seed": ("pytest", "unittest"),
}


class Prepared(msgspec.Struct, frozen=True):
    """A spec that can be met."""

    suites: tuple[Suite, ...]
    limits: Limits = Limits()
    notices: tuple[str, ...] = ()  # what the reader should know about the plan

    @property
    def runner(self) -> str:
        """Of all suites: one name, or several with commas between them."""
        return ",".join(dict.fromkeys(suite.runner for suite in self.suites))

    @property
    def interpreter(self) -> str:
        return next((suite.interpreter for suite in self.suites if suite.interpreter), "")


def prepare(spec: RunSpec, settings: Settings, python: str | None, environ: Mapping[str, str]) -> Prepared:
    """Raises what keeps the tests from running, before anything runs."""
    if not Path(spec.root).is_dir():
        raise UsageError(f"no such directory: {spec.root}")
    spec = msgspec.structs.replace(spec, programs=config.programs(settings))
    chosen = runners(spec.runner, Path(spec.root), settings)
    asked = bool(spec.runner or settings.runner)
    if not asked:
        chosen = tuple(
            dict.fromkeys((*chosen, *(name for t in spec.selection.targets for name in table.named(t))))
        )
    notices = [] if asked else _unknown(Path(spec.root), chosen)
    notices = [] if spec.selection.targets else notices
    found: list[Suite] = []
    left_out: dict[str, UsageError] = {}
    for name, targets in _shares(spec, chosen).items():
        selection = msgspec.structs.replace(spec.selection, targets=targets)
        part = msgspec.structs.replace(spec, runner=name, selection=selection)
        try:
            plan = _plan(name, part, python, environ)
        except InterpreterError:
            lacking, name = name, table.RUNNERS[name].instead
            if not (asked or targets or spec.arguments or _detected(Path(spec.root), chosen)):
                if python:
                    _plan(name, msgspec.structs.replace(part, runner=name), python, environ)  # or it is wrong
                found += suites(lacking, Plan(()))  # no tests: nothing that pytest would be needed for
                continue
            if asked or not name or not table.load(name).detect(Path(spec.root)):
                raise
            plan = _plan(name, msgspec.structs.replace(part, runner=name), python, environ)
        except UsageError as error:
            if asked or targets or name == table.USUAL:
                raise
            left_out[name] = error  # its tool is not here, or has no such option; others may go on
            continue
        found += suites(name, plan)
    if left_out and not found:
        raise next(iter(left_out.values()))
    notices += [f"{name} tests were not run: {error}" for name, error in left_out.items()]
    return Prepared(tuple(found), settings.limits, tuple(notices))


def _detected(root: Path, chosen: tuple[str, ...]) -> bool:
    """Whether there may be tests of any kind; pytest is chosen where nothing else is, too."""
    return len(chosen) > 1 or table.load(table.USUAL).detect(root) or table.load("unittest").detect(root)


def _unknown(root: Path, chosen: tuple[str, ...]) -> list[str]:
    """Messages about tests that no chosen runner runs. If there are no other tests, the first is an error."""
    found = table.left_out(root, chosen)
    if found and chosen == (table.USUAL,) and not table.load(table.USUAL).detect(root):
        raise UsageError(found[0])
    return found


def runners(asked: str, root: Path, settings: Settings) -> tuple[str, ...]:
    """Those that were asked for, on the command line or in the settings; else every one that has tests."""
    asked = asked or settings.runner or ""
    if asked:
        return table.names(asked)
    others = [*(["command"] if settings.tests else []), *table.signed(root)]
    if others and not table.load(table.USUAL).detect(root):
        return tuple(others)
    return (table.USUAL, *others)


def _shares(spec: RunSpec, chosen: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    """Which runner gets which targets; one that gets none of them has nothing to do."""
    targets = spec.selection.targets
    if len(chosen) == 1 or not targets:
        return dict.fromkeys(chosen, targets)
    shares: dict[str, tuple[str, ...]] = {}
    for target in targets:
        owners = [name for name in chosen if table.load(name).owns(target, Path(spec.root))]
        if not owners:
            from proctor.runners.nearest_tests import suggestion  # only on the way out

            known, near = ", ".join(chosen), suggestion(target, Path(spec.root))
            raise UsageError(
                f"{target!r} is no test of {known}{near or ': expected a path or the ID of a test'}"
            )
        for name in owners:
            shares[name] = (*shares.get(name, ()), target)
    return {name: shares[name] for name in chosen if name in shares}


def _check_options(name: str, spec: RunSpec) -> None:
    """Refuses what the runner cannot do: no option is accepted and ignored."""
    given = {
        "repeat": spec.repeat > 1,
        "locals": spec.locals,
        "verbosity": spec.verbosity is not None,
        "seed": spec.seed is not None,
    }
    for option, is_given in given.items():
        if is_given and name not in _UNDERSTOOD_BY[option]:
            raise UsageError(
                f"{option}: {name} has no such option; it is for {', '.join(_UNDERSTOOD_BY[option])}"
            )


def _plan(name: str, spec: RunSpec, python: str | None, environ: Mapping[str, str]) -> Plan:
    _check_options(name, spec)
    runner, package = table.load(name), table.RUNNERS[name].package
    if package is None:
        return cast(Runner, runner).plan(spec, environ)
    root = Path(spec.root)
    chosen = interpreters.choose(root, python, environ, sys.prefix)
    found = interpreters.probe(chosen, root, environ, user_cache(environ))
    if package:
        interpreters.require(found, package, lambda: interpreters.better_place(root, chosen, environ))
    return cast(PythonRunner, runner).plan(spec, environ, Python(found.path, found.version, found.packages))
