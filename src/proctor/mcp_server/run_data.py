"""The data of an answer about a run: its result, its document and its project's settings."""

from __future__ import annotations

from typing import Any

import msgspec

from proctor import config
from proctor.archive.compare import reconcile
from proctor.archive.inside import Folder, read_inside
from proctor.archive.read_log import read_log
from proctor.archive.recording import document_chunks
from proctor.archive.store import RESULT_FILE, project_of
from proctor.config import Settings
from proctor.errors import ConfigError, StreamError
from proctor.render.masking import plain
from proctor.result import RunResult
from proctor.wire.document import schema
from proctor.wire.document.schema import SCHEMA, Document


class RunData(msgspec.Struct):
    result: RunResult
    document: Document
    raw: bytes  # the document as it is written
    directory: Folder  # of its files, as long as they are kept
    settings: Settings  # of its project

    @property
    def run_id(self) -> str:
        return self.document.run_id

    @property
    def mask(self) -> bool:
        return self.settings.mask_secrets

    def whole(self) -> dict[str, Any]:
        """The whole document as plain values."""
        values: dict[str, Any] = plain(msgspec.json.decode(self.raw), self.mask)
        return values


def from_result(
    result: RunResult, directory: Folder, settings: Settings, raw: bytes | None = None
) -> RunData:
    """`raw` is the document, if that is written already; otherwise the files of the run are still needed."""
    raw = b"".join(document_chunks(result, directory)) if raw is None else raw
    return RunData(result, schema.read(raw), raw, directory, settings)


def from_archive(folder: Folder) -> RunData:
    """Also of a run that another process has under way."""
    result = read_log(folder).result
    project = project_of(folder)
    try:
        settings = config.load(project) if project is not None else Settings()
    except ConfigError:
        settings = Settings()
    try:
        data = from_result(result, folder, settings, read_inside(folder, RESULT_FILE))
        if data.document.schema == SCHEMA and not reconcile(result, data.document):
            return data
    except (OSError, StreamError, ValueError):
        pass  # there is no document yet, or a test has written something else there
    return from_result(result, folder, settings)
