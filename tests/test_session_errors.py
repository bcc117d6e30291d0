"""Errors of the session itself: the exception, its line in user code, and whose fault it is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support.projects import environment, run_suite, write_project

TESTS = "def test_a(): pass\ndef test_b(): pass\n"
LOCK = "raise OSError('cannot remove the lock')"

#: What breaks -> files, and what is said.
BROKEN = {
    "configure": ({"conftest.py": f"def pytest_configure(config):\n    {LOCK}\n"}, "INTERNAL ERROR"),
    "sessionstart": ({"conftest.py": f"def pytest_sessionstart(session):\n    {LOCK}\n"}, "INTERNAL ERROR"),
    "modifyitems": (
        {"conftest.py": f"def pytest_collection_modifyitems(items):\n    {LOCK}\n"},
        "INTERNAL ERROR 2 not run",
    ),
    "sessionfinish": (
        {"conftest.py": f"def pytest_sessionfinish(session):\n    {LOCK}\n"},
        "INTERNAL ERROR 2 passed",
    ),
    "terminal_summary": (
        {"conftest.py": f"def pytest_terminal_summary(terminalreporter):\n    {LOCK}\n"},
        "INTERNAL ERROR 2 passed",
    ),
    "unconfigure": (
        {"conftest.py": f"def pytest_unconfigure(config):\n    {LOCK}\n"},
        "INTERNAL ERROR 2 passed",
    ),
    "cmdline_main": ({"conftest.py": f"def pytest_cmdline_main(config):\n    {LOCK}\n"}, "INTERNAL ERROR"),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_hook_that_raises_is_an_internal_error_with_its_line(tmp_path: Path, kind: str) -> None:
    files, verdict = BROKEN[kind]

    ran = run_suite(write_project(tmp_path, {"test_a.py": TESTS, **files}), "--format", "agent")

    assert ran.code == 3
    assert ran.out.splitlines()[:2] == [verdict, "conftest.py:2 OSError: cannot remove the lock"]


@pytest.mark.parametrize("pytest_version", ["pytest==6.2.5", "pytest==8.3.5"])
@pytest.mark.parametrize("kind", ["configure", "sessionfinish", "unconfigure", "cmdline_main"])
def test_so_it_is_with_older_versions_of_pytest(tmp_path: Path, kind: str, pytest_version: str) -> None:
    files, verdict = BROKEN[kind]
    python = environment(sys.executable, [pytest_version])

    ran = run_suite(
        write_project(tmp_path, {"test_a.py": TESTS, **files}), "--format", "agent", python=python
    )

    assert ran.code == 3
    assert ran.out.splitlines()[:2] == [verdict, "conftest.py:2 OSError: cannot remove the lock"]


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ({"conftest.py": 'pytest_plugins = ["plug"]\n', "plug.py": "import gone\n"}, 3, "plug.py:1"),
        ({"pytest.ini": "[pytest]\naddopts = -p gone\n"}, 4, 'Error importing plugin "gone"'),
        ({"pytest.ini": "[pytest]\naddopts = --gone\n"}, 4, "--gone"),
        ({"pytest.ini": "[pytest]\nfilterwarnings = gone:x\n"}, 4, "invalid action: 'gone'"),
        (
            {"conftest.py": "import pytest\ndef pytest_configure(): raise pytest.UsageError('set ENV')\n"},
            4,
            "set ENV",
        ),
    ],
    ids=["plugin", "missing plugin", "option", "filter", "usage"],
)
def test_a_plugin_or_setting_that_is_wrong_is_named(
    tmp_path: Path, files: dict[str, str], code: int, said: str
) -> None:
    ran = run_suite(write_project(tmp_path, {"test_a.py": TESTS, **files}), "--format", "agent")

    assert ran.code == code
    assert said.lower() in ran.out.lower()
