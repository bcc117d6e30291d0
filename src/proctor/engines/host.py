"""What a shard knows of the worker that runs it: its name, where live events go, who wants the answer."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Protocol, TypeAlias

from proctor.outcome import RunOutcome

#: Takes a batch of live events: the id of the attempt, and lines of its log.
Live: TypeAlias = Callable[[str, str], None]

DASK_WORD = "dask:"  # how the word begins that DaskEngine.listen returns
_THREAD = "thread:"
_listening: dict[str, Live] = {}  # runs of this process whose shards are threads of it


class Host(Protocol):
    name: str  # of the worker, as the engine calls it

    def send(self, attempt: str, lines: str) -> None:
        """Live events, for display alone. Raises whatever it likes: then no more are sent."""
        ...

    def recalled(self) -> RunOutcome | None:
        """Why the shard has to end now, and return what it has; None: it goes on."""
        ...

    def is_unwanted(self) -> bool:
        """Nobody waits for the answer any more."""
        ...


class PlainHost:
    """A worker of which nothing is known."""

    def __init__(self) -> None:
        self.name = f"{os.uname().nodename}, process {os.getpid()}"

    def send(self, attempt: str, lines: str) -> None:
        del attempt, lines

    def recalled(self) -> RunOutcome | None:
        return None

    def is_unwanted(self) -> bool:
        return False


class ThreadHost(PlainHost):
    """A thread of the process that waits for the answer."""

    def __init__(self, live: Live) -> None:
        super().__init__()
        self._live = live

    def send(self, attempt: str, lines: str) -> None:
        self._live(attempt, lines)


def listen(live: Live) -> str:
    """Have shards that are threads of this process send to `live`, and return the word for `host`."""
    word = f"{_THREAD}{os.getpid()}:{id(live)}"
    _listening[word] = live
    return word


def forget(word: str) -> None:
    _listening.pop(word, None)


def host(live: str) -> Host:
    """By the word that Engine.listen returned; empty: nothing listens."""
    if live.startswith(DASK_WORD):
        from proctor.engines.dask_host import DaskHost

        found: Host = DaskHost(live)
        return found
    listener = _listening.get(live)
    return PlainHost() if listener is None else ThreadHost(listener)
