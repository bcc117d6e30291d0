"""Where the files of a run are, once it is a part of another one."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from proctor import events as e


def moved(event: e.Event, path: Callable[[str], str]) -> e.Event:
    """The event, with files at other paths; `path` gives the new one for each."""
    match event:
        case e.TestFinished() if event.files or event.testout is not None:
            return _finished(event, path)
        case e.AttemptFailed():
            return e.AttemptFailed(_finished(event.result, path))
        case e.FileAttached():
            return replace(event, file=_file(event.file, path))
        case _:
            return event


def absolute(path: str, directory: str) -> str:
    """One that is absolute already belongs to a run that was merged before."""
    return path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"


def _finished(event: e.TestFinished, path: Callable[[str], str]) -> e.TestFinished:
    out = event.testout
    return replace(
        event,
        files=tuple(_file(file, path) for file in event.files),
        testout=replace(out, path=path(out.path)) if out is not None else None,
    )


def _file(file: e.File, path: Callable[[str], str]) -> e.File:
    return replace(file, path=path(file.path))
