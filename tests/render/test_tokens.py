"""The estimate of tokens against counts that o200k gave (npm package gpt-tokenizer) for recorded reports."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.render.tokens import estimate

COUNTED = json.loads((Path(__file__).parent.parent / "data" / "token_counts.json").read_text())


@pytest.mark.parametrize("report", COUNTED, ids=lambda report: report["name"])
def test_the_estimate_is_never_more_than_five_percent_under_the_count(report: dict[str, Any]) -> None:
    assert estimate(report["text"]) >= 0.95 * report["tokens"]


def test_the_estimate_does_not_waste_the_budget() -> None:
    assert sum(estimate(report["text"]) for report in COUNTED) <= 1.15 * sum(r["tokens"] for r in COUNTED)


def test_nothing_costs_nothing() -> None:
    assert estimate("") == 0


def test_counting_stops_as_soon_as_it_is_enough() -> None:
    text = "one two three four five six seven eight"
    whole = estimate(text)

    assert estimate(text, whole) == whole
    assert 3 < estimate(text, 3) < whole


@pytest.mark.parametrize(
    "text, hundred",  # the price of a hundred lines
    [
        ("word", 210),
        ("one word", 320),
        (".word", 250),
        ("lowercase", 252),
        ("HTTP", 250),
        ("_HTTP", 290),
        ("xkcdqz", 408),
        ("123", 200),
        ("1234", 300),
        ("=", 100),
        ("=>", 120),
        ("===>", 160),
        ("----", 158),
        ("é", 200),
        ("ナ", 250),
    ],
)
def test_each_kind_of_piece_has_its_price(text: str, hundred: int) -> None:
    assert hundred <= estimate(f"{text}\n" * 100) <= hundred + 1
