"""Programs of any language that are tests, and speak on the control channel what should not be said; and
tests of unittest."""

from __future__ import annotations

from textwrap import dedent

from torture.kind import HEAD, Kind

SAY = """
say() { printf 'result %d\\n%s' ${#1} "$1" >&3; }
finished() { echo "$1" >>../ledger; }
"""
LISTED = '[[tests]]\nname = "x"\ncommand = "./x"\n\n[[tests]]\nname = "y"\ncommand = "./y"\n'


def program(name: str, script: str, outcome: str, itself: str, **parts: str) -> Kind:
    """Two programs, the first of which does this; the second passes whatever the first does."""
    files = {
        "proctor.toml": LISTED,
        "x": f"#!/bin/sh{SAY}{dedent(script)}",
        "y": f"#!/bin/sh{SAY}finished /y\n",
    }
    tests = {"/x": itself, "/y": "passed", **{f"/x/{part}": outcome for part, outcome in parts.items()}}
    return Kind(name, files, outcome, tests, runner="command")


def unit(name: str, body: str, outcome: str = "passed", itself: str = "passed") -> Kind:
    names = {"first": "pass", "culprit": body, "later": "pass"}
    tests = "".join(
        f"    def test_{name}(self):\n        {body}\n        finished('test_u.py::Case::test_{name}')\n"
        for name, body in names.items()
    )
    head = HEAD.replace("import pytest\n", "import unittest\n")
    source = f"{head}\nclass Case(unittest.TestCase):\n{tests}"
    wanted = {f"test_u.py::Case::test_{name}": "passed" for name in names} | {
        "test_u.py::Case::test_culprit": itself
    }
    return Kind(name, {"test_u.py": source}, outcome, wanted, runner="unittest")


KINDS = [
    program("a program sends half a result", "printf 'result 100\\n{' >&3", "failed", "error"),
    program("a program announces a gigabyte", "printf 'result 1000000000\\n' >&3", "failed", "error"),
    program("a program sends zeros", "head -c 5000 /dev/zero >&3; exit 0", "failed", "error"),
    program(
        "a program sends a file of which a half is missing",
        """
        say '{"name":"part","status":"pass","files":[{"name":"f","length":1000}]}'
        printf 'half' >&3
        """,
        "failed",
        "error",
    ),
    program(
        "a program passes and is killed",
        """
        say '{"name":"part","status":"pass"}'
        finished /x/part
        say '{"status":"pass"}'
        kill -9 $$
        """,
        "crashed",
        "crash",
        part="passed",
    ),
    program(
        "a program leaves its parts open and exits with 0",
        """
        say '{"name":"part","status":"error","partial":true}'
        say '{"status":"pass"}'
        finished /x
        """,
        "failed",
        "passed",
        part="error",
    ),
    program(
        "a program attaches files with the names of others",
        """
        body='{"name":"part","status":"pass","files":[{"name":"../../../../evil","length":8}]}'
        printf 'result %d\\n%seviljunk' ${#body} "$body" >&3  # at once: nobody listens after the name
        """,
        "failed",
        "error",
    ),
    program(
        "a program leaves a child that goes on reporting",
        """
        (trap '' TERM HUP; while sleep 1; do say '{"name":"late","status":"fail"}'; done) &
        finished /x
        """,
        "passed",
        "passed",
    ),
    unit("a test of unittest replaces os.write", "os.write = lambda *_: 0"),
    unit("a test of unittest replaces json.dumps", "json.dumps = lambda *_: '{}'"),
    unit("a test of unittest exits", "sys.exit(0)", "failed", "failed"),
]
