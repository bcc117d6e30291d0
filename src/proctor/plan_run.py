"""Turns a request and the project's settings into a run that can be executed; for every caller."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from proctor import config
from proctor.config import Settings
from proctor.errors import UsageError
from proctor.events import Invocation, SuiteMissing, TestsPlanned
from proctor.ordering import Order
from proctor.prepare import Prepared, Share, nothing, prepare
from proctor.running import Keeping
from proctor.spec import Quarantined, RunSpec, Selection

_PYTHON = ("pytest", "unittest")  # runners whose tests have short names
_SETTINGS = ("workers", "test_timeout", "retries")  # decide how tests run, if nobody asks otherwise


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What a caller asks for. None or empty: the project's settings decide."""

    root: Path
    runner: str = ""
    python: str | None = None
    selection: Selection = Selection()
    timeout: float | str | None = None
    usual_timeout: float = 0.0  # seconds, where neither the caller nor the settings give one
    memory: int | str | None = None
    maxfail: int = 0
    workers: str | None = None  # as of RunSpec
    test_timeout: float | str | None = None
    retries: int | None = None
    flaky_fails: bool | None = None
    parallel: str = ""
    isolate: bool = False
    repeat: int = 1
    seed: int | None = None
    verbosity: int | None = None
    full_differences: bool = False
    locals: bool = False
    no_capture: bool = False
    environment: Mapping[str, str] = {}  # more variables for the tests
    last_failed: bool = False
    failed_first: bool = False
    exitfirst_new: bool = False
    collect_only: bool = False
    archive: bool = True
    history: bool = True
    arguments: tuple[str, ...] = ()
    strict_suites: bool | None = None  # as of RunSpec
    baseline: str | None = None  # as of RunPlan
    invocation: Invocation | None = None
    part: Part | None = None


class Part(msgspec.Struct, frozen=True):
    """The part of a plan that a run is to run: see `shards`."""

    planned: TestsPlanned
    tests: tuple[str, ...] = ()  # that run: those of the plan, and perhaps some that it does not know
    share: Share = Share()
    files: tuple[str, ...] = ()  # with these tests, or without any: they skip themselves
    others: tuple[str, ...] = ()  # files of other shards
    last: bool = False  # files that no shard has are for this one
    notices: tuple[str, ...] = ()
    missing: tuple[SuiteMissing, ...] = ()  # that could not even be listed


class RunPlan(msgspec.Struct, frozen=True):
    """A run that can be executed."""

    spec: RunSpec
    prepared: Prepared
    environ: Mapping[str, str]  # that the tests see
    keeping: Keeping = Keeping()
    settings: Settings = Settings()
    notices: tuple[str, ...] = ()  # what the caller should know about the selection
    invocation: Invocation | None = None
    order: Order = Order()
    baseline: str | None = None  # a commit to compare failures with; empty: where the branch began
    part: Part | None = None

    def with_notices(self, *texts: str) -> RunPlan:
        """The same run, with more notices in its result."""
        prepared = msgspec.structs.replace(self.prepared, notices=(*self.prepared.notices, *texts))
        return msgspec.structs.replace(self, prepared=prepared)


def plan_run(asked: Asked, settings: Settings, environ: Mapping[str, str]) -> RunPlan:
    """Raises what keeps the tests from running, before anything runs."""
    spec, about_spec = _spec(asked, settings)
    notices: tuple[str, ...] = ()
    visible = {**config.visible(environ, settings.hide_environment), **asked.environment}
    uses_history = asked.history and settings.history and not asked.collect_only
    if asked.exitfirst_new and not uses_history:
        off = "history = false is in the settings" if asked.history else "--no-history turns it off"
        raise UsageError(f"--exitfirst-new compares with earlier runs, and {off}")
    if asked.last_failed:
        from proctor.history.last_failed import only_last_failed  # loads sqlite

        spec, notices = only_last_failed(spec, visible, uses_history)
    order, about_order = _order(spec, visible, uses_history)
    python = asked.python or settings.python
    usual = frozenset(option for option in _SETTINGS if getattr(asked, option) is None)
    part = asked.part
    if part is not None and not part.share.targets:
        prepared = nothing(spec)
    else:
        share = part.share if part is not None else None
        prepared = prepare(spec, settings, python, environ, not asked.last_failed, usual, share)
    if about_spec or part is not None:
        about_part, missing = (part.notices, part.missing) if part is not None else ((), ())
        prepared = msgspec.structs.replace(
            prepared,
            notices=(*about_part, *prepared.notices, *about_spec),
            missing=tuple({suite.runner: suite for suite in (*prepared.missing, *missing)}.values()),
        )
    keeping = Keeping(asked.archive and not asked.collect_only, settings.keep_runs, uses_history)
    invocation = asked.invocation and msgspec.structs.replace(
        asked.invocation,
        arguments=asked.arguments,
        arguments_for=prepared.arguments_for if asked.arguments else "",
        kept=keeping.archive,
    )
    return RunPlan(
        spec,
        prepared,
        visible,
        keeping,
        settings,
        (*notices, *about_order),
        invocation,
        order,
        asked.baseline,
        part,
    )


