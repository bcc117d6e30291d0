"""GitHub: annotations in its escaping, within its limits; and nothing of a test becomes a command."""

from __future__ import annotations

import re
from typing import Any

import pytest
from support.streams import StringWriter, case, final, read, suite, written

from proctor import events as e
from proctor.render.github import (
    ANNOTATIONS,
    MESSAGE,
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
