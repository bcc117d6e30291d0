"""The text for agents, kind by kind of failure: real runs against texts that were read and found good."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import golden
from support.made_runs import RUN_ID, failed, passed, run_of
from support.projects import clean_environment, project_python, run_suite, write_project

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.render.agent import agent_text
from proctor.render.tokens import estimate

GOLDEN = Path(__file__).parent / "golden"

LIBRARY = """
    import dataclasses


    @dataclasses.dataclass
    class User:
        name: str
        roles: list


    def load(path):
        try:
            return open(path).read()
        except OSError as error:
            raise ValueError(f"cannot load {path}") from error


    def down(n):
        if n == 0:
            raise KeyError("bottom")
        return across(n)


    def across(n):
        return down(n - 1)
"""

KINDS = {
    "values": """
        from lib import User

        def test_dictionary():
            left = {f"user_{n}": {"id": n, "quota": 100} for n in range(40)}
            right = {f"user_{n}": {"id": n, "quota": 100 + (n == 17)} for n in range(40)}
            assert left == right

        def test_text():
            text = "".join(f"{n}. a line of text\\n" for n in range(30))
            assert text.replace("17. a", "17. another") == text

        def test_object():
            assert User("ann", ["admin", "dev", "on call"]) == User("ann", ["admin", "ops", "on call"])

        def test_whitespace():
            assert "a line of some length \\nand another" == "a line of some length\\nand another"

        def test_truth():
            assert "hello".startswith("x")

        def test_own_message():
            assert 1 == 2, "the numbers do not match"
        """,
    "paths": """
        from lib import down, load

        def test_chain():
            load("/nope")

        def test_recursion():
            down(40)

        def test_bare():
            raise RuntimeError
        """,
    "parameters": """
        import pytest

        @pytest.mark.parametrize("n", range(4))
        def test_own_values(n):
            assert n * 2 == n + 2

        @pytest.mark.parametrize("n", range(4))
        def test_same_words(n):
            if n != 2:
                raise ValueError("always the same")
        """,
    "fixtures": """
        import pytest

        @pytest.fixture
        def disk():
            raise OSError("no disk")

        @pytest.fixture
        def server():
            yield 1
            raise OSError("port still in use")

        def test_a(disk): pass
        def test_b(disk): pass
        def test_c(server): assert server == 2
        def test_d(server): pass
        def test_e(nothing_like_it): pass
        """,
    "output": """
        import logging

        def test_talks():
            for n in range(500):
                print("line", n)
            print("\\x1b[31mwarning: low on disk\\x1b[0m")
            logging.getLogger("shop").error("giving up")
            assert {"password": "hunter2"} == {}
        """,
    "subtests": """
        import unittest

        class TestParts(unittest.TestCase):
            def test_all(self):
                for n in range(3):
                    with self.subTest(n=n):
                        self.assertEqual(n, 1)

            def test_lists(self):
                self.assertEqual([1, 2], [1, 3])
        """,
    "others": """
        import warnings
        import pytest

        @pytest.mark.skip(reason="needs a GPU")
        @pytest.mark.parametrize("n", range(3))
        def test_gpu(n): pass

        @pytest.mark.xfail(strict=True, reason="bug 17")
        def test_fixed(): pass

        @pytest.mark.parametrize("n", range(3))
        def test_warns(n):
            warnings.warn("old api")
        """,
}


def masked_run(text: str) -> str:
    return re.sub(r"\d{8}-\d{6}-\w{6}", "RUN", text)


def agree(name: str, text: str) -> None:
    golden.agree(GOLDEN / f"{name}.txt", text)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_failure_reads_well(kind: str, tmp_path: Path) -> None:
    root = write_project(tmp_path, {"lib.py": LIBRARY, f"test_{kind}.py": KINDS[kind]})

    agree(kind, masked_run(run_suite(root, "--format", "agent", PYTHONPATH=str(root)).out))


def test_a_broken_import_is_one_cause_for_all_files(tmp_path: Path) -> None:
    files = {f"test_{n}.py": "import nothing_like_it\n" for n in range(3)}

    ran = run_suite(write_project(tmp_path, files), "--format", "agent")

    agree("imports", ran.out)


def test_differences_and_fixtures_survive_workers(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"lib.py": LIBRARY, "test_values.py": KINDS["values"]})

    asked = ("--format", "agent", "--no-history")
    plain = run_suite(root, *asked, PYTHONPATH=str(root)).out
    spread = run_suite(root, *asked, "-n", "2", PYTHONPATH=str(root)).out

    assert spread == plain


def test_what_pytest_prints_is_not_changed_by_looking_on(tmp_path: Path) -> None:
    import subprocess

    root = write_project(tmp_path, {"lib.py": LIBRARY, "test_values.py": KINDS["values"]})
    command = [project_python(), "-m", "pytest", "-p", "no:cacheprovider"]
    plain = subprocess.run(
        command, cwd=root, env=clean_environment(), capture_output=True, text=True, check=False
    ).stdout
    seen = run_suite(root, "--format", "json", "--", "-p", "no:cacheprovider").document["text_output"]

    def without_times(text: str) -> str:
        return re.sub(r"in [0-9.]+s|0x[0-9a-f]+|=+", "", text)

    assert without_times(seen) == without_times(plain)


@pytest.mark.parametrize("count", [1, 500, 20_000])
def test_a_green_run_is_one_short_line(count: int) -> None:
    text = agent_text(run_of(*passed(*(f"t.py::test_{n}" for n in range(count))), outcome=RunOutcome.PASSED))

    assert text == f"{count} passed\n"
    assert estimate(text) <= 12


def test_nothing_can_move_a_cursor_or_break_a_line() -> None:
    evil = "ValueError: \x1b[2Jgone\x1b]0;title\x07 \r over \u202e"
    text = agent_text(run_of(failed("t.py::test_\x1b[31m[a\nb]", evil, ("a\x1b.py", 1))))

    assert "\x1b" not in text
    assert "\r" not in text
    assert len(text.splitlines()) == 2


def test_what_a_crash_says_comes_before_what_failed() -> None:
    crash = e.TestFinished(
        "t.py::test_z", Outcome.CRASH, failure=e.Failure("", "SIGSEGV", e.Place("n.py", 5))
    )
    text = agent_text(run_of(failed("t.py::test_a", "E: x"), crash, outcome=RunOutcome.CRASHED))

    assert text == "CRASH 1 failed\nt.py\n::test_z > n.py:5 SIGSEGV\n::test_a E: x\n"


def test_messages_that_differ_only_at_their_end_are_not_merged() -> None:
    long = "ValueError: " + "x" * 2500
    facts = [failed(f"t.py::test_{n}", f"{long}{n}", ("a.py", 1)) for n in range(2)]

    text = agent_text(run_of(*facts))

    assert "::test_0 " in text
    assert "::test_1 " in text


def test_equal_words_with_other_values_behind_them_are_not_merged() -> None:
    facts = [
        failed(
            f"t.py::test_x[{n}]", "assert {...} == {...}", ("t.py", 3), difference=(f"at ['a']: {n} != 9",)
        )
        for n in range(2)
    ]

    text = agent_text(run_of(*facts))

    assert "[0] assert == fails at ['a']: 0 != 9" in text
    assert "[1] assert == fails at ['a']: 1 != 9" in text


def test_an_explanation_that_names_twice_what_its_next_line_explains_does_not_double() -> None:
    lines = [f"  + where <{n}> = <{n + 1}><{n + 1}>" for n in range(60)]
    message = "\n".join(["AssertionError: assert False", "  + where False = <0>", *lines])

    text = agent_text(run_of(failed("t.py::test_x", message)))

    assert text.startswith("1 failed\nt.py::test_x assert False where False = <60><60><59><58>")
    assert text.endswith("<2><1>\n")


def test_few_messages_of_many_tests_are_said_once_each() -> None:
    kinds = ["Integer"] * 45 + ["Float"] * 2
    facts = [
        failed(f"t{n % 2}.py::test_{n}", f"AttributeError: '{kind}' has no 'x'", ("a.py", 1))
        for n, kind in enumerate(kinds)
    ]

    assert agent_text(run_of(*facts, *passed("t0.py::test_ok"))).splitlines()[1:] == [
        "x47 > a.py:1 AttributeError",
        "x45 'Integer' has no 'x'",
        "t0.py x23 of 25",
        "t1.py x22 of 23",
        "x2 'Float' has no 'x'",
        "t1.py::test_45",
        "t0.py::test_46",
        f"more: proctor show {RUN_ID} --format failures",
    ]


def test_each_way_to_a_raise_is_shown_with_the_tests_that_take_it() -> None:
    def through(test: str, *lines: int) -> e.TestFinished:
        places = [e.Place("t.py", 1), *(e.Place("orders.py", line) for line in lines), e.Place("check.py", 3)]
        failure = e.Failure("E", "E: no", places[-1], calls=tuple(e.Calls((place,)) for place in places))
        return e.TestFinished(test, Outcome.FAILED, phases=(e.Phase("call", "failed", failure=failure),))

    text = agent_text(run_of(through("t.py::a", 7, 12), through("t.py::b", 9), through("t.py::c", 9)))

    assert text.splitlines()[1:] == [
        "x3 > check.py:3 E: no",
        "t.py::a > orders.py:7 > :12",
        "t.py::{b,c} > orders.py:9",
    ]
