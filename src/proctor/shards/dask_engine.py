"""dask as an engine: the only module that knows it."""

from __future__ import annotations

from concurrent.futures import Executor

from proctor.errors import UsageError
from proctor.shards.engines import DASK
from proctor.shards.host import Live


class Dask:
    """A scheduler that somebody runs, with its workers."""

    def __init__(self, address: str) -> None:
        """Raises UsageError if there is none."""
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("--engine dask needs `pip install 'proctor[dask]'`") from None
        self.name = f"{DASK}:{address}"
        try:
            self._client = Client(address, timeout="10s", set_as_default=False)
        except (OSError, ValueError) as error:
            raise UsageError(f"--engine {self.name}: no scheduler answers: {error}") from None

    def executor(self) -> Executor:
        # By default, dask gives two equal calls one result: the second would not run.
        made: Executor = self._client.get_executor(pure=False)
        return made

    def listen(self, live: Live) -> str:
        del live
        return ""

    def workers(self) -> int | None:
        return len(self._client.scheduler_info(n_workers=-1)["workers"])

    def close(self) -> None:
        self._client.close()
