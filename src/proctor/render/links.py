"""Links that a terminal opens: a place in a file."""

from __future__ import annotations

import posixpath
from urllib.parse import quote

from proctor.events import Place


def file_link(place: Place | None, cwd: str) -> str:
    """A `file:` URL; empty where there is no file that could be opened."""
    if place is None or not cwd.startswith("/") or place.file.startswith("<"):
        return ""
    return "file://" + quote(posixpath.normpath(posixpath.join(cwd, place.file)), errors="surrogateescape")
