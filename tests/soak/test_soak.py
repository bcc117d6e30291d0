"""The soak in its short form; `make soak` is the long one."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path

from soak.levels import MIB
from soak.soaking import soak

RUNS = 32  # a quarter of them is as many as run at once, and each quarter has a sample
#: A server keeps documents of 32 MiB on purpose, and so few runs do not fill that before they are compared;
#: there is one sample a quarter, and the last large answer may not have been collected yet.
TOLERANCE = (32 + 16) * MIB


def test_many_runs_leave_the_server_as_it_was_and_every_answer_is_true(tmp_path: Path) -> None:
    seed = random.randrange(10**6)

    assert asyncio.run(soak(tmp_path, RUNS, 8, seed, TOLERANCE, tell=print)) == []
