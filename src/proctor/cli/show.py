"""`proctor show`: a run that is kept, or one test of it, or one file of that test."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
from pathlib import Path

import msgspec

from proctor import config
from proctor.archive.inside import open_inside
from proctor.archive.lookup import LAST, KeptRun, find_run, read_run
from proctor.archive.recording import loader, whole_output
from proctor.archive.replay import replay
from proctor.archive.store import RESULT_FILE
from proctor.cli import options
from proctor.errors import UsageError
from proctor.render.agent import Detail, agent_text
from proctor.render.kept_test import test_text
from proctor.render.neutral import neutral_block
from proctor.wire import document
from proctor.wire.document_reader import KeptTest

# 1: first published form.
SCHEMA = "proctor.test/1"

_LOOKED_AT = 1 << 13  # bytes by which a file is judged to be text
_PIECE = 1 << 18  # bytes


def main(arguments: list[str]) -> int:
    parser = options.Parser("proctor show", description="Show a run that is kept, or one test of it.")
    parser.add_argument(
        "run", nargs="?", default=LAST, metavar="RUN", help=f"id, its beginning, {LAST}, or path"
    )
    options.add_directory(parser)
    parser.add_argument("--test", metavar="ID", help="all that is known about this test")
    parser.add_argument("--file", metavar="NAME", help="the bytes of this file of the test")
    parser.add_argument("--format", choices=("human", "json"), default="human", help="what stdout shows")
    parsed = parser.parse_args(arguments)
    if parsed.file is not None and parsed.test is None:
        raise UsageError("--file names a file of a test; `--test ID` says of which")
    root = options.project(parsed.directory)
    path = find_run(parsed.run, root, os.environ)
    if parsed.test is None:
        _show_run(path, parsed.format, config.load(root).mask_secrets)
        return 0
    run = read_run(path)
    test = run.test(parsed.test)
    if parsed.file is not None:
        _show_file(run, test, parsed.file)
    else:
        _show_test(run, test, parsed.format)
    return 0


def _show_run(path: Path, form: str, mask: bool) -> None:
    if form == "json" and _copy(path, RESULT_FILE):
        return
    replayed = replay(path)
    result = replayed.result
    if form == "json":
        for chunk in document.chunks(result, loader(path), whole_output(path, result)):
            sys.stdout.buffer.write(chunk)
    else:
        result.notices += replayed.notes
        _say(agent_text(result, Detail(rows=0, mask=mask)))


def _copy(path: Path, relative: str) -> bool:
    """Whether there is such a file; its bytes go to stdout as they are."""
    try:
        descriptor = open_inside(path, relative)
    except OSError:
        return False
    with os.fdopen(descriptor, "rb") as file:
        shutil.copyfileobj(file, sys.stdout.buffer, _PIECE)
    return True


def _show_test(run: KeptRun, test: KeptTest, form: str) -> None:
    below = run.below(test.node_id)
    if form == "human":
        _say(test_text(test, below, str(run.path), run.notes))
        return
    answer = {
        "schema": SCHEMA,
        "run_id": run.run_id,
        "run_outcome": run.outcome,
        "directory": str(run.path),
        "notes": run.notes,
        "test": test,
        "results_below": below,
    }
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")


def _show_file(run: KeptRun, test: KeptTest, name: str) -> None:
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
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
