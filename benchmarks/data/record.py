"""Writes durations.json: what the tests of real suites took, file by file. Numbers only.

python benchmarks/data/record.py 'attrs 26.1.0=attrs.json' …    # documents of `proctor run -o json=…`
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any


def files(document: dict[str, Any]) -> list[list[int]]:
    """Microseconds of each test that ran, by file."""
    found: dict[str, list[int]] = {}
    for test in document["tests"]:
        if test["outcome"] != "skipped":
            found.setdefault(test["node_id"].partition("::")[0], []).append(round(test["duration"] * 1e6))
    return list(found.values())


def main(words: list[str]) -> None:
    suites = {name: files(json.loads(Path(path).read_text())) for name, path in (w.split("=") for w in words)}
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(took)}" for name, took in suites.items())
    (Path(__file__).parent / "durations.json").write_text(f"{{{lines}}}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
