"""Finds processes by the tag that a run puts into their environment, in case a supervisor died."""

from __future__ import annotations

import os
import signal
import time

TAG_VARIABLE = "PROCTOR_RUN"
_LOOKS = 2  # in a row that find nothing: what forks and ends, or changes its program, is missed by one


def tagged(tag: str) -> list[int]:
    """Processes of this run, as far as /proc shows them, without this one."""
    wanted = f"{TAG_VARIABLE}={tag}".encode()
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                continue  # it ended while we looked, or it is not ours
    return found


def kill_tagged(tag: str, seconds: float = 10.0) -> None:
    """Kill them until there are none: some may fork while we look."""
    deadline = time.monotonic() + seconds
    looks = 0
    while looks < _LOOKS and time.monotonic() < deadline:
        alive = tagged(tag)
        looks = 0 if alive else looks + 1
        for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that none can fork meanwhile
            for pid in alive:
                try:
                    os.kill(pid, number)
                except OSError:
                    pass  # it has ended
        time.sleep(0.01)
