"""Look for bytes that break a promise of `targets.py`, guided by which lines they reach (atheris).

    python fuzz/fuzz.py [--seconds N] [TARGET...]

Each target runs in a process of its own. Its corpus is kept in `.cache/corpus/TARGET` and begins with
the recorded reports of real tools. What breaks a promise is written to `fuzz/found/TARGET-*`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from seeds import seeds

HERE = Path(__file__).parent
CORPUS = HERE.parent / ".cache" / "corpus"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--seconds", type=int, default=20, help="for each target (20)")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    chosen, rest = parser.parse_known_args()
    if chosen.inside:
        return inside(chosen.inside, [*rest, *chosen.targets])
    from targets import TARGETS

    if unknown := [name for name in chosen.targets if name not in TARGETS]:
        parser.error(f"no target {', '.join(unknown)}; known: {', '.join(TARGETS)}")
    broken = [name for name in chosen.targets or TARGETS if not look(name, chosen.seconds)]
    print(f"broken: {', '.join(broken)}; see {HERE / 'found'}" if broken else "nothing found")
    return 1 if broken else 0


def look(name: str, seconds: int) -> bool:
    corpus = CORPUS / name
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(seeds(name)):
        (corpus / f"seed-{number}").write_bytes(data)
    options = [f"-max_total_time={seconds}", "-timeout=10", "-max_len=65536", "-rss_limit_mb=2048"]
    found = HERE / "found"
    command = [sys.executable, __file__, "--inside", name, *options, f"-artifact_prefix={found}/{name}-"]
    done = subprocess.run([*command, str(corpus)], capture_output=True, text=True, check=False)
    *_, last = [line for line in done.stderr.splitlines() if line.startswith(("Done", "#"))] or ["?"]
    print(f"{name:14} {'ok' if done.returncode == 0 else 'BROKEN'}  {last}", flush=True)
    if done.returncode != 0:
        print(done.stderr[-4000:])
    return done.returncode == 0


def inside(name: str, options: list[str]) -> int:
    import atheris

    with atheris.instrument_imports(include=["proctor"]):
        from targets import TARGETS

    atheris.Setup([sys.argv[0], *options], TARGETS[name])
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
