"""Many runs through one MCP server, several at a time, while runs are cancelled and processes are killed;
then many edits of a project, with a warm and a cold run after each.

    make soak ARGS='--runs 1000 --parallel 8 --edits 500 --seed N'

The same seed makes the same plan. Ends with 1 if anything was not as it should be.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from pathlib import Path

from soak.edits import edit_and_run
from soak.levels import MIB
from soak.soaking import soak

TOLERANCE = 4 * MIB  # in a thousand runs, 8 KiB of each; what was measured is 0.5 to 0.9 MiB
LEAST_WARM = 0.3  # of the runs after edits; or nothing was tried


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--edits", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    chosen = parser.parse_args()
    started = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {text}", flush=True)

    faults: list[str] = []
    if chosen.runs:
        with tempfile.TemporaryDirectory(prefix="soak-") as home:
            faults += asyncio.run(
                soak(Path(home), chosen.runs, chosen.parallel, chosen.seed, TOLERANCE, tell)
            )
    if chosen.edits:
        with tempfile.TemporaryDirectory(prefix="soak-") as home:
            disagreements, warm = edit_and_run(Path(home), chosen.edits, chosen.seed, tell)
        faults += disagreements
        if warm < chosen.edits * LEAST_WARM:
            faults.append(f"only {warm} of {chosen.edits} runs were warm")
            tell(f"FAULT {faults[-1]}")
    return 1 if faults else 0


sys.exit(main())
