"""`proctor show`: a run that is kept, one test of it, one file of that test; or a stream, or a log."""

from __future__ import annotations

import argparse
import codecs
import os
import shutil
import sys
from pathlib import Path

import msgspec

from proctor import config
from proctor.agent_mode import agent_mode
from proctor.archive.inside import open_inside
from proctor.archive.lookup import LAST, KeptRun, find_run, read_run
from proctor.archive.recording import document_chunks
from proctor.archive.replay import replay
from proctor.archive.store import RESULT_FILE, read_head
from proctor.cli import options, show_stream
from proctor.cli.output import chosen
from proctor.errors import UsageError
from proctor.outcome import RunOutcome
from proctor.render.agent import Detail, agent_text
from proctor.render.kept_test import kept_test_text
from proctor.render.neutral import neutral_block
from proctor.text import utf8
from proctor.wire.document.schema import Test
from proctor.wire.literal import encode_line
from proctor.wire.reports.any_report import AnyReport

# 1: first published form.
SCHEMA = "proctor.test/1"

STDIN = "-"
_LOOKED_AT = 1 << 13  # bytes by which a file is judged to be text
_PIECE = 1 << 18  # bytes


def main(arguments: list[str]) -> int:
    parsed = _parser().parse_args(arguments)
    if parsed.file is not None and parsed.test is None:
        raise UsageError("--file names a file of a test; `--test ID` says of which")
    if parsed.what == STDIN or os.path.isfile(parsed.what):
        if parsed.test is not None:
            raise UsageError(f"--test names a test of a run that is kept; {parsed.what} is not one")
        return _show_stream(parsed, None if parsed.what == STDIN else Path(parsed.what))
    root = options.project(parsed.directory)
    path = find_run(parsed.what, root, os.environ)
    if parsed.test is not None:
        return _show_test_of(read_run(path), parsed)
    plain = not (parsed.strict or parsed.follow or parsed.failure_summary == "on")
    if not plain or parsed.format not in ("auto", "json"):
        return _show_stream(parsed, path)
    return _show_run(path, parsed.format, config.load(root).mask_secrets)


def _parser() -> options.Parser:
    parser = options.Parser("proctor show", description="Show a run, one test of it, a stream or a log.")
    what = f"a run by its id, its beginning, {LAST} or its path; a file; {STDIN} for stdin"
    parser.add_argument("what", nargs="?", default=LAST, metavar="RUN|FILE|-", help=what)
    options.add_directory(parser)
    parser.add_argument("--test", metavar="ID", help="all that is known about this test of the run")
    parser.add_argument("--file", metavar="NAME", help="the bytes of this file of the test")
    parser.add_argument("--format", choices=show_stream.FORMATS, default="auto", help="what stdout shows")
    parser.add_argument("--follow", action="store_true", help="wait for more until the final line is there")
    parser.add_argument(
        "--failure-summary",
        choices=("auto", "on", "off"),
        default="auto",
        help="list the failures at the end, each in one line (auto: with --format human, for agents)",
    )
    parser.add_argument("--strict", action="store_true", help="check the rules of the stream instead")
    return parser


def _show_stream(parsed: argparse.Namespace, path: Path | None) -> int:
    with show_stream.opened(path) as source:
        if parsed.strict:
            return show_stream.check(source.pieces(lambda: False), parsed.what)
        reader = AnyReport(parsed.what, "events" if path is not None and path.is_dir() else "auto")
        form = chosen(parsed.format, os.environ)
        asked = parsed.failure_summary
        if asked == "on" and form in ("json", "stream", "events", "failures"):
            raise UsageError(f"--failure-summary on follows a text; --format {form} is none: human would do")
        agent = form == "human" and agent_mode(os.environ, sys.stdout.isatty(), asked).on
        return show_stream.show(
            reader, source, parsed.what, form, parsed.follow, os.environ, asked == "on" or agent
        )


def _show_run(path: Path, form: str, mask: bool) -> int:
    if form == "json" and _copy(path, RESULT_FILE):
        head = read_head(path)
        return show_stream.conclude(RunOutcome(head.outcome) if head else RunOutcome.INCOMPLETE, path.name)
    replayed = replay(path)
    result = replayed.result
    if form == "json":
        sys.stdout.buffer.writelines(document_chunks(result, path))
    else:
        result.notices += replayed.notes
        _say(agent_text(result, Detail(rows=0, mask=mask)))
    return show_stream.conclude(result.outcome, path.name)


def _show_test_of(run: KeptRun, parsed: argparse.Namespace) -> int:
    if parsed.format not in ("auto", "human", "json"):
        raise UsageError(f"--format is {parsed.format!r}; for one test human or json would do")
    test = run.test(parsed.test)
    if parsed.file is not None:
        _show_file(run, test, parsed.file)
    else:
        _show_test(run, test, parsed.format)
    return 0


def _copy(path: Path, relative: str) -> bool:
    """Whether there is such a file; its bytes go to stdout as they are."""
    try:
        descriptor = open_inside(path, relative)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer, _PIECE)
    return True


def _show_test(run: KeptRun, test: Test, form: str) -> None:
    captured, below = run.document.captured(test.node_id), run.below(test.node_id)
    if form != "json":
        _say(kept_test_text(test, captured, below, str(run.path), run.notes))
        return
    answer = {
        "schema": SCHEMA,
        "run_id": run.document.run_id,
        "run_outcome": run.document.outcome,
        "directory": str(run.path),
        "notes": run.notes,
        "test": msgspec.to_builtins(test) | ({"captured": captured} if captured else {}),
        "results_below": below,
    }
    sys.stdout.buffer.write(encode_line(answer))


def _show_file(run: KeptRun, test: Test, name: str) -> None:
    paths = {file.name: file.path for file in test.files}
    if test.testout is not None:
        paths.setdefault(test.testout.name, test.testout.path)
    if name not in paths:
        hint = f"it has {', '.join(paths)}" if paths else "it has none"
        raise UsageError(f"{test.node_id} has no file {name!r}; {hint}")
    try:
        descriptor = open_inside(run.path, paths[name])
    except OSError as error:
        raise UsageError(f"file {name!r} cannot be read: {error.strerror}: {paths[name]}") from None
    with os.fdopen(descriptor, "rb") as file:
        if not sys.stdout.isatty():
            shutil.copyfileobj(file, sys.stdout.buffer, _PIECE)
            return
        head = file.peek(_LOOKED_AT)[:_LOOKED_AT]
        if not _is_text(head):
            raise UsageError(f"file {name!r} is not text; send it elsewhere: `| less`, `> FILE`")
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        while piece := file.read(_PIECE):
            _say(neutral_block(decoder.decode(piece)))


def _is_text(head: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return b"\0" not in head


def _say(text: str) -> None:
    sys.stdout.buffer.write(utf8(text))
