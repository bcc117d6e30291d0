"""Every format that reports are read in, by its one name; modules are imported when needed."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import cast

from proctor.errors import UsageError
from proctor.wire.report import Reader

READERS = {
    "junit": "junit:JunitReader",
    "tap": "tap:TapReader",
    "tap-j": "tap_j:TapJReader",
    "ctrf": "ctrf:CtrfReader",
    "libtest": "libtest:LibtestReader",
    "libtest-json": "libtest_json:LibtestJsonReader",
    "go-json": "go_json:GoJsonReader",
    "reportlog": "reportlog:ReportlogReader",
    "json-report": "json_report_reader:JsonReportReader",
    "vitest": "jest:VitestReader",
    "jest": "jest:JestReader",
}


def reader(name: str) -> Reader:
    return cast(Reader, _find(READERS, name, "read")())


def _find(table: dict[str, str], name: str, done: str) -> Callable[..., object]:
    if name not in table:
        raise UsageError(f"no format {name!r} is {done}; known: {', '.join(table)}")
    module, _, attribute = table[name].partition(":")
    found: Callable[..., object] = getattr(import_module(f"proctor.wire.{module}"), attribute)
    return found