def writing_down_imports(plan: RunPlan) -> RunPlan:
    """The same run, whose sessions write down what they import: see `imported`."""
    from proctor.imported import asking_for_imports  # only for who runs tests again and again

    root, replace = Path(plan.spec.root), msgspec.structs.replace
    suites = tuple(
        replace(suite, launches=tuple(asking_for_imports(one, root, plan.environ) for one in suite.launches))
        for suite in plan.prepared.suites
    )
    return replace(plan, prepared=replace(plan.prepared, suites=suites))


def _order(spec: RunSpec, environ: Mapping[str, str], uses_history: bool) -> tuple[Order, list[str]]:
    """With what the caller should know about it. Most runs look at no earlier one."""
    order, notices = Order(), []
    if spec.failed_first:
        from proctor.history.last_failed import last_failed, no_failures

        failed, _ = last_failed(Path(spec.root), environ, uses_history)
        order = Order(tuple(failed))
        if not failed:
            notices.append(no_failures(Path(spec.root), ": the tests run in their usual order"))
    if spec.workers and spec.workers != "1" and uses_history:
        from proctor.history.usual_times import usual_times

        seconds, usual = usual_times(Path(spec.root), environ)
        order = msgspec.structs.replace(order, seconds=seconds, usual=usual)
    return order, notices


def _spec(asked: Asked, settings: Settings) -> tuple[RunSpec, list[str]]:
    """With what the reader should know about it."""
    timeout = settings.timeout if asked.timeout is None else asked.timeout
    memory = settings.memory if asked.memory is None else asked.memory
    spec = RunSpec(
        str(asked.root),
        asked.runner,
        asked.selection,
        asked.maxfail,
        collect_only=asked.collect_only,
        timeout=config.seconds(timeout, "timeout") or asked.usual_timeout,
        memory=config.size(memory, "memory"),
        repeat=asked.repeat,
        seed=asked.seed,
        verbosity=asked.verbosity,
        full_differences=asked.full_differences,
        locals=asked.locals,
        arguments=asked.arguments,
        strict_suites=asked.strict_suites,
        no_capture=asked.no_capture,
        preload=settings.preload,
    )
    return (spec, []) if asked.collect_only else _with_tries(spec, asked, settings)


def _with_tries(spec: RunSpec, asked: Asked, settings: Settings) -> tuple[RunSpec, list[str]]:
    """How tests are spread over processes, how long each may take, and what follows a bad end."""
    test_timeout = settings.test_timeout if asked.test_timeout is None else asked.test_timeout
    entries, notices = _quarantined(settings)
    spec = msgspec.structs.replace(
        spec,
        workers=config.workers(settings.workers, "workers") if asked.workers is None else asked.workers,
        test_timeout=config.seconds(test_timeout, "test_timeout"),
        parallel=asked.parallel,
        isolate=asked.isolate,
        failed_first=asked.failed_first,
        exitfirst_new=asked.exitfirst_new,
        retries=settings.retries if asked.retries is None else asked.retries,
        max_retried=settings.max_retried,
        max_restarts=settings.max_restarts,
        flaky_fails=settings.flaky == "fail" if asked.flaky_fails is None else asked.flaky_fails,
        quarantine=entries,
    )
    if spec.isolate and spec.parallel == "xdist":
        raise UsageError("--isolate runs each test in a fork: expected --parallel fork, or none")
    if spec.parallel in ("fork", "xdist") and not (spec.workers or spec.isolate):
        notices.append(f"--parallel {spec.parallel} has no effect without -n")
    return spec, notices


def _quarantined(settings: Settings) -> tuple[tuple[Quarantined, ...], list[str]]:
    if not settings.quarantine:
        return (), []
    from datetime import date  # few projects have one

    return config.quarantined(settings, date.today())


def targets(
    named: tuple[str, ...], root: Path, settings: Settings, runner: str = "", check: bool = False
) -> tuple[str, ...]:
    """The targets that a caller's words stand for: paths and ids, or the tests that short names mean.

    `check`: raise a UsageError for a Python file that is not there.
    """
    if not named:
        return ()
    from proctor.targets import meant  # most runs are of everything

    programs = [test.name for test in config.programs(settings)]
    asked = runner or settings.runner or ""
    in_python = not asked or any(name in _PYTHON for name in asked.split(","))
    return tuple(
        meant(target, root, programs) or (_resolved(target, root, check) if in_python else target)
        for target in named
    )


def _resolved(target: str, root: Path, check: bool) -> str:
    from proctor.runners.python_names import resolved  # nearly all targets are there as they are

    if not target or "\0" in target:
        return target
    found = resolved(target, root)
    if check and found == target:
        from proctor.runners.nearest_tests import check_path

        check_path(target, root)
    return found


def budget(given: int | None, settings: Settings) -> int:
    """Tokens of the text for agents; 0: no limit."""
    budget = settings.budget if given is None else given
    if not budget:
        return 0
    from proctor.render.agent_budget import LEAST

    if budget < LEAST:
        raise UsageError(f"invalid budget {budget}: expected {LEAST} tokens or more, or 0 for no limit")
    return budget
