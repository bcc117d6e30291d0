"""Makes text from outside harmless: it cannot move the cursor, ring the bell or break a line."""

from __future__ import annotations

import re

from proctor.text import without_escapes

_CONTROLS = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]"


def neutral(text: str) -> str:
    """One line of it."""
    return neutral_block(text).replace("\n", "\\n").replace("\t", "\\t")


def neutral_block(text: str) -> str:
    """All of it, with its line breaks and tabs."""
    text = without_escapes(text.replace("\r\n", "\n"))
    return re.sub(_CONTROLS, lambda found: f"\\x{ord(found[0]):02x}", text)
