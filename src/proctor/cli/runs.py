"""`proctor runs`: the runs that are kept, newest first."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import msgspec

from proctor.archive.inside import Folder
from proctor.archive.store import RunHead, link_in_the_way, list_runs, read_head
from proctor.cli import options
from proctor.cli.writers import stdout_writer
from proctor.durations import ago
from proctor.outcome import RunOutcome
from proctor.render.neutral import neutral
from proctor.render.table import Cell, cell, write_table
from proctor.render.writer import Tone
from proctor.wire.literal import encode_line

_COUNTS: dict[str, Tone] = {
    "failed": "bad",
    "errors": "bad",
    "passed": "good",
    "flaky": "odd",
    "skipped": "odd",
    "xfailed": "odd",
    "xpassed": "odd",
    "quarantined": "odd",
    "not_run": "odd",
}
_HEADER = ("RUN", "AGE", "OUTCOME", "TIME", "TESTS", "ASKED FOR")


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor runs",
        "List the kept runs, newest first.",
        examples=(
            ("proctor runs", "the newest runs of this project"),
            ("proctor runs -C ../shop --limit 5", "the newest five of another"),
            ("proctor runs --format json", "a JSON object for each run"),
        ),
        page="docs/reference/archive.md",
    )
    show = parser.group(options.SHOW)
    show.add_argument("--limit", type=int, default=20, metavar="N", help="list at most N runs (default: 20)")
    options.add_format(parser, ("human", "json"), "human")
    options.add_directory(parser)
    return parser


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    root = options.project(parsed.directory)
    if link := link_in_the_way(root):
        print(f"proctor: {link}", file=sys.stderr)
    kept = ((folder, head) for folder in list_runs(root, os.environ) if (head := read_head(folder)))
    found = list(islice(kept, max(0, parsed.limit)))
    if parsed.format == "json":
        sys.stdout.buffer.writelines(map(_json, found))
    elif found:
        now = datetime.now(UTC)
        rows = [tuple(_cells(head, now)) for _, head in found]
        write_table(_HEADER, rows, stdout_writer(os.environ), cuts=True)
    else:
        print(f"no kept runs of {root}")
    return 0


def _json(run: tuple[Folder, RunHead]) -> bytes:
    folder, head = run
    return encode_line(msgspec.to_builtins(head) | {"outcome": head.outcome, "path": str(folder)})


def _cells(head: RunHead, now: datetime) -> Iterator[Cell]:
    yield cell(head.run_id)
    yield cell(ago(head.started, now))
    yield cell(head.outcome.replace("_", " "), _tone(head.outcome))
    seconds = head.summary.get("duration")
    yield cell("" if seconds is None else f"{seconds:.1f}s", "quiet")
    counts = ((head.summary.get(word), word.replace("_", " "), tone) for word, tone in _COUNTS.items())
    yield [(f"{count:.0f} {word}", tone) for count, word, tone in counts if count]
    yield cell("everything" if head.everything else neutral(shlex.join(head.asked)) or "a part")


def _tone(outcome: str) -> Tone:
    if outcome == RunOutcome.RUNNING:
        return "odd"
    return "good" if outcome == RunOutcome.PASSED else "bad"
