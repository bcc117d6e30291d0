"""Failures for people: each cause once, with every test that it broke."""

from __future__ import annotations

from typing import Any

import pytest
from support.made_runs import failed, passed, run_of

from proctor import events as e
from proctor.causes import causes
from proctor.outcome import Outcome, RunOutcome
from proctor.render.agent import agent_text
from proctor.render.failure_block import blocks
from proctor.render.human import report_text
from proctor.render.result_index import failure_index
from proctor.render.summary import write_summary
from proctor.render.writer import plain_writer
from proctor.result import RunResult


def phase(when: str, message: str, line: int = 7, **more: Any) -> e.Phase:
    kind = message.partition(":")[0] if ": " in message else ""
    failure = e.Failure(kind, message, e.Place("t.py", line) if line else None)
    return e.Phase(when, "failed", failure=failure, **more)


def finished(test: str, *phases: e.Phase, outcome: Outcome = Outcome.FAILED) -> e.TestFinished:
    return e.TestFinished(test, outcome, phases=phases)


def text(result: RunResult) -> str:
    return report_text(result)


def rows_of(result: RunResult) -> list[str]:
    """What the summary has below the verdict."""
    parts: list[str] = []
    write_summary(result, plain_writer(parts.append))
    return "".join(parts).splitlines()[1:]


def test_values_that_differ_are_one_cause_and_each_test_has_its_own_message() -> None:
    trace = "the trace of a\nE   KeyError: 'x-17'"
    result = run_of(
        finished("t.py::a", phase("call", "KeyError: 'x-17'", stdout="looking\n", longrepr=trace)),
        finished("t.py::b", phase("call", "KeyError: 'y-2'", longrepr="the trace of b")),
    )

    assert text(result) == (
        "--- FAILED 2 tests in the same way at t.py:7\n"
        "  t.py::a: KeyError: 'x-17'\n"
        "  t.py::b: KeyError: 'y-2'\n"
        "the first of them:\n"
        "the trace of a\n"
        "E   KeyError: 'x-17'\n"
        "  stdout of call (of the first):\n"
        "    looking\n"
        "  rerun: proctor run t.py::a t.py::b\n"
        "\n"
        "FAILED t.py::a and 1 more :7 KeyError: 'x-17'\n"
        "2 failed in 0.00s\n"
    )


def test_callers_of_what_has_changed_are_one_cause_and_each_has_its_own_place() -> None:
    message = "TypeError: price() missing 1 required argument: 'currency'"
    result = run_of(*(finished(f"t.py::test_{n}", phase("call", message, n)) for n in (3, 8)))

    assert text(result) == (
        "--- FAILED 2 tests in the same way\n"
        "  t.py::test_3 at t.py:3\n"
        "  t.py::test_8 at t.py:8\n"
        "the first of them:\n"
        f"{message}\n"
        "  rerun: proctor run t.py::test_3 t.py::test_8\n"
        "\n"
        f"FAILED t.py::test_3 and 1 more {message}\n"
        "2 failed in 0.00s\n"
    )


def test_a_broken_fixture_is_named_and_so_are_all_the_tests_it_broke() -> None:
    def broken(count: int) -> list[e.TestFinished]:
        return [
            failed(f"t.py::test_{n}", "OSError: no disk", ("conftest.py", 9), when="setup", fixture="disk")
            for n in range(count)
        ]

    few, all_of_them, most_of_them = (
        run_of(*broken(12)),
        run_of(*broken(13)),
        run_of(*broken(13), *passed("t.py::test_fine")),
    )

    head = "tests in the same way [setup of fixture disk] at conftest.py:9\n"
    names = "".join(f"  t.py::test_{n}\n" for n in range(12))
    end = "OSError: no disk\n  rerun: proctor run --last-failed\n"
    assert text(few).startswith(f"--- ERROR 12 {head}{names}{end}")
    assert text(all_of_them).startswith(f"--- ERROR 13 {head}  all of t.py\n{end}")
    inside = ",".join(map(str, range(13)))
    assert text(most_of_them).startswith(f"--- ERROR 13 {head}  t.py::test_{{{inside}}}\n{end}")


def test_a_test_that_fails_twice_has_two_blocks_and_its_output_once() -> None:
    call = phase("call", "E: one", 3, longrepr="trace one\nE: one", stdout="out\n")
    teardown = phase("teardown", "E: two", 9, longrepr="trace two\nE: two", stderr="err\n")

    assert text(run_of(finished("t.py::a", e.Phase("setup", "passed"), call, teardown))) == (
        "--- FAILED t.py::a at t.py:3\n"
        "trace one\n"
        "E: one\n"
        "  stdout of call:\n"
        "    out\n"
        "  stderr of teardown:\n"
        "    err\n"
        "  rerun: proctor run t.py::a\n"
        "\n"
        "--- ERROR t.py::a [teardown] at t.py:9\n"
        "trace two\n"
        "E: two\n"
        "  rerun: proctor run t.py::a\n"
        "\n"
        "2 causes\n"
        "FAILED t.py::a :3 E: one\n"
        "ERROR t.py::a [teardown] :9 E: two\n"
        "1 failed in 0.00s\n"
    )


