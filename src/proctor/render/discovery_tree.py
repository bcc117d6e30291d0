"""Tests as a tree: files, classes, functions, parameters, each with its line and markers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from proctor.render.neutral import neutral
from proctor.text import first_line
from proctor.wire.document.discovery import Discovered, Skipped, Unlisted


def split_id(node_id: str) -> tuple[str, ...]:
    """File, classes, function, parameters: `a.py::T::f[x::y]` is (`a.py`, `T`, `f`, `[x::y]`)."""
    path, bracket, parameters = node_id.partition("[")
    parts = tuple(path.split("::"))
    return (*parts, bracket + parameters) if bracket else parts


def new_branches(above: Sequence[str], parents: Sequence[str]) -> Iterator[str]:
    """A line for each of the parents that is not among those above already."""
    shared = 0
    while shared < min(len(above), len(parents)) and above[shared] == parents[shared]:
        shared += 1
    for depth in range(shared, len(parents)):
        yield "  " * depth + neutral(parents[depth])


def discovery_tree(tests: Sequence[Discovered]) -> str:
    return "".join(f"{line}\n" for line in _lines(tests))


def skipped_lines(skipped: Sequence[Skipped]) -> str:
    """A line for each module that skipped itself, with its reason."""
    return "".join(
        f"skipped: {neutral(str(skip.place or skip.node_id))} {neutral(first_line(skip.message))}".rstrip()
        + "\n"
        for skip in skipped
    )


def missing_lines(missing: Sequence[Unlisted]) -> str:
    """A line for each suite whose tests cannot be listed, with its reason."""
    return "".join(f"{suite.runner}: not listed: {neutral(suite.reason)}\n" for suite in missing)


def _lines(tests: Sequence[Discovered]) -> Iterator[str]:
    above: tuple[str, ...] = ()
    for test in tests:
        parts = split_id(test.node_id)
        yield from new_branches(above, parts[:-1])
        yield "  " * (len(parts) - 1) + neutral(parts[-1]) + _facts(test)
        above = parts


def _facts(test: Discovered) -> str:
    line = f" :{test.line}" if test.line else ""
    markers = f" {' '.join('@' + neutral(marker) for marker in test.markers)}" if test.markers else ""
    return line + markers
