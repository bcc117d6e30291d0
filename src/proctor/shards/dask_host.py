"""A worker of dask, seen by a shard that runs on it."""

from __future__ import annotations

from proctor.shards.host import Plain


class DaskHost(Plain):
    def __init__(self, word: str) -> None:
        """`word`: what the engine's `listen` returned."""
        super().__init__()
        self._word = word
