"""Everything that leaves the machine about a run, as texts: every format, and every answer of the server."""

from __future__ import annotations

import json
from pathlib import Path

from support.cli import shown
from support.mcp_client import text_of
from torture.ways import Server

FORMS = ("agent", "human", "junit", "junit-full", "ctrf", "tap", "github", "failures")


def written(run: Path) -> dict[str, str]:
    return {form: shown(run, form)[1] for form in FORMS}


def answered(server: Server, run_id: str, tests: list[str]) -> dict[str, str]:
    parts = {
        part: server.call("get_run", run_id=run_id, select=part, budget=100_000, limit=100_000)
        for part in ("failures", "tests", "output", "json_report", "files")
    }
    each = {test: server.call("get_test", run_id=run_id, node_id=test, budget=20_000) for test in tests}
    answers = parts | each
    assert not any(answer.is_error for answer in answers.values())
    found = {
        name: text_of(answer) + json.dumps(answer.structured_content) for name, answer in answers.items()
    }
    for part in ("result.json", "output.txt", *(f"tests/{number}" for number in range(len(tests)))):
        found[part] = server.resource(f"proctor://runs/{run_id}/{part}")
    return found
