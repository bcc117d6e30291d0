"""Reads a report of any format: how it begins selects the reader."""

from __future__ import annotations

from proctor import events as e
from proctor.errors import UsageError
from proctor.wire import formats
from proctor.wire.reports.detect import HEAD, Detector
from proctor.wire.reports.report_run import RunReader


class AnyReport:
    """Holds the first bytes until they show the format, then passes everything to its reader."""

    def __init__(self, name: str, form: str = "auto") -> None:
        self._name = name
        self._detector = Detector()
        self.form = form
        self._reader: RunReader | None = None if form == "auto" else formats.run_reader(form)

    def feed(self, data: bytes) -> list[e.Entry]:
        if self._reader is None:
            self._take(self._detector.feed(data), certain=len(self._detector.head) >= HEAD)
            data = self._detector.head
        return self._reader.feed(data) if self._reader is not None else []

    def close(self) -> list[e.Entry]:
        found: list[e.Entry] = []
        if self._reader is None:
            self._take(self._detector.close(self._name), certain=True)
            assert self._reader is not None
            found = self._reader.feed(self._detector.head)
        return found + self._reader.close()

    @property
    def gap(self) -> str:
        """What is missing or wrong in the report, once all of it was read."""
        return self._reader.gap if self._reader is not None else ""

    def _take(self, form: str | None, certain: bool) -> None:
        if form is None and certain:
            if not self._detector.head.strip():
                raise UsageError(
                    f"{self._name} is empty: the tool that should have written it ended too early"
                )
            known = ", ".join(formats.offered("from"))
            raise UsageError(f"cannot tell the format of {self._name}: expected one of {known}")
        if form is not None:
            self.form, self._reader = form, formats.run_reader(form)
