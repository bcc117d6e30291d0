"""The results of a control channel in normal form, a line each, read back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from proctor import events as e
from proctor.wire.ledger import STATUSES
from proctor.wire.report import Lines
from proctor.wire.reported import Labels, reported

_PATHS = ("test", "testout_path", "proctor")


class ResultsReader(Lines):
    """Each line stands for a test, or for a part of one. Nothing says that there are no more."""

    format = "results"

    def __init__(self) -> None:
        super().__init__()
        self._labels = Labels()

    def _line(self, line: bytes) -> Iterator[e.Event]:
        if not line.strip():
            return
        try:
            body = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._fault(f"line {self._number} is not a JSON object: {error}") from None
        test, status, name = body.get("test"), body.get("status"), body.get("name")
        if not isinstance(test, str) or (status is not None and status not in STATUSES):
            raise self._fault(
                f"line {self._number} is not a result: it needs `test`, and `status` if it has one"
            )
        part_of = ""
        if isinstance(name, str) and name != test:
            part_of = test.removesuffix(f"/{name}")
        said = {key: value for key, value in body.items() if key not in _PATHS}
        yield reported(
            self._labels.label(test), part_of, said, _files(body), str(body.get("testout_path", ""))
        )

    def _last(self) -> Iterator[e.Event]:
        yield e.SessionFinished(None)


def _files(body: dict[str, Any]) -> tuple[e.File, ...]:
    files = body.get("files")
    if not isinstance(files, list):
        return ()
    return tuple(
        e.File(str(file.get("name", "")), str(file.get("path", "")), int(file.get("length", 0)))
        for file in files
        if isinstance(file, dict)
    )
