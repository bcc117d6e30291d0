"""The answer of a tool: a text and a structure with the same content, for clients that show only one."""

from __future__ import annotations

from typing import Any

import msgspec


class Reply(msgspec.Struct, frozen=True):
    text: str
    document: dict[str, Any] | None = None
    is_error: bool = False
