"""Records of runs that are shards of a plan, and what a merge makes of them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

from proctor import events as e
from proctor.cli import merge as verb
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.relay import Relay, Sink
from proctor.result import RunResult
from proctor.shards.merge import Merging, merge
from proctor.shards.part import planned
from proctor.shards.plan import Plan, Shard
from proctor.shards.record import Recorded
from support.pieces import pieces
from support.streams import Log

PASSED, FAILED, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED
MERGED = e.RunStarted("20260102-000000-merged", "", (), "/p", "", "2026-01-02T00:00:00+00:00")
START = "2026-01-01T00:00:{:02}.000+00:00"


def plan_of(*shards: Sequence[str], fingerprint: str = "") -> Plan:
    runners = [{"pytest": len(tests)} if tests else {} for tests in shards]
    made = tuple(map(Shard, map(tuple, shards), [0.0] * len(shards), runners))
    return Plan(shards=made, fingerprint=fingerprint)


def events_of(
    outcomes: Mapping[str, Outcome], selected: Iterable[str] | None = None, before: Sequence[e.Event] = ()
) -> list[e.Event]:
    """A session that has these results."""
    names = tuple(outcomes if selected is None else selected)
    status = int(any(outcome in BAD for outcome in outcomes.values()))
    found: list[e.Event] = [e.SuiteEntered("pytest", "pytest", (), "/p", "/py"), e.SuiteDescribed("/p")]
    found += [*before, e.TestsSelected(names), e.SuiteStarted("pytest", START.format(0), len(names))]
    for test, outcome in outcomes.items():
        message = f"{test} is bad" if outcome in BAD else None
        found += [e.TestStarted(test), e.TestFinished(test, outcome, 0.5, message)]
    if not names:
        return [*found, e.StatusExplained(RunOutcome.NO_TESTS), e.SessionFinished(5), e.ProcessExited(5)]
    return [*found, e.SessionFinished(status, len(names)), e.ProcessExited(status)]


def log_of(
    events: Sequence[e.Event], due: e.TestsPlanned | None = None, run_id: str = "r", second: int = 0
) -> bytes:
    """The log of a run with one suite, which began so many seconds after a full minute and took one."""
    log = Log()
    relay = Relay(e.RunStarted(run_id, "pytest", (), "/p", "/py", START.format(second)), [log])
    for event in [due, *events] if due is not None else events:
        relay.publish(event, 0.5)
    relay.close(1.0)
    return b"".join(log.lines)


def shard_log(
    plan: Plan,
    number: int,
    outcomes: Mapping[str, Outcome] | None = None,
    run_id: str = "",
    own: bool = False,
    second: int = 0,
) -> bytes:
    """The log of a shard whose tests pass, except for those that are named."""
    tests = plan.shards[number - 1].tests
    results = dict.fromkeys(tests, PASSED) if outcomes is None else outcomes
    return log_of(events_of(results), planned(plan, number, own), run_id or f"run-{number}", second)


def recorded(name: str, data: bytes, directory: str = "") -> Recorded:
    return Recorded(name, lambda: iter(pieces(data, 1 << 16)), directory=directory)


def merged(
    *given: bytes | Recorded,
    plan: Plan | None = None,
    sinks: Sequence[Sink] = (),
    started: e.RunStarted = MERGED,
) -> RunResult:
    """A merge of records, which have the names `1`, `2` and so on."""
    runs = [one if isinstance(one, Recorded) else recorded(str(n), one) for n, one in enumerate(given, 1)]
    return merge(Merging(runs, plan), started, sinks)


def merged_log(*given: bytes | Recorded, plan: Plan | None = None) -> bytes:
    log = Log()
    merged(*given, plan=plan, sinks=[log])
    return b"".join(log.lines)


class Said(NamedTuple):
    code: int
    out: str
    err: str


def merge_said(*arguments: str, directory: Path | None = None) -> Said:
    """`proctor merge`, called in this process."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with patch.object(sys, "stdout", out), redirect_stderr(err), patch.dict(os.environ):
        os.environ.pop("GITHUB_STEP_SUMMARY", None)
        code = verb.main([*arguments, *(["-C", str(directory)] if directory else [])])
        out.flush()
        return Said(code, out.buffer.getvalue().decode(), err.getvalue())
