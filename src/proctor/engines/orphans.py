"""Processes of a pool end with the run that has started the pool, even if that is killed.

They would wait for more work forever: each holds the other end of the pipe from which it reads.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time

from proctor.engines.lease import Watched, held

_LOOK = 0.5  # seconds between two looks at the lease
_GRACE = 5.0  # seconds for a shard that is under way, which ends by itself and then leaves
_watching: set[tuple[int, str]] = set()  # process ids with the leases that they look at


def end_with(path: str, secret: str) -> None:
    """This process ends soon after the holder of this lease was killed, if it is of a pool of that."""
    lease = Watched(path, secret)
    if not lease.known or (os.getpid(), path) in _watching:
        lease.close()
        return
    _watching.add((os.getpid(), path))
    threading.Thread(target=_watch, args=(lease,), name="proctor-orphan", daemon=True).start()


def leave(lease: Watched) -> None:
    """Ends this process if it is one of those."""
    parent = multiprocessing.parent_process()
    if lease.orphaned and parent is not None and parent.pid != os.getppid():
        os._exit(1)


def _watch(lease: Watched) -> None:
    while lease.ended() is None:
        time.sleep(_LOOK)
    if lease.orphaned:
        time.sleep(_GRACE)
        leave(lease)
    lease.close()


def _watch_in_fork() -> None:
    """A pool may fork processes that never get a shard."""
    for lease in held():
        end_with(lease.path, lease.secret)


os.register_at_fork(after_in_child=_watch_in_fork)
