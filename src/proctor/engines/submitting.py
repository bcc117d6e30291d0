"""Gives work to an Executor from a thread of its own: `submit` may block, or do the work at once."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, TypeAlias

from proctor.engines.engine import Engine
from proctor.engines.run_shard import run_shard

#: Called in any thread with the id of a try, and its future or the error of `submit`.
OnSubmitted: TypeAlias = Callable[[str, "Future[dict[str, Any]] | BaseException"], None]


class Submitting:
    """A daemon thread, so that an engine that blocks cannot keep a run from its end."""

    def __init__(self, engine: Engine, executor: Executor, on_submitted: OnSubmitted) -> None:
        self._engine, self._executor, self._on_submitted = engine, executor, on_submitted
        self._waiting: queue.SimpleQueue[tuple[str, dict[str, Any], bool] | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="proctor-submit", daemon=True)
        self._thread.start()

    def submit(self, attempt: str, data: dict[str, Any], fresh: bool = False) -> None:
        """`fresh`: to a new executor, because the last one is broken."""
        self._waiting.put((attempt, data, fresh))

    def close(self) -> None:
        self._waiting.put(None)

    def _work(self) -> None:
        while (one := self._waiting.get()) is not None:
            attempt, data, fresh = one
            try:
                if fresh:
                    self._executor = self._engine.executor()
                future = self._executor.submit(run_shard, data)
                if not isinstance(future, Future):
                    kind = type(future).__name__
                    raise TypeError(f"submit returned {kind}: expected a concurrent.futures.Future")
            except BaseException as error:  # noqa: BLE001  whatever an engine raises
                self._on_submitted(attempt, error)
            else:
                self._on_submitted(attempt, future)
