"""How many tokens a text costs its reader, without the reader's vocabulary: an estimate on the safe side."""

from __future__ import annotations

import re

_PIECE = re.compile(
    r"(?P<word>[^\r\na-zA-Z0-9]?[A-Z]*[a-z]+|[^\r\na-zA-Z0-9]?[A-Z]+)|(?P<digits>[0-9]{1,3})"
    r"|(?P<signs> ?[!-/:-@\[-`{-~]+[\r\n/]*)|(?P<space>\s+)|(?P<other>.)",
    re.S,
)


def estimate(text: str) -> int:
    return round(sum(map(_cost, _PIECE.finditer(text))))


def _cost(piece: re.Match[str]) -> float:
    length = piece.end() - piece.start()
    match piece.lastgroup:
        case "word":
            return 1 if length <= 7 else 1 + (length - 7) / 6
        case "signs":
            return 1 if length <= 2 else 1 + (length - 2) / 3
        case "other":
            return len(piece[0].encode("utf-8", "replace")) / 2
        case _:
            return 1
