"""The lines of a test's output that matter most: the last ones that mention an error or a warning."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from proctor.events import Phase

_LOOKED_AT = 200  # lines at the end of an output
_MOST = 2  # lines shown of each kind of output

_TROUBLE = re.compile(
    r"error|warn|fail|exception|critical|fatal|traceback|denied|refused|timed? ?out|cannot|unable"
    r"|missing|abort",
    re.I,
)
_LEVELS = ("WARNING", "ERROR", "CRITICAL")


def notable_output(phases: Iterable[Phase]) -> Iterator[tuple[str, list[str], bool]]:
    """(kind of output, lines, whether that is all of it) for each kind that has any."""
    phases = list(phases)
    for kind in ("stdout", "stderr"):
        lines = [line for phase in phases for line in captured_text(phase, kind).splitlines() if line.strip()]
        if lines:
            shown = _last(lines)
            whole = not any(phase.tails and kind in phase.tails for phase in phases)
            yield kind, shown, whole and len(shown) == len(lines)
    records = [record for phase in phases for record in phase.log if record.get("levelname") in _LEVELS]
    if records:
        shown = [f"{record['levelname']} {record.get('name')}: {record.get('msg')}" for record in records]
        yield "log", shown[-_MOST:], len(shown) <= _MOST


def captured_text(phase: Phase, kind: str) -> str:
    """What a phase wrote to stdout or stderr, or the end of it where that is too long to carry."""
    text: str = getattr(phase, kind)
    return text or (phase.tails or {}).get(kind, "")


def _last(lines: list[str]) -> list[str]:
    trouble = [line for line in lines[-_LOOKED_AT:] if _TROUBLE.search(line)]
    return trouble[-_MOST:] or lines[-1:]
