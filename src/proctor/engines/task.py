"""What an engine carries: the work of one shard, and what came of it. Only what JSON can hold."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from proctor import __version__, decoding
from proctor.engines.project import Project
from proctor.errors import UsageError
from proctor.plan_run import Asked
from proctor.shards.plan import Plan

#: Of an encoded task: the files of the project, apart from the rest. An engine may have its own way for them.
ARCHIVE = "archive"


class Task(msgspec.Struct, frozen=True):
    """One shard of a run. The plan has that shard alone."""

    run_id: str
    attempt: str  # the id of this try, which the answer repeats
    shard: int
    shards: int
    plan: Plan
    asked: Asked
    project: Project
    force: bool = False  # go on although other packages are installed
    live: str = ""  # where events go while the tests run, in words of the engine; empty: nowhere
    lease: str = ""  # a file that is locked as long as somebody wants the answer
    secret: str = ""  # what that file says, to tell it from one of the same name on another machine


class Answer(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one try at a shard returned."""

    attempt: str  # as of the task
    worker: str = ""  # as the engine calls it
    log: str = ""  # all events, as `shard_log` packs them
    files: dict[str, str] = {}  # of the run, by their paths: Base64
    kept: dict[str, str] = {}  # files that are too large, by their paths: where they are, HOST:PATH
    error: str = ""  # why it could not run at all
    needs_project: bool = False  # the files of the project are not there: it has not run


def encode_task(task: Task) -> dict[str, Any]:
    light = msgspec.structs.replace(task, project=msgspec.structs.replace(task.project, archive=""))
    return {**_encoded(msgspec.to_builtins(light, enc_hook=str)), ARCHIVE: task.project.archive}


def decode_task(data: dict[str, Any]) -> Task:
    """Raises UsageError for a task of another version."""
    task = decoding.convert(_decoded(data), Task, dec_hook=lambda kind, value: kind(value))
    project = msgspec.structs.replace(task.project, archive=data[ARCHIVE])
    return msgspec.structs.replace(task, project=project)


def encode_answer(answer: Answer) -> dict[str, Any]:
    return _encoded(msgspec.to_builtins(answer))


def decode_answer(data: dict[str, Any]) -> Answer:
    return decoding.convert(_decoded(data), Answer)


def _encoded(value: Any) -> dict[str, Any]:
    """As text of ASCII alone: names of tests may have characters that not every engine can carry."""
    return {"proctor": __version__, "json": json.dumps(value)}


def _decoded(data: dict[str, Any]) -> Any:
    version = data["proctor"]
    if version != __version__:
        raise UsageError(f"proctor {__version__} got data of proctor {version}: expected the same version")
    return json.loads(data["json"])
