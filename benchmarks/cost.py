"""Whether proctor has become dearer: a few figures, each against its limit in bounds.toml.

    python benchmarks/cost.py [--cpu] [--write]

Every figure is a ratio to a floor that is counted in the same run, so that neither the machine nor its load
matters. What is counted are instructions, by valgrind: from one time to the next they differ by a hundredth.
Where there is no valgrind, or with `--cpu`, it is CPU time, the least of several rounds, with wider limits.
Ends with 1 and names the row if something costs more than it may. `--write` sets limits from what it found.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from measure import REPOSITORY, clean_environment, many, project, table
from servers import HELLO, Talk

BOUNDS = Path(__file__).parent / "bounds.toml"
MARGINS = {"instructions": 1.3, "cpu": 1.45}  # of a limit that is set anew
ROUNDS = 9  # of CPU time
SERVER_ROUNDS = 5
WORKER_ROUNDS = 5
RESULTS = 10_000
PYTHON = sys.executable
PROCTOR = str(Path(PYTHON).with_name("proctor"))
INJECTED = "_proctor_injected_pytest"

#: proctor in a process that says what it spent itself, without what it started.
OWN = """
import resource, sys
from proctor.cli.main import main
main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime, file=sys.stderr)
"""
DECODE = """
import sys
from proctor.wire.control.decoder import ControlDecoder
from proctor.wire.control.ledger import Finished, Ledger
decoder, count = ControlDecoder(Ledger()), 0
with open(sys.argv[1], "rb") as stream:
    while data := stream.read(1 << 16):
        count += sum(type(frame) is Finished for frame in decoder.feed(data))
sys.exit(count != int(sys.argv[2]))
"""
LOADS = """
import json, sys
data, at, count = open(sys.argv[1], "rb").read(), 0, 0
while at < len(data):
    end = data.index(b"\\n", at)
    at = end + 1 + int(data[at + len("result ") : end])
    count += "status" in json.loads(data[end + 1 : at])
