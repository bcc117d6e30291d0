"""A running process as the loop over a run sees it, however it was started. A cold start is one way
(`supervise`); tests of the loop have another, with no process at all."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Protocol, TypeVar

import msgspec

from proctor.launch import Launch
from proctor.process.deadline import Push


class Chunk(msgspec.Struct, frozen=True):
    """Bytes that a process wrote to one of its streams."""

    stream: str  # control, stdout, stderr
    data: bytes
    moved: int = 0  # bytes that went past us, into the file of a diversion


class Diversion(msgspec.Struct, frozen=True):
    """What comes next on the control channel is so many bytes of a file: they need not pass through us."""

    descriptor: int
    left: int


class Process(Protocol):
    """A launch that is running; after `close` nothing of it is alive."""

    exit_status: int | None  # as Python has it: minus the signal's number; None while it runs
    done: bool  # there will be nothing more to read
    cut_off: bool  # the program closed the control channel and lived on
    adopts: bool  # processes that the tests detach are ended with it
    diversion: Diversion | None

    def push(self, push: Push) -> None:
        """Interrupt, abort or kill it."""
        ...

    def stop_hearing(self) -> None:
        """Close our end of the control channel."""
        ...

    def close(self) -> None: ...


P = TypeVar("P", bound=Process)


class Starter(Protocol[P]):
    """Starts processes and waits for what they write."""

    def start(self, launch: Launch) -> P:
        """Raises LaunchError."""
        ...

    def wait(self, processes: Sequence[P], seconds: float) -> list[tuple[P, list[Chunk]]]:
        """What each process has written, after at most `seconds`."""
        ...


def signal_name(exit_code: int) -> str | None:
    if exit_code >= 0:
        return None
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"
