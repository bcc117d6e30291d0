"""The table of formats: which options offer each one, what reads and writes it, and what it cannot hold.

Readers and writers stand here by name, as `module:attribute`, and are imported when they are needed.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from proctor.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from proctor.result import RunResult
    from proctor.wire.reports.report import Reader
    from proctor.wire.reports.report_run import RunReader

    Writer: TypeAlias = Callable[[RunResult], Iterator[bytes]]

#: `run --format` and `-o`, `show --format`, `convert --to`, `convert --from`.
Option: TypeAlias = Literal["run", "show", "to", "from"]


class Format(msgspec.Struct, frozen=True, kw_only=True):
    offered: str = ""  # the options that take it; none: only a process that proctor runs writes it
    read: str = ""
    whole_runs: bool = False  # its reader gives runs with their verdicts, not only tests
    write: str = ""
    #: What `write` is. sink: a class, called with `say`; text: a function of the result and `say`; report: a
    #: function of the result that gives bytes; output: a function that makes a sink for an `Output`.
    writer: Literal["sink", "text", "report", "output", ""] = ""
    is_text: bool = False  # for people and agents to read; other text may follow it
    one_run: bool = False  # a file holds one run
    mask: Literal["values", "itself", "never"] = "values"  # how secrets are masked in it
    #: Parts of a result that it keeps, of those in `left_out`; None: no part is ever reported as lost.
    keeps: frozenset[str] | None = None


_text = partial(Format, offered="show to", is_text=True)
_ours = partial(Format, offered="run show to from", writer="output", whole_runs=True, mask="never")
_report = partial(Format, offered="run show to from", writer="report", one_run=True)
_foreign = partial(Format, offered="from")

FORMATS = {
    "human": _text(offered="run show to", write="cli.writers:human", writer="output"),
    "agent": _text(offered="run show to", write="cli.writers:agent", writer="output", mask="itself"),
    "summary": _text(write="render.summary:write_summary", writer="text"),
    "dots": _text(write="render.dots:Dots", writer="sink"),
    "names": _text(write="render.line_per_test:LinePerTest", writer="sink"),
    "tree": _text(write="render.outcome_tree:write_outcome_tree", writer="text"),
    "libtest": _text(
        offered="show to from",
        read="wire.reports.libtest:LibtestReader",
        write="render.libtest:Libtest",
        writer="sink",
    ),
    "github": _text(offered="run show to", write="cli.writers:github", writer="output"),
    "html": Format(
        offered="run show to", write="cli.writers:html", writer="output", one_run=True, mask="itself"
    ),
    "json": _ours(read="wire.document.run:DocumentRun", write="cli.writers:json", one_run=True),
    "stream": _ours(read="wire.stream.reader:StreamReader", write="cli.writers:stream"),
    "events": _ours(read="wire.stream.reader:StreamReader", write="cli.writers:events"),
    "results": Format(offered="run from", read="wire.control.results:ResultsReader", mask="never"),
    "junit": _report(
        read="wire.reports.junit:JunitReader",
        write="wire.reports.junit_writer:write",
        keeps=frozenset({"attempts"}),
    ),
    "junit-full": _report(
        read="wire.reports.junit:JunitFullReader",
        write="wire.reports.junit_full:write",
        keeps=frozenset({"attempts", "files", "properties", "history", "baseline"}),
    ),
    "ctrf": _report(
        read="wire.reports.ctrf:CtrfReader",
        write="wire.reports.ctrf:write",
        keeps=frozenset({"attempts", "files", "properties", "keywords", "subtests", "history", "baseline"}),
    ),
    "tap": _report(
        read="wire.reports.tap:TapReader", write="wire.reports.tap_writer:write", keeps=frozenset()
    ),
    "failures": Format(
        offered="show to from",
        read="wire.reports.failures:FailuresReport",
        write="cli.writers:failures",
        writer="output",
        mask="itself",
    ),
    "tap-j": _foreign(read="wire.reports.tap_j:TapJReader"),
    "libtest-json": _foreign(read="wire.reports.libtest_json:LibtestJsonReader"),
    "go-json": _foreign(read="wire.reports.go_json:GoJsonReader"),
    "reportlog": _foreign(read="wire.reports.reportlog:ReportlogReader"),
    "json-report": _foreign(read="wire.reports.json_report:JsonReportReader"),
    "vitest": _foreign(read="wire.reports.jest:VitestReader"),
    "jest": _foreign(read="wire.reports.jest:JestReader"),
    # Output of tools that is only read while they run: when tests begin, how builds go, which tests exist
    "bats": Format(read="wire.reports.bats:BatsReader"),
    "go-list": Format(read="wire.reports.go_list:GoListReader"),
    "cargo-build": Format(read="wire.reports.cargo_build:CargoBuildReader"),
    "libtest-list": Format(read="wire.reports.libtest_list:LibtestListReader"),
}
#: Formats whose readers give tests, and formats that are reports of one run.
READERS = tuple(name for name, row in FORMATS.items() if row.read and not row.whole_runs)
WRITERS = tuple(name for name, row in FORMATS.items() if row.writer == "report")


def offered(option: Option) -> tuple[str, ...]:
    """The formats that an option takes, in the order of the table."""
    return tuple(name for name, row in FORMATS.items() if option in row.offered.split())


def reader(name: str) -> Reader:
    """Reads the tests of a report, or the output of a process that proctor runs."""
    found: Reader = load(_row(name, READERS, "read").read)()
    return found


def run_reader(name: str) -> RunReader:
    """Reads whole runs, whichever format it is."""
    row = _row(name, offered("from"), "read")
    if row.whole_runs:
        found: RunReader = load(row.read)()
        return found
    from proctor.wire.reports.report_run import ReportRun

    return ReportRun(name, reader(name))


def writer(name: str) -> Writer:
    """Writes the result of one run as a report."""
    found: Writer = load(_row(name, WRITERS, "write").write)
    return found


def load(name: str) -> Any:
    """What a `module:attribute` of the table stands for."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(f"proctor.{module}"), attribute)


def _row(name: str, known: tuple[str, ...], verb: Literal["read", "write"]) -> Format:
    if name not in known:
        from proctor.nearest import or_known  # only on the way out

        raise UsageError(f"cannot {verb} format {name!r}{or_known(name, known)}")
    return FORMATS[name]


def left_out(name: str, result: RunResult) -> list[str]:
    """What the result has and this format cannot hold."""
    keeps = FORMATS[name].keeps
    if keeps is None:
        return []
    tests = result.tests.values()
    present = {
        "files": any(test.files for test in tests),
        "links to output": any(test.testout for test in tests),
        "properties": any(test.properties for test in tests),
        "keywords": any(test.keywords for test in tests),
        "attempts": any(test.attempts for test in tests),
        "subtests": any(phase.subtest is not None for test in tests for phase in test.phases),
        "history": result.history is not None and bool(result.history.tests or result.history.fixed),
        "baseline": result.baseline is not None,
        "warnings": bool(result.warnings),
        "output outside of tests": bool(result.output.text()),
        "notices": bool(result.notices),
    }
    return [what for what, there in present.items() if there and what not in keeps]
