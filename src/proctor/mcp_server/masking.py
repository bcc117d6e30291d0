"""What looks like a credential, masked in plain values: what a test prints must not end in a conversation."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.render.secrets import MASK, masked

#: Names and places, which are of use only as they are, and words of ours.
_AS_THEY_ARE = frozenset(
    {"node_id", "nodeid", "part_of", "run_id", "not_run", "current_test", "file", "path", "name"}
    | {"keywords", "outcome", "command", "interpreter", "root", "directory"}
)


def plain(value: Any, mask: bool) -> Any:
    """A value as JSON has it: dicts, lists, texts and numbers."""
    values = msgspec.to_builtins(value)
    return masked_values(values) if mask else values


def masked_values(value: Any) -> Any:
    """The same value, with all texts in it masked but ids and paths."""
    if isinstance(value, str):
        return masked(value)
    if isinstance(value, list | tuple):
        return [masked_values(item) for item in value]
    if isinstance(value, dict):
        return {name: item if name in _AS_THEY_ARE else _of(name, item) for name, item in value.items()}
    return value


def _of(name: str, item: Any) -> Any:
    """A name can give away what is behind it: a test may report its `password` as a fact of its own."""
    if isinstance(item, str) and masked(f"{name}={item!r}").endswith(f"{name}='{MASK}'"):
        return MASK
    return masked_values(item)
