"""A run on one screen, with the verdict first."""

from __future__ import annotations

from proctor.render.closing import write_lists, write_verdict
from proctor.render.shown import USUAL
from proctor.render.writer import Writer
from proctor.result import RunResult


def write_summary(result: RunResult, write: Writer) -> None:
    write_verdict(result, write)
    write_lists(result, write, USUAL)
