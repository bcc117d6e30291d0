"""The soak in its short form; `make soak` is the long one."""

from __future__ import annotations

import asyncio
import random

from soak.soaking import soak


def test_forty_runs_leave_the_server_as_it_was_and_every_answer_is_true(tmp_path):
    assert asyncio.run(soak(tmp_path, runs=40, parallel=8, seed=random.randrange(10**6), tell=print)) == []
