"""The rules of the public stream: each broken alone, and found on its line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.golden import agree
from support.streams import case, final, suite, violations, written

GOLDEN = Path(__file__).parents[1] / "golden" / "stream-rules.txt"
SEED = Path(__file__).parents[2] / "data" / "streams" / "seed.jsonl"
GOOD = [
    suite(4, extra={"anything": 1}),
    case("a", file="a.rs", line=1, stdout="", stderr="", duration=100),
    case("b", "fail"),
    case("c", "ignore", subtype="should_panic"),
    case("d", subtype="bench", duration=7, throughput=1.5),
    final(2, 1, 1),
]


def with_line(number: int, **fields: object) -> bytes:
    """The good stream with fields of one line (from 1) set; None takes a field away."""
    lines = [dict(line) for line in GOOD]
    lines[number - 1].update(fields)
    lines[number - 1] = {name: value for name, value in lines[number - 1].items() if value is not None}
    return written(*lines)


def found(data: bytes) -> list[tuple[int, str]]:
    return [(violation.line, violation.rule) for violation in violations(data)]


def test_a_stream_that_keeps_the_rules_has_no_violations() -> None:
    assert violations(written(*GOOD)) == []
    assert violations(written(*GOOD, suite(1), case("e"), final(1))) == []


def test_the_examples_of_the_proposal_keep_the_rules() -> None:
    assert violations(SEED.read_bytes()) == []


BROKEN: list[tuple[int, str, dict[str, Any]]] = [
    (1, "R3", {"type": "sweet"}),
    (1, "R4", {"extra": [1]}),
    (1, "R7", {"build": None}),
    (1, "R7", {"build": "yesterday"}),
    (1, "R7", {"build": "2015-08-21T10:03:20"}),
    (1, "R8", {"name": 3}),
    (1, "R9", {"count": None}),
    (1, "R9", {"count": "4"}),
    (1, "R9", {"count": -1}),
    (1, "R10", {"rustc": None}),
    (1, "R10", {"rustc": 1.95}),
    (2, "R12 R17", {"label": "b"}),
    (2, "R13", {"subtype": "integration"}),
    (2, "R14", {"status": "passed"}),
    (3, "R15", {"reason": None}),
    (3, "R15", {"reason": " "}),
    (3, "R15", {"reason": "two\nlines"}),
    (3, "R15", {"reason": "x" * 501}),
    (2, "R16", {"reason": "fine"}),
    (4, "R16", {"reason": "later"}),
    (2, "R17", {"label": None}),
    (2, "R17", {"label": ""}),
    (2, "R18", {"file": 1}),
    (2, "R19", {"line": "1"}),
    (2, "R19", {"line": 0}),
    (2, "R20", {"stdout": 1}),
    (2, "R21", {"stderr": ["x"]}),
    (2, "R22", {"duration": 1.5}),
    (2, "R22", {"duration": True}),
    (5, "R23", {"duration": None}),
    (5, "R24", {"throughput": "fast"}),
    (6, "R26", {"results": None}),
    (6, "R26", {"results": {"ok": 2, "fail": 1}}),
    (6, "R26", {"results": {"ok": 2, "fail": 1, "ignore": 1, "bench": 1}}),
    (6, "R26", {"results": {"ok": 3, "fail": 1, "ignore": 0}}),
]


@pytest.mark.parametrize(("line", "rule", "fields"), BROKEN)
def test_each_rule_is_checked_on_its_line(line: int, rule: str, fields: dict[str, Any]) -> None:
    everything = found(with_line(line, **fields))

    expected = (line + 1, rule) if fields == {"label": "b"} else (line, rule)  # the second of two is too much
    assert everything[0] == expected


def test_violations_are_told_in_these_words() -> None:
    streams = [
        *(with_line(line, **fields) for line, _, fields in BROKEN),
        *(b"", b"[1]\n", b"[1]", written(GOOD[1]), written(*GOOD, GOOD[1]), written(GOOD[0])),
        *(with_line(1, count=5), with_line(1, type={"long": "x" * 80}), written(suite(0), *GOOD)),
        with_line(2, label="y" * 80, status=["z" * 52]),
    ]

    agree(GOLDEN, "".join(f"{violation}\n" for stream in streams for violation in violations(stream)))


@pytest.mark.parametrize(
    "line, fields",
    [
        (1, {"build": "2015-08-21T10:03:20Z"}),
        (1, {"extra": {}}),
        (2, {"line": 1, "duration": 0, "throughput": 0}),
        (3, {"reason": "x" * 500}),
        (4, {"type": "bench", "subtype": None}),  # not run: it need not say how long it took
        (5, {"type": "bench", "subtype": None}),
    ],
)
def test_what_is_just_good_enough(line: int, fields: dict[str, Any]) -> None:
    assert violations(with_line(line, **fields)) == []


def test_a_count_that_is_not_that_of_the_tests_is_found_at_the_end() -> None:
    assert found(with_line(1, count=5)) == [(6, "R9")]


def test_every_line_is_an_object_of_its_own_and_ends_with_a_line_feed() -> None:
    good = written(*GOOD)

    assert found(good[:-1]) == [(6, "R1")]
    assert found(good.replace(b"}\n", b"}\r\n", 1)) == [(1, "R1")]
    assert found(written(GOOD[0], b"[1]", *GOOD[1:])) == [(2, "R1")]
    assert found(written(GOOD[0], b"noise", *GOOD[1:])) == [(2, "R2")]
    assert found(written(GOOD[0], b'{"type":\xff}', *GOOD[1:])) == [(2, "R2")]
    assert found(written(GOOD[0], b"", *GOOD[1:])) == [(2, "R2")]
    assert found(written(GOOD[0], b"[" * 100_000, *GOOD[1:])) == [(2, "R2")]
    pretty = json.dumps(GOOD[0], indent=1).encode()
    assert (1, "R2") in found(written(pretty, *GOOD[1:]))


def test_a_stream_begins_with_its_suite() -> None:
    assert found(b"") == [(1, "R5")]
    assert (1, "R5") in found(written(*GOOD[1:]))


def test_a_final_line_is_there_once_and_last() -> None:
    assert found(written(*GOOD[:-1])) == [(6, "R25")]
    assert found(written(*GOOD, case("late"))) == [(7, "R25")]
    assert found(written(*GOOD, final())) == [(7, "R25")]
    assert found(written(suite(0), *GOOD)) == [(2, "R25")]


def test_labels_are_unique_in_all_suites_of_an_output() -> None:
    assert found(written(*GOOD, suite(1), case("a"), final(1))) == [(8, "R12 R17")]


def test_a_violation_says_what_was_found_and_what_would_do() -> None:
    (violation,) = violations(with_line(2, status="passed", label="a"))[:1]

    assert str(violation) == 'line 2: status is "passed": expected one of ok, fail, ignore (R14)'
