"""Plans and shards of small projects, by the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.projects import Ran, clean_environment, document_of, proctor, project_python

PLAN = "plan.json"


def plan(root: Path, shards: int, *arguments: str, **more: str) -> Ran:
    """`proctor plan`, which writes PLAN into the project; what follows `--` comes last."""
    given = ("--python", project_python(), "--shards", str(shards), "-o", PLAN)
    return proctor("plan", *given, *arguments, cwd=root, environ=clean_environment(**more))


def planned(root: Path, shards: int, *arguments: str, **more: str) -> Path:
    made = plan(root, shards, *arguments, **more)
    assert made.code == 0, made.err
    return root / PLAN


def shard(root: Path, which: str, *arguments: str, **more: str) -> dict[str, Any]:
    """The document of one shard of PLAN."""
    return document_of(root, "--plan", PLAN, "--shard", which, *arguments, **more)


def shards(root: Path, count: int, *arguments: str, **more: str) -> list[dict[str, Any]]:
    """The documents of all."""
    return [shard(root, f"{number}/{count}", *arguments, **more) for number in range(1, count + 1)]


def ends(documents: Sequence[Mapping[str, Any]]) -> Counter[tuple[str, str]]:
    """Tests and their outcomes in all documents, each as often as it was reported."""
    return Counter((test["node_id"], test["outcome"]) for document in documents for test in document["tests"])