def test_subtests_have_their_names() -> None:
    parts = [phase("call", f"KeyError: '{n}'", subtest=f"[n={n}]") for n in (1, 2)]
    other = phase("call", "OSError: no disk", 0, subtest="[n=3]")

    assert text(run_of(finished("t.py::a", *parts, other))) == (
        "--- FAILED t.py::a in 2 subtests at t.py:7\n"
        "  t.py::a [n=1]: KeyError: '1'\n"
        "  t.py::a [n=2]: KeyError: '2'\n"
        "the first of them:\n"
        "KeyError: '1'\n"
        "  rerun: proctor run t.py::a\n"
        "\n"
        "--- FAILED t.py::a [n=3]\n"
        "OSError: no disk\n"
        "  rerun: proctor run t.py::a\n"
        "\n"
        "2 causes\n"
        "FAILED t.py::a [n=1] :7 KeyError: '1'\n"
        "FAILED t.py::a [n=3] OSError: no disk\n"
        "1 failed in 0.00s\n"
    )


def test_more_subtests_than_are_named_together_are_named_one_by_one() -> None:
    parts = [phase("call", "OSError: no disk", subtest=f"[n={n}]") for n in range(13)]

    (block,) = blocks(run_of(finished("t.py::a", *parts)))

    assert [f"  t.py::a [n={n}]" for n in range(13)] == block.body.splitlines()[:13]


def test_files_that_cannot_be_collected_are_one_cause_with_one_trace() -> None:
    why = e.Failure("ImportError", "ImportError: no x", e.Place("lib.py", 1))
    errors = [e.CollectionFailed(f"test_{n}.py", why, f"trace {n}\nImportError: no x") for n in (1, 2)]

    assert text(run_of(*errors, outcome=RunOutcome.COLLECTION_ERROR)) == (
        "--- ERROR cannot collect 2 files\n"
        "  test_1.py\n"
        "  test_2.py\n"
        "trace 1\n"
        "ImportError: no x\n"
        "\n"
        "ERROR cannot collect test_1.py and 1 more lib.py:1 ImportError: no x\n"
        "COLLECTION ERROR 2 errors in 0.00s\n"
    )


def test_an_internal_error_comes_first_and_tones_say_how_bad_it_is() -> None:
    result = run_of(
        failed("t.py::a", "E: a"),
        e.CollectionFailed("c.py", e.Failure("E", "E: c")),
        e.TestFinished("t.py::late", Outcome.TIMEOUT, message="time limit reached"),
        e.TestFinished("t.py::dead", Outcome.CRASH, message="SIGSEGV"),
        e.SessionBroke(e.Failure("E", "E: pytest\nmore"), "its trace"),
        outcome=RunOutcome.INTERNAL_ERROR,
    )

    assert [(block.head, block.tone) for block in blocks(result)] == [
        ("INTERNAL ERROR", "loud"),
        ("TIMEOUT t.py::late", "loud"),
        ("CRASH t.py::dead", "loud"),
        ("ERROR cannot collect c.py", "loud"),
        ("FAILED t.py::a", "bad"),
    ]
    assert rows_of(result) == [
        "INTERNAL ERROR E: pytest",
        "4 causes",
        "TIMEOUT t.py::late time limit reached",
        "CRASH t.py::dead SIGSEGV",
        "ERROR cannot collect c.py E: c",
        "FAILED t.py::a E: a",
    ]


def test_a_usage_error_shows_what_the_tool_wrote() -> None:
    result = run_of(e.OutputReceived("stderr", "no such option\n"), outcome=RunOutcome.USAGE_ERROR)

    assert text(result) == "--- USAGE ERROR\nno such option\n\nUSAGE ERROR in 0.00s\n"


