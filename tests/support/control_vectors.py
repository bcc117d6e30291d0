"""The vectors of the control channel, and how to compare with them."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "control_vectors.json").read_text())["vectors"]


def named(name: str) -> dict[str, Any]:
    return next(vector for vector in VECTORS if vector["name"] == name)


def stream_of(vector: dict[str, Any]) -> bytes:
    if "stream_base64" in vector:
        return base64.b64decode(vector["stream_base64"])
    parts = vector["stream_parts"]
    return b"".join(
        base64.b64decode(part["base64"])
        if "base64" in part
        else base64.b64decode(part["repeat_base64"]) * part["count"]
        for part in parts
    )


def same(found: Any, expected: Any) -> bool:
    """JSON values with their types; a very long string is given by its digest."""
    if isinstance(expected, dict) and "__sha256_of_string__" in expected:
        return hashlib.sha256(found.encode()).hexdigest() == expected["__sha256_of_string__"]
    if isinstance(expected, dict):
        return found.keys() == expected.keys() and all(same(found[key], expected[key]) for key in expected)
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(same, found, expected))
    return isinstance(found, bool) == isinstance(expected, bool) and found == expected


def matches(data: bytes, content: Any) -> bool:
    """The content of a file as a vector gives it: text, base64 or a digest."""
    if isinstance(content, str):
        return data == content.encode()
    if "base64" in content:
        return data == base64.b64decode(content["base64"])
    return hashlib.sha256(data).hexdigest() == content["sha256"]
