"""Lists the tests of a project, without running them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from proctor.config import Settings
from proctor.errors import ProctorError, UsageError
from proctor.execute import Request, execute
from proctor.launch import Voice
from proctor.outcome import EXIT_CODES, RunOutcome
from proctor.plan_run import Asked, RunPlan, plan_run
from proctor.process.stop import Stop
from proctor.result import RunResult
from proctor.text import first_line

_SHOWN = 200  # characters of a message
_NAMED = 10  # files that cannot be collected


class ListingError(ProctorError):
    """The tests cannot be listed. The exit code is that of the run that tried."""

    slug = "listing"

    def __init__(self, message: str, outcome: RunOutcome) -> None:
        super().__init__(message)
        self.exit_code = EXIT_CODES[outcome]


class Listed(msgspec.Struct, frozen=True):
    """The tests of a project, not run."""

    result: RunResult
    plan: RunPlan  # by which they were listed


def listed(
    asked: Asked,
    settings: Settings,
    environ: Mapping[str, str],
    stop: Stop,
    check: Callable[[RunPlan], None] | None = None,
) -> Listed:
    """Lists what a run would run. `check` is called before code of the project runs."""
    plan = plan_run(msgspec.structs.replace(asked, collect_only=True, part=None), settings, environ)
    _check_able(plan)
    if check is not None:
        check(plan)
    found = execute(Request(plan, stop)).result
    if found.stopped is not None:
        raise ListingError(f"the tests were not listed: {found.stopped}", found.stopped)
    return Listed(found, plan)


def check_complete(found: RunResult) -> None:
    """Raises ListingError unless the list has every test."""
    if found.outcome is not RunOutcome.PASSED:
        raise ListingError(f"the tests cannot be listed: {problem(found)}", found.outcome)


def problem(found: RunResult) -> str:
    """Why the list is not complete; empty if it is."""
    if found.outcome in (RunOutcome.PASSED, RunOutcome.NO_TESTS):
        return "no tests found" if found.outcome is RunOutcome.NO_TESTS else ""
    errors = [
        f"{error.file}: {first_line(error.failure.message, _SHOWN)}" for error in found.collection_errors
    ]
    more = [f"and {len(errors) - _NAMED} more"] if len(errors) > _NAMED else []
    told = [*filter(None, [found.reason]), *errors[:_NAMED], *more]
    return "; ".join(told) or found.outcome.replace("_", " ")


def _check_able(plan: RunPlan) -> None:
    """Raises UsageError if a runner cannot say which tests there are, or run some of them."""
    for suite in plan.prepared.suites:
        if suite.voice is Voice.TEXT:
            raise UsageError(f"{suite.name}: this pytest is too old for shards: expected 6.2 or newer")
        if suite.runner == "tap" and any(not _is_bats(launch.name) for launch in suite.launches):
            names = ", ".join(launch.name for launch in suite.launches if not _is_bats(launch.name))
            raise UsageError(
                f"the tests of {names} are not known before they run, so they cannot be divided into shards:"
                " leave out tap with --runner"
            )


def _is_bats(file: str) -> bool:
    return file.endswith(".bats")
