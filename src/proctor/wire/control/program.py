"""Results of the control channel as events, and the events of a program that is a test itself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from proctor import events as e
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.unique_names import UniqueNames
from proctor.wire.control.ledger import Body, Finished, Partial

OUTCOMES = {
    "pass": Outcome.PASSED,
    "fail": Outcome.FAILED,
    "error": Outcome.ERROR,
    "skip": Outcome.SKIPPED,
    "info": Outcome.INFO,
    "warn": Outcome.WARN,
}
# A program may report on itself more than once: the first of these that it reported counts.
_ORDER = (Outcome.ERROR, Outcome.FAILED, Outcome.WARN, Outcome.PASSED, Outcome.INFO, Outcome.SKIPPED)
_RESERVED = ("name", "status", "files", "testout")
WITHDRAWN = "its status was taken back, and none was reported in its place"


def reported(
    label: str,
    part_of: str,
    body: Body,
    files: tuple[e.File, ...] = (),
    output: str = "",
    withdrawn: bool = False,
) -> e.TestFinished:
    """A result without a status is INFO, never a pass; ERROR if it had one, which its reporter took back.

    `output` is testout's path.
    """
    outcome = OUTCOMES.get(body.get("status", ""), Outcome.ERROR if withdrawn else Outcome.INFO)
    message = (note(body) or None) if outcome is not Outcome.PASSED else None
    if withdrawn:
        message = message or WITHDRAWN
    testout = body.get("testout")
    return e.TestFinished(
        label,
        outcome,
        message=message,
        failure=e.Failure("", message or outcome) if outcome in BAD else None,
        files=files,
        testout=e.OutputLink(testout, output) if testout else None,
        properties=properties(body, _RESERVED),
        part_of=part_of,
    )


def amended(label: str, body: Body) -> e.ResultAmended:
    return e.ResultAmended(label, {key: value for key, value in body.items() if key != "name"})


def note(body: Body) -> str:
    text = body.get("note")
    return text if isinstance(text, str) else ""


def properties(body: Body, known: Iterable[str]) -> dict[str, Any] | None:
    rest = body.copy()
    for key in known:
        if key in rest:
            del rest[key]
    return rest or None


class ProgramEnd(msgspec.Struct, frozen=True):
    """How the process of a test ended."""

    seconds: float
    exit_code: int | None
    signal: str | None = None
    stopped: RunOutcome | None = None  # we ended it, and why
    channel_error: str | None = None
    output: str = ""  # the last of what it printed


class ProgramReader:
    """The results of one program. Its own result comes at its end, because it may still crash."""

    def __init__(self, test: str, output: str, labels: UniqueNames) -> None:
        self._test, self._output, self._labels = test, output, labels
        self._own: list[Finished] = []
        self._own_files: list[e.File] = []

    def start(self) -> list[e.Event]:
        return [e.TestStarted(self._labels.unique(self._test))]

    def full_name(self, name: str | None) -> str:
        return self._test if name is None else f"{self._test}/{name}"

    def read(self, frame: Partial | Finished, files: tuple[e.File, ...] = ()) -> list[e.Event]:
        full = self.full_name(frame.name)
        if isinstance(frame, Partial):
            return [amended(full, frame.body)]
        if frame.name is None:
            self._own.append(frame)
            self._own_files += files
            return [amended(full, frame.body)] if frame.raw else []
        label = self._labels.unique(full)
        return [reported(label, self._test, frame.body, files, self._output, frame.withdrawn)]

    def read_parts(self, names: list[str], bodies: list[Body]) -> list[e.Event]:
        """What `read` returns for results that have a name and a status, no files and no testout.

        `names` are the full ones. What is left of the bodies becomes properties.
        """
        test = self._test
        found: list[e.Event] = []
        for label, body in zip(self._labels.unique_all(names), bodies, strict=True):
            if body["status"] != "pass":
                found.append(reported(label, test, body))
                continue
            del body["name"], body["status"]
            found.append(e.TestFinished(label, Outcome.PASSED, properties=body or None, part_of=test))
        return found

    def end(self, end: ProgramEnd) -> list[e.Event]:
        """The program's own result, after everything else."""
        outcome, message = self._outcome(end)
        bad = outcome in BAD
        testout = next((own.body["testout"] for own in self._own if "testout" in own.body), None)
        merged: Body = {}
        for own in self._own:
            if own.body.get("by") != "proctor":
                merged |= own.body
        return [
            e.TestFinished(
                self._test,
                outcome,
                end.seconds,
                message=message or None,
                traceback=(end.output or None) if bad else None,
                failure=e.Failure("", message) if bad else None,
                files=tuple(self._own_files),
                testout=e.OutputLink(testout, self._output) if testout else None,
                properties=properties(merged, _RESERVED),
            )
        ]

    def _outcome(self, end: ProgramEnd) -> tuple[Outcome, str]:
        """How the process ended counts more than its results: it may have reported `pass` and then died."""
        if end.stopped is RunOutcome.TIMEOUT:
            return Outcome.TIMEOUT, "time limit reached"
        if end.stopped is not None:
            return Outcome.ERROR, f"run {end.stopped}"
        if end.channel_error is not None:
            return Outcome.ERROR, end.channel_error
        if end.signal is not None:
            return Outcome.CRASH, f"{end.signal}{_last_line(end.output)}"
        if end.exit_code is None:
            return Outcome.ERROR, "the end of its process was not seen"
        bodies = {OUTCOMES[own.body.get("status", "error")]: own.body for own in reversed(self._own)}
        outcome = next(outcome for outcome in _ORDER if outcome in bodies)
        body = bodies[outcome]
        if "status" not in body:
            return outcome, "its own result has no status"
        if outcome is Outcome.PASSED:
            return outcome, ""
        message = note(body)
        if outcome is Outcome.FAILED and body.get("by") == "proctor":
            message += _last_line(end.output)
        return outcome, message or (outcome if outcome in BAD else "")


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return f": {lines[-1]}" if lines else ""
