"""The answer of a tool: a text and a structure that say the same, for clients that show only one of them."""

from __future__ import annotations

from typing import Any

import msgspec


class Reply(msgspec.Struct, frozen=True):
    text: str
    document: dict[str, Any] | None = None
    is_error: bool = False
