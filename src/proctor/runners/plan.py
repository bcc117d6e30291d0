"""What a runner makes of a wish: processes to start."""

from __future__ import annotations

import msgspec

from proctor.launch import Launch


class Plan(msgspec.Struct, frozen=True):
    launches: tuple[Launch, ...]
    deselected: tuple[str, ...] = ()  # as far as that is known before the run
    interpreter: str = ""
