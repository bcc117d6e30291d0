"""Logs of very many shards: one real shard is run, and its log is written again under other names."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import msgspec
from measure import CACHE, clean_environment, many, project

from proctor.shards import plan as plans
from proctor.shards.part import planned

TESTS = 1_000  # of a shard
_TALKING = "def test_{n}():\n    print('x' * SIZE)\n    assert {n} != 7\n\n\n"  # one fails
_MARK = b"part_0000/"


def write_shards(count: int, output: int, proctor: Path, python: Path) -> tuple[Path, list[str], int]:
    """Writes a plan of so many shards and their logs; each test prints `output` bytes. Returns the directory,
    the names of the logs and the size of all of them."""
    root = CACHE / f"merge-{count}-{output}"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    plan, lines = _real_shard(output, proctor, python)
    names = [_MARK.replace(b"0000", b"%04d" % number).decode() for number in range(count)]
    shards = tuple(
        plans.Shard(tuple(test.replace(_MARK.decode(), name) for test in shard.tests), 1.0, shard.runners)
        for name in names
        for shard in plan.shards
    )
    plan = msgspec.structs.replace(plan, shards=shards)
    (root / "plan.json").write_bytes(plans.encode(plan))
    files, size = [], 0
    for number, name in enumerate(names, 1):
        data = lines.replace(_MARK, name.encode())
        files.append(f"shard-{number:04d}.jsonl")
        size += (root / files[-1]).write_bytes(_with_plan(data, plan, number))
    return root, files, size


def _real_shard(output: int, proctor: Path, python: Path) -> tuple[plans.Plan, bytes]:
    root = CACHE / f"merge-one-{output}"
    shutil.rmtree(root, ignore_errors=True)
    files = many(TESTS, _TALKING.replace("SIZE", str(output)))
    (root / _MARK.decode()).mkdir(parents=True)
    project(root.name, {_MARK.decode() + name: text for name, text in files.items()})
    for words in (
        ("plan", "--shards", "1", "-o", "plan.json"),
        ("run", "--plan", "plan.json", "--shard", "1/1", "-o", "events=one.jsonl", "--format", "agent"),
    ):
        command = [str(proctor / "proctor"), *words, "--python", str(python)]
        done = subprocess.run(command, cwd=root, env=clean_environment(), capture_output=True, check=False)
        assert done.returncode in (0, 1), done.stderr.decode()
    return plans.read(root / "plan.json"), (root / "one.jsonl").read_bytes()


def _with_plan(data: bytes, plan: plans.Plan, number: int) -> bytes:
    """The log with the line that says which part of the plan it is."""
    match = re.search(rb'^.*"kind":"tests_planned".*\n', data, re.M)
    assert match, "the log of a shard does not say what was planned"
    line = {**msgspec.json.decode(match[0]), "extra": planned(plan, number)}
    return data[: match.start()] + msgspec.json.encode(line) + b"\n" + data[match.end() :]
