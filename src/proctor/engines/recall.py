"""When shards that were asked to end are cancelled, and when they are no longer waited for. No clock."""

from __future__ import annotations

from enum import Enum

import msgspec

_CANCEL = 1.5  # seconds for shards to end by themselves
_ABANDON = 20.0  # seconds after which a shard is not waited for any more; its supervisor has 25
_HURRY = 3.0  # likewise, after a second Ctrl-C


class Step(Enum):
    CANCEL = "cancel the futures of all shards, in case the engine can end them"
    ABANDON = "wait for no shard any more"


class Recall(msgspec.Struct):
    """Every `now` is in seconds since the start of the run."""

    since: float | None = None  # None: nobody has asked shards to end
    cancelled: bool = False

    @property
    def begun(self) -> bool:
        return self.since is not None

    def begin(self, now: float) -> None:
        """The first time counts."""
        if self.since is None:
            self.since = now

    def step(self, now: float, hurried: bool) -> Step | None:
        """What is due; to cancel is due once."""
        waited = 0.0 if self.since is None else now - self.since
        if waited >= (_HURRY if hurried else _ABANDON):
            return Step.ABANDON
        if waited < _CANCEL or self.cancelled:
            return None
        self.cancelled = True
        return Step.CANCEL
