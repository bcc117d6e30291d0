"""How the cost of a run grows with its size, one kind of size at a time."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence

from measure import (
    REPOSITORY,
    environment,
    interleave,
    many,
    proctor_environment,
    project,
    spending,
    table,
)
from plot import Axis, Panel, svg

PICTURE = "growth.svg"
PYTEST, PROCTOR = "pytest -q", "proctor run"
STEPS = 6
_MEGABYTE = 1_000_000


def failing(tests: int) -> dict[str, str]:
    """Each for a reason of its own."""
    return many(
        tests, "def test_{n}():\n    assert {n} == compute({n})\n\n\ndef compute(n):\n    return n + 1\n\n\n"
    )


def talking(size: int) -> dict[str, str]:
    """One test that prints, past pytest's capture: all of it goes through proctor."""
    return {
        "test_loud.py": "import os\n\n\ndef test_loud(capfd):\n    with capfd.disabled():\n"
        f"        for _ in range({size} // 1000):\n            os.write(1, b'x' * 999 + b'\\n')\n"
    }


#: what grows, its largest size, how many of it the axis calls one, the files of a project of that size
KINDS: dict[str, tuple[int, int, Callable[[int], dict[str, str]]]] = {
    "passing tests": (12_000, 1, many),
    "failing tests": (2_400, 1, failing),
    "MB of output": (180 * _MEGABYTE, _MEGABYTE, talking),
}


def bench_growth(quick: bool) -> str:
    """CPU seconds of a whole run against its size: the least of two rounds. The last column is what the
    upper half of the sizes costs over what the lower half does: 1.00 is a straight line, more is worse."""
    python = str(environment("pytest", "pytest") / "python")
    own = [str(proctor_environment() / "proctor"), "run", "--format", "agent", "--python", python]
    commands = {PYTEST: [python, "-m", "pytest", "-q"], PROCTOR: own}
    panels, rows = [], []
    for kind, (largest, unit, files) in KINDS.items():
        curves: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for step in range(STEPS + 1):
            size = (largest // 10 if quick else largest) * step // STEPS
            root = project(f"growth-{kind.replace(' ', '-')}-{size}", files(max(size, 1)))
            runs = spending(commands, root, codes=(0, 1))
            costs = interleave(runs, 1 if quick else 2, f"{kind}: {size:,}")
            shutil.rmtree(root / ".proctor")  # all that output
            for name, cost in costs.items():
                curves[name].append((size / unit, cost.least))
        panels.append(Panel(kind, Axis(kind), Axis("CPU s"), curves))
        rows += [
            [kind, f"`{name}`", *(f"{spent:.2f}" for _, spent in curve), f"{bend(curve):.2f}"]
            for name, curve in curves.items()
        ]
    (REPOSITORY / "benchmarks" / PICTURE).write_text(svg(panels), encoding="utf-8")
    sizes = [f"{step}/{STEPS}" for step in range(STEPS + 1)]
    largest_sizes = "; ".join(f"{size // unit:,} {kind}" for kind, (size, unit, _) in KINDS.items())
    head = ["what grows", "command", *sizes, "upper half / lower half"]
    return (
        f"![CPU seconds against size]({PICTURE})\n\n{sizes[-1]} are {largest_sizes}.\n\n{table(head, rows)}"
    )


def bend(curve: Sequence[tuple[float, float]]) -> float:
    """How much steeper the upper half is than the lower one."""
    (x0, y0), (x1, y1), (x2, y2) = curve[0], curve[len(curve) // 2], curve[-1]
    return (y2 - y1) / (x2 - x1) / ((y1 - y0) / (x1 - x0))
