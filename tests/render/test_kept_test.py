"""One test of the archive: every part that it can have, each once."""

from __future__ import annotations

from proctor import events as e
from proctor.render.kept_test import kept_test_text
from proctor.wire.document.schema import Captured, History, KnownRun, Test

WHOLE = Test(
    "t.py::a\x07",
    "failed",
    1.254,
    "E: \x1b[31mno\nmore",
    "trace\nof it\n",
    e.Place("t.py", 3),
    files=(e.File("shot.png", "files/shot.png", 9),),
    testout=e.OutputLink("o", "files/o"),
    properties={"note": "E: other", "size": [1, 2], "name": "text\tof it"},
    subtests=({"outcome": "failed", "name": "[n=1]"}, {"outcome": "passed", "name": "[n=2]"}),
)


def test_every_part_of_a_test_is_shown() -> None:
    below = [
        Test("t.py::a/part", "warn", 0.0, "\n  careful\nmore", None),
        Test("t.py::a/silent", "passed", 0.5, None, None),
    ]
    captured = [Captured("call", "stdout", "out\x1b[2J\n\n"), Captured("teardown", "stderr", "err")]

    assert kept_test_text(WHOLE, captured, below, "/runs/1", ["it goes on\n"]) == (
        "note: it goes on\\n\n"
        "FAILED t.py::a\\x07 in 1.25s at t.py:3\n"
        "E: no\n"
        "more\n"
        "\n"
        "trace\n"
        "of it\n"
        "\n"
        "properties\n"
        "  note: E: other\n"
        "  size: [1,2]\n"
        "  name: text\\tof it\n"
        "\n"
        "subtests\n"
        "  failed [n=1]\n"
        "  passed [n=2]\n"
        "\n"
        "stdout of call\n"
        "out\n"
        "\n"
        "stderr of teardown\n"
        "err\n"
        "\n"
        "files\n"
        "  shot.png  9 bytes  /runs/1/files/shot.png\n"
        "  o  its stdout and stderr  /runs/1/files/o\n"
        "\n"
        "results below\n"
        "  WARN t.py::a/part: careful\n"
        "  PASSED t.py::a/silent in 0.50s\n"
    )


def test_a_test_with_nothing_to_tell_is_one_line() -> None:
    assert kept_test_text(Test("a", "passed", 0.0, None, None), [], [], "/runs/1") == "PASSED a\n"


def test_a_message_that_is_in_the_traceback_or_in_a_note_is_shown_once() -> None:
    test = Test(
        "a", "failed", 0.0, "E: no\n", "trace\nE: no", properties={"note": "E: no\n", "other": "E: no\n"}
    )

    assert kept_test_text(test, [], [], "") == "FAILED a\n\ntrace\nE: no\n\nproperties\n  other: E: no\\n\n"


def test_a_test_says_what_earlier_runs_and_a_baseline_say_of_it() -> None:
    since = KnownRun("20251231-000000-aaabbb", "c0ffeec0ffee")
    still = Test("t.py::a", "failed", 0.0, None, None, history=History("still", since), baseline="fails")
    vague = Test("t.py::a", "failed", 0.0, None, None, history=History("unknown"), baseline="unknown")
    vague.baseline_reason = "vendor is\x1b[1m a submodule"

    assert kept_test_text(still, [], [], "/runs").splitlines()[1:] == [
        "history: still since c0ffeec, run 20251231-000000-aaabbb",
        "fails on baseline too",
    ]
    assert kept_test_text(vague, [], [], "/runs").splitlines()[1:] == [
        "baseline: cannot tell: vendor is a submodule"
    ]
