"""Turns a request into a plan: what will be started, in which interpreter. Runs no code of the project."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import cast

import msgspec

from proctor import config
from proctor.agent_mode import FALSE
from proctor.config import Settings
from proctor.errors import ConfigError, InterpreterError, UsageError
from proctor.events import SuiteMissing
from proctor.launch import Lines
from proctor.places import user_cache
from proctor.process import interpreter as interpreters
from proctor.runners import matching, table
from proctor.runners.plan import Plan, PythonRunner, Runner, Suite, suites
from proctor.spec import Python, RunSpec
from proctor.wire.control.ledger import Limits

#: Options that only these runners have.
_UNDERSTOOD_BY = {
    "repeat": ("pytest",),
    "parallel": ("pytest",),
    "isolate": ("pytest", "unittest"),
    "failed_first": ("pytest", "unittest", "command"),
    "retries": ("pytest", "unittest"),
    "test_timeout": ("pytest", "unittest"),
    "locals": ("pytest",),
    "verbosity": ("pytest",),
    "seed": ("pytest", "unittest"),
    # The others give the output of a test only when it has ended.
    "no_capture": tuple(name for name in table.RUNNERS if name not in ("go", "cargo")),
}
#: Options that all but these runners have.
_REFUSED_BY = {"workers": ("tap",), "maxfail": ("jest",)}
#: Options without which tests run in the plain way: only a runner that was named refuses them.
_CAN_DO_WITHOUT = ("workers", "repeat", "parallel", "isolate", "retries", "test_timeout", "failed_first")
_SHOWN_AS = {"workers": "-n", "no_capture": "-s"}
_MARKED = ("pytest", "command")  # runners whose tests have markers, or tags


class Prepared(msgspec.Struct, frozen=True):
    """A spec that can be met."""

    suites: tuple[Suite, ...]
    limits: Limits = Limits()
    notices: tuple[str, ...] = ()  # what the reader should know about the plan
    missing: tuple[SuiteMissing, ...] = ()
    arguments_for: str = ""  # the runner that gets what follows `--`
    installed: Mapping[str, tuple[str, ...]] = {}  # in each interpreter, by its path: names and versions

    @property
    def runner(self) -> str:
        """Of all suites: one name, or several with commas between them."""
        return ",".join(dict.fromkeys(suite.runner for suite in self.suites))

    @property
    def interpreter(self) -> str:
        return next((suite.interpreter for suite in self.suites if suite.interpreter), "")


class Share(msgspec.Struct, frozen=True):
    """What each runner has to do, where somebody has worked that out already."""

    targets: dict[str, tuple[str, ...]] = {}  # by runner; none: everything
    arguments_for: str = ""  # as of Prepared


def prepare(
    spec: RunSpec,
    settings: Settings,
    python: str | None,
    environ: Mapping[str, str],
    names_targets: bool = True,
    usual: Collection[str] = (),
    share: Share | None = None,
) -> Prepared:
    """Raises what keeps the tests from running, before anything runs.

    `names_targets`: the targets are the caller's own, and no record of what failed last.
    `usual`: options for which nobody asked, so that no runner has to have them.
    `share`: instead of the targets of the selection.
    """
    if not Path(spec.root).is_dir():
        raise UsageError(f"no such directory: {spec.root}")
    _check_optional(settings)
    spec = msgspec.structs.replace(spec, programs=config.programs(settings))
    if share is not None:
        shares = {name: _Share(targets, named=False) for name, targets in share.targets.items()}
        planner = _Planner(spec, bool(spec.runner), shares, python, environ, usual, share.arguments_for)
        return _prepared(planner, spec, settings, environ, [], {})
    chosen = runners(spec.runner, Path(spec.root), settings)
    asked = bool(spec.runner or settings.runner)
    if not asked:
        chosen = tuple(
            dict.fromkeys((*chosen, *(name for t in spec.selection.targets for name in table.named(t))))
        )
    notices = [] if asked or spec.selection.targets else _unknown(Path(spec.root), chosen)
    left_out: dict[str, str] = {}
    if notices and table.runs_other_tests(Path(spec.root), spec.programs):
        left_out[table.NPM] = notices.pop(0)
    shares = _shares(spec, chosen, asked, names_targets)
    planner = _Planner(spec, asked, shares, python, environ, usual, arguments_for(spec.arguments, shares))
    return _prepared(planner, spec, settings, environ, notices, left_out)


def _prepared(
    planner: _Planner,
    spec: RunSpec,
    settings: Settings,
    environ: Mapping[str, str],
    notices: list[str],
    left_out: dict[str, str],
) -> Prepared:
    found = [suite for name in planner.shares for suite in planner.suites(name)]
    if planner.left_out and not found:
        raise next(iter(planner.left_out.values()))
    left_out |= {name: str(error) for name, error in planner.left_out.items()}
    missing = [
        SuiteMissing(name, why, _is_required(name, spec, settings, environ)) for name, why in left_out.items()
    ]
    notices += planner.notices
    return Prepared(
        tuple(found),
        settings.limits,
        tuple(notices),
        tuple(missing),
        planner.arguments_for,
        planner.installed,
    )


def nothing(spec: RunSpec) -> Prepared:
    """A suite without tests."""
    return Prepared(tuple(suites(spec.runner.partition(",")[0] or table.USUAL, Plan(()))))


def _check_optional(settings: Settings) -> None:
    known = (*table.RUNNERS, table.NPM)
    for name in settings.optional_suites:
        if name not in known:
            raise ConfigError(f"optional_suites: no runner for {name!r}; known: {', '.join(known)}")


def _is_required(name: str, spec: RunSpec, settings: Settings, environ: Mapping[str, str]) -> bool:
    """Whether the run is incomplete without this suite."""
    strict = _in_ci(environ) if spec.strict_suites is None else spec.strict_suites
    return strict and name not in settings.optional_suites


def _in_ci(environ: Mapping[str, str]) -> bool:
    return environ.get("CI", "").strip().lower() not in {"", *FALSE}


class _Share(msgspec.Struct, frozen=True):
    """What one runner has to do."""

    targets: tuple[str, ...]
    named: bool  # somebody asked for this runner: by its name, or by a target that is no other runner's


class _Planner:
    """Plans the suites of a run, runner by runner."""

    def __init__(
        self,
        spec: RunSpec,
        asked: bool,
        shares: dict[str, _Share],
        python: str | None,
        environ: Mapping[str, str],
        usual: Collection[str],
        arguments_for: str,
    ) -> None:
        self._spec, self._asked, self.shares = spec, asked, shares
        self._python, self._environ, self._usual = python, environ, usual
        self.arguments_for = arguments_for
        self._notices: list[str] = []
        self._unmarked: list[str] = []
        self.left_out: dict[str, UsageError] = {}
        self.installed: dict[str, tuple[str, ...]] = {}
        if spec.selection.keywords and any(name != table.USUAL for name in shares):
            matching.read(spec.selection.keywords)  # one that cannot be read is nobody's missing suite

    @property
    def notices(self) -> list[str]:
        """What the reader should know about the suites that are planned."""
        unmarked = f"-m deselects all tests of {', '.join(self._unmarked)}: they have no markers"
        return [unmarked, *self._notices] if self._unmarked else self._notices

    def suites(self, name: str) -> list[Suite]:
        share, part = self.shares[name], self._part(name)
        if not share.named and part.selection.markers and name not in _MARKED and self._others_marked():
            self._unmarked.append(name)
            return self._deselected(name, part)
        alone = share.named or len(self.shares) == 1
        try:
            return suites(name, self._plan(name, part, alone))
        except InterpreterError:
            instead = table.RUNNERS[name].instead
            root = Path(self._spec.root)
            if not (self._asked or share.targets or part.arguments or _detected(root, tuple(self.shares))):
                if self._python:
                    self._plan(instead, RunSpec(part.root, instead))  # or it is wrong
                return suites(name, Plan(()))  # no tests: nothing that pytest would be needed for
            if self._asked or not instead or not table.load(instead).detect(root):
                raise
            if name == self.arguments_for:
                self.arguments_for = instead
            part = msgspec.structs.replace(part, runner=instead)
            return suites(instead, self._plan(instead, part, alone))
        except UsageError as error:
            if share.named or name == table.USUAL:
                raise
            self.left_out[name] = error  # its tool is not here; others may go on
            return []

    def _part(self, name: str) -> RunSpec:
        """The request as far as it is this runner's."""
        selection = msgspec.structs.replace(self._spec.selection, targets=self.shares[name].targets)
        arguments = self._spec.arguments if name == self.arguments_for else ()
        return msgspec.structs.replace(self._spec, runner=name, selection=selection, arguments=arguments)

    def _others_marked(self) -> bool:
        return any(name in _MARKED for name in self.shares)

    def _deselected(self, name: str, part: RunSpec) -> list[Suite]:
        """A suite without tests, which names those that are known without running them."""
        unmarked = msgspec.structs.replace(part.selection, markers="")
        try:
            plan = self._plan(name, RunSpec(part.root, name, unmarked))
        except UsageError:
            return []
        known = [launch.speech.known for launch in plan.launches if isinstance(launch.speech, Lines)]
        tests = (*plan.deselected, *(test.name for some in known for test in some))
        return suites(name, Plan((), tests)) if tests else []

    def _fitting(self, name: str, part: RunSpec, alone: bool, python: Python | None = None) -> RunSpec:
        """Without options that the runner does not have: none is accepted and ignored.

        `alone`: nothing else in the run has a use for them.
        """
        plain = RunSpec(part.root)
        for option, lack in _foreign_options(name, part, python).items():
            usual = option in self._usual
            if not usual and (bool(self._spec.runner) if option in _CAN_DO_WITHOUT else alone):
                if option in _REFUSED_BY:
                    continue  # the runner has a better message
                raise UsageError(f"{_shown(option)}: {lack.why}")
            if not usual or lack.of_version:
                shown = option if usual else _shown(option)
                self._notices.append(f"{shown}: {lack.why}; its tests run without it")
            part = msgspec.structs.replace(part, **{option: getattr(plain, option)})
        return part

    def _plan(self, name: str, spec: RunSpec, alone: bool = True) -> Plan:
        runner, package = table.load(name), table.RUNNERS[name].package
        if package is None:
            return cast(Runner, runner).plan(self._fitting(name, spec, alone), self._environ)
        root = Path(spec.root)
        chosen = interpreters.choose(root, self._python, self._environ, sys.prefix)
        found = interpreters.probe(chosen, root, self._environ, user_cache(self._environ))
        if package:
            interpreters.require(
                found, package, lambda: interpreters.better_place(root, chosen, self._environ)
            )
        version = ".".join(map(str, found.version))
        installed = (f"{found.implementation} {version}", *found.installed)
        self.installed[found.path] = installed
        python = Python(found.path, found.version, found.packages, installed)
        spec = self._fitting(name, spec, alone, python)
        return cast(PythonRunner, runner).plan(spec, self._environ, python)


