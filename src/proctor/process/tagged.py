"""Find processes by the tag that a run leaves in their environment: for when a supervisor died."""

from __future__ import annotations

import os
import signal
import time

TAG_VARIABLE = "PROCTOR_RUN"


def tagged(tag: str) -> list[int]:
    """Processes of this run, as far as /proc tells; ourselves excepted."""
    wanted = f"{TAG_VARIABLE}={tag}".encode()
    found = []
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    if wanted in file.read().split(b"\0"):
                        found.append(int(name))
            except OSError:
                continue
    return found


def kill_tagged(tag: str, seconds: float = 5.0) -> None:
    """Kill them until there are none: some may fork while we look."""
    deadline = time.monotonic() + seconds
    while (alive := tagged(tag)) and time.monotonic() < deadline:
        for pid in alive:
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        time.sleep(0.01)
