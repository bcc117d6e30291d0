"""Where the files of a run are, seen from another one: their paths become absolute."""

from __future__ import annotations

from msgspec.structs import replace

from proctor import events as e


def moved(event: e.Event, directory: str) -> e.Event:
    """The event, with paths that are relative to this directory made absolute."""
    match event:
        case e.TestFinished() if event.files or event.testout is not None:
            return _finished(event, directory)
        case e.AttemptFailed() if event.result.files or event.result.testout is not None:
            return e.AttemptFailed(_finished(event.result, directory))
        case e.FileAttached():
            return replace(event, file=_file(event.file, directory))
        case _:
            return event


def _finished(event: e.TestFinished, directory: str) -> e.TestFinished:
    out = event.testout
    return replace(
        event,
        files=tuple(_file(file, directory) for file in event.files),
        testout=replace(out, path=_path(out.path, directory)) if out is not None else None,
    )


def _file(file: e.File, directory: str) -> e.File:
    return replace(file, path=_path(file.path, directory))


def _path(path: str, directory: str) -> str:
    """One that is absolute was moved before."""
    return path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"
