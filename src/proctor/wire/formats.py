"""Every format that reports are read and written in, by its one name; modules are imported when needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import TypeAlias, cast

from proctor.errors import UsageError
from proctor.result import Result
from proctor.wire.report import Reader
from proctor.wire.report_run import ReportRun, RunReader

Writer: TypeAlias = Callable[[Result], Iterator[bytes]]

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
    "results": "results:ResultsReader",
    "failures": "failures:FailuresReport",
}
#: What tools say while they run and nobody keeps: when tests begin, how builds go, which tests there are.
LIVE_READERS = {
    "bats": "bats:BatsReader",
    "go-list": "go_list:GoListReader",
    "cargo-build": "cargo_build:CargoBuildReader",
    "libtest-list": "libtest_list:LibtestListReader",
}
#: Ours: they tell of whole runs, verdict and all.
RUN_READERS = {
    "events": "stream_reader:StreamReader",
    "stream": "stream_reader:StreamReader",
    "json": "document_run:DocumentRun",
}
READ = (*RUN_READERS, *READERS)
WRITERS = {
    "junit": "junit_writer:write",
    "ctrf": "ctrf:write",
    "tap": "tap_writer:write",
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


def left_out(name: str, result: Result) -> list[str]:
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
