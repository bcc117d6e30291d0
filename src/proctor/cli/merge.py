"""`proctor merge`: one run from many, with the proof that nothing is missing."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from proctor import events as e
from proctor.archive.inside import Folder
from proctor.archive.lookup import find_run
from proctor.archive.store import new_run_id
from proctor.cli import options, output, text_settings
from proctor.cli.parser import EXIT_CODES
from proctor.cli.source import opened
from proctor.errors import UsageError
from proctor.execute import Executed
from proctor.running import timestamp
from proctor.shards import plan as plans
from proctor.shards.merge import Merging, merge
from proctor.shards.record import Recorded
from proctor.wire import formats

_HEAD = 200  # bytes that show whether a file is a plan


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    root = options.project(parsed.directory)
    runs, notices = _recorded(parsed.runs, root)
    plan = plans.read(Path(parsed.plan)) if parsed.plan is not None else None
    settings = replace(text_settings.of_replay(root, os.environ, options.shown(parsed)), kept=False)
    outputs = output.build(
        parsed.format, parsed.outputs, parsed.failure_summary, os.environ, settings, offered="show"
    )
    asked = e.Invocation(str(root), options.current_directory(), kept=False)
    started = e.RunStarted(
        new_run_id(datetime.now(UTC)), "", (), str(root), "", timestamp(), invocation=asked
    )
    try:
        result = merge(Merging(runs, plan, tuple(notices)), started, outputs.sinks)
        base = os.path.commonpath([os.path.abspath(root), *(run.directory for run in runs)])
        outputs.finish(Executed(result, Folder(Path(base))))
    finally:
        outputs.close()
    return outputs.conclude(result.exit_code)


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor merge",
        "Make one run from many, and report what is missing.",
        examples=(
            ("proctor merge shard-*.jsonl --plan plan.json", "all shards of a plan"),
            ("proctor merge py311.xml py312.xml", "reports of other tools"),
        ),
        page="docs/reference/merge.md",
    )
    what = parser.group("which runs")
    run = "directory or ID of a run, a document, a log, a stream or a report of another tool"
    what.add_argument("runs", nargs="+", metavar="RUN|FILE", help=run)
    what.add_argument("--plan", metavar="FILE", help="the plan whose tests must all have a result")
    options.add_outputs(parser, formats.offered("show"))
    options.add_report(parser)
    options.add_failure_summary(parser)
    options.add_directory(parser)
    parser.remark = EXIT_CODES
    return parser


def _recorded(names: Sequence[str], root: Path) -> tuple[list[Recorded], list[str]]:
    """The records to merge, each file once, and a notice for each file that was given again."""
    found: dict[tuple[int, int], Recorded] = {}
    notices: list[str] = []
    for name in names:
        where = _file(Path(name)) if os.path.exists(name) and not os.path.isdir(name) else _run(name, root)
        key, read = _identity(where), _Pieces(where)
        if key in found:
            notices.append(f"{name} is the same file as {found[key].name}: it counts once")
            continue
        form = "auto" if isinstance(where, Path) else "events"
        directory = where.parent if isinstance(where, Path) else where.path
        found[key] = Recorded(name, read, form, os.path.abspath(directory))
    return list(found.values()), notices


def _file(path: Path) -> Path:
    """Raises UsageError for what cannot be merged, and is easily given by mistake."""
    if not path.is_file():
        raise UsageError(f"{path} is a pipe or a device: expected a file or a run, because it is read twice")
    with path.open("rb") as file:
        if plans.is_plan(file.read(_HEAD)):
            raise UsageError(f"{path} is a plan: use `--plan {path}`, and give the runs of its shards")
    return path


def _run(name: str, root: Path) -> Folder:
    try:
        return find_run(name, root, os.environ)
    except UsageError as error:
        raise UsageError(f"{name} is neither a file nor a run: {error}") from None


def _identity(where: Path | Folder) -> tuple[int, int]:
    with opened(where) as source:
        return source.identity


class _Pieces:
    """The bytes of a file. Each later call returns as many as the first: the run may still be writing."""

    def __init__(self, where: Path | Folder) -> None:
        self._where = where
        self._size: int | None = None

    def __call__(self) -> Iterator[bytes]:
        left, size = self._size, 0
        with opened(self._where) as source:
            for piece in source.pieces(lambda: False):
                piece = piece if left is None else piece[: left - size]
                size += len(piece)
                yield piece
                if size == left:
                    break
        self._size = size
