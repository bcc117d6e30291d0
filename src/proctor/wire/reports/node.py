"""Special cases in the reports of node's test runner."""

from __future__ import annotations

CLASS = "test"  # the class name of every test in its JUnit report
TIMEOUT = "testTimeoutFailure"
SILENT = "no test of this file was reported: it has none, or its process ended before its time"


def is_file(name: str) -> bool:
    """node reports a file as a test when no test in it was reported."""
    return name.startswith("/") and name.endswith((".js", ".mjs", ".cjs", ".ts", ".mts", ".cts"))
