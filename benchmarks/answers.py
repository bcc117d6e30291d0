"""What single answers cost their reader, on the command line and over MCP, against what each may cost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from measure import CACHE, REPOSITORY, clean_environment, environment, proctor_environment, project, table
from servers import HELLO, Talk

_COUNT = """
import { readFileSync } from 'node:fs';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
const texts = JSON.parse(readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(texts.map(text => encode(text).length)));
"""

_EACH = "@pytest.mark.parametrize('n', range({tests}))\ndef test_it(n):\n    "
SUITES = {
    "passing": _EACH + "pass\n",
    "one cause": _EACH + "open('/absent/file')\n",
    "one in ten": _EACH + "assert n % 10, f'row {n}'\n",
    "different": "".join(f"def test_{n}():\n    assert {n * 7} == int('{n + 1}')\n\n\n" for n in range(200)),
    "loud": "def test_it():\n    print(('y' * 99 + '\\n') * 10_000)\n    assert 0\n",
}

#: an answer, its suite, how many tests, options, most tokens
RUNS = [
    ("10 passed", "passing", 10, [], 12),
    ("20,000 passed", "passing", 20_000, [], 12),
    ("5,000 failures of one cause", "one cause", 5_000, [], 3_000),
    ("200 failures with `--budget 4000`", "different", 200, ["--budget", "4000"], 4_000),
]
#: an answer, its suite, how many tests, most tokens of its text, and of its structured half
CALLS = [
    ("500 passed", "passing", 500, 20, 350),
    ("500, 50 of them failed", "one in ten", 500, 6_000, 6_000),
    ("1 MB of output", "loud", 1, 6_000, 6_000),
]


def bench_answers(quick: bool) -> str:
    """Tokens (o200k) of single answers, and the most that each may have."""
    del quick  # nothing here is timed
    bare = environment("pytest", "pytest")
    proctor = proctor_environment()
    texts = [_run(proctor, bare, suite, tests, options) for _, suite, tests, options, _ in RUNS]
    told = [_call(bare, suite, tests) for _, suite, tests, _, _ in CALLS]
    counts = iter(o200k([*texts, *(half for halves in told for half in halves)]))
    runs = [[name, f"{next(counts):,}", f"{most:,}"] for name, _, _, _, most in RUNS]
    calls = [
        [name, f"{next(counts):,}", f"{text:,}", f"{next(counts):,}", f"{structured:,}"]
        for name, _, _, text, structured in CALLS
    ]
    head = ["`execute_tests`", "text", "limit", "structured", "limit"]
    return "\n".join([table(["`proctor run --format agent`", "tokens", "limit"], runs), table(head, calls)])


def o200k(texts: list[str]) -> list[int]:
    home = CACHE / "tokens"
    home.mkdir(parents=True, exist_ok=True)
    if not (home / "node_modules" / "gpt-tokenizer").exists():
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(home)]
        subprocess.run([*install, "gpt-tokenizer"], check=True)
    (home / "count.mjs").write_text(_COUNT)
    done = subprocess.run(
        ["node", str(home / "count.mjs")], input=json.dumps(texts), capture_output=True, text=True, check=True
    )
    counts: list[int] = json.loads(done.stdout)
    return counts


def _run(proctor: Path, bare: Path, suite: str, tests: int, options: list[str]) -> str:
    command = [str(proctor / "proctor"), "run", "--format", "agent", *options]
    done = subprocess.run(
        [*command, "--python", str(bare / "python")],
        cwd=_project(suite, tests),
        env=clean_environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


def _call(bare: Path, suite: str, tests: int) -> tuple[str, str]:
    root = _project(suite, tests)
    ours = environment("proctor-mcp", f"{REPOSITORY}[mcp]")
    talk = Talk([str(ours / "proctor"), "mcp", "--root", str(root), "--python", str(bare / "python")], root)
    talk.ask("initialize", HELLO)
    talk.say(method="notifications/initialized")
    answer: dict[str, Any] = talk.ask("tools/call", {"name": "execute_tests", "arguments": {}})
    talk.close()
    (block,) = answer["content"]
    return block["text"], json.dumps(answer["structuredContent"], separators=(",", ":"), ensure_ascii=False)


def _project(suite: str, tests: int) -> Path:
    source = "import pytest\n\n\n" + SUITES[suite].replace("{tests}", str(tests))
    return project(f"answers-{suite.replace(' ', '-')}-{tests}", {"test_it.py": source})
