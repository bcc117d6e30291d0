"""The settings of every text, in one place: masking, size, colours."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from proctor import config, plan_run
from proctor.outcome import RunOutcome
from proctor.render.shown import USUAL, Shown
from proctor.render.verdict_line import verdict_line
from proctor.result import RunResult


class TextSettings(msgspec.Struct, frozen=True):
    mask: bool = True  # what looks like a credential
    colours: bool = False
    budget: int = 0  # maximum size of the agent text, in tokens; 0: no limit
    kept: bool = True  # `proctor show` finds the run
    whole: bool = False  # name every test of a cause, however many there are
    index_rows: int | None = None  # of the failure index; None: the usual number
    index_length: int | None = None  # characters of an error in it
    shown: Shown = USUAL  # by the report for people

    def agent_text(self, result: RunResult) -> str:
        more = result.reason or result.notices or result.missing or result.flaky or result.excused
        if result.outcome is RunOutcome.PASSED and not more:
            return verdict_line(result) + "\n"  # the whole text; the longer ones take long to import
        from proctor.render.agent import SHELL, Detail, agent_text

        detail = Detail(mask=self.mask, hints=SHELL if self.kept else None)
        if self.whole:
            detail = msgspec.structs.replace(detail, rows=0)
        if not self.budget:
            return agent_text(result, detail)
        from proctor.render.agent_budget import agent_text_within

        return agent_text_within(result, self.budget, detail)

    def failure_index(self, result: RunResult) -> str:
        from proctor.failure_row import LENGTH, ROWS
        from proctor.render.masking import masked_values
        from proctor.render.result_index import failure_index

        shown = masked_values(result) if self.mask else result
        return failure_index(shown, self.index_rows or ROWS, self.index_length or LENGTH)


def of_run(
    settings: config.Settings,
    budget: int | None,
    kept: bool,
    environ: Mapping[str, str],
    shown: Shown = USUAL,
) -> TextSettings:
    """For a run of a project; `budget` from the command line, if given."""
    return TextSettings(
        settings.mask_secrets,
        wants_colours(environ),
        plan_run.budget(budget, settings),
        kept,
        index_rows=settings.failure_rows,
        index_length=settings.failure_length,
        shown=shown,
    )


def of_replay(root: Path, environ: Mapping[str, str], shown: Shown = USUAL) -> TextSettings:
    """For a run that is shown again; `root` is the project whose settings apply."""
    shown = msgspec.structs.replace(shown, introduced=False)
    return TextSettings(config.masks_secrets(root), wants_colours(environ), whole=True, shown=shown)


def wants_colours(environ: Mapping[str, str]) -> bool:
    """NO_COLOR wins over FORCE_COLOR, which wins over whether stdout is a terminal."""
    if environ.get("NO_COLOR"):
        return False
    if forced := environ.get("FORCE_COLOR"):
        return forced != "0"
    return on_terminal(environ)


def on_terminal(environ: Mapping[str, str]) -> bool:
    return sys.stdout.isatty() and environ.get("TERM") != "dumb"
