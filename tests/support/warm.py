"""The same run twice, in this process: from nothing, and from a process that waited for it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from proctor import config
from proctor.archive.recording import document_chunks
from proctor.execute import Executed, Request, Starting, execute
from proctor.launch import Launch
from proctor.plan_run import Asked, RunPlan, plan_run
from proctor.process.cold_start import ColdStart
from proctor.process.preloads import Preloads
from proctor.process.stop import Stop
from proctor.process.supervise import Supervised
from proctor.process.warm_start import Standbys
from support.projects import clean_environment, project_python

Document = dict[str, Any]


class Counted(Standbys):
    """Knows which processes were taken, and what was said of those that were not."""

    def __init__(self) -> None:
        self.said: list[str] = []
        super().__init__(Preloads(None), self.said.append)
        self.taken: list[Supervised | None] = []

    def take(self, launch: Launch, environ: Mapping[str, str], tag: str) -> Supervised | None:
        begun = super().take(launch, environ, tag)
        self.taken.append(begun)
        return begun


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
    return _executed(plan, ColdStart)


def warm(plan: RunPlan, waiting: Counted) -> Document:
    """Of a run whose first process waited for it; fails if that had to be started."""
    document = _executed(_wait_for(plan, waiting), waiting.starter)
    assert waiting.taken and waiting.taken[0] is not None, waiting.said
    return document


def refused(plan: RunPlan, waiting: Counted) -> Document:
    """Of a run for which a process was to wait and did not; fails if it did."""
    document = _executed(_wait_for(plan, waiting), waiting.starter)
    assert waiting.taken == [None], waiting.said
    assert waiting.said
    return document


def _wait_for(plan: RunPlan, waiting: Counted) -> RunPlan:
    launch = plan.prepared.suites[0].launches[0]
    assert waiting.take(launch, plan.environ, "") is None, "it waited for an earlier run"
    waiting.refill()
    waiting.taken.clear()
    waiting.said.clear()
    return plan


def _executed(plan: RunPlan, starting: Starting) -> Document:
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


_TIMES = ("duration", "created", "started", "run_id")


def comparable(found: Any) -> Any:
    """A document, or a part of one, without what differs from run to run."""
    if isinstance(found, dict):
        return {name: None if name in _TIMES else comparable(value) for name, value in found.items()}
    if isinstance(found, list):
        return [comparable(value) for value in found]
    return re.sub(r"\b\d+\.\d+s\b", "N s", found) if isinstance(found, str) else found
