"""The word for each test: what the result of a run in another tree, and the proof of it, add up to. Pure."""

from __future__ import annotations

import msgspec

from proctor.baseline.evidence import Evidence
from proctor.baseline.paths import Trees
from proctor.events import ABSENT, CANNOT_TELL, FAILS, PASSES, CollectionFailed, Failure, TestFinished
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.result import RunResult, SuiteResult
from proctor.text import first_line

_SHOWN = 200  # characters of a message
#: What a tree without some files, or an environment for other code, makes of any test.
_SURROUNDINGS = ("ImportError", "ModuleNotFoundError", "FileNotFoundError", "NotADirectoryError")
_STOPPED = {RunOutcome.TIMEOUT: "no time was left of --timeout"}


class Told(msgspec.Struct, frozen=True):
    word: str  # one of BASELINE_WORDS
    reason: str = ""  # why it cannot be told
    fails: bool = False  # it ends badly there, for whatever reason


_FAILS = Told(FAILS, fails=True)


class Ended(msgspec.Struct, frozen=True):
    """The run in the other tree."""

    result: RunResult
    tests: list[str]  # that it was asked for

    @property
    def suite(self) -> SuiteResult:
        return self.result.suites[0]


def told(test: str, here: SuiteResult, there: Ended, trust: Evidence, trees: Trees) -> Told:
    """`here`: the suite in the user's tree, in which the test or file of this name failed."""
    if trust.elsewhere:
        return Told(CANNOT_TELL, trust.elsewhere)
    name = trees.moved(test)
    finished = there.suite.tests.get(name)
    if test in here.tests:
        found = _of_test(name, here.tests[test], finished, there, trees)
    else:
        error = next(error for error in here.errors if error.file == test)
        found = _of_file(name, error, there, trees)
    if trust.lacking and found.fails:
        return Told(CANNOT_TELL, trust.lacking)
    return msgspec.structs.replace(found, reason=trees.back(found.reason))


def _of_test(name: str, here: TestFinished, found: TestFinished | None, there: Ended, trees: Trees) -> Told:
    if found is not None and not _is_cut(found, there.result):
        return _by_outcome(here, found, trees)
    file = name.partition("::")[0]
    for error in there.suite.errors:
        if error.file == file or file.startswith(f"{error.file}/") or "conftest" in error.file:
            return _not_collected(error)
    if why := _why_not_run(there):
        return Told(CANNOT_TELL, why)
    if name in there.suite.selected:
        return Told(CANNOT_TELL, "it was not run there")
    return Told(ABSENT)


def _not_collected(error: CollectionFailed) -> Told:
    why = f"{error.file} cannot be collected there: {_shown(error.failure)}"
    return Told(CANNOT_TELL, why, fails=True)


def _of_file(name: str, here: CollectionFailed, there: Ended, trees: Trees) -> Told:
    for error in there.suite.errors:
        if error.file == name:
            if _alike(here.failure, error.failure, trees):
                return _FAILS
            why = f"it cannot be collected there for another reason: {_shown(error.failure)}"
            return Told(CANNOT_TELL, why, fails=True)
        if "conftest" in error.file:
            return _not_collected(error)
    why = _why_not_run(there)
    return Told(CANNOT_TELL, why) if why else Told(PASSES)


def _by_outcome(here: TestFinished, found: TestFinished, trees: Trees) -> Told:
    if found.outcome in BAD:
        failure = found.failure
        if failure is None or failure.type.rpartition(".")[2] not in _SURROUNDINGS:
            return _FAILS
        if here.failure is not None and _alike(here.failure, failure, trees):
            return _FAILS
        return Told(CANNOT_TELL, f"it fails there for another reason: {_shown(failure)}", fails=True)
    if found.outcome is Outcome.XFAILED:
        return _FAILS
    if found.outcome in (Outcome.PASSED, Outcome.XPASSED):
        return Told(PASSES)
    return Told(CANNOT_TELL, f"it was {found.outcome.value.replace('_', ' ')} there")


def _is_cut(found: TestFinished, there: RunResult) -> bool:
    """Whether its end is that of the run."""
    lost = any(found.test in session.lost for suite in there.suites for session in suite.sessions)
    return there.stopped is not None and (lost or found.outcome in (Outcome.CRASH, Outcome.TIMEOUT))


def _why_not_run(there: Ended) -> str:
    """Why tests have no result, if not because there are none."""
    result = there.result
    if result.stopped is not None:
        return _STOPPED.get(result.stopped, "the run was stopped")
    if there.suite.count is None:
        said = there.suite.reason or result.reason
        return f"the tests could not be collected there: {first_line(said, _SHOWN)}"
    return ""


def _alike(here: Failure, there: Failure, trees: Trees) -> bool:
    return here.type == there.type and here.message == trees.back(there.message)


def _shown(failure: Failure) -> str:
    return first_line(failure.message or failure.type, _SHOWN)