sys.exit(count != int(sys.argv[2]))
"""

Costs: TypeAlias = Mapping[str, float]
Meter: TypeAlias = "Callable[[dict[str, Command]], dict[str, float]]"

#: What each row of bounds.toml is made of.
FIGURES: dict[str, Callable[[Costs], float]] = {
    "version": lambda c: c["version"] / c["bare"],
    "run": lambda c: c["run 10"] / c["bare"],
    "tests": lambda c: (c["no history 1010"] - c["no history 10"]) / c["bare"],
    "history": lambda c: (c["run 1010"] - c["no history 1010"]) / c["bare"],
    "plugin": lambda c: (c["plugin 10"] - c["pytest 10"]) / c["bare"],
    "hooks": lambda c: (c["plugin 210"] - c["plugin 10"]) / (c["pytest 210"] - c["pytest 10"]) - 1,
    "decoder": lambda c: (c["decode all"] - c["decode none"]) / (c["loads all"] - c["loads none"]),
    "show": lambda c: c["show 10"] / c["bare"],
    "fold": lambda c: (c["show 1010"] - c["show 10"]) / c["bare"],
    "server": lambda c: c["server"] / c["bare server"],
    "workers": lambda c: c["two workers"] / c["no workers"],
}


@dataclass(frozen=True)
class Command:
    argv: tuple[str, ...]
    cwd: Path
    reports: bool = False  # on a control channel that nobody reads
    own: bool = False  # what it starts does not count


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cpu", action="store_true", help="CPU time, though there is valgrind")
    parser.add_argument("--write", action="store_true", help="set the limits of bounds.toml anew")
    chosen = parser.parse_args()
    unit = "cpu" if chosen.cpu or shutil.which("valgrind") is None else "instructions"
    if unit == "cpu" and not chosen.cpu:
        print("there is no valgrind here: CPU time is compared, with wider limits")
    bounds = tomllib.loads(BOUNDS.read_text())
    with tempfile.TemporaryDirectory(prefix="cost-") as home:
        costs = measure(Path(home), cpu_seconds if unit == "cpu" else instructions)
    found = {name: figure(costs) for name, figure in FIGURES.items()}
    if chosen.write:
        write(bounds, unit, found)
        return 0
    return judge(bounds, unit, found)


def measure(home: Path, meter: Meter) -> dict[str, float]:
    commands = prepare(home)
    for command in commands.values():  # so that every module is compiled
        start(command.argv, command)
    return meter(commands) | server_seconds(home / "suite-10") | worker_seconds(home)


def prepare(home: Path) -> dict[str, Command]:
    suites = {tests: suite(home, f"suite-{tests}", tests) for tests in (10, 210, 1010)}
    streams = {"all": stream(home / "all", RESULTS), "none": stream(home / "none", 0)}
    pytest = (PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    run = (PROCTOR, "run", "--format", "agent", "--python", PYTHON)
    commands = {
        "bare": Command((PYTHON, "-c", "pass"), home),
        "version": Command((PROCTOR, "--version"), home),
    }
    for tests in (10, 210):
        commands[f"pytest {tests}"] = Command(pytest, suites[tests])
        commands[f"plugin {tests}"] = Command((*pytest, "-p", INJECTED), suites[tests], reports=True)
    for tests in (10, 1010):
        commands[f"run {tests}"] = Command(run, suites[tests], own=True)
        commands[f"no history {tests}"] = Command((*run, "--no-history"), suites[tests], own=True)
        kept = suite(home, f"kept-{tests}", tests)
        start(run, Command(run, kept))
        commands[f"show {tests}"] = Command((PROCTOR, "show", "last", "--format", "agent"), kept)
    for name, (path, results) in streams.items():
        commands[f"decode {name}"] = Command((PYTHON, "-c", DECODE, path, results), home)
        commands[f"loads {name}"] = Command((PYTHON, "-c", LOADS, path, results), home)
    return commands


def suite(home: Path, name: str, tests: int) -> Path:
    return project(name, many(tests, per_file=tests), home)


def stream(path: Path, results: int) -> tuple[str, str]:
    bodies = (b'{"name": "some/test/%d", "status": "pass", "note": "x"}' % n for n in range(results))
    path.write_bytes(b"".join(b"result %d\n%b" % (len(body), body) for body in bodies))
    return str(path), str(results)


def start(argv: tuple[str, ...], command: Command) -> tuple[float, str]:
    """CPU seconds of it and of all that it waited for, and what it wrote to stderr."""
    environ = clean_environment(PYTHONHASHSEED="0", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    with tempfile.TemporaryFile() as control, tempfile.TemporaryFile() as errors:
        if command.reports:
            environ["PYTHONPATH"] = str(REPOSITORY / "src" / "proctor" / "inject" / "path")
            environ["PROCTOR_CONTROL_FD"] = str(control.fileno())
        process = subprocess.Popen(
            argv,
            cwd=command.cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=[control.fileno()] if command.reports else [],
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        said = errors.read().decode(errors="replace")
        silent = command.reports and control.seek(0, os.SEEK_END) == 0
    if process.returncode != 0 or silent:
        raise SystemExit(f"{' '.join(argv)} ended with {process.returncode}, reports: {not silent}\n{said}")
    return usage.ru_utime + usage.ru_stime, said


def instructions(commands: dict[str, Command]) -> dict[str, float]:
    """Each alone, but several at a time: they do not get more for that."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(commands, pool.map(_instructions, commands.values()), strict=True))


def _instructions(command: Command) -> float:
    with tempfile.NamedTemporaryFile(prefix="cost-", suffix=".cachegrind") as out:
        options = ("--cache-sim=no", f"--cachegrind-out-file={out.name}", "--child-silent-after-fork=yes")
        _, said = start(("valgrind", "--tool=cachegrind", *options, *command.argv), command)
    counted = re.search(r"I +refs: +([0-9,]+)", said)
    if counted is None:
        raise SystemExit(f"valgrind counted nothing:\n{said}")
    return float(counted[1].replace(",", ""))