@pytest.mark.parametrize("own", ["too late", "ValueError: too late"])
def test_people_agents_and_the_index_have_the_same_failures(own: str) -> None:
    """Also of a test that fails by itself and in a subtest, whether or not its failure has a type."""
    counting = finished("t.py::b", phase("call", "no", 3, subtest="[n=1]"), e.Phase("call", "failed"))
    result = run_of(
        finished("t.py::a", phase("call", "E: one", 3, subtest="[n=1]"), phase("call", own, 5)),
        counting,
        e.TestFinished("t.py::c", Outcome.CRASH, message="SIGSEGV", phases=counting.phases[:1]),
    )

    found = [occurrence for cause in causes(result) for occurrence in cause.occurrences]
    assert [(o.test, o.subtest, o.when, o.failure.message) for o in found] == [
        ("t.py::c", "", "crash", "SIGSEGV"),
        ("t.py::b", "[n=1]", "call", "no"),
        ("t.py::c", "[n=1]", "call", "no"),
        ("t.py::a", "[n=1]", "call", "E: one"),
        ("t.py::a", "", "call", own),
    ]
    assert failure_index(result).splitlines()[1:-1] == [
        "t.py::a [n=1] | E: one | t.py:3",
        f"t.py::a | {own} | t.py:5",
        "t.py::b [n=1] | no | t.py:3",
        "t.py::c | SIGSEGV | ",
        "t.py::c [n=1] | no | t.py:3",
    ]
    assert [block.head for block in blocks(result)] == [
        "CRASH t.py::c",
        "FAILED 2 tests in the same way at t.py:3",
        "FAILED t.py::a [n=1] at t.py:3",
        "FAILED t.py::a at t.py:5",
    ]
    for message in ("SIGSEGV", "no", "E: one", own):
        assert message in agent_text(result)


def test_a_failure_without_a_message_has_that_of_its_test() -> None:
    result = run_of(
        e.TestFinished("t.py::a", Outcome.FAILED, message="why at t.py:7", phases=(phase("call", ""),))
    )

    assert rows_of(result) == ["FAILED t.py::a :7 why"]


def test_values_that_were_compared_keep_their_lines_but_no_empty_end() -> None:
    failure = e.Failure("E", "E: no", expected="\na\nb\n\n", actual="c")
    result = run_of(e.TestFinished("a", Outcome.FAILED, phases=(e.Phase("call", "failed", failure=failure),)))

    (block,) = blocks(result)
    assert block.body == ("E: no\n  - expected, + actual\n  - \n  - a\n  - b\n  + c\n  rerun: proctor run a")


@pytest.mark.parametrize("lines, shown", [(48, 48), (49, 49), (50, 49), (51, 49)])
def test_a_long_trace_loses_its_middle_if_that_saves_a_line(lines: int, shown: int) -> None:
    trace = "\n".join(f"line {n}" for n in range(lines))
    result = run_of(finished("a", phase("call", "", longrepr=trace)))

    body = next(blocks(result)).body.splitlines()[:-1]
    assert len(body) == shown
    assert ("... 2 lines left out ..." in body) is (lines == 50)


def test_the_values_of_another_tool_stand_once_and_its_own_comparison_goes() -> None:
    message = "Expected values to be equal: { a: 1 } !== { a: 2 }"
    trace = f"AssertionError: {message}\n\n- 1\n+ 2\n    at test (/project/a.test.js:4:3)"
    failure = e.Failure("AssertionError", message, expected="{ a: 2 }", actual="{ a: 1 }")
    test = e.TestFinished(
        "a", Outcome.FAILED, phases=(e.Phase("call", "failed", failure=failure),), traceback=trace
    )

    (block,) = blocks(run_of(test))

    assert block.body == (
        "Expected values to be equal\n"
        "  expected: { a: 2 }\n"
        "                 ^\n"
        "    actual: { a: 1 }\n"
        "                 ^\n"
        "    at test (a.test.js:4:3)\n"
        "  rerun: proctor run a"
    )


def test_source_that_a_reporter_sends_stands_before_its_trace() -> None:
    source = ("    const total = (lines) => {", ">     throw new TypeError('no lines');", "    };", "")
    failure = e.Failure("TypeError", "TypeError: no lines", e.Place("lib.js", 2), source=source)
    phase = e.Phase(
        "call", "failed", failure=failure, longrepr="TypeError: no lines\n    at total (lib.js:2:9)"
    )

    (block,) = blocks(run_of(e.TestFinished("a", Outcome.FAILED, phases=(phase,))))

    assert block.body == (
        "    const total = (lines) => {\n"
        ">     throw new TypeError('no lines');\n"
        "    };\n"
        "TypeError: no lines\n"
        "    at total (lib.js:2:9)\n"
        "  rerun: proctor run a"
    )


def test_frames_of_the_import_machinery_are_not_called_those_of_the_project() -> None:
    frames = "".join(f"<frozen importlib._bootstrap>:{line}: in _load\n    ???\n" for line in range(4))
    trace = f"/usr/lib/python3/site-packages/_pytest/pathlib.py:1: in import_path\n    load()\n{frames}"
    broken = e.CollectionFailed("t.py", e.Failure("SyntaxError", "no"), f"{trace}E   SyntaxError: no")
    (block,) = blocks(run_of(broken))

    assert "… 3 calls in libraries …" in block.body
