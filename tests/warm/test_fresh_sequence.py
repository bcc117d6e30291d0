"""The sequence of edits and runs in its short form; `make soak` has the long one."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from soak.edits import edit_and_run

STEPS = 12
REMOVED = 51957  # a module goes away after a standby has imported it, and before it has looked at its files


@pytest.mark.parametrize("seed", [REMOVED, None])
def test_after_any_edit_a_warm_run_says_what_a_cold_one_says(seed: int | None, tmp_path: Path) -> None:
    faults, _ = edit_and_run(tmp_path, STEPS, seed or random.randrange(10**6), tell=print)

    assert faults == []
