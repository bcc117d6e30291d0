"""`proctor mcp` while tests run, and when they must end: how soon it answers, how soon nothing is left."""

from __future__ import annotations

import os
import signal
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec

from measure import environment, project, table
from servers import HELLO, Talk, own_environment

P = ParamSpec("P")

PINGS = 50
CALL = "tools/call"
ENDLESS = """\
import os, signal, subprocess, sys, time

for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)

def test_endless():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    with open("pids.new", "w") as pids:
        pids.write(f"{os.getpid()} {child.pid}")
    os.rename("pids.new", "pids")
    while True:
        pass
"""


def bench_life(quick: bool) -> str:
    """The MCP server while a test that ignores signals keeps a processor busy: how long a ping takes, and how
    long that test and its child in a session of its own live on, once the server is asked, told or killed."""
    root = project("suite-endless", {"test_endless.py": ENDLESS})
    ours, bare = own_environment(), environment("pytest", "pytest")
    command = [str(ours / "proctor"), "mcp", "--root", str(root), "--python", str(bare / "python")]
    took: dict[str, list[float]] = {}
    pings: list[float] = []
    rounds = 1 if quick else 5
    for number in range(rounds):
        for name, end in ENDS.items():
            print(f"life, round {number + 1} of {rounds}: {name}", file=sys.stderr, flush=True)
            talk, pids = _under_way(command, root)
            pings += [_timed(talk.ask, "ping", {}) for _ in range(PINGS)]
            took.setdefault(name, []).append(_timed(_until_gone, end, talk, pids))
            talk.process.kill()
            talk.close()
    rows = [_row("ping (limit: 100)", pings), *(_row(f"{name} (limit: 1,000)", took[name]) for name in took)]
    return table(["", "median ms", "longest ms"], rows)


def _under_way(command: list[str], root: Path) -> tuple[Talk, list[int]]:
    written = root / "pids"
    written.unlink(missing_ok=True)
    talk = Talk(command, root)
    talk.ask("initialize", HELLO)
    talk.say(method="notifications/initialized")
    talk.say(id="call", method=CALL, params={"name": "execute_tests", "arguments": {}})
    while not written.exists():
        time.sleep(0.01)
    return talk, [int(pid) for pid in written.read_text().split()]


def _until_gone(end: Callable[[Talk], None], talk: Talk, pids: list[int]) -> None:
    end(talk)
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        time.sleep(0.001)


def _cancel(talk: Talk) -> None:
    talk.say(method="notifications/cancelled", params={"requestId": "call"})


def _cancel_run(talk: Talk) -> None:
    talk.say(id="end", method=CALL, params={"name": "cancel_run", "arguments": {"run_id": "last"}})


def _leave(talk: Talk) -> None:
    assert talk.process.stdin is not None
    talk.process.stdin.close()


def _signalled(number: signal.Signals) -> Callable[[Talk], None]:
    return lambda talk: talk.process.send_signal(number)


ENDS: dict[str, Callable[[Talk], None]] = {
    "the client cancels its call": _cancel,
    "`cancel_run`": _cancel_run,
    "end of input": _leave,
    "SIGTERM": _signalled(signal.SIGTERM),
    "SIGINT": _signalled(signal.SIGINT),
    "SIGKILL": _signalled(signal.SIGKILL),
}


def _timed(run: Callable[P, object], *arguments: P.args, **named: P.kwargs) -> float:
    started = time.perf_counter()
    run(*arguments, **named)
    return time.perf_counter() - started


def _row(name: str, seconds: list[float]) -> list[str]:
    return [name, f"{statistics.median(seconds) * 1000:.1f}", f"{max(seconds) * 1000:.1f}"]
