"""Reads the results of a control channel in normal form, one a line."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from proctor import decoding
from proctor import events as e
from proctor.wire.control.program import reported
from proctor.wire.reports.report import LineReport, decode

_PATHS = ("test", "testout_path", "proctor")


class _File(msgspec.Struct):
    name: str = ""
    path: str = ""
    length: int = 0


class _Result(msgspec.Struct):
    test: str
    name: str | None = None
    status: Literal["pass", "fail", "info", "warn", "skip", "error"] | None = None
    files: list[_File] | None = None
    testout: str | None = None
    testout_path: str = ""


_decoder = decoding.decoder(dict[str, Any])


class ResultsReader(LineReport):
    """Each line is a test, or a part of one. There is no line that marks the end."""

    format = "results"

    def _line(self, line: bytes) -> Iterator[e.Event]:
        if not line.strip():
            return
        try:
            body = decode(line, _decoder)
            result = decoding.convert(body, _Result)
        except ValueError as error:
            raise self._fault(f"line {self._number} is not a result: {error}") from None
        test, part_of = result.test, ""
        if result.name is not None and result.name != test:
            part_of = test.removesuffix(f"/{result.name}")
        custom = {key: value for key, value in body.items() if key not in _PATHS}
        files = tuple(e.File(file.name, file.path, file.length) for file in result.files or ())
        yield reported(self._names.unique(test), part_of, custom, files, result.testout_path)

    def _last(self) -> Iterator[e.Event]:
        yield e.SessionFinished(None)
