"""Words that the client of dask and its workers share. Knows nothing of dask."""

from __future__ import annotations

from proctor.errors import ProctorError

TOPIC = "proctor-"  # how the names begin of topics for live events, one for each run
ATTEMPT, LINES = "attempt", "lines"  # what their messages have
OF = ":"  # between the topic of a run and a task, in the name of a topic that says who has begun with that


class WorkerLost(ProctorError):
    """The worker is gone that ran a shard; or the scheduler, with all of them."""

    slug = "worker"


def name_of(name: object, address: str) -> str:
    """As users call a worker: the name that they gave it, and where it listens."""
    return address if str(name) == address else f"{name} ({address})"
