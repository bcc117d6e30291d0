"""What an engine carries: the work of one shard, and what came of it. Only what JSON can hold."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor.plan_run import Asked
from proctor.shards.plan import Plan


class Task(msgspec.Struct, frozen=True):
    """One shard of a run. The plan has that shard alone."""

    run_id: str
    shard: int
    shards: int
    plan: Plan
    asked: Asked
    force: bool = False  # go on although other packages are installed
    live: str = ""  # where events go while the tests run, in words of the engine; empty: nowhere
    lease: str = ""  # a file that is locked as long as somebody wants the answer
    secret: str = ""  # what that file says, to tell it from one of the same name on another machine


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one try at a shard returned."""

    attempt: str  # its id
    host: str = ""
    worker: str = ""  # as the engine calls it
    log: str = ""  # all events, a line each
    files: dict[str, str] = {}  # of the run, by their paths: Base64
    error: str = ""  # why it could not run at all


def encode_task(task: Task) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(task, enc_hook=str)
    return found


def decode_task(data: dict[str, Any]) -> Task:
    return msgspec.convert(data, Task, dec_hook=lambda kind, value: kind(value))


def encode_answer(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(answer)
    return found


def decode_answer(data: dict[str, Any]) -> Answer:
    return msgspec.convert(data, Answer)
