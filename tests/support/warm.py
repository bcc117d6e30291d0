"""The same run twice, in this process: from nothing, and from a process that waited for it."""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from proctor import config
from proctor.archive.recording import document_chunks
from proctor.execute import Executed, Request, Starting, execute
from proctor.launch import Launch
from proctor.plan_run import Asked, RunPlan, plan_run
from proctor.process import standby
from proctor.process.cold_start import ColdStart
from proctor.process.preloads import Preloads
from proctor.process.standby import State, key_of
from proctor.process.stop import Stop
from proctor.process.supervise import Supervised
from proctor.process.warm_start import Standbys
from support.mcp_client import until
from support.projects import GUARD, clean_environment, project_python

standby.ANSWER_SECONDS = standby.IMPORT_SECONDS = GUARD  # the machine may be busy

Document = dict[str, Any]


class Counted(Standbys):
    """Knows which processes were taken, and what was said of those that were not."""

    def __init__(self) -> None:
        self.said: list[str] = []
        super().__init__(Preloads(None), self.said.append)
        self.taken: list[Supervised | None] = []

    def take(
        self, launch: Launch, environ: Mapping[str, str], tag: str, stop: Stop | None = None
    ) -> Supervised | None:
        begun = super().take(launch, environ, tag, stop)
        self.taken.append(begun)
        return begun

    @property
    def used(self) -> int:
        """Processes that waited and became a run's."""
        return sum(begun is not None for begun in self.taken)

    def wait(self, states: Collection[State]) -> None:
        """Until all that are to wait have come so far."""

        def reached(kind: Any) -> bool:
            if kind.standby is None:  # none is wanted, or not soon: it would fail again
                return kind.due is None or kind.due == kind.not_before > time.monotonic() + 1
            return kind.standby.state in states

        until(lambda: all(map(reached, list(self._kinds.values()))))

    def want(self, launch: Launch, environ: Mapping[str, str]) -> None:
        """Returns when a process waits for this launch, or it is said why none does."""
        with self._changed:
            for known in list(self._kinds):  # no other run is to come
                self._forget(known)
        assert self.take(launch, environ, "") is None
        self.taken.clear()
        self.said.clear()
        self.refill()
        key = key_of(launch, environ)
        assert key is not None
        kind = self._kinds[key]
        until(lambda: bool(self.said) or (kind.standby is not None and kind.standby.state is State.READY))


@contextmanager
def standbys() -> Iterator[Counted]:
    waiting = Counted()
    try:
        yield waiting
    finally:
        waiting.close()


def planned(root: Path, environ: Mapping[str, str] | None = None, **asked: Any) -> RunPlan:
    """`asked`: as of `Asked`."""
    usual: dict[str, Any] = {"python": project_python(), "archive": False, "history": False}
    variables = clean_environment() if environ is None else environ
    return plan_run(Asked(root=root, **{**usual, **asked}), config.load(root), variables)


def cold(plan: RunPlan) -> Document:
    return document_of(plan, ColdStart)


def warm(plan: RunPlan, waiting: Counted) -> Document:
    """Of a run whose first process waited for it; fails if that had to be started."""
    waiting.want(plan.prepared.suites[0].launches[0], plan.environ)
    document = document_of(plan, waiting.starter)
    assert waiting.taken and waiting.taken[0] is not None, waiting.said
    return document


def refused(plan: RunPlan, waiting: Counted) -> Document:
    """Of a run for which a process was to wait and did not; fails if it did."""
    waiting.want(plan.prepared.suites[0].launches[0], plan.environ)
    document = document_of(plan, waiting.starter)
    assert waiting.taken == [None]
    assert waiting.said
    return document


def document_of(plan: RunPlan, starting: Starting) -> Document:
    """Executes the plan."""
    parts: list[bytes] = []

    def keep(executed: Executed) -> None:
        parts.extend(document_chunks(executed.result, executed.directory))

    stop = Stop()
    try:
        execute(Request(plan, stop, finish=keep, starting=starting))
    finally:
        stop.close()
    found: Document = msgspec.json.decode(b"".join(parts))
    return found


#: Fields that differ from run to run: times, processes, and which worker was free.
_OF_RUN = (
    *("duration", "created", "started", "run_id", "worker"),
    *("msecs", "relativeCreated", "thread", "process"),  # of records of a log
)
_IN_TEXTS = (
    (re.compile(r"\b\d+\.\d+s\b( \(\d+:\d\d:\d\d\))?"), "N s"),
    (re.compile(r"={3,}"), "==="),  # rules fill the line beside a time, which may be longer
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0xN"),
    (re.compile(r"\b\d{8}-\d{6}-\w{6}\b"), "RUN"),
    (re.compile(r"\[gw\d+\]"), "[gwN]"),  # which worker is chance
    (re.compile(r"(byte|result) \d+\b"), r"\1 N"),  # of a channel on which times are written, too
)


def differences(first: Document, second: Document) -> list[str]:
    """Where two documents differ, beyond what differs from run to run."""
    return list(_differing("", first, second))


def _differing(where: str, first: Any, second: Any) -> Iterator[str]:
    if isinstance(first, dict) and isinstance(second, dict):
        for name in (first | second).keys() - {*_OF_RUN}:
            yield from _differing(f"{where}/{name}", first.get(name), second.get(name))
    elif isinstance(first, list) and isinstance(second, list) and len(first) == len(second):
        for number, (one, other) in enumerate(zip(first, second, strict=True)):
            yield from _differing(f"{where}/{number}", one, other)
    elif (one := _masked(first)) != (other := _masked(second)):
        if isinstance(one, str) and isinstance(other, str) and "\n" in one + other:
            yield from _differing(where, one.split("\n"), other.split("\n"))
        else:
            yield f"{where}: {one!r} is not {other!r}"


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        for pattern, mask in _IN_TEXTS:
            value = pattern.sub(mask, value)
    return value
