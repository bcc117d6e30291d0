"""MCP servers that run tests, over stdio: how soon they answer, and what they take up.

Each server is started anew in every round, greeted, asked for its tools, left alone for a moment, and then
asked ten times to run the same ten tests. CPU is the server's and that of all processes it has waited for.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from measure import CACHE, REPOSITORY, Spent, clean_environment, environment, many, project, spend, table

TESTS = 10
CALLS = 10
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "0"}}
BARE, PROCTOR = "bare server of the SDK", "`proctor mcp`"
MOST = 1.15  # times the bare server
_MOMENT = 0.3  # seconds until a server that has nothing to do does nothing
_TICK = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    command: list[str]
    tool: str = ""
    arguments: dict[str, Any] | None = None
    shows: str = ""  # that the tests have run


@dataclass
class Round:
    hello: Spent
    idle: int  # bytes of RSS
    calls: list[Spent]


class Talk:
    """A client of few words, so that what is measured is the server."""

    def __init__(self, command: list[str], cwd: Path) -> None:
        path = f"{Path(command[0]).parent}:{os.environ['PATH']}"  # one of them finds its pytest there
        self.begun = time.perf_counter()
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=clean_environment(PATH=path),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._asked = 0

    def say(self, **message: Any) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self.say(id=self._asked, method=method, params=params)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self._asked and "method" not in answer:
                found: dict[str, Any] = answer["result"]
                return found
        raise SystemExit(f"{self.process.args!r} ended without an answer to {method}")

    def cpu(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICK

    def memory(self) -> int:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) << 10

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(10)


def one_round(server: Server, root: Path) -> Round:
    talk = Talk(server.command, root)
    talk.ask("initialize", HELLO)
    hello = Spent(talk.cpu(), time.perf_counter() - talk.begun)
    talk.say(method="notifications/initialized")
    talk.ask("tools/list", {})
    time.sleep(_MOMENT)
    idle = talk.memory()
    calls = [call(talk, server) for _ in range(CALLS if server.tool else 0)]
    talk.close()
    return Round(hello, idle, calls)


def call(talk: Talk, server: Server) -> Spent:
    cpu, wall = talk.cpu(), time.perf_counter()
    answer = talk.ask("tools/call", {"name": server.tool, "arguments": server.arguments})
    spent = Spent(talk.cpu() - cpu, time.perf_counter() - wall)
    if server.shows not in json.dumps(answer):
        raise SystemExit(f"{server.tool} did not run the tests: {str(answer)[-2000:]}")
    return spent


def bench_servers(quick: bool) -> str:
    """The MCP server beside a bare one of the same SDK, and two servers from PyPI that run tests."""
    root = project("suite-of-servers", many(TESTS))
    bare = environment("pytest", "pytest")
    found = servers(root, bare / "python")
    rounds: dict[str, list[Round]] = defaultdict(list)
    pytests: list[Spent] = []
    count = 2 if quick else 7
    for number in range(count + 1):
        print(f"servers, round {number} of {count}", file=sys.stderr, flush=True)
        done = {name: one_round(server, root) for name, server in found.items()}
        spent = spend([str(bare / "python"), "-m", "pytest", "-q"], root)
        if number:  # the first round only warms caches
            pytests.append(spent)
            for name, one in done.items():
                rounds[name].append(one)
    return "\n".join([_starting(rounds), _calling(rounds, pytests)])


@cache
def own_environment() -> Path:
    """proctor as a user of its server has it."""
    shutil.rmtree(CACHE / "environments" / "proctor-mcp", ignore_errors=True)
    return environment("proctor-mcp", f"{REPOSITORY}[mcp]")


def servers(root: Path, python: Path) -> dict[str, Server]:
    """By name; `python` runs the tests, except for servers that have a pytest of their own."""
    ours = own_environment()
    evidence = environment("peer-pytest-evidence-mcp", "pytest", "pytest-evidence-mcp")
    runner = environment(
        "peer-lovranran-mcp-test-runner", "pytest", "pytest-json-report", "lovranran-mcp-test-runner"
    )
    here = {"path": str(root)}
    bare_server = str(Path(__file__).parent / "bare_server.py")
    serve = [str(ours / "proctor"), "mcp", "--root", str(root), "--python", str(python)]
    return {
        BARE: Server([str(ours / "python"), bare_server]),
        PROCTOR: Server(serve, "execute_tests", {}, f"{TESTS} passed"),
        "pytest-evidence-mcp": Server(
            [str(evidence / "pytest-evidence-mcp")], "list_failed_tests", here, "junitxml_subprocess"
        ),
        "lovranran-mcp-test-runner": Server(
            [str(runner / "mcp-test-runner")], "run_pytest", here, f"{TESTS} passed"
        ),
    }


def _starting(rounds: dict[str, list[Round]]) -> str:
    floor = rounds[BARE]
    rows = [
        [
            name,
            *_against(found, floor, lambda one: one.hello.cpu * 1000, "{:.0f}"),
            *_against(found, floor, lambda one: one.hello.wall * 1000, "{:.0f}"),
            *_against(found, floor, lambda one: one.idle / 1e6, "{:.1f}"),
        ]
        for name, found in rounds.items()
    ]
    head = ["server", "initialize, CPU ms", "ratio", "wall ms", "ratio", "idle RSS, MB", "ratio"]
    limit = f"Limit of the ratios of {PROCTOR}: {MOST}. Rounds: {len(floor)}.\n"
    return f"{table(head, rows)}\n{limit}"


def _calling(rounds: dict[str, list[Round]], pytests: list[Spent]) -> str:
    rows = []
    for name, found in rounds.items():
        if found[0].calls:
            first, tenth = ([one.calls[at] for one in found] for at in (0, CALLS - 1))
            rows.append([name, *_both(first), *_both(tenth)])
    rows.append(["`pytest -q`", *_both(pytests), "", ""])
    return table([f"{TESTS} tests", "first call, CPU ms", "wall ms", "tenth call, CPU ms", "wall ms"], rows)


def _both(spent: list[Spent]) -> list[str]:
    return [f"{statistics.median(values) * 1000:.0f}" for values in list(zip(*spent, strict=True))[:2]]


def _against(
    found: list[Round], floor: list[Round], value: Callable[[Round], float], shown: str
) -> list[str]:
    own, least = (statistics.median(map(value, rounds)) for rounds in (found, floor))
    return [shown.format(own), f"{own / least:.2f}"]
