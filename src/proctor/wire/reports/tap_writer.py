"""A result as TAP 14: a point for each test, its details as YAML.

An expected failure is a TODO that failed, and so is a failure in quarantine. A run that is not a pass for
reasons which no test shows bails out.
"""

from __future__ import annotations

from collections.abc import Iterator

from proctor import events as e
from proctor.outcome import BAD, Outcome
from proctor.result import RunResult
from proctor.verdict import not_run_reason
from proctor.wire.reports import contents, diagnostics
from proctor.wire.reports.report import COLLECTION_ERROR
from proctor.wire.stream.objects import captured

_DIRECTIVES = dict.fromkeys((Outcome.SKIPPED, Outcome.NOT_RUN), "SKIP")
_DIRECTIVES |= dict.fromkeys((Outcome.XFAILED, Outcome.XPASSED), "TODO")
_NOT_OK = BAD | {Outcome.XFAILED}
_SAID = {Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED, Outcome.XFAILED, Outcome.XPASSED}  # by TAP itself


def write(result: RunResult) -> Iterator[bytes]:
    errors = result.collection_errors
    count = len(result.tests) + len(result.not_run) + len(result.missing) + len(errors)
    missing = contents.unexplained(result)
    yield b"TAP version 14\n"
    if not missing or count:
        yield f"1..{count}\n".encode()
    quarantined = result.quarantined
    for number, test in enumerate(contents.tests(result), 1):
        yield _point(number, test, contents.excuse(test, quarantined))
    for number, error in enumerate(errors, count - len(errors) + 1):
        yield _collection_error(number, error)
    for suite in result.missing:
        if (why := not_run_reason(suite)) not in missing:
            yield f"# {_line(why)}\n".encode()
    if missing:
        yield f"Bail out! {_line(missing)}\n".encode()


def _point(number: int, test: e.TestFinished, excuse: str) -> bytes:
    directive = "TODO" if excuse else _DIRECTIVES.get(test.outcome, "")
    reason = _line(excuse or test.message or "") if directive else ""
    values: dict[str, str | float] = {}
    if test.outcome not in _SAID or excuse:
        values["outcome"] = str(test.outcome)
    if not directive:
        values["message"] = test.message or ""
    if test.attempts:
        values["attempts"] = ", ".join(one.outcome for one in test.tries)
    if test.failure is not None:
        values["type"] = test.failure.type
    if test.place is not None:
        values["location"] = str(test.place)
    if test.seconds:
        values["duration_ms"] = test.seconds * 1000
    values["traceback"] = (test.traceback or "").rstrip("\n")
    values["stdout"], values["stderr"] = captured(test, "stdout"), captured(test, "stderr")
    return _text(test.outcome not in _NOT_OK, number, test.test, f"{directive} {reason}".strip(), values)


def _collection_error(number: int, error: e.CollectionFailed) -> bytes:
    values: dict[str, str | float] = {
        "outcome": COLLECTION_ERROR,
        "message": error.failure.message,
        "type": error.failure.type,
        "traceback": error.traceback,
    }
    return _text(False, number, error.file, "", values)


def _text(ok: bool, number: int, name: str, directive: str, values: dict[str, str | float]) -> bytes:
    name = _line(name).replace("\\", "\\\\").replace("#", "\\#")
    lines = [f"{'ok' if ok else 'not ok'} {number} - {name}{' # ' if directive else ''}{directive}".rstrip()]
    clean = {
        key: contents.printable(value) if isinstance(value, str) else value for key, value in values.items()
    }
    details = list(diagnostics.write(clean))
    if details:
        lines += ["  ---", *(f"  {line}" for line in details), "  ..."]
    return ("\n".join(lines) + "\n").encode()


def _line(text: str) -> str:
    """On one line: TAP has no way to write more."""
    return " ".join(contents.printable(text).split())
