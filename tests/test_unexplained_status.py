"""An exit status that no test explains: the run has not passed, and the lines that say why are shown."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from support import javascript
from support.projects import (
    clean_environment,
    document_of,
    environment,
    proctor,
    run_suite,
    write_project,
)

PASSES = {"test_a.py": "import product\ndef test_a(): assert product.used() == 1\n"}
PRODUCT = {"product.py": "def used(): return 1\ndef unused():\n    a = 1\n    return a\n"}
LIMIT = "FAIL Required test coverage of 99% not reached. Total coverage: 50.00%"
UNEXPLAINED = "exit status 1, though no test failed"


def test_a_coverage_limit_is_the_reason_wherever_the_run_is_read_from(tmp_path: Path) -> None:
    needed = [f"{name}=={version(name)}" for name in ("pytest", "pytest-xdist")]
    others = ["pytest-cov==7.1.0", "pytest-benchmark==5.3.1", "syrupy==5.1.0", "hypothesis==6.140.0"]
    python = environment(sys.executable, [*needed, *others])
    root = write_project(tmp_path, {**PASSES, **PRODUCT})
    live = run_suite(
        root,
        *("--format", "human", "-o", "json=d.json", "-o", "agent=a.txt", "-o", "junit=j.xml"),
        *("--", "--cov=product", "--cov-fail-under=99"),
        python=python,
    )

    assert live.code == 1
    assert "FAILED 1 passed in " in live.out
    assert live.out.endswith(f" ({UNEXPLAINED}: {LIMIT})\n")
    assert (root / "a.txt").read_text() == f"FAILED 1 passed\n{UNEXPLAINED}: {LIMIT}\n"
    assert "coverage of 99% not reached" in (root / "j.xml").read_text()
    for source in ("last", "d.json"):
        again = proctor("show", source, "--format", "human", cwd=root)
        assert (again.code, again.out) == (1, live.out.partition("\n")[2])  # without who ran the tests


SILENT = """
    def pytest_sessionfinish(session):
        print("\\n".join(f"word {number}" for number in range(30)))
        session.exitstatus = 1
"""


def test_the_last_lines_of_output_are_shown_where_nothing_explains_the_status(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"conftest.py": SILENT, "test_a.py": "def test_a(): pass\n"})
    human = run_suite(root, "--format", "human", "-o", "agent=a.txt", "-o", "json=d.json")
    introduction, block, verdict = human.out.strip().split("\n\n")
    title, *shown = block.split("\n")

    assert human.code == 1
    assert title == "--- last lines of output of pytest"
    assert len(shown) == 20
    assert shown[0].startswith("word ") and " 1 passed in " in shown[-1]
    assert verdict.startswith("FAILED 1 passed in ") and verdict.endswith(f"({UNEXPLAINED})")
    agent = (root / "a.txt").read_text().splitlines()
    assert agent[:2] == ["FAILED 1 passed", UNEXPLAINED]
    assert [line.startswith(" output: ") for line in agent[2:]] == [True] * 5 + [False]
    assert agent[-1].startswith("more: proctor show ") and agent[-1].endswith(" --output")
    for source in ("last", "d.json"):
        shown_again = proctor("show", source, "--format", "human", cwd=root).out
        assert f"{introduction}\n{shown_again}" == human.out
    whole = proctor(*agent[-1].split()[2:], cwd=root)
    assert "word 0\nword 1\n" in whole.out


@pytest.mark.parametrize(
    ("conftest", "outcome", "reason"),
    [
        (
            """
            import sys
            def pytest_sessionfinish(session):
                print("licences: refusing 2 files without a header", file=sys.stderr)
                session.exitstatus = 7
            """,
            "failed",
            "exit status 7, though no test failed: licences: refusing 2 files without a header",
        ),
        (
            """
            import atexit, os, sys
            def leave():
                os.write(2, b"ERROR: 3 threads were left\\n")
                os._exit(3)
            atexit.register(leave)
            """,
            "incomplete",
            "the session ended with status 0, the process with 3: ERROR: 3 threads were left",
        ),
        (
            """
            import os
            def pytest_collection():
                os.write(2, b"fatal: the database is down\\n")
                os._exit(9)
            """,
            "crashed",
            "the process exited with 9 before the session finished: fatal: the database is down",
        ),
        (
            """
            def pytest_terminal_summary(): print("FAIL the limit was missed")
            """,
            "passed",
            "",
        ),
        (
            """
            def pytest_terminal_summary(): print("FAIL the limit was missed")
            def pytest_collection_modifyitems(items):
                def fail(): assert 0
                items[0].obj = fail
            def pytest_sessionfinish(session): session.exitstatus = 1
            """,
            "failed",
            "",
        ),
    ],
    ids=["plugin", "at exit", "before the tests", "status 0", "a test failed"],
)
def test_the_reason_has_the_words_of_the_process(
    tmp_path: Path, conftest: str, outcome: str, reason: str
) -> None:
    root = write_project(tmp_path, {"conftest.py": conftest, "test_a.py": "def test_a(): pass\n"})
    document = document_of(root)

    assert (document["outcome"], document["reason"]) == (outcome, reason)


def test_unittest_too(tmp_path: Path) -> None:
    text = """
        import atexit, os, unittest
        def leave():
            print("ERROR: 3 threads were left", flush=True)
            os._exit(3)
        class T(unittest.TestCase):
            def test_a(self): atexit.register(leave)
    """
    document = document_of(write_project(tmp_path, {"test_a.py": text}), "--runner", "unittest")

    assert document["outcome"] == "incomplete"
    assert document["reason"].endswith("the process with 3: ERROR: 3 threads were left")


@pytest.mark.parametrize(
    "text", ["print qq(1..1\\nok 1\\n); print STDERR qq(ERROR: no database\\n); exit 7;"]
)
def test_a_tool_that_prints_its_results_too(tmp_path: Path, text: str) -> None:
    root = write_project(tmp_path, {"t/a.t": f"$| = 1; {text}\n"})
    ran = proctor("run", "--format", "json", cwd=root, environ=clean_environment())

    assert ran.document["outcome"] == "failed"
    assert ran.document["reason"] == "exit status 7, though no test failed: ERROR: no database"


def test_the_coverage_limit_of_jest(tmp_path: Path) -> None:
    limits = "{collectCoverage: true, coverageThreshold: {global: {functions: 90}}}"
    files = {
        "product.js": "exports.used = () => 1;\nexports.unused = () => 2;\n",
        "a.test.js": "const p = require('./product');\ntest('x', () => { expect(p.used()).toBe(1); });\n",
        "jest.config.js": f"module.exports = {limits};\n",
    }
    document = javascript.run(javascript.project(tmp_path, "jest", files), "jest")

    assert document["outcome"] == "failed"
    assert document["reason"].startswith(f"{UNEXPLAINED}: ")
    assert "threshold" in document["reason"] and "90%" in document["reason"]
