"""`proctor show`: a run that is kept, a report, a stream or a log, read again and written in any format."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec.structs import replace

from proctor.archive.inside import Folder, open_inside, read_inside
from proctor.archive.lookup import LAST, find_run, read_run
from proctor.archive.store import RESULT_FILE, read_head
from proctor.cli import options, text_settings
from proctor.cli.from_here import from_here
from proctor.cli.output import chosen, live_terminal, with_failure_index
from proctor.cli.source import Source, abandoned, opened
from proctor.cli.text_settings import TextSettings, on_terminal
from proctor.cli.whole_file import output_file
from proctor.cli.writers import Output, Runs, check, speaker
from proctor.errors import StreamError, UsageError
from proctor.outcome import EXIT_CODES, WORST_FIRST, RunOutcome
from proctor.relay import Sink
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.wire import formats
from proctor.wire.reports.any_report import AnyReport
from proctor.wire.stream.rules import StreamRules

STDIN = "-"
_PIECE = 1 << 18  # bytes


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    asked = {"--file": parsed.file is not None, "--difference": parsed.difference, "--locals": parsed.locals}
    about = [option for option, given in asked.items() if given]
    if parsed.file_out and (about or parsed.test is not None or parsed.output or parsed.strict):
        raise UsageError("-o FILE needs a run as a whole: expected no --test, --output or --strict")
    if about and parsed.test is None:
        raise UsageError(f"{about[0]} needs --test ID")
    if len(about) > 1:
        raise UsageError(f"{' and '.join(about)}: expected only one of them")
    is_file = parsed.what == STDIN or os.path.isfile(parsed.what)
    if is_file and parsed.test is not None:
        raise UsageError(f"--test needs a kept run: {parsed.what} is a file")
    if parsed.output and (is_file or parsed.test is not None):
        found = f"{parsed.what} is a file" if is_file else "--test ID shows the output of one test"
        raise UsageError(f"--output needs a kept run: {found}")
    root = Path(parsed.directory) if is_file else options.project(parsed.directory)
    settings = text_settings.of_replay(root, os.environ, options.shown(parsed))
    if is_file:
        path = None if parsed.what == STDIN else Path(parsed.what)
        form = _by_ending(parsed) or chosen(parsed.format, os.environ)
        return _show(path, parsed.what, "auto", form, parsed, settings)
    run = find_run(parsed.what, root, os.environ)
    if parsed.output:
        from proctor.cli.show_output import show_output

        show_output(run, settings.mask)
        return 0
    if parsed.test is not None:
        from proctor.cli.show_test import show_difference, show_locals, show_test

        kept = read_run(run)
        if parsed.difference:
            show_difference(kept, parsed.test, settings.mask)
        elif parsed.locals:
            show_locals(kept, parsed.test, settings.mask)
        else:
            show_test(kept, parsed.test, parsed.file, parsed.format, settings.mask)
        return 0
    form = _by_ending(parsed) or parsed.format
    if form == "auto":
        form = chosen(form, os.environ) if on_terminal(os.environ) else "agent"
    if form == "json" and not (parsed.strict or parsed.follow or parsed.file_out) and _copy_document(run):
        return _document_code(run)
    return _show(run, run.name, "events", form, parsed, settings)


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor show",
        "Show a kept run again, one test of it, or a report, stream or log.",
        examples=(
            ("proctor show", "the last run"),
            ("proctor show last --test tests/test_shop.py::test_total", "everything about one test"),
            ("proctor show report.xml --format agent", "a report of another tool"),
        ),
        page="docs/reference/show.md",
    )
    what, show = parser.group("which run"), parser.group(options.SHOW)
    run = f"ID of a run or its beginning, {LAST}, a path, or {STDIN} for stdin (default: {LAST})"
    what.add_argument("what", nargs="?", default=LAST, metavar="RUN|FILE|-", help=run)
    what.add_argument(
        "--test", metavar="ID", help="only this test of the run, with all that is known about it"
    )
    show.add_argument("--file", metavar="NAME", help="with --test: the bytes of this file of the test")
    difference = "with --test: the whole difference between the compared values"
    show.add_argument("--difference", action="store_true", help=difference)
    show.add_argument("--locals", action="store_true", help="with --test: the local variables of its failure")
    output = "what the processes of the run wrote to stdout and stderr, as it came"
    show.add_argument("--output", action="store_true", help=output)
    options.add_format(parser, ("auto", *formats.offered("show")), "auto")
    show.add_argument("-o", dest="file_out", metavar="FILE", help="file to write (default: stdout)")
    options.add_report(parser)
    show.add_argument("--follow", action="store_true", help="wait for more until the run has ended")
    options.add_failure_summary(parser)
    show.add_argument("--strict", action="store_true", help="check the rules of the stream instead")
    options.add_directory(parser)
    return parser


def _by_ending(parsed: argparse.Namespace) -> str:
    """`-o report.html` says which format it is; empty where the name of the file does not."""
    html = (parsed.file_out or "").endswith((".html", ".htm"))
    return "html" if html and parsed.format == "auto" else ""


def _show(
    where: Path | Folder | None,
    name: str,
    source: str,
    form: str,
    parsed: argparse.Namespace,
    settings: TextSettings,
) -> int:
    with opened(where) as found:
        if parsed.strict:
            return _check(found.pieces(lambda: False), name)
        indexed = with_failure_index(form, parsed.failure_summary, os.environ) and not parsed.file_out
        check(form)
        with output_file(parsed.file_out) as file:
            settings = replace(settings, colours=False) if parsed.file_out else settings
            output = Output(file, settings, os.environ, lambda: found.directory, parsed.file_out or "")
            results = write_runs(AnyReport(name, source), name, found, form, parsed.follow, output)
        if indexed:
            speaker(sys.stdout.buffer)("".join(map(settings.failure_index, results)))
    return _conclude(results, name)


def write_runs(
    reader: AnyReport, name: str, source: Source, form: str, follow: bool, output: Output
) -> list[RunResult]:
    """Writes the runs of the source in this format, and returns them."""
    results: list[RunResult] = []
    closers: list[Callable[[], None]] = []
    runs = Runs(form, output)
    live = form == "human" and on_terminal(os.environ) and not output.path
    plain = form == "human" and not live  # shows progress only while nothing arrives
    replay = Replay(_live(output.settings, closers) if live else runs.sinks, results.append)
    began = time.monotonic()  # when the run began, as far as its entries show that

    def may_grow() -> bool:
        return follow and not replay.settled and not abandoned(source.directory)

    try:
        for piece in source.pieces(may_grow):
            entries = reader.feed(piece)
            if entries:
                began = min(began, time.monotonic() - entries[-1].at)
            replay.take(from_here(entries))
            if not piece or not plain:
                replay.tick(time.monotonic() - began)
            replay.check()
        under_way = "" if follow else source.under_way
        if not under_way:
            replay.take(from_here(reader.close()))  # of a run under way the last line may not be whole yet
        replay.close(under_way)
        replay.check()
        runs.close(name)
    finally:
        for close in closers:
            close()
    return results


def _live(settings: TextSettings, closers: list[Callable[[], None]]) -> Callable[[], list[Sink]]:
    def live() -> list[Sink]:
        sink, close = live_terminal(settings)
        closers.append(close)
        return [sink]

    return live


def _check(pieces: Iterator[bytes], name: str) -> int:
    """Each broken rule with its line, on stdout."""
    rules, rest, broken, lines = StreamRules(), b"", 0, 0
    for piece in pieces:
        *whole, rest = (rest + piece).split(b"\n")
        lines += len(whole)
        for line in whole:
            for violation in rules.check(line + b"\n"):
                broken += 1
                print(f"{name}: {violation}")
    for violation in [*(rules.check(rest) if rest else []), *rules.close()]:
        broken += 1
        print(f"{name}: {violation}")
    if broken:
        print(f"proctor: {name} breaks the rules of the stream {broken} times [stream]", file=sys.stderr)
    else:
        print(f"{name}: {lines} lines, no rule broken")
    return int(bool(broken))


def _copy_document(run: Folder) -> bool:
    """Writes the document of a run to stdout as it is; whether there is one."""
    try:
        descriptor = open_inside(run, RESULT_FILE)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer, _PIECE)
    return True


def _document_code(run: Folder) -> int:
    """The exit code of a run by its document, which may have been changed since, and by its head."""
    head = read_head(run)
    outcomes = {RunOutcome(head.outcome) if head else RunOutcome.INCOMPLETE}
    replay = Replay(lambda: [], lambda result: outcomes.add(result.outcome))
    reader = AnyReport(run.name, "json")
    try:
        replay.take([*reader.feed(read_inside(run, RESULT_FILE)), *reader.close()])
        replay.close()
    except (OSError, StreamError) as error:
        replay.gaps.append(str(error))
        outcomes.add(RunOutcome.INCOMPLETE)
    for gap in replay.gaps:
        print(f"proctor: {run.name}: {gap}", file=sys.stderr)
    return _exit_code(next(outcome for outcome in WORST_FIRST if outcome in outcomes), run.name)


def _conclude(results: list[RunResult], name: str) -> int:
    if not results:
        print(f"proctor: {name} has no suite: nothing to show [stream]", file=sys.stderr)
        return 2
    outcomes = {result.outcome for result in results}
    return _exit_code(next(outcome for outcome in WORST_FIRST if outcome in outcomes), name)


def _exit_code(outcome: RunOutcome, name: str) -> int:
    """The exit code of what was shown; one that is not 0 is explained on stderr."""
    code = EXIT_CODES[outcome]
    if code:
        print(f"proctor: {name}: {outcome.replace('_', ' ')}", file=sys.stderr)
    return code
