"""The runs of this server, each in its own thread, so that the server can answer meanwhile."""

from __future__ import annotations

import asyncio
import math
import os
import threading
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeAlias

import msgspec

from proctor.archive.inside import Folder, open_inside
from proctor.archive.store import RESULT_FILE, RunDirectory
from proctor.baseline.compare import comparison
from proctor.config import Settings
from proctor.errors import LaunchError
from proctor.events import Entry
from proctor.execute import Executed, Request, execute
from proctor.mcp_server import run_data
from proctor.mcp_server.run_data import RunData
from proctor.outcome import RunOutcome
from proctor.plan_run import RunPlan, writing_down_imports
from proctor.process.cold_start import ColdStart
from proctor.process.stop import Stop
from proctor.process.warm_start import Standbys
from proctor.result import RunResult

REPORT_SECONDS = 0.5  # between two reports of progress
_ANSWER_SECONDS = 0.02  # for an answer to be on its way before the history takes the processor
_HISTORY_SECONDS = 10.0  # for runs that were answered to be in the history before somebody looks there
_REMEMBERED = 64  # finished runs whose project is known without a search
_IN_MEMORY = 32 << 20  # bytes of the documents of finished runs; the newest stays, whatever its size

#: Sends the client the progress of a run: tests done, tests in all, what is happening.
Report: TypeAlias = Callable[[float, float | None, str], Awaitable[None]]


class Progress:
    """Numbers that only grow: tests done, and a fraction of the next one. They stay below the total."""

    def __init__(self, send: Report) -> None:
        self._send = send
        self._step = -1
        self._looks = 0
        self._total = 0

    async def report(self, done: int, total: int | None, what: str) -> None:
        if total is not None or self._total:  # once known it stays known, also if there are more tests
            self._total = total = max(self._total, total or 0, done)
        step = done if not total else min(done, total - 1)  # the last one ends with the run
        step = max(step, self._step)
        self._looks = self._looks + 1 if step == self._step else 0
        self._step = step
        if total:
            what = f"{done}/{total} {what}"
        await self._send(step + self._looks / (self._looks + 1), total or None, what)


class SoFar(msgspec.Struct, frozen=True):
    """A copy of a run's progress, made by its own thread: its result is not for other threads."""

    run_id: str
    done: int
    total: int | None
    current: str | None
    summary: dict[str, Any]
    collects_only: bool
    doing: str


