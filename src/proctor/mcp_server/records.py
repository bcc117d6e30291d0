"""A run that can be answered about: its result, and its document as plain values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from proctor import config
from proctor.archive.inside import read_inside
from proctor.archive.read_log import read_log
from proctor.archive.recording import loader, whole_output
from proctor.archive.store import RESULT_FILE
from proctor.execute import Answer
from proctor.render.masking import masked_values
from proctor.result import Result
from proctor.wire.document import writer as document


class Record(msgspec.Struct):
    result: Result
    document: dict[str, Any]
    directory: Path  # of its files, as long as they are kept
    mask: bool  # what looks like a credential; in the document it is done

    @property
    def run_id(self) -> str:
        return self.result.run.run_id


def of(answer: Answer) -> Record:
    """While the run's files are there."""
    return _record(answer.result, _built(answer.result, answer.directory), answer.directory)


def read(path: Path) -> Record:
    """From the archive; also of a run that another process has under way."""
    result = read_log(path).result
    return _record(result, _kept(path) or _built(result, path), path)


def _record(result: Result, whole: dict[str, Any], path: Path) -> Record:
    mask = config.masks_secrets(Path(result.run.cwd))
    return Record(result, masked_values(whole) if mask else whole, path, mask)


def _kept(path: Path) -> dict[str, Any] | None:
    """None where there is none yet, or something else: a test can write there too."""
    try:
        kept = msgspec.json.decode(read_inside(path, RESULT_FILE), type=dict[str, Any])
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return kept if kept.get("schema") == document.SCHEMA else None


def _built(result: Result, directory: Path) -> dict[str, Any]:
    raw = b"".join(document.chunks(result, loader(directory), whole_output(directory, result)))
    return msgspec.json.decode(raw, type=dict[str, Any])
