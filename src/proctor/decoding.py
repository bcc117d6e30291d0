"""JSON, and plain values, as values of a type. The only module that gives a type to msgspec.

When msgspec meets a type for the first time, it looks at its fields, and another thread that decodes the same
type meanwhile kills the process. Here one thread at a time looks at types, and the others wait.
"""

from __future__ import annotations

from _thread import allocate_lock  # threading takes long to import
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import msgspec

T = TypeVar("T")

_looking = allocate_lock()
_decoders: dict[Any, msgspec.json.Decoder[Any]] = {}


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    found = _decoders.get(kind)
    if found is None:
        with _looking:
            found = _decoders[kind] = msgspec.json.Decoder(kind)
    return found


def decode(data: bytes | str, kind: type[T]) -> T:
    """Raises msgspec.MsgspecError for what is no JSON, or no such value."""
    return decoder(kind).decode(data)


def convert(value: Any, kind: type[T], dec_hook: Callable[[type, Any], Any] | None = None) -> T:
    """Raises msgspec.ValidationError for what is no such value."""
    if kind not in _decoders:
        decoder(kind)
    return msgspec.convert(value, kind, dec_hook=dec_hook)


def converter(kind: type[T]) -> Callable[[Any], T]:
    """`convert` to one type, for many values."""
    decoder(kind)
    return partial(msgspec.convert, type=kind)
