"""CTRF's own package: the schema that it publishes, and its validator."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from support.javascript import node_modules
from support.projects import GUARD

PACKAGE = "ctrf@0.3.0"
_VALIDATE = """
const {validateStrict} = require("ctrf");
const said = JSON.parse(require("fs").readFileSync(0)).map((report) => {
    try { validateStrict(report); return ""; } catch (error) { return String(error.message || error); }
});
console.log(JSON.stringify(said));
"""


@pytest.fixture(scope="module")
def ctrf_schema() -> dict[str, Any]:
    schema = node_modules(PACKAGE) / "ctrf" / "dist" / "ctrf-schema-0.0.json"
    found: dict[str, Any] = json.loads(schema.read_bytes())
    return found


def faults_by_ctrf(reports: list[Any]) -> list[str]:
    """What CTRF's own validator objects to in each report; empty for a valid one."""
    home = node_modules(PACKAGE).parent
    command = ["node", "-e", _VALIDATE]
    text = json.dumps(reports)
    done = subprocess.run(
        command, cwd=home, input=text, capture_output=True, text=True, timeout=GUARD, check=False
    )
    assert done.returncode == 0, done.stderr
    found: list[str] = json.loads(done.stdout)
    return found
