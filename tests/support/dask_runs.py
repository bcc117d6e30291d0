"""Runs of `proctor run --engine` in this process, and what they say."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from proctor.cli import run as cli
from support.projects import outcomes, project_python


class Finished:
    def __init__(self, code: int, document: dict[str, Any]) -> None:
        self.code, self.document = code, document
        self.ends = outcomes(document) | dict.fromkeys(document.get("not_run", ()), "not_run")
        self.counts = Counter(test["node_id"] for test in document["tests"])

    @property
    def notices(self) -> str:
        return "\n".join(self.document.get("notices", ()))


def run(root: Path, engine: str, *arguments: str, shards: int = 2, python: str = "") -> Finished:
    """`proctor run --engine`, in this process."""
    written = root.parent / f"{root.name}.json"
    given = ["-C", str(root), "--engine", engine, "--shards", str(shards), "-o", f"json={written}"]
    code = cli.main([*given, "--python", python or project_python(), "--no-history", *arguments])
    return Finished(code, json.loads(written.read_text()))


def files_with(count: int, text: str = "def test_it(): pass\n") -> dict[str, str]:
    return {f"test_{number}.py": text for number in range(count)}
