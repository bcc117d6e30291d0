"""The file of a plan: what is written can be read, and what is no plan is refused with one clear line."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from proctor.errors import UsageError
from proctor.shards.plan import SCHEMA, Plan, Shard, decode, encode, numbers, read
from proctor.spec import Selection

PLAN = Plan(
    commit="c0ffee",
    tree="7ree",
    fingerprint="cpython 3.11.7, 3 packages (1a2b)",
    base="..",
    selection=Selection(("tests",), "not slow"),
    runner="pytest,node",
    arguments=("-p", "no:x"),
    arguments_for="pytest",
    shards=(
        Shard(("a.test.js::adds", "tests/test_a.py::test_é\n[\\udc80]"), 1.5, {"node": 1, "pytest": 1}),
        Shard((), 0.0, {}),
    ),
)


def test_a_plan_that_was_written_is_read_again() -> None:
    assert decode(encode(PLAN), "plan.json") == PLAN


def test_the_schema_comes_first_and_the_public_fields_are_there() -> None:
    written = json.loads(encode(PLAN))

    assert encode(PLAN).startswith(b'{\n "schema": "proctor.plan/1",')
    assert written["commit"] == "c0ffee" and written["tree"] == "7ree" and written["fingerprint"]
    assert [sorted(shard) for shard in written["shards"]] == [["files", "runners", "seconds", "tests"]] * 2


def test_a_plan_with_only_the_public_fields_and_fields_of_a_later_version_are_read() -> None:
    text = {
        "schema": SCHEMA,
        "commit": "",
        "later": [1, {"x": None}],
        "shards": [{"tests": ["a::b"], "seconds": 1, "later": {}}],
    }

    plan = decode(json.dumps(text).encode(), "plan.json")

    assert [*plan.shards[0].by_runner()] == [("", ("a::b",))]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "plan.json is no plan"),
        ("[" * 100_000, "plan.json is no plan"),
        ('{"tests": []}', "plan.json is no plan"),
        ('{"schema": "proctor.plan/1"}', "missing required field `shards`"),
        ('{"schema": "proctor.plan/1", "shards": [{"tests": [1]}]}', "Expected `str`"),
        ('{"schema": "proctor.plan/1", "shards": []}', "has 0 shards: expected 1 to"),
        (
            '{"schema": "proctor.plan/2", "shards": 7}',
            "plan.json has the schema 'proctor.plan/2': expected 'proctor.plan/1'",
        ),
        (
            '{"schema": "proctor.plan/1", "shards": [{"tests": ["a"]}, {"tests": ["b", "a"]}]}',
            "plan.json: a is in shards 1 and 2: expected one",
        ),
        (
            '{"schema": "proctor.plan/1", "shards": [{"tests": ["a"], "runners": {"pytest": 2}}]}',
            "plan.json: shard 1 has 1 tests, its runners 2",
        ),
        (
            '{"schema": "proctor.plan/1", "shards": [{"tests": ["a"], "runners": {"x": -1, "y": 2}}]}',
            "Expected `int` >= 0",
        ),
    ],
)
def test_what_is_no_plan_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        decode(text.encode(), "plan.json")

    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_bytes_that_are_no_text_are_no_plan() -> None:
    with pytest.raises(UsageError, match="is no plan"):
        decode(b'{"schema": "\xff"}', "plan.json")


def test_a_plan_that_is_missing_a_directory_or_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, why in (("none", "No such file"), (".", "directory|regular"), ("pipe", "regular file")):
        with pytest.raises(UsageError, match=f"cannot be read: .*({why})"):
            read(tmp_path / name)


@pytest.mark.parametrize(
    "text", ["0/3", "4/3", "x", "3", "", "1/0", "-1/3", "1/3 ", "1 /3", "1/1000000", "\u0661/\u0663"]
)
def test_a_shard_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="invalid --shard"):
        numbers(text)


def test_a_shard_says_its_number_and_how_many_there_are() -> None:
    assert [numbers("1/1"), numbers("3/10"), numbers("100000/100000")] == [
        (1, 1),
        (3, 10),
        (100_000, 100_000),
    ]


def test_plans_have_the_same_hash_if_their_shards_have_the_same_tests_in_any_order() -> None:
    def plan(*shards: tuple[str, ...], **more: Any) -> str:
        return Plan(shards=tuple(map(Shard, shards)), **more).digest()

    assert plan(("a", "b"), ("c",)) == plan(("b", "a"), ("c",), commit="x", tree="y")
    different = [
        plan(("a", "b"), ("c",)),
        plan(("a",), ("b", "c")),
        plan(("a", "b"), ("c", "d")),
        plan(("a", "b", "b"), ("c",)),
        plan(("a", "b"), ("c",), fingerprint="cpython"),
        plan(("a,b",), ("c",)),
        plan(("c",), ("a", "b")),
    ]
    assert len(set(different)) == len(different)
