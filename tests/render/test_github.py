"""GitHub: annotations in its escaping, within its limits; and nothing of a test becomes a command."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from support.made_runs import failed, passed, run_of
from support.streams import StringWriter, case, final, read, suite, written

from proctor import events as e
from proctor.outcome import Outcome, RunOutcome
from proctor.render.github import (
    ANNOTATIONS,
    MESSAGE,
    ROWS,
    Annotation,
    annotations_of,
    step_summary,
    write_github_log,
)
from proctor.result import RunResult


def result_of(*tests: dict[str, Any], **counts: int) -> RunResult:
    (result,) = read(written(suite(len(tests)), *tests, final(**counts)))
    return result


def failing(number: int, **more: Any) -> dict[str, Any]:
    """Each for a cause of its own: a number alone is not another cause."""
    return case(f"t{number}", "fail", reason="no" + "o" * number, **more)


def test_properties_and_messages_are_escaped_as_github_wants_it() -> None:
    annotation = Annotation("error", "a: 1,2", "50%\r\nof it: x", e.Place("d,ir/a:b.py", 7))

    assert annotation.command("sub/") == (
        "::error file=sub/d%2Cir/a%3Ab.py,line=7,title=a%3A 1%2C2::50%25%0D%0Aof it: x"
    )


def test_a_place_outside_the_project_is_not_given() -> None:
    assert Annotation("error", "t", "m", e.Place("/usr/lib/x.py", 7)).command() == "::error title=t::m"


def test_of_too_many_failures_the_last_annotation_names_the_rest() -> None:
    found = annotations_of(result_of(*map(failing, range(25)), fail=25))

    assert len(found) == ANNOTATIONS
    assert found[-1].title == "and 16 more"
    assert found[-1].message.splitlines()[0] == "FAILED t9"
    assert found[-1].message.splitlines()[-1] == "FAILED t24"


def test_errors_and_warnings_have_a_limit_each() -> None:
    passing = [case(f"x{number}", extra={"outcome": "xpass"}) for number in range(12)]
    found = annotations_of(result_of(*map(failing, range(12)), *passing, fail=12, ok=12))

    assert [annotation.kind for annotation in found] == ["error"] * 10 + ["warning"] * 10


def test_failures_that_are_the_same_are_one_annotation() -> None:
    place = {"failure": {"file": "a.py", "line": 3, "message": "same"}}
    (found,) = annotations_of(
        result_of(*(case(name, "fail", reason="same", extra=place) for name in "abc"), fail=3)
    )

    assert (found.title, str(found.place)) == ("FAILED a and 2 more", "a.py:3")
    assert found.message == "same\n- a\n- b\n- c"


def test_a_message_is_cut_to_what_github_takes() -> None:
    message = Annotation("error", "t", "ä" * MESSAGE).command()

    assert len(message.encode()) < MESSAGE
    assert message.endswith("... cut: an annotation holds 64 KiB")


def test_a_run_that_failed_without_a_failing_test_is_an_annotation_too() -> None:
    (result,) = read(written(suite(1), case("a")))

    assert annotations_of(result)[0].title == "tests: incomplete"


def test_the_report_stands_where_nothing_in_it_is_a_command() -> None:
    heard = StringWriter()
    write_github_log(result_of(failing(1, stdout="::error::spoofed\n"), fail=1), heard, token="secret")

    before, _, after = heard.text().partition("::stop-commands::secret\n")
    inside, _, rest = after.partition("::secret::\n")
    assert "spoofed" in inside
    assert rest == ""
    assert all(line.startswith("::error ") for line in before.splitlines())


def test_the_summary_has_each_failure_and_cannot_be_broken_by_its_text() -> None:
    text = step_summary(
        result_of(
            case("<b>", "fail", reason="no", stdout="```\n# not a heading\n"),
            case("n`r", "ignore", extra={"outcome": "not_run"}),
            fail=1,
            ignore=1,
        )
    )

    assert text.startswith("### ❌ 1 failed 1 not run in 0.00s\n\n")
    assert "<summary>FAILED &lt;b&gt;</summary>\n\n````text\nno\n" in text
    assert "- `` n`r ``\n" in text


def test_the_summary_stays_within_its_room_and_says_what_it_left_out() -> None:
    result = result_of(*(failing(number, stdout="x" * 1000) for number in range(100)), fail=100)

    text = step_summary(result, 20_000)

    assert len(text.encode()) <= 20_000
    shown = len(re.findall("<details>", text))
    assert f"{100 - shown} more failures have no room here; the log has them." in text
    assert step_summary(result, 10) == ""


@pytest.mark.parametrize("file", ["/usr/lib/x.py", "../x.py", "<string>"])
def test_a_place_that_is_no_file_of_the_repository_is_not_given(file: str) -> None:
    assert Annotation("error", "t", "m", e.Place(file, 7)).command("sub/") == "::error title=t::m"


def test_as_many_annotations_as_github_takes_are_given_one_by_one() -> None:
    whole = annotations_of(result_of(*(failing(number) for number in range(ANNOTATIONS)), fail=ANNOTATIONS))
    cut = annotations_of(result_of(*(failing(number) for number in range(12)), fail=12))

    assert [annotation.title for annotation in whole] == [f"FAILED t{n}" for n in range(ANNOTATIONS)]
    assert cut[:-1] == whole[:-1]
    assert cut[-1] == Annotation("error", "and 3 more", "FAILED t9\nFAILED t10\nFAILED t11")


def test_a_character_that_is_cut_in_two_is_left_out() -> None:
    message = Annotation("error", "t", "x" + "ä" * MESSAGE).command()

    assert message.startswith("::error title=t::xää")
    assert message.endswith("ä%0A... cut: an annotation holds 64 KiB")


def test_a_long_failure_is_cut_in_the_summary() -> None:
    text = step_summary(
        result_of(
            failing(1, stdout="x" * 100 + "\n"),
            fail=1,
        ),
        1 << 20,
    )
    long = step_summary(result_of(case("t", "fail", reason="y" * (MESSAGE + 1)), fail=1))

    assert "cut: the log has all of it" not in text
    assert "y\n... cut: the log has all of it\n```" in long


# Warnings


def warned(file: str, line: int = 7, **more: Any) -> str:
    test = e.TestFinished("tests/test_a.py::a", Outcome.PASSED, place=e.Place("tests/test_a.py", 3))
    warning = e.WarningRecorded("DeprecationWarning", "old", file, line, test=test.test)
    (found,) = annotations_of(run_of(test, warning, outcome=RunOutcome.PASSED, **more))
    return found.command()


@pytest.mark.parametrize(
    "file, place",
    [
        ("/project/src/shop.py", "file=src/shop.py,line=7,"),
        ("src/shop.py", "file=src/shop.py,line=7,"),
        ("/project/.venv/lib/python3.12/site-packages/x.py", "file=tests/test_a.py,line=3,"),
        ("/usr/lib/python3.12/x.py", "file=tests/test_a.py,line=3,"),
        ("/projects/x.py", "file=tests/test_a.py,line=3,"),
        ("<string>", "file=tests/test_a.py,line=3,"),
        ("", "file=tests/test_a.py,line=3,"),
    ],
)
def test_a_warning_is_at_its_line_or_at_the_test_that_ran_into_it(file: str, place: str) -> None:
    assert warned(file) == f"::warning {place}title=DeprecationWarning::old"


def test_a_warning_of_no_test_and_no_file_of_the_project_has_no_place() -> None:
    warning = e.WarningRecorded("W", "old", "/usr/lib/x.py", 7)

    (found,) = annotations_of(run_of(*passed("t.py::a"), warning, outcome=RunOutcome.PASSED))

    assert found.command() == "::warning title=W::old"


def test_the_same_warning_is_one_annotation_and_many_are_limited() -> None:
    same = [e.WarningRecorded("W", "old", "a.py", 1, test=test) for test in ("t.py::a", "t.py::b")]
    others = [e.WarningRecorded("W", f"old {number}", "a.py", number) for number in range(40)]

    found = annotations_of(run_of(*passed("t.py::a"), *same, *others, outcome=RunOutcome.PASSED))

    assert len(found) == ANNOTATIONS
    assert (found[0].message, found[-1].title) == ("old", "and 32 more")


# Suites that did not run


def without_node(required: bool, *facts: e.Event) -> RunResult:
    outcome = RunOutcome.INCOMPLETE if required else RunOutcome.PASSED
    return run_of(*facts, e.SuiteMissing("node", "no node\n::error::on PATH", required), outcome=outcome)


def test_a_suite_that_did_not_run_is_a_warning() -> None:
    (found,) = annotations_of(without_node(False, *passed("t.py::a")))

    assert found.command() == "::warning title=node%3A not run::no node%0A::error::on PATH"


def test_a_suite_that_had_to_run_and_did_not_is_an_error() -> None:
    found = annotations_of(without_node(True, *passed("t.py::a")))

    assert [(one.kind, one.title) for one in found] == [
        ("error", "node: not run"),
        ("error", "tests: incomplete"),
    ]


# Tables of the summary


def table(text: str, head: str) -> list[str]:
    """The rows of the table that begins with this line."""
    lines = text.splitlines()
    at = lines.index(head)
    return lines[at + 2 : at + 2 + lines[at + 2 :].index("")]


SUITES = "| suite | outcome | tests | time |"
CAUSES = "|  | test | place | message |"
SLOWEST = "| slowest | time |"


def test_a_green_run_has_its_verdict_and_no_empty_table() -> None:
    text = step_summary(run_of(*passed("t.py::a"), outcome=RunOutcome.PASSED))

    assert re.fullmatch(r"### ✅ .*\n\n", text)


def test_the_summary_has_a_table_of_failures_by_cause() -> None:
    same = [failed(f"t.py::{name}", "KeyError: 'x'", ("shop.py", 3)) for name in "abc"]
    result = run_of(*same, failed("t.py::d", "TypeError: a | b_c <d> `e`", ("t.py", 9)))

    assert table(step_summary(result), CAUSES) == [
        "| FAILED | `t.py::a` and 2 more | `shop.py:3` | KeyError: 'x' |",
        "| FAILED | `t.py::d` | `t.py:9` | TypeError: a \\| b\\_c &lt;d&gt; \\`e\\` |",
    ]


def test_a_name_cannot_end_its_cell() -> None:
    result = run_of(failed("t.py::a[x|`y\nz]", "no"))

    (row,) = table(step_summary(result), CAUSES)

    assert row == "| FAILED | `` t.py::a[x\\|`y\\nz] `` |  | no |"


@given(name=st.text(min_size=1, max_size=12), message=st.text(max_size=12))
@example(name="a|`b", message="| `|` \\| <b> *x*")
@example(name="`", message="\\")
@example(name="a\\", message="`")
def test_a_reader_of_markdown_sees_each_row_with_all_its_cells(name: str, message: str) -> None:
    result = run_of(failed(f"t.py::{name}", f"E: {message}", ("t.py", 3)))

    tokens = MarkdownIt("commonmark").enable("table").parse(step_summary(result))

    cells = [tokens[at + 1] for at, token in enumerate(tokens) if token.type == "td_open"]
    assert len(cells) == 4
    assert [child.type for child in cells[1].children or ()] == ["code_inline"]
    assert {child.type for child in cells[3].children or ()} <= {"text", "text_special"}


def test_the_table_of_causes_has_an_end() -> None:
    result = run_of(*(failed(f"t.py::t{n}", "E" * (n + 1), ("t.py", n + 1)) for n in range(ROWS + 7)))

    found = table(step_summary(result), CAUSES)

    assert len(found) == ROWS + 1
    assert found[-1] == "|  | and 7 more causes |  |  |"


def test_the_summary_names_the_slowest_tests() -> None:
    times = {"a": 0.5, "b": 3.25, "c": 0.001, "d": 1.0, "e": 2.0}
    tests = [e.TestFinished(f"t.py::{name}", Outcome.PASSED, time) for name, time in times.items()]

    text = step_summary(run_of(*tests, outcome=RunOutcome.PASSED))

    assert table(text, SLOWEST) == ["| `t.py::b` | 3.25s |", "| `t.py::e` | 2.00s |", "| `t.py::d` | 1.00s |"]


def test_the_summary_has_a_table_of_suites_where_one_did_not_run() -> None:
    text = step_summary(without_node(False, *passed("t.py::a", "t.py::b")))

    assert table(text, SUITES) == [
        "| `pytest` | passed | 2 | 0.00s |",
        "| `node` | not run: no node\\\\n::error::on PATH |  |  |",
    ]


def test_tables_leave_room_for_the_failures() -> None:
    result = run_of(*(failed(f"t.py::{'n' * 400}{n}", "E" * (n + 1), ("t.py", n + 1)) for n in range(50)))

    text = step_summary(result, 30_000)

    assert len(text.encode()) <= 30_000
    assert CAUSES not in text
    assert "<details>" in text
