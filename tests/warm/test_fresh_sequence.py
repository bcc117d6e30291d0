"""The sequence of edits and runs in its short form; `make soak` has the long one."""

from __future__ import annotations

import random
from pathlib import Path

from soak.edits import edit_and_run

STEPS = 12


def test_after_any_edit_a_warm_run_says_what_a_cold_one_says(tmp_path: Path) -> None:
    faults, _ = edit_and_run(tmp_path, STEPS, random.randrange(10**6), tell=print)

    assert faults == []
