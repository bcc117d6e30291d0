"""pytest's own tracebacks, taken apart; what is not pytest's is left as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.projects import clean_environment, write_project

from proctor.render.pytest_trace import parse, without_advice

DEEP = """self = <test_app.TestDeep object at 0x7fa0efc6b790>

    def test_raise(self):
        sys.stderr.write("about to call")

>       outer(5)

tests/test_app.py:19:
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _
app/__init__.py:6: in outer
    return inner(x)
           ^^^^^^^^
_ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _ _

x = 5

    def inner(x):
        if x > 2:
>           raise ValueError(f"too big: {x}")
E           ValueError: too big: 5
E           a.py:3: in the message

app/__init__.py:9: ValueError"""


def test_frames_have_their_place_function_arguments_and_source() -> None:
    (raised,) = parse(DEEP)

    assert [(frame.file, frame.line, frame.title, frame.statement) for frame in raised.frames] == [
        ("tests/test_app.py", 19, "test_raise", "outer(5)"),
        ("app/__init__.py", 6, "outer", "return inner(x)"),
        ("app/__init__.py", 9, "inner", 'raise ValueError(f"too big: {x}")'),
    ]
    assert [frame.is_whole for frame in raised.frames] == [True, False, True]
    assert raised.frames[2].values == ("x = 5",)
    assert raised.raised == ("E           ValueError: too big: 5", "E           a.py:3: in the message")


def test_the_first_line_of_source_gets_its_margin_back() -> None:
    (raised,) = parse("def test_x():\n>       assert 0\nE       assert 0\n\na.py:2: AssertionError")

    assert raised.frames[0].source == ("    def test_x():", ">       assert 0")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just a text",
        "Traceback (most recent call last):\n  File 'a.py', line 1\nValueError: no",
        "Error: no\n    at Object.<anonymous> (a.js:1:1)\n    at node:internal/x",
        "E   only what was raised",
        "a.py:1: in f\n    x()",
    ],
)
def test_another_text_is_not_taken_apart(text: str) -> None:
    assert parse(text) == []


def test_advice_on_how_to_run_pytest_goes() -> None:
    lines = (
        "E       assert [1] == [2]",
        "E         ",
        "E         At index 0 diff: 1 != 2",
        "E         Use -v to get more diff",
        "E         Omitting 1 identical items, use -vv to show",
        "E         Skipping 56 identical leading characters in diff, use -v to show",
        "E         ...Full output truncated (28 lines hidden), use '-vv' to show",
        "E         ",
    )

    assert without_advice(lines) == list(lines[:3])


PROJECT = {
    "lib.py": """
        import json

        def load(text):
            try:
                return json.loads(text)
            except ValueError as error:
                raise RuntimeError("cannot load") from error
    """,
    "test_a.py": """
        import lib

        def test_chain():
            lib.load("{")

        def test_recursion():
            test_recursion()

        def test_one_line(): assert 0
    """,
}


@pytest.mark.parametrize("style", ["auto", "long", "short", "native", "line"])
def test_no_line_of_what_was_raised_is_lost_whatever_the_style(tmp_path: Path, style: str) -> None:
    """Real pytest: every line that it marks is found, or the text is not taken apart."""
    root = write_project(tmp_path, PROJECT)
    argv = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--tb={style}", "-q"]
    ran = subprocess.run(argv, cwd=root, env=clean_environment(), capture_output=True, text=True, check=False)
    _, *parts = ran.stdout.partition("= FAILURES =")[2].split("\n____")
    taken_apart = 0
    for part in parts:
        trace = part.partition("\n")[2].partition("\n====")[0].strip()
        found = parse(trace)
        marked = [line for line in trace.split("\n") if line.startswith("E  ")]
        assert not found or [line for each in found for line in each.raised] == marked
        taken_apart += bool(found)
    assert taken_apart >= 2 if style in ("auto", "long", "short") else not taken_apart
