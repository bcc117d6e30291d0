"""What is said, word for word, in files beside the tests.

`PROCTOR_WRITE_GOLDEN=1` writes the texts anew; read them before they are believed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from proctor.events import Event


def agree(path: Path, text: str) -> None:
    if os.environ.get("PROCTOR_WRITE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    assert text == path.read_bytes().decode("utf-8", "surrogatepass")


def told(events: Iterable[Event]) -> str:
    """Each event on a line: its kind, and what it says beyond the defaults."""
    return "".join(f"{type(event).__name__} {msgspec.json.encode(event).decode()}\n" for event in events)
