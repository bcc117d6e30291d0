"""Text that JSON cannot carry, written out: a lone surrogate becomes six plain characters (`\\udc80`)."""

from __future__ import annotations

from typing import Any

import msgspec

_encoder = msgspec.json.Encoder()


def literal(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def carried(value: Any) -> Any:
    """The value itself, if JSON can carry it."""
    try:
        _encoder.encode(value)
    except UnicodeEncodeError:
        return _literal_in(msgspec.to_builtins(value))
    return value


def encode(value: Any) -> bytes:
    """As JSON."""
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(_literal_in(msgspec.to_builtins(value)))


def encode_line(value: Any) -> bytes:
    return encode(value) + b"\n"


def _literal_in(value: Any) -> Any:
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, dict):
        return {_literal_in(name): _literal_in(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_literal_in(part) for part in value]
    return value
