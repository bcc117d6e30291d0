"""`go test -list REGEXP -json` as events: the tests there are, and what keeps a package from having any."""

from __future__ import annotations

import re
from collections.abc import Iterator

from proctor import events as e
from proctor.wire.reports.go_json import GoJsonReader, Line, Package

_TEST = re.compile(r"(?:Test|Example|Fuzz|Benchmark)\S*\n?")


class GoListReader(GoJsonReader):
    format = "go-list"

    def _in_package(self, line: Line, package: Package) -> Iterator[e.Event]:
        if line.action == "output" and _TEST.fullmatch(line.output):
            yield e.TestsSelected((self._names.unique(f"{line.package}::{line.output.strip()}"),))
        else:
            package.tested = True  # no more was asked for
            yield from super()._in_package(line, package)
