"""The clock behind the `duration` word: every vector, with a clock of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.process.allowance import Allowance
from proctor.wire.control.decoder import ControlDecoder, Duration
from proctor.wire.control.ledger import Ledger

CASES = json.loads((Path(__file__).parent.parent / "data" / "duration_vectors.json").read_text())["cases"]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_a_vector_leaves_the_time_that_it_says(case: dict[str, Any]) -> None:
    decoder = ControlDecoder(Ledger())
    allowance = Allowance(case["initial"], 0)
    moments = sorted({time for time, _ in [*case["events"], *case["remaining"]]})

    for now in moments:
        for argument in [argument for time, argument in case["events"] if time == now]:
            (word,) = decoder.feed(f"duration {argument}\n".encode())
            assert isinstance(word, Duration)
            allowance.change(word, now)
        for left in [left for time, left in case["remaining"] if time == now]:
            assert allowance.remaining(now) == left


def test_without_a_limit_only_a_new_one_changes_anything() -> None:
    decoder = ControlDecoder(Ledger())
    allowance = Allowance(None, 0)
    left = []
    for word in decoder.feed(b"duration +60\nduration save\nduration 10\nduration -4\nduration restore\n"):
        assert isinstance(word, Duration)
        allowance.change(word, 5)
        left.append(allowance.remaining(5))

    assert left == [None, None, 10, 6, None]
