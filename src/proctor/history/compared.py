"""A run of the history as one side of a comparison."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from proctor.comparison import End, Side
from proctor.history.project import ProjectHistory
from proctor.outcome import RunOutcome


def remembered_side(
    name: str, root: Path, environ: Mapping[str, str], within: Sequence[Path] = ()
) -> Side | None:
    """By its id or the beginning of it; None if the history has no such run. `within`: see ProjectHistory."""
    history = ProjectHistory(root, environ, within)
    with history.store() as store:
        if store is None:
            return None
        questions = history.questions(store)
        run = questions.run(name)
        if run is None:
            return None
        ends = {
            test: End(outcome, seconds, message, is_file=bool(message) and "::" not in test)
            for test, outcome, seconds, message in questions.ends(run.run_id)
        }
        return Side(run.run_id, RunOutcome(run.outcome), ends, whole=run.whole)
