"""An Executor on a client of dask, with errors that users understand.

With dask's own (`Client.get_executor`), a scheduler that is gone looks like a cancelled call, and the project
would go through the scheduler with each shard.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from functools import partial
from typing import Any, ParamSpec, TypeVar

from proctor.engines.dask_names import WorkerLost, name_of
from proctor.engines.task import ARCHIVE

P = ParamSpec("P")
T = TypeVar("T")
_SPREAD = 60.0  # seconds to send a project to the workers


class DaskExecutor(Executor):
    def __init__(self, client: Any) -> None:
        """`client`: of dask."""
        self._client, self._address = client, client.scheduler.address  # which it forgets when it is closed
        self._lock = threading.Lock()
        self._ours: dict[str, tuple[Future[Any], Any]] = {}  # what we gave out, and dask's, by its key
        self._archive: tuple[str, Any] = ("", None)  # what the workers have, and dask's future of it

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        key, ours = f"proctor-{uuid.uuid4().hex}", Future[T]()
        if self._client.status != "running":
            raise WorkerLost(self._gone())
        # By default, dask gives two equal calls one result: the second would not run.
        theirs = self._client.submit(fn, *map(self._light, args), **kwargs, key=key, pure=False)
        with self._lock:
            self._ours[key] = ours, theirs
        ours.add_done_callback(lambda _: self._take(key))
        theirs.add_done_callback(partial(self._returned, key))
        return ours

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Cancels what is left, whatever is asked: nobody wants an answer any more."""
        del wait, cancel_futures
        with self._lock:
            left = [ours for ours, _ in self._ours.values()]
        for ours in left:
            ours.cancel()

    def _light(self, argument: Any) -> Any:
        """The same, without the files of the project: those go to each worker once, and not with each shard
        through the scheduler."""
        if not isinstance(argument, dict) or not argument.get(ARCHIVE):
            return argument
        known, spread = self._archive
        if known != argument[ARCHIVE] or spread.status != "finished":
            known = argument[ARCHIVE]
            spread = self._client.scatter(known, broadcast=True, hash=False, timeout=_SPREAD)
            self._archive = known, spread
        return {**argument, ARCHIVE: spread}

    def _returned(self, key: str, theirs: Any) -> None:
        """In a thread of dask's for such calls."""
        try:
            result = theirs.result()
        except CancelledError:
            self._settle(key, None, WorkerLost(self._gone()))
        except Exception as error:  # noqa: BLE001  whatever the shard raised, or dask
            self._settle(key, None, _explained(error))
        else:
            self._settle(key, result, None)

    def _gone(self) -> str:
        if self._client.status == "running":
            return "dask's scheduler has dropped it"
        return f"dask's scheduler at {self._address} is gone"

    def _settle(self, key: str, result: Any, error: BaseException | None) -> None:
        """Has no effect on one that is settled or cancelled already."""
        taken = self._take(key)
        if taken is None or not taken.set_running_or_notify_cancel():
            return
        if error is None:
            taken.set_result(result)
        else:
            taken.set_exception(error)

    def _take(self, key: str) -> Future[Any] | None:
        """Removes it, and cancels what dask may still be doing for it."""
        with self._lock:
            ours, theirs = self._ours.pop(key, (None, None))
        if theirs is not None and not theirs.done():
            self._client.loop.add_callback(partial(self._client.cancel, [theirs]))
        return ours


def _explained(error: Exception) -> Exception:
    """The error; where it is dask's own, one with a message that users understand."""
    if type(error).__name__ == "KilledWorker":
        worker: Any = getattr(error, "last_worker", None)
        name = name_of(worker.name, worker.address) if worker is not None else "that had it"
        return WorkerLost(f"the worker {name} is gone, like those that had it before")
    return error
