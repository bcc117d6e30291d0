"""The report for people: each cause with its trace and output, what plugins printed, then one last screen."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from proctor.render.closing import write_closing
from proctor.render.printed import printed_text
from proctor.render.shown import USUAL, Shown
from proctor.render.writer import Writer, plain_writer
from proctor.result import RunResult

if TYPE_CHECKING:
    from proctor.render.failure_block import Block


def write_report(result: RunResult, write: Writer, shown: Shown = USUAL) -> None:
    blank = False
    for block in _blocks(result, shown):
        write("\n")
        write(f"--- {block.head}", block.tone, block.link)
        write("\n")
        block.write_body(write)
        blank = True
    if blank:
        write("\n")
    if not shown.quiet and (printed := printed_text(result)):
        write(f"{printed}\n")
    write_closing(result, write, shown)


def _blocks(result: RunResult, shown: Shown) -> Iterator[Block]:
    """Loads what writes them only if there are some."""
    if result.exit_code == 0 and result.broke is None and not result.collection_errors:
        return
    from proctor.render.failure_block import blocks

    yield from blocks(result, shown.whole)


def report_text(result: RunResult, shown: Shown = USUAL) -> str:
    parts: list[str] = []
    write_report(result, plain_writer(parts.append), shown)
    return "".join(parts).lstrip("\n")
