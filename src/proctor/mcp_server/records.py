"""A run that can be answered about: its result and its document."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from proctor import config
from proctor.archive.inside import read_inside
from proctor.archive.read_log import read_log
from proctor.archive.recording import document_chunks
from proctor.archive.store import RESULT_FILE
from proctor.config import Settings
from proctor.errors import ConfigError, StreamError
from proctor.render.masking import plain
from proctor.result import RunResult
from proctor.wire.document import schema
from proctor.wire.document.schema import SCHEMA, Document


class Record(msgspec.Struct):
    result: RunResult
    document: Document
    raw: bytes  # the document as it is written
    directory: Path  # of its files, as long as they are kept
    settings: Settings  # of its project

    @property
    def run_id(self) -> str:
        return self.document.run_id

    @property
    def mask(self) -> bool:
        return self.settings.mask_secrets

    def whole(self) -> dict[str, Any]:
        """The document as plain values, all of it."""
        values: dict[str, Any] = plain(msgspec.json.decode(self.raw), self.mask)
        return values


def of(result: RunResult, directory: Path, settings: Settings) -> Record:
    """Of a run that has just ended, while its files are there."""
    return _record(result, b"".join(document_chunks(result, directory)), directory, settings)


def read(path: Path) -> Record:
    """From the archive; also of a run that another process has under way."""
    result = read_log(path).result
    settings = _settings(result)
    try:
        record = _record(result, read_inside(path, RESULT_FILE), path, settings)
        if record.document.schema == SCHEMA:
            return record
    except (OSError, StreamError):
        pass  # there is none yet, or something else: a test can write there too
    return _record(result, b"".join(document_chunks(result, path)), path, settings)


def _record(result: RunResult, raw: bytes, directory: Path, settings: Settings) -> Record:
    return Record(result, schema.read(raw), raw, directory, settings)


def _settings(result: RunResult) -> Settings:
    """Of the run's project; the usual ones where they cannot be read."""
    try:
        return config.load(Path(result.run.cwd))
    except ConfigError:
        return Settings()
