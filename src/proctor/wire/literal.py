"""Values as JSON; text that JSON cannot hold (lone surrogates) is escaped."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.text import literal

_encoder = msgspec.json.Encoder()


def carried(value: Any) -> Any:
    """The value itself, if JSON can carry it."""
    try:
        _encoder.encode(value)
    except UnicodeEncodeError:
        return literal_in(msgspec.to_builtins(value))
    return value


def encode(value: Any) -> bytes:
    try:
        return _encoder.encode(value)
    except UnicodeEncodeError:
        return _encoder.encode(literal_in(msgspec.to_builtins(value)))


def encode_line(value: Any) -> bytes:
    return encode(value) + b"\n"


def literal_in(value: Any) -> Any:
    """A JSON value with every text made literal."""
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, dict):
        return {literal_in(name): literal_in(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [literal_in(part) for part in value]
    return value
