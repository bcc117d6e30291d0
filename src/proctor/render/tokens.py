"""Estimates the number of tokens of a text, without a tokenizer's vocabulary; rather too many than too few.

The text is cut into pieces about where a tokenizer would cut it, and each kind of piece has a number of
tokens. The numbers were fitted to o200k counts of test reports; `tests/data/token_counts.json` has those
counts.
"""

from __future__ import annotations

import math
import re

_PIECE = re.compile(
    r"(?P<word>[^\r\na-zA-Z0-9]?(?:[A-Z]?[a-z]+|[A-Z]+(?![a-z])))"
    r"|(?P<digits>[0-9]{1,3})"
    r"|(?P<run>(?P<same>[!-/:-@\[-`{-~ ])(?P=same){3,})"
    r"|(?P<signs> ?[!-/:-@\[-`{-~]+[\r\n/]*)"
    r"|(?P<space>\s+)"
    r"|(?P<other>.)",
    re.S,
)
_HARD = re.compile(r"[^aeiouyAEIOUY]{5}|^[^aeiouyAEIOUY]*$")  # no word of a language


def estimate(text: str, enough: float = math.inf) -> int:
    """The number of tokens. Counting stops above `enough`, so that a long text takes no longer than that."""
    total = 0.0
    for piece in _PIECE.finditer(text):
        total += _price(piece)
        if total > enough:
            break
    return math.ceil(total)


def _price(piece: re.Match[str]) -> float:
    text = piece[0]
    if piece["word"]:
        return _word(text)
    if piece["run"]:
        return 0.5 + 0.02 * len(text)
    if piece["signs"]:
        return 1 + 0.2 * max(0, len(text) - 2)
    if piece["other"]:
        return 0.5 * len(text.encode("utf-8", "replace"))
    return 1


def _word(text: str) -> float:
    """With the one sign or space before it, which mostly comes free with the word."""
    letters = text if text[0].isalpha() else text[1:]
    lead = 0.4 if letters is not text and text[0] != " " else 0.0
    if letters.isupper():
        return 1.1 + lead + 0.1 * len(letters)
    if _HARD.search(letters):
        return 1.1 + lead + 0.33 * len(letters)
    return 1.1 + lead + 0.14 * max(0, len(letters) - 6)
