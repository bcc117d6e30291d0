"""What shards under way have done so far, by their live events: for display, and never part of the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from proctor import events as e
from proctor.engines.tries import Try
from proctor.fold import begin, fold
from proctor.result import RunResult, SuiteResult
from proctor.running import Running
from proctor.shards.plan import Plan
from proctor.wire.reports.any_report import AnyReport


class _Seen:
    """What is known of one try."""

    def __init__(self, run: Running) -> None:
        self._run, self._shift = run, 0.0
        self._reader: AnyReport | None = AnyReport("live events", "events")
        self.result: RunResult | None = None

    def take(self, lines: str) -> None:
        if self._reader is None:
            return
        try:
            for entry in self._reader.feed(lines.encode()):
                self._fold(entry)
        except Exception:  # noqa: BLE001  a batch may be missing, or there twice: nothing depends on it
            self._reader = None

    def _fold(self, entry: e.Entry) -> None:
        if isinstance(entry.event, e.RunStarted):
            self._shift = self._run.now() - entry.at
            self.result = begin(entry.event)
        elif self.result is not None:
            fold(self.result, msgspec.structs.replace(entry, at=entry.at + self._shift))


class Preview:
    def __init__(self, run: Running, plan: Plan) -> None:
        self._run, self._plan = run, plan
        self._seen: dict[str, _Seen] = {}
        self._unknown: dict[int, SuiteResult] = {}

    def take(self, attempt: str, lines: str) -> None:
        self._seen.setdefault(attempt, _Seen(self._run)).take(lines)

    def forget(self, attempt: str) -> None:
        """It has returned or was lost; what still comes in is of no interest."""
        self._seen.pop(attempt, None)

    def worker(self, attempt: str) -> str:
        """The machine that runs it, as far as is known."""
        seen = self._seen.get(attempt)
        return seen.result.run.host if seen and seen.result else ""

    @property
    def bad(self) -> int:
        """Tests that have ended badly, of shards that have not returned."""
        return sum(seen.result.bad for seen in self._seen.values() if seen.result is not None)

    def result(self, under_way: Mapping[str, Try], left: Iterable[int], waiting: str) -> RunResult:
        """The run, as if all that was seen had arrived. `waiting`: what it waits for."""
        run = self._run
        suites = run.result.suites[: run.entered]
        for attempt, one in under_way.items():
            seen = self._seen.get(attempt)
            known = seen.result.suites if seen is not None and seen.result is not None else ()
            suites += known if any(suite.count is not None for suite in known) else self._of(one.shard)
        for shard in left:
            suites += self._of(shard)
        return msgspec.structs.replace(run.result, suites=suites or run.result.suites, waiting=waiting)

    def _of(self, shard: int) -> list[SuiteResult]:
        """A suite of which only the tests are known."""
        if shard not in self._unknown:
            run = self._run.result.run
            entered = e.SuiteEntered(
                f"{run.runner} {shard}/{len(self._plan.shards)}", run.runner, (), run.cwd
            )
            self._unknown[shard] = SuiteResult(run, entered, count=len(self._plan.shards[shard - 1].tests))
        return [self._unknown[shard]]
