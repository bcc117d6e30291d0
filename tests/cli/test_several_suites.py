"""A stream of several suites is one run, in every format; and what is written again is what was read."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cli import converted, shown
from support.reports import read as read_report
from support.streams import case, final, suite, violations, written

from proctor.outcome import RunOutcome
from proctor.wire import formats

STREAM = written(
    suite(2, name="unit", rustc="rustc 1.95"),
    case("unit::a"),
    case("unit::b", "fail"),
    final(1, 1),
    suite(2, name="doc"),
    case("src/lib.rs - a"),
    case("src/lib.rs - b", "ignore"),
    final(1, 0, 1),
)


@pytest.mark.parametrize("form", ["junit-full", "json", "ctrf", "tap"])
def test_several_suites_are_one_report(form: str) -> None:
    code, out, err = converted(STREAM, form)

    assert (code, err) == (0, "")
    (code, again, err) = converted(out, "stream")
    assert (code, err) == (0, "")
    found = [json.loads(line) for line in again.splitlines()]
    labels = {line["label"]: line["status"] for line in found if line["type"] == "test"}
    assert {label.rpartition("unit::")[2]: status for label, status in labels.items()} == {
        "a": "ok",
        "b": "fail",
        "src/lib.rs - a": "ok",
        "src/lib.rs - b": "ignore",
    }


def test_the_reports_hold_the_suites_apart_where_they_can() -> None:
    document = json.loads(converted(STREAM, "json")[1])
    assert [(one["name"], one["outcome"]) for one in document["suites"]] == [
        ("unit", "failed"),
        ("doc", "passed"),
    ]
    assert [test["suite"] for test in document["tests"]] == ["unit", "unit", "doc", "doc"]
    assert document["json_report"]["exitcode"] == 1
    for form, totals in (("junit", 'errors="0"'), ("junit-full", 'errors="0" skipped="1"')):
        xml = converted(STREAM, form)[1].decode()
        assert f'<testsuites tests="4" failures="1" {totals} time=' in xml
        assert re.findall('<testsuite name="(.+?)"', xml) == ["unit", "doc"]


@pytest.mark.parametrize("form", formats.offered("to"))
def test_every_format_holds_a_run_of_several_suites(form: str) -> None:
    code, out, _ = converted(STREAM, form)

    assert code == 0
    assert b"unit" in out
    assert out.count(b"<?xml") <= 1


@pytest.mark.parametrize("form", formats.offered("show"))
def test_every_format_shows_a_run_of_several_suites(form: str, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(STREAM)
    code, out = shown(tmp_path / "s.jsonl", form)

    assert code == 1
    if form in ("json", "ctrf"):
        json.loads(out)


def test_two_suites_of_one_name_are_told_apart_in_a_document() -> None:
    twice = written(suite(1), case("a"), final(1), suite(1), case("b", "fail"), final(0, 1))
    document = converted(twice, "json")[1]

    assert [one["name"] for one in json.loads(document)["suites"]] == ["unit", "unit#2"]
    code, again, _ = converted(document, "stream")
    assert code == 0
    assert [json.loads(line).get("name") for line in again.splitlines()] == ["unit", None, None] * 2


# Written again


SEEDS_OWN = (
    {
        "type": "suite",
        "name": "Doc-Test",
        "build": "2015-08-21T10:03:20+0200",
        "count": 1,
        "rustc": "2a89bb6ba033b236c79a90486e2e3ee04d0e66f9",
    },
    {
        "type": "test",
        "subtype": "should_panic",
        "status": "ok",
        "label": "octavo::digest::md5::tests::test_md5",
        "file": "src/digest/md5.rs",
        "line": 684,
        "stdout": "",
        "stderr": "",
        "duration": 100,
    },
    {"type": "final", "results": {"ok": 1, "fail": 0, "ignore": 0}},
)


def test_the_proposals_own_example_is_written_again_with_its_time_in_the_form_of_the_rules() -> None:
    code, out, err = converted(written(*SEEDS_OWN), "stream")

    head, test, end = (json.loads(line) for line in out.splitlines())
    assert (code, err, violations(out)) == (0, "", [])
    assert head == {**SEEDS_OWN[0], "build": "2015-08-21T10:03:20+02:00", "extra": {"proctor": {"rev": 1}}}
    assert test == SEEDS_OWN[1]
    assert end == {**SEEDS_OWN[2], "extra": {"outcome": "passed"}}


@pytest.mark.parametrize(
    "way", [("stream",), ("events", "stream"), ("json", "stream"), ("json", "events", "stream")]
)
def test_nothing_is_invented_and_nothing_foreign_lost(way: tuple[str, ...]) -> None:
    lines: list[dict[str, Any]] = [
        {"type": "suite", "count": 4, "rustc": "none", "extra": {"machine": {"cores": 2}}, "seed": 7},
        {"type": "test", "status": "ok", "label": "a", "extra": {"owner": "me", "note": None}},
        {"type": "bench", "status": "ok", "label": "b", "duration": 31, "nspi": [30, 31.5, 32]},
        {"type": "test", "status": "fail", "label": "c", "reason": "no", "extra": {"failure": {"column": 3}}},
        {"type": "test", "status": "fail", "label": "d", "reason": "no", "extra": {"phase": "build"}},
        {"type": "final", "results": {"ok": 2, "fail": 2, "ignore": 0}, "extra": {"host": "h"}},
    ]
    data = written(*lines)
    for form in way:
        code, data, err = converted(data, form)
        assert (code, err) == (0, "")
    found = [json.loads(line) for line in data.splitlines()]

    head, a, b, c, d, end = found if found[1]["label"] == "a" else [found[0], *found[2:5], found[1], found[5]]
    assert "name" not in head and "build" not in head
    assert (head["seed"], head["extra"]["machine"]) == (7, {"cores": 2})
    assert a == lines[1]
    assert b == {**lines[2], "type": "test", "subtype": "bench"}
    assert c == {**lines[3], "extra": {"failure": {"message": "no", "column": 3}}} or c == lines[3]
    assert d == {**lines[4], "extra": {"outcome": "error", "phase": "build"}}
    assert end["extra"]["host"] == "h"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
EXTRA = st.dictionaries(st.sampled_from(["owner", "x", "attempts", "é"]), JSON, max_size=2)


@st.composite
def made_test(draw: st.DrawFn, label: str) -> dict[str, Any]:
    status = draw(st.sampled_from(["ok", "ok", "fail", "ignore"]))
    found: dict[str, Any] = {"type": "test", "status": status, "label": label}
    if status == "fail":
        found["reason"] = "it broke"
    optional = {
        "subtype": st.sampled_from(["test", "should_panic", "bench"]),
        "file": st.sampled_from(["", "a.rs"]),
        "line": st.integers(1, 99),
        "stdout": st.sampled_from(["", "out\n"]),
        "stderr": st.sampled_from(["", "err"]),
        "duration": st.integers(0, 10**12),
        "throughput": st.integers(0, 9) | st.floats(0, 9),
        "nspi": st.lists(st.integers(0, 9), max_size=2),
        "extra": EXTRA,
        "color": JSON,
    }
    found |= {name: draw(value) for name, value in optional.items() if draw(st.booleans())}
    if found.get("subtype") == "bench":
        found.setdefault("duration", 5)
    return found


@st.composite
def streams(draw: st.DrawFn) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    for number in range(draw(st.integers(1, 3))):
        count = draw(st.integers(0, 3))
        head = {"type": "suite", "count": count, "rustc": draw(st.sampled_from(["none", "rustc 1"]))}
        optional = {
            "name": st.sampled_from(["", "unit", "doc"]),
            "build": st.just("2026-01-01T00:00:00+00:00"),
            "extra": EXTRA,
            "seed": JSON,
        }
        head |= {name: draw(value) for name, value in optional.items() if draw(st.booleans())}
        own = [draw(made_test(f"{number}::{test}")) for test in range(count)]
        results = {word: sum(test["status"] == word for test in own) for word in ("ok", "fail", "ignore")}
        end = {"type": "final", "results": results}
        if draw(st.booleans()):
            end["extra"] = draw(EXTRA)
        lines += [head, *own, end]
    return lines


@given(lines=streams(), way=st.sampled_from([("stream",), ("events", "stream"), ("json", "stream")]))
def test_any_stream_is_written_again_as_it_was(lines: list[dict[str, Any]], way: tuple[str, ...]) -> None:
    data = written(*lines)
    for form in way:
        code, data, _ = converted(data, form)
        assert code == 0
    found = [json.loads(line) for line in data.splitlines()]

    assert [_without_ours(line) for line in found] == [_without_ours(line) for line in lines]
    assert {violation.rule for violation in violations(data)} <= {"R7"}  # a time is not made up


def _without_ours(line: dict[str, Any]) -> dict[str, Any]:
    """A line without what our writer says of itself, of the run and of its verdict."""
    extra = dict(line.get("extra", {}))
    if line["type"] == "suite":
        extra.pop("proctor", None)
    if line["type"] == "final":
        extra.pop("outcome", None)
    rest = {name: value for name, value in line.items() if name != "extra"}
    return {**rest, "extra": extra} if extra else rest


def test_a_failing_stream_gives_a_json_report_that_failed() -> None:
    data = converted(written(suite(1), case("a", "fail"), final(0, 1)), "json")[1]

    assert json.loads(data)["json_report"]["exitcode"] == 1


@pytest.mark.parametrize("form", ["junit", "junit-full", "tap", "ctrf"])
def test_a_report_of_a_stream_that_passed_passes(form: str) -> None:
    passed = written(suite(1), case("a"), final(1), suite(1, name="doc"), case("b"), final(1))

    assert read_report(converted(passed, form)[1], form).outcome is RunOutcome.PASSED
