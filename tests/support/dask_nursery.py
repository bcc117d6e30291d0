"""Forks schedulers and workers of dask, which takes a moment where a new interpreter takes seconds.

Reads requests from stdin, a line of JSON each, and answers with the process id. All end when stdin does.
"""

from __future__ import annotations

import asyncio
import ctypes
import json
import os
import signal
import subprocess
import sys
from typing import Any

import distributed

import proctor.engines.run_shard  # noqa: F401  so that no worker has to import it
from proctor.engines import dask_host  # noqa: F401

CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000


async def _scheduler(request: dict[str, Any]) -> None:
    options = {"host": "127.0.0.1", "port": 0, "dashboard": False, "protocol": request["protocol"]}
    async with distributed.Scheduler(**options, security=_security(request)) as scheduler:
        with open(f"{request['file']}.new", "w") as file:
            file.write(scheduler.address)
        os.rename(f"{request['file']}.new", request["file"])
        await scheduler.finished()


async def _worker(request: dict[str, Any]) -> None:
    async with distributed.Worker(
        request["scheduler"],
        name=request["name"],
        nthreads=request["threads"],
        local_directory=request["directory"],
        memory_limit=0,
        dashboard=False,
        security=_security(request),
    ) as worker:
        await worker.finished()


def _security(request: dict[str, Any]) -> distributed.Security | None:
    made: Any = distributed.Security
    return made(**request["security"]) if request["security"] else None


def _hide(folder: str) -> None:
    """As on another machine, there is nothing in that folder."""
    libc, user, group = ctypes.CDLL(None, use_errno=True), os.getuid(), os.getgid()
    flags = CLONE_NEWNS if user == 0 else CLONE_NEWNS | CLONE_NEWUSER
    if libc.unshare(flags):
        raise OSError(ctypes.get_errno(), "unshare")
    if user:
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")):
            with open(f"/proc/self/{name}", "w") as file:
                file.write(text)
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)


def _child(request: dict[str, Any]) -> None:
    quiet = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for stream in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDONLY) if stream == 0 else quiet, stream)
    os.setsid()
    os.environ.update(request["environ"])
    os.chdir(request["cwd"])
    if request["hidden"]:
        _hide(request["hidden"])
    asyncio.run(_worker(request) if "name" in request else _scheduler(request))


def main() -> None:
    children = []  # nobody waits for them: so no other process gets the id of a dead one
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                _child(json.loads(line))
            except Exception as error:  # noqa: BLE001  it goes to the log
                print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            finally:
                os._exit(0)
        children.append(child)
        print(child, flush=True)
    for child in children:
        try:
            os.kill(child, signal.SIGKILL)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    main()
