"""What a page shows or links beside the result of a run: its files, and earlier results of a test."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence

import msgspec

from proctor.remembered import RememberedResult

IMAGE = 200_000  # bytes: a larger image is linked

# How an image begins. SVG is missing: it is a document that can contain scripts.
_IMAGES = {
    b"\x89PNG\r\n\x1a\n": "png",
    b"\xff\xd8\xff": "jpeg",
    b"GIF87a": "gif",
    b"GIF89a": "gif",
}


def _no_link(_: str) -> str:
    return ""


def _nothing(_: str, __: int) -> bytes:
    return b""


def _no_strips(_: Sequence[str]) -> Mapping[str, Sequence[RememberedResult]]:
    return {}


class Around(msgspec.Struct, frozen=True):
    """Functions that the caller gives: pages read nothing themselves."""

    link: Callable[[str], str] = _no_link  # to a file of the run, from the page; empty: it cannot be linked
    read: Callable[[str, int], bytes] = _nothing  # so many of its first bytes
    mask: Callable[[str], str] = str  # of texts that were read
    #: The last results of tests, the newest first, by their ids; of those that the history knows.
    strips: Callable[[Sequence[str]], Mapping[str, Sequence[RememberedResult]]] = _no_strips


def image(data: bytes) -> str:
    """The address of an image that is part of the page; empty for what is no image, or too large."""
    if len(data) > IMAGE:
        return ""
    kind = next((kind for start, kind in _IMAGES.items() if data.startswith(start)), "")
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        kind = "webp"
    return f"data:image/{kind};base64,{base64.b64encode(data).decode()}" if kind else ""
