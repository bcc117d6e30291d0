"""Which modules the last session of a project imported, as it wrote down itself. Kept in the user's cache."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from proctor import decoding
from proctor.digest import blake2b
from proctor.launch import Launch, Session, asking
from proctor.places import user_cache

FOLDER = "imports"


class Imported(msgspec.Struct, frozen=True):
    """Files are absolute; they begin with the real path of the project."""

    modules: dict[str, str] = {}  # of the project: their names, and their files
    packages: list[str] = []  # that are installed and public, by their top-level names; no plugins of pytest
    tests: list[str] = []  # files that tests were collected from


def asking_for_imports(launch: Launch, root: Path, environ: Mapping[str, str]) -> Launch:
    """The same launch, whose session writes down what it has imported; if there is a place for that."""
    file = _file(root, environ)
    if file is None or not (isinstance(launch.speech, Session) and launch.speech.continues):
        return launch
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError:
        return launch
    if launch.instead is not None:
        instead = asking_for_imports(launch.instead, root, environ)
        launch = msgspec.structs.replace(launch, instead=instead)
    return asking(launch, {"imports": {"file": str(file), "root": str(root)}})


def read_imported(root: Path, environ: Mapping[str, str]) -> Imported:
    """Of the last session that was asked; empty if there was none."""
    file = _file(root, environ)
    try:
        return decoding.decode(file.read_bytes(), Imported) if file else Imported()
    except (OSError, msgspec.DecodeError, UnicodeError):
        return Imported()


def _file(root: Path, environ: Mapping[str, str]) -> Path | None:
    cache = user_cache(environ)
    name = blake2b(os.fsencode(os.path.realpath(root)), digest_size=16).hexdigest()
    return cache / FOLDER / f"{name}.json" if cache else None