class _Lack(msgspec.Struct, frozen=True):
    why: str
    of_version: bool = False  # a newer version of the runner has the option


def _foreign_options(name: str, spec: RunSpec, python: Python | None) -> dict[str, _Lack]:
    """Options that are set and that the runner does not have."""
    plain, none = RunSpec(spec.root), f"{name} has no such option"
    lacked = {
        option: _Lack(f"{none}; it is for {', '.join(known)}")
        for option, known in _UNDERSTOOD_BY.items()
        if name not in known
    }
    lacked |= {option: _Lack(none) for option, refusing in _REFUSED_BY.items() if name in refusing}
    if name == table.USUAL and python is not None:
        from proctor.runners.pytest_suite import too_old_for

        old = f"pytest {python.packages['pytest']} is too old for the plugin, which it needs"
        lacked |= dict.fromkeys(too_old_for(python), _Lack(old, of_version=True))
    if spec.maxfail == 1:
        lacked.pop("maxfail", None)  # they all can stop at the first failure
    return {
        option: lack for option, lack in lacked.items() if getattr(spec, option) != getattr(plain, option)
    }


def _shown(option: str) -> str:
    return _SHOWN_AS.get(option) or f"--{option.replace('_', '-')}"


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


def _shares(spec: RunSpec, chosen: tuple[str, ...], asked: bool, names_targets: bool) -> dict[str, _Share]:
    """Which runner gets which targets; one that gets none of them has nothing to do."""
    targets = spec.selection.targets
    if len(chosen) == 1 or not targets:
        return dict.fromkeys(chosen, _Share(targets, asked or bool(targets)))
    owned: dict[str, list[str]] = {}
    named: set[str] = set()
    for target in targets:
        owners = [name for name in chosen if table.load(name).owns(target, Path(spec.root))]
        if not owners:
            from proctor.runners.nearest_tests import suggestion  # only on the way out

            known, near = ", ".join(chosen), suggestion(target, Path(spec.root))
            raise UsageError(
                f"{target!r} is no test of {known}{near or ': expected a path or the ID of a test'}"
            )
        if len(owners) == 1 and names_targets:
            named.update(owners)
        for name in owners:
            owned.setdefault(name, []).append(target)
    return {name: _Share(tuple(owned[name]), asked or name in named) for name in chosen if name in owned}


def arguments_for(arguments: Sequence[str], runners: Collection[str]) -> str:
    """The runner that gets what follows `--`."""
    if not arguments or len(runners) == 1:
        return next(iter(runners), "")
    if table.USUAL in runners:
        return table.USUAL
    known = ", ".join(runners)
    raise UsageError(f"arguments after -- go to one runner, and this run has {known}: name it with --runner")
