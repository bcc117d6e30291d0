"""Engines: whatever runs functions elsewhere, behind the Executor of the standard library."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Protocol

from proctor.errors import UsageError
from proctor.nearest import did_you_mean
from proctor.shards.host import Live

LOCAL, DASK = "local", "dask"


class Engine(Protocol):
    """An Executor, and what else it may be able to do."""

    name: str  # what users call it

    def executor(self) -> Executor:
        """A new one: asked for again if one breaks."""
        ...

    def listen(self, live: Live) -> str:
        """Have live events sent to `live`, and return what tells a shard where to send them; empty: it cannot
        do that."""
        ...

    def workers(self) -> int | None:
        """How many could take work now; None: it does not know."""
        ...

    def close(self) -> None: ...


class Plain:
    """An engine that can do no more than any Executor."""

    def __init__(self, name: str, factory: Callable[[], Executor]) -> None:
        self.name, self._factory = name, factory
        self._made: list[Executor] = []

    def executor(self) -> Executor:
        made = self._factory()
        if not isinstance(made, Executor):
            raise UsageError(
                f"--engine {self.name} returned {made!r}: expected a concurrent.futures.Executor"
            )
        self._made.append(made)
        return made

    def listen(self, live: Live) -> str:
        del live
        return ""

    def workers(self) -> int | None:
        return None

    def close(self) -> None:
        for made in self._made:
            made.shutdown(wait=True, cancel_futures=True)


def engine(name: str, shards: int) -> Engine:
    """By its name on the command line: local, dask:ADDRESS or MODULE:FACTORY."""
    kind, colon, rest = name.partition(":")
    if name == LOCAL:
        return Plain(name, lambda: ThreadPoolExecutor(shards, "proctor-shard"))
    if kind == DASK and rest:
        from proctor.shards.dask_engine import Dask

        return Dask(rest)
    if not colon or not rest or kind in (LOCAL, DASK):
        near = did_you_mean(name, (LOCAL,))
        expected = ": expected local, dask:ADDRESS or MODULE:FACTORY"
        raise UsageError(f"invalid --engine {name!r}{near or expected}")
    return Plain(name, _factory(kind, rest))


def _factory(module: str, name: str) -> Callable[[], Executor]:
    try:
        found: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise UsageError(f"--engine {module}:{name}: {error}") from None
    if not callable(found):
        raise UsageError(
            f"--engine {module}:{name} is {found!r}: expected a function that returns an Executor"
        )
    made: Callable[[], Executor] = found
    return made
