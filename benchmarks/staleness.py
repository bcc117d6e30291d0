"""Run by warm.py in an interpreter of the tests: imports all packages of a folder, then proves again and
again that no file has changed since. Prints the CPU seconds that this takes: the median."""

import os
import statistics
import sys
import time

from _proctor_injected_load import load  # type: ignore[import-not-found]

folder, rounds = sys.argv[1], int(sys.argv[2])
sys.path.append(folder)
for package in sorted(os.listdir(folder)):
    for file in sorted(os.listdir(os.path.join(folder, package))):
        if file.endswith(".py"):
            __import__(f"{package}.{file[: -len('.py')]}")
freshness = load("proctor_freshness")
seen = freshness.Seen(freshness.Places(), [], time.time_ns() + 1_000_000_000)
took = []
for _ in range(rounds):
    before = time.process_time()
    why = seen.stale(os.getcwd())
    took.append(time.process_time() - before)
    if why:
        raise SystemExit(why)
print(statistics.median(took))
