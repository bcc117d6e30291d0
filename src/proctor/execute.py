"""Executes a plan: starts the processes, publishes their events, and ends with the verdict."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from proctor import events as e
from proctor.archive.inside import Folder
from proctor.archive.store import new_run_id
from proctor.crew import Crew, command, is_process
from proctor.errors import LaunchError
from proctor.ordering import told
from proctor.plan_run import RunPlan
from proctor.prepare import Prepared
from proctor.process.cold_start import ColdStart
from proctor.process.process import P, Starter
from proctor.process.stop import Stop
from proctor.relay import Fault, Sink
from proctor.result import RunResult
from proctor.running import ResultLine, Running, Shelf, timestamp
from proctor.spec import RunSpec

if TYPE_CHECKING:
    from proctor.history.first_new import FirstNew
    from proctor.history.memory import Memory
    from proctor.quarantine import Quarantine

_WORDS = 20  # of what was asked for that a list of runs shows


#: Called when all tests have ended, with the result so far and the seconds since the start: more events.
BeforeEnd: TypeAlias = Callable[[RunResult, float], Iterable[e.Event]]
#: Runs the tests somewhere else, and publishes what happens: no process is started here.
Elsewhere: TypeAlias = Callable[[Running], None]
#: Called with the id of the run, the environment of its processes, and the request to stop.
Starting: TypeAlias = Callable[[str, Mapping[str, str], Stop], ColdStart]


class Request(msgspec.Struct, frozen=True):
    """A run to execute, and the sinks that follow it."""

    plan: RunPlan
    stop: Stop
    sinks: Sequence[Sink] = ()
    result_lines: Sequence[ResultLine] = ()
    finish: Callable[[Executed], None] | None = None  # called while the run's files are there, kept or not
    before_end: BeforeEnd | None = None
    starting: Starting = ColdStart
    elsewhere: Elsewhere | None = None


class Executed(msgspec.Struct, frozen=True):
    """A run that is over."""

    result: RunResult
    directory: Folder  # of the run's files; gone after the run if it is not kept
    faults: Sequence[Fault] = ()  # readers that could not go on
    forgotten: str = ""  # why the run is not in the history of the tests


def execute(request: Request) -> Executed:
    """Executes the run. Returns only when no process of it is alive."""
    run_id = new_run_id(datetime.now(UTC))
    return execute_with(request.starting(run_id, request.plan.environ, request.stop), request, run_id)


def execute_with(processes: Starter[P], request: Request, run_id: str) -> Executed:
    """The same, with another way to start processes."""
    plan = request.plan
    since = time.monotonic()
    with Shelf(Path(plan.spec.root), run_id, plan.environ, plan.keeping) as shelf, _memory(plan) as memory:
        prepared = _told(plan, shelf)
        with ExitStack() as living:
            # A suite that cannot be started is no run; a program that cannot is a test that fails.
            first = prepared.suites[0]
            here = is_process(first) and request.elsewhere is None
            begun = processes.start(first.launches[0]) if here else None
            if begun is not None:
                living.callback(begun.close)
            started = _started(plan, run_id)
            quarantine = _quarantine(plan.spec)
            run = Running(started, request.sinks, shelf, request.result_lines, since, quarantine)
            if plan.part is not None:
                run.publish_each(plan.part.planned.parts())
            for missing in prepared.missing:
                run.publish(missing)
            for notice in prepared.notices:
                run.publish(e.Noticed(notice))
            if request.elsewhere is not None:
                request.elsewhere(run)
            else:
                crew = living.enter_context(
                    Crew(run, plan, request.stop, prepared, processes, _first_new(memory, run, plan))
                )
                crew.perform(begun)
            if quarantine is not None:
                complete = started.everything and not (run.stopped or started.collect_only)
                for notice in quarantine.unmatched(complete):
                    run.publish(e.Noticed(notice))
        if memory is not None:
            _add(memory.compare(run.result, run.own_name), run, "the history of the tests")
        if request.before_end is not None:
            _add(request.before_end(run.result, run.now()), run, "the comparison with another commit")
        executed = Executed(run.close(), shelf.files, run.faults)
        if request.finish is not None:
            request.finish(executed)
        shelf.prune()  # nobody waits for that
        if memory is not None and (fault := _keep(memory, run)):
            executed = msgspec.structs.replace(executed, forgotten=fault)
        return executed


def _first_new(memory: Memory | None, run: Running, plan: RunPlan) -> FirstNew | None:
    if memory is None or not plan.spec.exitfirst_new:
        return None
    from proctor.history.first_new import FirstNew  # few runs stop there

    return FirstNew(memory, run.own_name)


def _told(plan: RunPlan, shelf: Shelf) -> Prepared:
    """With suites that know which of their tests are to run, and which first."""
    suites = plan.prepared.suites
    if plan.order:
        suites = told(suites, "order", plan.order, shelf.keep) or suites
    if (part := plan.part) is not None:
        asked = {"tests": part.tests, "files": part.files, "others": part.others, "last": part.last}
        divided = told(suites, "part", asked, shelf.keep)
        if divided is None:  # they would run all their tests
            raise LaunchError(f"cannot tell the sessions which tests to run: {shelf.store.fault}")
        suites = divided
    return msgspec.structs.replace(plan.prepared, suites=suites)


def _add(events: Iterable[e.Event], run: Running, source: str) -> None:
    """What comes beside the results of the tests may fail, like a reader: that never costs the answer."""
    try:
        run.publish_each(events)
    except Exception as error:  # noqa: BLE001
        run.publish(e.Noticed(f"{source} stopped: {type(error).__name__}: {error}"))


def _keep(memory: Memory, run: Running) -> str:
    """Returns why the run is not in the history."""
    try:
        return memory.keep(run.result, run.own_name)
    except Exception as error:  # noqa: BLE001  as above
        return f"this run is not in the history of the tests: {type(error).__name__}: {error}"


def _memory(plan: RunPlan) -> AbstractContextManager[Memory | None]:
    if not plan.keeping.history:
        return nullcontext()
    try:
        from proctor.history.memory import Memory  # loads sqlite

        return Memory(plan.spec, plan.prepared.installed, plan.environ, plan.settings.mask_secrets)
    except (ImportError, OSError):  # a Python without sqlite; no descriptor left
        return nullcontext()


def _quarantine(spec: RunSpec) -> Quarantine | None:
    if not spec.quarantine:
        return None
    from proctor.quarantine import Quarantine  # few projects have one

    return Quarantine(spec.quarantine)


def _started(plan: RunPlan, run_id: str) -> e.RunStarted:
    spec, prepared = plan.spec, plan.prepared
    return e.RunStarted(
        run_id,
        prepared.runner,
        command(prepared.suites[0]) if len(prepared.suites) == 1 else (),
        spec.root,
        prepared.interpreter,
        timestamp(),
        spec.selection.everything and not spec.arguments and plan.part is None,
        spec.collect_only,
        suites=len(prepared.suites) + sum(suite.then is not None for suite in prepared.suites),
        asked=_asked(plan),
        invocation=plan.invocation,
        host=os.uname().nodename,
        retries=spec.retries,
        flaky_fails=spec.flaky_fails,
    )


def _asked(plan: RunPlan) -> tuple[str, ...]:
    spec, due = plan.spec, plan.part.planned if plan.part is not None else None
    shard = ["--shard", f"{due.shard}/{due.shards}"] if due is not None and due.shard else []
    words = [*spec.selection.words, *shard, *(["--", *spec.arguments] if spec.arguments else [])]
    return (*words[:_WORDS], f"… {len(words) - _WORDS} more") if len(words) > _WORDS else tuple(words)
