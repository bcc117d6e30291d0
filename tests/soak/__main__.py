"""Many runs through one MCP server, several at a time, while runs are cancelled and processes are killed.

    make soak ARGS='--runs 1000 --parallel 8 --seed N'

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

from soak.levels import MIB
from soak.soaking import soak

TOLERANCE = 4 * MIB  # in a thousand runs, 8 KiB of each; what was measured is 0.5 to 0.9 MiB


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    chosen = parser.parse_args()
    started = time.monotonic()

    def tell(text: str) -> None:
        print(f"{time.monotonic() - started:6.0f} s  {text}", flush=True)

    with tempfile.TemporaryDirectory(prefix="soak-") as home:
        faults = asyncio.run(soak(Path(home), chosen.runs, chosen.parallel, chosen.seed, TOLERANCE, tell))
    return 1 if faults else 0


sys.exit(main())