class ServerRun:
    """A run that this server starts. Its public methods are for the thread of the event loop."""

    name = "progress"

    def __init__(
        self,
        make_plan: Callable[[], RunPlan],
        on_change: Callable[[ServerRun], None],
        standbys: Standbys | None,
        settle: Callable[[], None],
    ) -> None:
        """Starts it; `on_change` is called when it has begun and when it has ended. `settle` returns when the
        history has all runs that were answered."""
        self._make_plan, self._on_change, self._standbys = make_plan, on_change, standbys
        self._settle = settle
        self._loop = asyncio.get_running_loop()
        self._stop = Stop()
        self._began = asyncio.Event()
        self._ended = asyncio.Event()
        self._answered = threading.Event()
        self._ended_really = threading.Event()  # and the history has it
        self.so_far: SoFar | None = None
        self.discovered: tuple[RunResult, Settings] | None = None  # of a run that only lists tests
        self.data: RunData | None = None  # of any other, as long as it is in memory
        self.directory: Folder | None = None  # of its archive, if that is complete
        self.is_mistake = False  # the request could not be met, so it is no run to come back to
        self._held: RunDirectory | None = None  # locked until an answer about the run was sent
        self._wanted = True
        self.error: Exception | None = None
        threading.Thread(target=self._work, daemon=True).start()

    @property
    def over(self) -> bool:
        """Nothing of it is alive, and the archive has it: it can be answered."""
        return self._ended.is_set()

    @property
    def gone(self) -> bool:
        return self._ended_really.is_set()

    def cancel(self) -> None:
        """Also from a signal handler."""
        if not self._ended_really.is_set():
            self._stop.ask(RunOutcome.CANCELLED)

    def abandon(self) -> None:
        """The caller no longer waits for its answer: cancel it."""
        self._wanted = False
        self.cancel()
        if self.over:
            self.release()

    def release(self) -> None:
        """An answer was sent: from now on its directory may be removed like any other."""
        held, self._held = self._held, None
        if held is not None:
            held.close()
        self._answered.set()

    def join(self, seconds: float) -> None:
        self._ended_really.wait(seconds)

    async def wait(self, seconds: float | None, progress: Progress) -> None:
        """Until it is over, or for so long; but always until it has begun, so that it has an id."""
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while not self.over:
            left = deadline - time.monotonic()
            if left <= 0 and self._began.is_set():
                return
            pause = min(left, REPORT_SECONDS) if left > 0 else REPORT_SECONDS
            with suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), pause)
            if self.over:
                return
            if (now := self.so_far) is None:
                await progress.report(0, None, "starting")
            else:
                await progress.report(now.done, now.total, now.doing)

    def handle(self, entry: Entry, so_far: RunResult) -> None:
        if entry.seq == 0:
            self.tick(0.0, so_far)
            self._call(lambda: self._on_change(self))
            self._call(self._began.set)

    def tick(self, now: float, so_far: RunResult) -> None:
        done, total = len(so_far.tests), so_far.expected
        if self.so_far is not None and self.so_far.total is not None:  # of a suite before this one
            total = max(self.so_far.total, total or 0, done)
        current = next(iter(so_far.running), None)
        summary = {**so_far.summary(), "duration": round(now, 3)}
        doing = current or (so_far.collecting if total is None and not done else "between tests")
        self.so_far = SoFar(so_far.run.run_id, done, total, current, summary, so_far.run.collect_only, doing)

    def _work(self) -> None:
        try:
            self._settle()
            plan = self._make_plan()
            warm = self._standbys if plan.settings.warm else None
            if warm is not None:
                plan = writing_down_imports(plan)
            request = Request(
                plan,
                self._stop,
                [self],
                finish=partial(self._finish, settings=plan.settings),
                before_end=comparison(plan, self._stop),
                starting=warm.starter if warm is not None else ColdStart,
            )
            execute(request)
        except Exception as error:  # noqa: BLE001  where a thread ends: whoever waits will raise it
            self.error = error
        finally:
            self._ended_really.set()
            self._call(self._has_ended)
        if self._standbys is not None:
            self._standbys.refill()

    def _finish(self, executed: Executed, settings: Settings) -> None:
        """Lets the run be answered, and then the history take it."""
        self._keep(executed, settings)
        self._call(self._can_be_answered)
        self._answered.wait(_ANSWER_SECONDS)

    def _keep(self, executed: Executed, settings: Settings) -> None:
        """Keeps the result in memory, whatever has become of the archive."""
        result, directory = executed.result, executed.directory
        if result.run.collect_only:
            self.discovered = result, settings
            return
        self.is_mistake = result.outcome is RunOutcome.USAGE_ERROR
        self.data = run_data.from_result(result, directory, settings)
        with suppress(OSError):
            os.close(open_inside(directory, RESULT_FILE))
            self.directory = directory
            self._held = RunDirectory(directory)

    def _call(self, what: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # the loop is closed: no call waits any more
            self._loop.call_soon_threadsafe(what)

    def _has_ended(self) -> None:
        self._stop.close()
        if not self.over:
            self._can_be_answered()

    def _can_be_answered(self) -> None:
        self._began.set()
        self._ended.set()
        if not self._wanted:
            self.release()
        self._on_change(self)


class ServerRuns:
    """All runs of this server, at most `at_once` at a time."""

    def __init__(self, at_once: int, standbys: Standbys | None = None) -> None:
        self._at_once, self._standbys = at_once, standbys
        self._free = asyncio.Semaphore(at_once)
        self._alive: set[ServerRun] = set()  # perhaps with some that are gone
        self.by_id: dict[str, ServerRun] = {}

    @property
    def under_way(self) -> list[str]:
        return [run_id for run_id, run in self.by_id.items() if not run.over]

    async def start(
        self, make_plan: Callable[[], RunPlan], seconds: float | None, progress: Progress
    ) -> ServerRun | None:
        """None: as many runs as may be under way still were after `seconds`."""
        if not await self._take_place(seconds, progress):
            return None
        try:
            run = ServerRun(make_plan, self._changed, self._standbys, self.settle)
        except (OSError, RuntimeError) as error:  # no descriptor or no thread is to be had
            self._free.release()
            raise LaunchError(f"cannot start a run: {error}") from error
        self._alive = {run, *(other for other in self._alive if not other.gone)}
        return run

    def settle(self) -> None:
        """Waits until the history has the runs that were answered. For any thread but that of the loop."""
        deadline = time.monotonic() + _HISTORY_SECONDS
        for run in list(self._alive):
            if run.over:
                run.join(max(0.0, deadline - time.monotonic()))

    async def _take_place(self, seconds: float | None, progress: Progress) -> bool:
        deadline = math.inf if seconds is None else time.monotonic() + seconds
        while True:
            left = min(REPORT_SECONDS, deadline - time.monotonic())
            try:
                await asyncio.wait_for(self._free.acquire(), max(left, 0.001))
                return True
            except TimeoutError:
                if time.monotonic() >= deadline:
                    return False
            await progress.report(0, None, f"waiting: {self._at_once} runs are under way")

    def _changed(self, run: ServerRun) -> None:
        if run.so_far is not None and not run.so_far.collects_only:
            self.by_id[run.so_far.run_id] = run
        if run.over:
            self._free.release()
            self._forget()

    def _forget(self) -> None:
        """Drops old runs, and from memory the data of all but the newest: the archive has them."""
        finished = [run_id for run_id, run in self.by_id.items() if run.over]
        for run_id in finished[:-_REMEMBERED]:
            self.by_id.pop(run_id).release()
        room = _IN_MEMORY
        for run_id in reversed(finished[-_REMEMBERED:]):
            run = self.by_id[run_id]
            if run.data is not None:
                room -= len(run.data.raw)
                if room < 0 and run_id != finished[-1]:
                    run.data = None

    def end(self, seconds: float) -> None:
        """Cancel everything and wait for it, but not for longer. Also from a signal handler."""
        alive = list(self._alive)
        for run in alive:
            run.cancel()
        deadline = time.monotonic() + seconds
        for run in alive:
            run.join(max(0.0, deadline - time.monotonic()))
        if self._standbys is not None:
            self._standbys.close(max(0.0, deadline - time.monotonic()))
