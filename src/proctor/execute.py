"""Run a spec from its plan to its verdict: the only place where producers and consumers meet."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from proctor import events as e
from proctor.errors import UsageError
from proctor.launch import Launch, Voice
from proctor.outcome import RunOutcome
from proctor.process import interpreter as interpreters
from proctor.process.deadline import Ending
from proctor.process.stop import Stop
from proctor.process.supervise import Supervised
from proctor.relay import Relay, Sink
from proctor.result import Result
from proctor.runners import pytest_suite
from proctor.running import Keeping, ResultLine, Running, Shelf
from proctor.spec import RunSpec

_LETTERS = "abcdefghijklmnopqrstuvwxyz012345"  # 32 of them: every byte is as good as any other
TICK = 0.2  # seconds between two looks at the clock while nothing happens


class Prepared(msgspec.Struct, frozen=True):
    """A spec that can be met: what will be started, and in which interpreter."""

    launch: Launch
    interpreter: interpreters.Interpreter


class Answer(msgspec.Struct, frozen=True):
    result: Result
    directory: Path  # of the run's files; gone after the run if it is not kept


def prepare(spec: RunSpec, python: str | None, environ: Mapping[str, str]) -> Prepared:
    """Choose the interpreter and plan. Raises what keeps the tests from running, before anything runs."""
    root = Path(spec.root)
    if not root.is_dir():
        raise UsageError(f"no such directory: {spec.root}")
    chosen = interpreters.choose(root, python, environ, sys.prefix)
    cache = interpreters.default_cache(environ)
    found = interpreters.probe(chosen, root, environ, cache)
    pytest = interpreters.require_pytest(found)
    if spec.workers and "pytest-xdist" not in found.packages:
        needed = f"`-n {spec.workers}` needs pytest-xdist, which {found.path} does not have"
        raise UsageError(f"{needed}; `{found.path} -m pip install pytest-xdist`, or leave out -n")
    able = pytest_suite.can_load_plugin(found.version, pytest)
    voice = Voice.CONTROL if able else Voice.TEXT
    return Prepared(pytest_suite.plan(spec, found.path, voice, environ.get("PYTHONPATH", "")), found)


def new_run_id() -> str:
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    letters = "".join(_LETTERS[byte % len(_LETTERS)] for byte in os.urandom(6))
    return f"{now}-{letters}"


def execute(
    spec: RunSpec,
    prepared: Prepared,
    sinks: Sequence[Sink],
    stop: Stop,
    environ: Mapping[str, str],
    keeping: Keeping | None = None,
    result_lines: Sequence[ResultLine] = (),
    finish: Callable[[Answer], None] | None = None,
) -> Answer:
    """Start, listen, end, conclude. Returns only when nothing of the run is alive.

    `finish` gets the answer while the run's files are still there, kept or not.
    """
    keeping = keeping or Keeping()
    root = Path(spec.root)
    run_id = new_run_id()
    with Shelf(root, run_id, environ, keeping) as shelf:
        with Supervised(prepared.launch, run_id, environ) as process:
            relay = Relay(_started(spec, prepared, run_id), [*sinks, *shelf.sinks])
            run = Running(relay, shelf, prepared.launch.voice, result_lines)
            _listen(process, run, stop, spec.timeout)
        result = run.close(process.exit_status)
        shelf.finish(result)
        answer = Answer(result, shelf.files)
        if finish is not None:
            finish(answer)
        return answer


def _started(spec: RunSpec, prepared: Prepared, run_id: str) -> e.RunStarted:
    return e.RunStarted(
        run_id,
        spec.runner,
        prepared.launch.argv,
        spec.root,
        prepared.interpreter.path,
        datetime.now(UTC).isoformat(timespec="milliseconds"),
        spec.selection.everything and not spec.arguments,
        spec.collect_only,
        prepared.launch.voice,
    )


def _listen(process: Supervised, run: Running, stop: Stop, timeout: float) -> None:
    """The loop: read, tell, and end what has to end."""
    limit = run.now() + timeout if timeout else None
    ending: Ending | None = None
    while not process.done:
        now = run.now()
        goes_on = ending is None and process.exit_status is None  # what ended by itself cannot be stopped
        if goes_on and stop.reason is not None:
            ending = run.stop(stop.reason)
        elif goes_on and limit is not None and now >= limit:
            ending = run.stop(RunOutcome.TIMEOUT)
        if ending is not None:
            if stop.hurried:
                ending.hurry(now)
            if push := ending.due(now):
                process.push(push)
        waits = [TICK, ending.wait(now) if ending else None, limit - now if limit and goes_on else None]
        chunks = process.wait(min(wait for wait in waits if wait is not None), stop)
        for chunk in sorted(chunks, key=lambda chunk: chunk.stream == "control"):
            run.take(chunk)
        if run.deaf:
            process.stop_hearing()
        if ending is not None and run.interrupted:
            ending.heard(now)
        run.tick()
    if process.cut_off:
        run.lose_channel()
