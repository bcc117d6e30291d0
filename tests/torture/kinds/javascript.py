"""Tests of node, by what `npm test` runs."""

from __future__ import annotations

import json
import shutil

from torture.kind import REFUSED, Kind

NOTED = "require('node:fs').appendFileSync('../ledger', '%s\\n');\n"
FIRST = "require('node:test')('first', () => { " + NOTED.strip() % "test/a.test.js::first" + " });\n"


def npm(name: str, script: str, outcome: str, tests: dict[str, str], **files: str) -> Kind:
    described = {"scripts": {"test": script}, "devDependencies": {"jest": "*"}}
    inside = {place.replace("__", "/"): text for place, text in files.items()}
    return Kind(name, {"package.json": json.dumps(described), **inside}, outcome, tests, runner=None)


BOTH = {"test/a.test.js::first": "passed", "test/plain.test.js": "failed"}
PLAIN = "process.exitCode = 1;\n" + NOTED % "test/plain.test.js"

KINDS = [
    npm(
        "a file that imports no tool fails beside another tool",
        "node --test && jest jest.test.js",
        "failed",
        BOTH,
        **{"test__a.test.js": FIRST, "test__plain.test.js": PLAIN},
    ),
    npm(
        "the file that fails is named by the script alone",
        "node --test test/a.test.js checks/one.js",
        "failed",
        {"test/a.test.js::first": "passed", "checks/one.js": "failed"},
        **{"test__a.test.js": FIRST, "checks__one.js": "process.exitCode = 1;\n" + NOTED % "checks/one.js"},
    ),
    npm("no runner knows the script", "tape test/*.js", REFUSED, {}, **{"test__a.test.js": ""}),
]
KINDS = KINDS if shutil.which("node") else []
