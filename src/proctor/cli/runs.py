"""`proctor runs`: the runs that are kept, newest first."""

from __future__ import annotations

import os
import sys

import msgspec

from proctor.archive.store import RunHead, link_in_the_way, list_runs, read_head
from proctor.cli import options
from proctor.wire.literal import encode_line


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
    shown = 0
    if link := link_in_the_way(root):
        print(f"proctor: {link}", file=sys.stderr)
    for folder in list_runs(root, os.environ):
        head = read_head(folder)
        if head is None or shown >= parsed.limit:
            continue
        shown += 1
        if parsed.format == "json":
            record = msgspec.to_builtins(head) | {"outcome": head.outcome, "path": str(folder)}
            sys.stdout.buffer.write(encode_line(record))
        else:
            print(_line(head))
    if not shown and parsed.format == "human":
        print(f"no kept runs of {root}")
    return 0


def _line(head: RunHead) -> str:
    words = ("failed", "errors", "passed", "skipped", "xfailed", "xpassed", "not_run")
    summary = head.summary
    counts = [f"{summary[word]:.0f} {word.replace('_', ' ')}" for word in words if summary.get(word)]
    seconds = summary.get("duration")
    took = f"  {seconds:.1f}s" if seconds is not None else ""
    return f"{head.run_id}  {head.outcome:16} {', '.join(counts)}{took}"
