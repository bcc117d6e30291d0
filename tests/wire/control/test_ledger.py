"""What results add up to, and what is refused, at its very border."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from proctor.wire.control.ledger import Admission, Finished, Ledger, Limits, Partial, Refused


def said(ledger: Ledger, **body: Any) -> Partial | Finished:
    """One result, and its files if it has any."""
    found = ledger.receive(msgspec.json.encode(body), body)
    return ledger.commit(found) if isinstance(found, Admission) else found


def files(*names: str, length: int = 0) -> list[dict[str, Any]]:
    return [{"name": name, "length": length} for name in names]


def refused(ledger: Ledger, **body: Any) -> tuple[str, str]:
    with pytest.raises(Refused) as raised:
        said(ledger, **body)
    return raised.value.rule, str(raised.value)


@pytest.mark.parametrize(
    "body, rule, message",
    [
        ({"partial": 1}, "P1", "`partial` is 1; it must be true or false"),
        ({"name": ""}, "R5", "`name` is ''; it must be a string with at least one character, or absent"),
        ({"name": 7}, "R5", "`name` is 7; it must be a string with at least one character, or absent"),
        ({"status": "good"}, "R2", "status is 'good'; known: error, fail, info, pass, skip, warn"),
        ({"files": {}}, "F1", "`files` is an object; it must be an array of objects"),
        ({"files": "x"}, "F1", "`files` is a string; it must be an array of objects"),
        ({"files": True}, "F1", "`files` is a boolean; it must be an array of objects"),
        ({"files": 1.5}, "F1", "`files` is a number; it must be an array of objects"),
        ({"files": [[]]}, "F1", "an entry of `files` is an array; it must be an object"),
        ({"files": [None]}, "F1", "an entry of `files` is null; it must be an object"),
        ({"files": [{"name": 1}]}, "F3", "file name is 1; it must be a string with at least one character"),
        ({"files": files("a\0")}, "F3", "file name 'a\\x00' contains NUL"),
        (
            {"files": files("a/./b")},
            "F3",
            "file name 'a/./b' has the part '.': expected a relative path without it",
        ),
        (
            {"files": files("../b")},
            "F3",
            "file name '../b' has the part '..': expected a relative path without it",
        ),
        ({"files": files("/b")}, "F3", "file name '/b' has the part '': expected a relative path without it"),
        ({"files": files("x" * 256)}, "F3", f"file name has a part of more than 255 bytes: {'x' * 40!r}..."),
        ({"files": files("é" * 128)}, "F3", f"file name has a part of more than 255 bytes: {'é' * 40!r}..."),
        ({"files": files("a", length=-1)}, "F1", "the length of file 'a' is -1; it must be a whole number"),
        (
            {"files": [{"name": "a", "length": True}]},
            "F1",
            "the length of file 'a' is True; it must be a whole number",
        ),
        ({"files": files("a", "a")}, "F4", "file 'a' is named twice in one result"),
        ({"testout": ""}, "T1", "testout is ''; it must be a string with at least one character"),
        (
            {"testout": "a", "files": files("a")},
            "T2",
            "testout 'a' is also the name of a file of the test itself",
        ),
        (
            {"name": "x", "testout": "a", "files": files("a")},
            "T2",
            "testout 'a' is also the name of a file of result 'x'",
        ),
    ],
)
def test_a_result_that_breaks_a_rule_is_told_which_and_what_would_do(
    body: dict[str, Any], rule: str, message: str
) -> None:
    assert refused(Ledger(), **body) == (rule, message)


def test_a_name_of_255_bytes_and_a_file_of_another_result_are_fine() -> None:
    ledger = Ledger()
    said(ledger, name="x", files=files("x" * 255, "é" * 127, "shared"))
    said(ledger, name="y", files=files("shared"), testout="mine")

    assert refused(ledger, name="x", files=files("shared")) == (
        "F5",
        "file 'shared' exists already for result 'x'",
    )
    assert refused(ledger, name="y", files=files("mine")) == (
        "F5",
        "file 'mine' exists already for result 'y'",
    )
    assert refused(ledger, name="x", testout="shared")[0] == "T2"


@pytest.mark.parametrize(
    "limits, good, bad, message",
    [
        ({"results": 2}, [{}, {"name": "a"}], {}, "more than 2 results; raise the limit `results`"),
        (
            {"partials": 2},
            [{"name": n, "partial": True} for n in "aba"],
            {"name": "c", "partial": True},
            "more than 2 open partials; raise the limit `partials`",
        ),
        (
            {"files": 2},
            [{"name": "a", "files": files("f")}, {"name": "b", "files": files("f")}],
            {"files": files("f")},
            "more than 2 files; raise the limit `files`",
        ),
        (
            {"file_bytes": 5},
            [{"name": n, "files": files("f", length=size)} for n, size in (("a", 2), ("b", 2), ("c", 1))],
            {"files": files("f", length=1)},
            "more than 5 bytes of files; raise `file_bytes`",
        ),
    ],
)
def test_a_limit_is_reached_and_not_passed(
    limits: dict[str, int], good: list[dict[str, Any]], bad: dict[str, Any], message: str
) -> None:
    ledger = Ledger(Limits(**limits))
    for body in good:
        said(ledger, **body)

    assert refused(ledger, **bad) == ("limits", message)


def part(name: Any, **more: Any) -> dict[str, Any]:
    return {"name": name, "status": "pass"} | more


def test_many_parts_count_like_single_ones() -> None:
    ledger = Ledger(Limits(results=5))

    assert ledger.receive_parts([part("a"), part("b", note="x"), part("c", status="fail")])
    assert ledger.receive_parts([part("d")] * 3) is None
    assert ledger.receive_parts([part("d")] * 2)
    assert ledger.receive_parts([part("e")]) is None
    assert refused(ledger)[0] == "limits"


ODD: list[Any] = [None, 7, True, [], {}]


@pytest.mark.parametrize(
    "body",
    [
        part(""),
        part("open"),
        *(part(name) for name in ODD),
        *(part("b", status=status) for status in ["good", *ODD]),
        *(part("b", **{key: value}) for key in ("partial", "files", "testout") for value in ["x", *ODD]),
        {"name": "b"},
        {"status": "pass"},
        {},
    ],
    ids=str,
)
def test_what_has_more_to_look_at_is_not_received_with_many(body: dict[str, Any]) -> None:
    ledger = Ledger()
    said(ledger, name="open", partial=True)

    assert ledger.receive_parts([part("a"), body, part("c")]) is None
    assert ledger.receive_parts([part("a"), part("c")])


OWN = {"testout": "output.txt", "by": "proctor"}


@pytest.mark.parametrize(
    "observed, exit_code, note, status, told",
    [
        (0, None, "", "pass", "exit code 0"),
        (3, None, "", "fail", "exit code 3"),
        (-9, None, "SIGKILL", "fail", "SIGKILL"),
        (3, 0, "SIGKILL", "pass", "exit code 0"),
        (0, 4, "", "fail", "exit code 4"),
    ],
)
def test_a_test_that_said_nothing_about_itself_is_what_its_process_did(
    observed: int, exit_code: int | None, note: str, status: str, told: str
) -> None:
    ledger = Ledger()
    ledger.exit_code = exit_code

    assert list(ledger.close(observed, note)) == [Finished(None, {"status": status, "note": told, **OWN})]


def test_a_test_that_reported_on_itself_gets_nothing_added() -> None:
    ledger = Ledger()
    said(ledger, status="pass")

    assert list(ledger.close(0)) == []


def test_its_own_partial_is_closed_with_what_it_said() -> None:
    ledger = Ledger()
    said(ledger, partial=True, x=1, note="mine", testout="o")

    assert list(ledger.close(1)) == [
        Finished(None, {"x": 1, "note": "mine", "testout": "o", "status": "fail", "by": "proctor"})
    ]


def test_an_error_closes_everything_and_is_told_at_the_end() -> None:
    ledger = Ledger()
    said(ledger, name="a", partial=True, status="pass")
    said(ledger, partial=True, x=1)

    assert list(ledger.close(0, error="broken")) == [
        Finished("a", {"name": "a", "status": "pass"}),
        Finished(None, {"x": 1}),
        Finished(None, {"status": "error", "note": "broken", **OWN}),
    ]


def test_a_partial_whose_output_is_a_file_is_an_error_of_the_test_and_its_own_partial_stays() -> None:
    ledger = Ledger()
    said(ledger, partial=True, x=1)
    said(ledger, name="a", partial=True, testout="o")
    said(ledger, name="a", partial=True, files=files("o"))

    why = "testout 'o' is also the name of a file of result 'a'"
    assert list(ledger.close(0)) == [
        Finished("a", {"name": "a", "files": files("o")}),
        Finished(None, {"x": 1}),
        Finished(None, {"status": "error", "note": why, **OWN}),
    ]


def test_the_name_of_our_output_is_one_that_no_file_has() -> None:
    ledger = Ledger()
    said(ledger, name="other", files=files("output.txt"))
    said(ledger, files=files("output.txt", "output-2.txt", "output-3.txt"))
    (own,) = ledger.close(0, error="broken")

    assert own.body["testout"] == "output-4.txt"


@pytest.mark.parametrize(
    "parts, merged",
    [
        ([{"a": 1}, {"b": 2}], {"a": 1, "b": 2}),
        ([{"status": "error", "a": [1]}, {"status": "pass", "a": [2]}], {"status": "pass", "a": [1, 2]}),
        ([{"status": "error"}, {"status": "pass"}], {"status": "pass"}),
        ([{"a": {"x": 1}}, {"a": {"y": 2}}], {"a": {"x": 1, "y": 2}}),
        ([{"a": 1}, {"a": None}], {}),
        ([{"a": 1, "files": []}, {"files": None}], {"a": 1}),
        ([{"a": 1}, {"b": 1}, {"a": [3]}, {"a": [4]}], {"a": [3, 4], "b": 1}),
        ([{"a": None, "b": 1}, {"c": 2}], {"b": 1, "c": 2}),
        ([{"status": None, "b": 1}, {"c": 2}], {"b": 1, "c": 2}),
        ([{"status": "pass", "b": 1}, {"status": None}], {"b": 1}),
        ([{"status": "pass"}, {"status": "fail"}, {"status": None}], {}),
        ([{"status": "pass"}, {"status": None}, {"c": 2}], {"c": 2}),
        ([{"status": "pass"}, {"status": None}, {"status": "fail"}], {"status": "fail"}),
        ([{"testout": "o", "b": 1}, {"testout": None}], {"b": 1}),
        ([{"a": {"x": 1, "y": 2}}, {"a": {"x": None}}], {"a": {"y": 2}}),
        ([{"a": {"x": {"z": 1}}}, {"a": {"x": {"z": None}}}], {"a": {"x": {}}}),
    ],
)
@pytest.mark.parametrize("name", [{"name": "x"}, {}])
def test_partials_add_up_whether_or_not_others_come_between(
    parts: list[dict[str, Any]], merged: dict[str, Any], name: dict[str, str]
) -> None:
    for between in (False, True):
        ledger = Ledger()
        for part in parts[:-1]:
            said(ledger, **name, **part, partial=True)
            if between:
                said(ledger, name="other", partial=True, z=1)
        closed = said(ledger, **name, **parts[-1])
        assert isinstance(closed, Finished)
        assert closed.body == name | merged


def test_a_result_that_closes_nothing_is_as_it_was_but_for_files_that_it_takes_back() -> None:
    assert said(Ledger(), name="x", files=None, a=None).body == {"name": "x", "a": None}


@pytest.mark.parametrize(
    "parts, withdrawn",
    [
        ([{"status": "fail", "partial": True}, {"status": None}], True),
        ([{"status": "pass", "partial": True}, {"status": None, "partial": True}, {"x": 1}], True),
        ([{"status": "pass", "partial": True}, {"status": None, "partial": True}, {"status": "pass"}], False),
        ([{"status": "pass", "partial": True}, {"x": None}], False),
        ([{"partial": True}, {"status": None}], False),
        ([{"status": None}], False),
    ],
)
def test_a_status_that_was_taken_back_is_known(parts: list[dict[str, Any]], withdrawn: bool) -> None:
    ledger = Ledger()
    closed = [said(ledger, name="x", **part) for part in parts][-1]

    assert isinstance(closed, Finished)
    assert closed.withdrawn is withdrawn


def test_a_testout_that_was_taken_back_is_the_name_of_no_file() -> None:
    ledger = Ledger()
    said(ledger, name="x", testout="o", partial=True)
    closed = said(ledger, name="x", status="pass", testout=None, files=files("o"))

    assert closed.body == {"name": "x", "status": "pass", "files": files("o")}
    assert [closed.body["status"] for closed in ledger.close(0)] == ["pass"]


def test_a_result_of_another_name_takes_nothing_back() -> None:
    ledger = Ledger()
    said(ledger, name="x", status="fail", partial=True)
    said(ledger, name="y", status=None)
    said(ledger, status=None, x=1)

    assert [(closed.name, closed.body.get("status")) for closed in ledger.close(0)] == [("x", "fail")]
