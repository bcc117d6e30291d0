"""The control channel, read by proctor and by atex, the program whose protocol it is.

atex is driven by atex_driver.py; floor_driver.py does the least that any reader must do.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from resource import RUSAGE_SELF, getrusage
from typing import Any
from uuid import uuid4

from measure import CACHE, REPOSITORY, Run, Spent, environment, interleave, proctor_environment, spend, table

HERE = REPOSITORY / "benchmarks"
FOLDER = CACHE / "channel"  # streams and what is stored of them: on one file system
MIB = 1 << 20
ROUNDS = 5
LOG = 400  # bytes of a short file
LEAST = 0.001  # CPU seconds: less cannot be told from nothing
EXPLANATION = """\
Every reader runs the same program, which writes a prepared stream to the channel in pieces of 64 KiB; what it
spends, by its own word, is taken off the reader's CPU. A rate leaves out what the reader spends on a program
that says nothing (`start and end`); `whole` is the ratio with it. It is checked that atex and proctor stored
all results and all bytes of files; the other rows store no results, and show what is left to gain.
"""


@dataclass(frozen=True)
class Stream:
    path: Path
    results: int = 0
    size: int = 0  # bytes of all files


@dataclass(frozen=True)
class Reader:
    name: str
    command: tuple[str, ...]  # to be run in a directory with the program `send`
    results: str = ""  # where it keeps them, a line each; without that it only leaves their number in `count`
    files: str = ""


def bench_channel(quick: bool) -> str:
    """Results and files through the control channel, against atex 0.11: the least of all rounds."""
    atex, proctor, parse, frames, splice = readers()
    number, size = (20_000, 64 * MIB) if quick else (100_000, 1024 * MIB)
    rounds = 1 if quick else ROUNDS
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    parts = [EXPLANATION]
    try:
        nothing = prepare([])
        start = least([atex, proctor, parse, frames, splice], nothing, 2 * rounds + 1, "start")
        what = f"{number:,} small results"
        costs = least([atex, proctor, parse, frames], small_results(number), rounds, what)
        parts += [f"### {what}, rounds: {rounds}\n", rates(costs, start, number, "results", 10)]
        what = f"{number:,} results with two keys of their own, each hundredth with a file"
        costs = least([atex, proctor, parse, frames], usual_results(number), rounds, what)
        parts += [f"### {what}, rounds: {rounds}\n", rates(costs, start, number, "results", 8)]
        for count in (1, size // MIB):
            what = f"{size // MIB:,} MiB in {count:,} file{'s'[: count - 1]} of one result"
            costs = least([atex, proctor, parse, splice], files(count, size // count), rounds, what)
            parts += [f"### {what}, rounds: {rounds}\n", rates(costs, start, size / 1e6, "MB", 1.5)]
        streams = {
            "nothing": nothing,
            f"a file of {size // 64 // MIB} MiB": files(1, size // 64),
            f"a file of {size // MIB:,} MiB": files(1, size),
            f"{number:,} open partials (limit: 100)": small_results(number, partial=True),
        }
        parts += ["### Peak RSS in MB\n", peaks([atex, proctor], streams)]
        own = getrusage(RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        parts += [
            f"A process is started as a copy of this one, so that nothing below {own:.0f} can be seen.\n"
        ]
    finally:
        shutil.rmtree(FOLDER)
    return "\n".join(parts)


def readers() -> tuple[Reader, Reader, Reader, Reader, Reader]:
    atex, proctor = environment("atex", "atex==0.11"), proctor_environment()
    floor = (str(proctor / "python"), str(HERE / "floor_driver.py"))
    send = "./send"
    return (
        Reader(
            "atex",
            (str(atex / "python"), str(HERE / "atex_driver.py"), send, "."),
            "out/results",
            "out/files",
        ),
        Reader(
            "`proctor run`",
            (str(proctor / "proctor"), "run", "--format", "agent", "--runner", "command", send),
            ".proctor/runs/*/results.jsonl",
            ".proctor/runs/*/files",
        ),
        Reader("decoder and ledger alone", (*floor, "parse", send, ".")),
        Reader("floor: lines and lengths", (*floor, "frames", send, ".")),
        Reader("floor: splice", (*floor, "splice", send, ".")),
    )


def small_results(number: int, **more: Any) -> Stream:
    bodies = ({"name": f"some/test/{n}", "status": "pass", **more} for n in range(number))
    return prepare((message(body) for body in bodies), results=number)


def usual_results(number: int) -> Stream:
    """As most programs report: a remark and a group, and a short log now and then."""
    log, every = os.urandom(LOG), 100

    def bodies() -> Iterator[bytes]:
        for n in range(number):
            body: dict[str, Any] = {"name": f"some/test/{n}", "status": "pass"}
            body |= {"note": f"took {n % 97} ms on node {n % 7}", "group": "smoke"}
            if n % every:
                yield message(body)
            else:
                yield message(body | {"files": [{"name": "test.log", "length": LOG}]}) + log

    return prepare(bodies(), results=number, size=-(-number // every) * LOG)


def files(count: int, length: int) -> Stream:
    """One result with so many files, each of whole MiB."""
    named = [{"name": f"file-{n}", "length": length} for n in range(count)]
    body = {"name": "some/test", "status": "pass", "files": named}
    blocks = repeat(os.urandom(MIB), count * length // MIB)
    return prepare(chain([message(body)], blocks), results=1, size=count * length)


def message(body: dict[str, Any]) -> bytes:
    raw = json.dumps(body).encode()
    return b"result %d\n%b" % (len(raw), raw)


def prepare(pieces: Iterable[bytes], results: int = 0, size: int = 0) -> Stream:
    path = FOLDER / f"{uuid4().hex}.stream"
    with open(path, "wb") as file:
        file.writelines(pieces)
    return Stream(path, results, size)


def least(readers: list[Reader], stream: Stream, rounds: int, what: str) -> dict[str, float]:
    """CPU seconds of each reader. The stream is removed unless there is nothing in it."""
    runs: dict[str, Run] = {reader.name: partial(read, reader, stream) for reader in readers}
    costs = interleave(runs, rounds, what)
    if stream.results:
        stream.path.unlink()
    return {name: cost.least for name, cost in costs.items()}


def read(reader: Reader, stream: Stream) -> Spent:
    """One run, in a directory of its own, without what the sender spent."""
    home = FOLDER / "home"
    home.mkdir()
    usage = FOLDER / "usage"
    words = [sys.executable, "-I", "-S", str(HERE / "sender.py"), str(stream.path), str(usage)]
    send = home / "send"
    send.write_text(f"#!/bin/sh\nexec {shlex.join(words)}\n")
    send.chmod(0o755)
    spent = spend(reader.command, home)
    check(reader, stream, home)
    if stream.size > MIB:
        shutil.rmtree(home)
    else:  # ext4 is slow to make files for a while after many were removed
        home.rename(FOLDER / uuid4().hex)
    return spent._replace(cpu=spent.cpu - float(usage.read_text()))


def check(reader: Reader, stream: Stream, home: Path) -> None:
    """What is fast because it lost something does not count."""
    if reader.results:
        lines = sum(map(count_lines, home.glob(reader.results)))
        stored = sum(path.stat().st_size for path in home.glob(reader.files + "/**/*") if path.is_file())
        found, due = (lines, stored), (stream.results + 1, stream.size)  # the test itself is a result too
    else:
        found, due = (int((home / "count").read_text()), 0), (stream.results, 0)
    if found != due:
        raise SystemExit(f"{reader.name} has {found} results and bytes of files; sent were {due}")


def count_lines(path: Path) -> int:
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def rates(costs: dict[str, float], start: dict[str, float], amount: float, unit: str, goal: float) -> str:
    """Ratios are to atex, the first, and to the floor, the last."""
    spent = {name: max(LEAST, cost - start[name]) for name, cost in costs.items()}
    first, *_, last = spent
    rows = [
        [
            name,
            f"{costs[name]:.3f}",
            f"{start[name]:.3f}",
            f"{amount / net:,.0f}",
            f"{spent[first] / net:.2f}",
            f"{costs[first] / costs[name]:.2f}",
            f"{spent[last] / net:.3f}",
        ]
        for name, net in spent.items()
    ]
    head = [
        "reader",
        "CPU s",
        "start and end",
        f"{unit} a CPU second",
        f"times atex (goal: {goal:g})",
        "whole",
        "times the floor",
    ]
    return table(head, rows)


def peaks(readers: list[Reader], streams: dict[str, Stream]) -> str:
    rows = [
        [reader.name, *(f"{read(reader, stream).peak / 1e6:.0f}" for stream in streams.values())]
        for reader in readers
    ]
    return table(["reader", *streams], rows)
