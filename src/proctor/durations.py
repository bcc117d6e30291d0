"""Parses and formats durations such as `1h 30m`."""

from __future__ import annotations

import re
from datetime import datetime

ENDLESS = 10**11  # seconds, three thousand years: more would be no number that clocks can count with
_PART = r"[0-9]+(?:\.[0-9]+)?\s*"
_TIME = rf"\s*(?:{_PART}[smhd]\s*)*{_PART}[smhd]?\s*"
_PARTS = r"([0-9.]+)\s*([smhd]?)"
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def parse(text: str) -> float | None:
    """The seconds of `90`, `15m`, `1.5h` or `1h 30m`, at most ENDLESS; None for what is no time."""
    if not re.fullmatch(_TIME, text):
        return None
    return min(sum(float(count) * _UNITS[unit] for count, unit in re.findall(_PARTS, text)), float(ENDLESS))


def age(seconds: float) -> str:
    """How long ago: `now`, `5m ago`, `3h ago`, `2d ago`."""
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit} ago"
    return "now"


def ago(started: str, now: datetime) -> str:
    """How long ago a time of RFC 3339 was; `?` for what is none."""
    try:
        return age((now - datetime.fromisoformat(started)).total_seconds())
    except (ValueError, TypeError):
        return "?"


def clock(seconds: float) -> str:
    """`42s`, `3m07s`, `2h05m`."""
    minutes, rest = divmod(int(seconds), 60)
    if not minutes:
        return f"{rest}s"
    return f"{minutes}m{rest:02}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02}m"


def brief(seconds: float) -> str:
    """`1.20s`, `45ms`, `0.3ms`."""
    if seconds >= 1:
        return f"{seconds:.2f}s"
    return f"{seconds * 1000:.{0 if seconds >= 0.01 else 1}f}ms"