def cpu_seconds(commands: dict[str, Command]) -> dict[str, float]:
    rounds = [{name: _cpu_seconds(command) for name, command in commands.items()} for _ in range(ROUNDS)]
    return {name: min(costs[name] for costs in rounds) for name in commands}


def _cpu_seconds(command: Command) -> float:
    if not command.own:
        return start(command.argv, command)[0]
    _, said = start((PYTHON, "-c", OWN, *command.argv[1:]), command)
    return float(said.split()[-1])


def server_seconds(root: Path) -> dict[str, float]:
    """Always CPU time: the SDK alone is three billion instructions, which would take valgrind a minute."""
    servers = {
        "bare server": [PYTHON, str(Path(__file__).parent / "bare_server.py")],
        "server": [PROCTOR, "mcp", "--root", str(root), "--python", PYTHON],
    }
    rounds = [
        {name: _greeting(command, root) for name, command in servers.items()} for _ in range(SERVER_ROUNDS)
    ]
    return {name: min(costs[name] for costs in rounds) for name in servers}


def worker_seconds(home: Path) -> dict[str, float]:
    """Always CPU time, that of all processes: valgrind would count only the first."""
    root = project("many-files", many(2_000), home)
    run = (PROCTOR, "run", "--format", "agent", "--python", PYTHON)
    commands = {"no workers": Command(run, root), "two workers": Command((*run, "-n", "2"), root)}
    rounds = [
        {name: start(command.argv, command)[0] for name, command in commands.items()}
        for _ in range(WORKER_ROUNDS)
    ]
    return {name: min(costs[name] for costs in rounds) for name in commands}


def _greeting(command: list[str], root: Path) -> float:
    talk = Talk(command, root)
    try:
        talk.ask("initialize", HELLO)
        return talk.cpu()
    finally:
        talk.close()


def judge(bounds: dict[str, dict[str, Any]], unit: str, found: Mapping[str, float]) -> int:
    rows, dearer = [], []
    for name, figure in found.items():
        row = bounds[name]
        if counted := unit_of(row, unit):
            before, most = row[counted]["found"], row[counted]["most"]
            rows.append([name, row["what"], counted, f"{figure:.3f}", f"{before:g}", f"{most:g}"])
            if figure > most:
                dearer.append(
                    f"cost: {name} is too dear: found {figure:.3f}, allowed {most:g} ({row['what']})"
                )
        else:
            rows.append([name, row["what"], "not without valgrind", "", "", ""])
    print(table(["row", "what", "counted", "found", "when the limit was set", "allowed"], rows))
    print("\n".join(dearer))
    return 1 if dearer else 0


def unit_of(row: Mapping[str, Any], unit: str) -> str:
    """The server and workers are always compared by CPU time; what is too small for that, by instructions
    alone."""
    if unit in row:
        return unit
    return "cpu" if "cpu" in row and unit == "instructions" else ""


def write(bounds: dict[str, dict[str, Any]], unit: str, found: Mapping[str, float]) -> None:
    parts = ["".join(line for line in BOUNDS.open() if line.startswith("#"))]
    for name, figure in found.items():
        row = bounds[name]
        if counted := unit_of(row, unit):
            row[counted] = {"found": round(figure, 3), "most": round(figure * MARGINS[counted], 3)}
        limits = [
            f"{way} = {{ found = {row[way]['found']:g}, most = {row[way]['most']:g} }}"
            for way in MARGINS
            if way in row
        ]
        parts.append("\n".join([f"[{name}]", f'what = "{row["what"]}"', *limits, ""]))
    BOUNDS.write_text("\n".join(parts))


if __name__ == "__main__":
    sys.exit(main())
