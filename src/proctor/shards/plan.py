"""The plan that all shards of a run share: `proctor.plan/1`. Each of its tests is in exactly one shard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, TypeAlias

import msgspec

from proctor import decoding
from proctor.digest import blake2b
from proctor.errors import UsageError
from proctor.regular_files import read_bytes
from proctor.spec import Selection

# 1: first published form.
SCHEMA = "proctor.plan/1"
MOST = 100_000  # shards
Count: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
_SHARD = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


class Shard(msgspec.Struct, frozen=True):
    tests: tuple[str, ...]  # ids, those of one runner after those of another; what is there twice runs twice
    seconds: float = 0.0  # that they are expected to take together; 0: not known
    runners: dict[str, Count] = {}  # how many of the tests belong to each, in the order of the tests
    files: tuple[str, ...] = ()  # of pytest, that it loads beside those of its tests: they skip themselves

    def by_runner(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Runners, with their tests; the name is empty where the plan does not say."""
        if not self.runners:
            yield "", self.tests
        start = 0
        for runner, count in self.runners.items():
            yield runner, self.tests[start : start + count]
            start += count


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = SCHEMA
    commit: str = ""  # empty: without git, or before the first commit
    tree: str = ""  # git's hash of all files, changed ones too; empty: not known
    fingerprint: str = ""  # of the interpreter and its packages; empty: no test needs one
    base: str = ""  # the directory that ids of pytest are relative to, seen from the project; empty: that one
    selection: Selection = Selection()  # of which these are the tests
    runner: str = ""  # as it was asked for; empty: every one that finds tests
    arguments: tuple[str, ...] = ()  # for the runner, after `--`
    arguments_for: str = ""  # that runner
    shards: tuple[Shard, ...]

    @property
    def total(self) -> int:
        return sum(len(shard.tests) for shard in self.shards)

    def digest(self) -> str:
        """Equal where each shard has the same tests, in any order, and runs them with the same packages."""
        found = blake2b(self.fingerprint.encode(), digest_size=12)
        for shard in self.shards:
            found.update(msgspec.json.encode(sorted(shard.tests)))
        return found.hexdigest()


class _Head(msgspec.Struct):
    schema: str


def encode(plan: Plan) -> bytes:
    return msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n"


def is_plan(head: bytes) -> bool:
    """By the first bytes of a file, as `encode` writes them."""
    return re.match(rb'\s*\{\s*"schema":\s*"proctor\.plan/', head) is not None


def read(path: Path) -> Plan:
    """Raises UsageError for what is no plan."""
    try:
        data = read_bytes(path)
    except OSError as error:
        raise UsageError(f"the plan {path} cannot be read: {error.strerror}") from None
    return decode(data, str(path))


def decode(data: bytes, name: str) -> Plan:
    """Fields that are not known are skipped."""
    try:
        schema = decoding.decode(data, _Head).schema  # the rest of a newer one may be anything
        if schema != SCHEMA:
            raise UsageError(f"{name} has the schema {schema!r}: expected {SCHEMA!r}")
        plan = decoding.decode(data, Plan)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is no plan: {error}; expected a file of `proctor plan`") from None
    if not 1 <= len(plan.shards) <= MOST:
        raise UsageError(f"{name} has {len(plan.shards)} shards: expected 1 to {MOST}")
    _check(plan, name)
    return plan


def _check(plan: Plan, name: str) -> None:
    """Raises UsageError unless each test is in exactly one shard."""
    owners: dict[str, int] = {}
    for number, shard in enumerate(plan.shards, 1):
        counted = sum(shard.runners.values())
        if shard.runners and counted != len(shard.tests):
            raise UsageError(f"{name}: shard {number} has {len(shard.tests)} tests, its runners {counted}")
        for test in shard.tests:
            if owners.setdefault(test, number) != number:
                raise UsageError(f"{name}: {test} is in shards {owners[test]} and {number}: expected one")


def numbers(text: str) -> tuple[int, int]:
    """Which shard of how many, of `3/10`."""
    found = _SHARD.fullmatch(text)
    number, count = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= number <= count <= MOST:
        raise UsageError(f"invalid --shard {text!r}: expected I/N, such as 3/10, with I from 1 to N")
    return number, count
