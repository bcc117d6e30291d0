"""A lease says when nobody waits for an answer any more, whatever became of who did."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from support.mcp_client import until
from support.projects import GUARD

from proctor.engines.lease import Lease, Watched
from proctor.outcome import RunOutcome


def test_it_is_over_when_its_holder_says_so_and_why() -> None:
    lease = Lease()
    watched = Watched(lease.path, lease.secret)
    before = watched.ended()
    lease.end(RunOutcome.INTERRUPTED)

    assert (before, watched.ended(), watched.orphaned) == (None, RunOutcome.INTERRUPTED, False)
    watched.close()
    lease.close()
    assert not Path(lease.path).exists()


def test_workers_leave_their_names_with_it() -> None:
    lease = Lease()
    watched = Watched(lease.path, lease.secret)
    unused = lease.is_used
    watched.begin("try1", "wörker 7")

    assert (unused, lease.is_used) == (False, True)
    assert (lease.worker("try1"), lease.worker("try2")) == ("wörker 7", "")
    watched.close()
    lease.close()


def test_one_of_another_machine_is_never_over() -> None:
    lease = Lease()
    far, other = Watched("/nowhere", lease.secret), Watched(lease.path, "another secret")
    lease.end(RunOutcome.CANCELLED)

    assert [(one.known, one.ended()) for one in (far, other)] == [(False, None)] * 2
    far.begin("try1", "w")
    lease.close()


HOLDER = """
import os, sys, time
from proctor.engines.lease import Lease
lease = Lease()
child = os.fork()  # as a process pool has them: it lives on
if child:
    print(lease.path, lease.secret, child, flush=True)
time.sleep(600)
"""


def test_it_is_over_with_the_death_of_its_holder_even_if_a_fork_of_that_lives() -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    path, secret, child = holder.stdout.readline().split()
    watched = Watched(path, secret)
    before = watched.ended()
    holder.kill()
    holder.wait(GUARD)
    try:
        until(lambda: watched.ended() is not None)  # the fork may not have run yet
        assert (before, watched.ended(), watched.orphaned) == (None, RunOutcome.CANCELLED, True)
    finally:
        os.kill(int(child), signal.SIGKILL)
        holder.stdout.close()
        watched.close()
        Path(path, "lock").unlink()
        Path(path).rmdir()
