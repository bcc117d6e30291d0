"""Every format that reports are read and written in, by its one name; modules are imported when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TypeAlias, cast

from proctor.errors import UsageError
from proctor.result import RunResult
from proctor.wire.reports.report import Reader
from proctor.wire.reports.report_run import ReportRun, RunReader

Writer: TypeAlias = Callable[[RunResult], Iterator[bytes]]

READERS = {
    "junit": "reports.junit:JunitReader",
    "tap": "reports.tap:TapReader",
    "tap-j": "reports.tap_j:TapJReader",
    "ctrf": "reports.ctrf:CtrfReader",
    "libtest": "reports.libtest:LibtestReader",
    "libtest-json": "reports.libtest_json:LibtestJsonReader",
    "go-json": "reports.go_json:GoJsonReader",
    "reportlog": "reports.reportlog:ReportlogReader",
    "json-report": "reports.json_report:JsonReportReader",
    "vitest": "reports.jest:VitestReader",
    "jest": "reports.jest:JestReader",
    "results": "control.results:ResultsReader",
    "failures": "reports.failures:FailuresReport",
}
#: What tools say while they run and nobody keeps: when tests begin, how builds go, which tests there are.
LIVE_READERS = {
    "bats": "reports.bats:BatsReader",
    "go-list": "reports.go_list:GoListReader",
    "cargo-build": "reports.cargo_build:CargoBuildReader",
    "libtest-list": "reports.libtest_list:LibtestListReader",
}
#: Ours: they tell of whole runs, verdict and all.
RUN_READERS = {
    "events": "stream.reader:StreamReader",
    "stream": "stream.reader:StreamReader",
    "json": "document.run:DocumentRun",
}
READ = (*RUN_READERS, *READERS)
WRITERS = {
    "junit": "reports.junit_writer:write",
    "ctrf": "reports.ctrf:write",
    "tap": "reports.tap_writer:write",
}

#: What a result may have beside its tests and their output, by the formats that keep it.
_KEPT = {
    "files": {"ctrf"},
    "links to output": set(),
    "properties": {"junit", "ctrf"},
    "keywords": {"ctrf"},
    "subtests": set(),
    "warnings": set(),
    "output outside of tests": set(),
    "notices": set(),
}


def reader(name: str) -> Reader:
    return cast(Reader, _find(READERS, name, "read")())


def live_reader(name: str) -> Reader:
    """One that can follow a process."""
    return cast(Reader, _find(READERS | LIVE_READERS, name, "read")())


def run_reader(name: str) -> RunReader:
    """One that tells of whole runs, whichever format it is."""
    if name in RUN_READERS:
        return cast(RunReader, _find(RUN_READERS, name, "read")())
    return ReportRun(name, reader(name))


def writer(name: str) -> Writer:
    return cast(Writer, _find(WRITERS, name, "written"))


def left_out(name: str, result: RunResult) -> list[str]:
    """What the result has and this format cannot hold."""
    tests = result.tests.values()
    present = {
        "files": any(test.files for test in tests),
        "links to output": any(test.testout for test in tests),
        "properties": any(test.properties for test in tests),
        "keywords": any(test.keywords for test in tests),
        "subtests": any(phase.subtest is not None for test in tests for phase in test.phases),
        "warnings": bool(result.warnings),
        "output outside of tests": bool(result.output.text()),
        "notices": bool(result.notices),
    }
    return [what for what, there in present.items() if there and name not in _KEPT[what]]


def _find(table: dict[str, str], name: str, done: str) -> Callable[..., object]:
    if name not in table:
        known = READ if table is READERS else table
        raise UsageError(f"no format {name!r} is {done}; known: {', '.join(known)}")
    module, _, attribute = table[name].partition(":")
    found: Callable[..., object] = getattr(import_module(f"proctor.wire.{module}"), attribute)
    return found
