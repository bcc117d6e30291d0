"""The words of the public stream: three statuses, more exact words for `extra`, the reason in one line."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from proctor.outcome import BAD, Outcome
from proctor.text import first_line, literal

Object = dict[str, Any]

SUBTYPES = ("test", "bench", "should_panic")
REASON = 500  # characters of a `reason`: one short line
NOT_RUN = "not_run"

STATUS = {
    Outcome.PASSED: "ok",
    Outcome.XPASSED: "ok",
    Outcome.INFO: "ok",
    Outcome.WARN: "ok",
    Outcome.SKIPPED: "ignore",
    Outcome.XFAILED: "ignore",
    Outcome.NOT_RUN: "ignore",
    **dict.fromkeys(BAD, "fail"),
}

PLAIN = {"ok": Outcome.PASSED, "fail": Outcome.FAILED, "ignore": Outcome.SKIPPED}
#: Nearly every format has words for passed, failed and skipped; an outcome without a word is written as one.
KIND = {outcome: PLAIN[status] for outcome, status in STATUS.items()}

#: `extra.outcome`, where the three words of `status` do not say it all.
WORDS = {
    Outcome.ERROR: "error",
    Outcome.XFAILED: "xfail",
    Outcome.XPASSED: "xpass",
    Outcome.TIMEOUT: "timeout",
    Outcome.CRASH: "crash",
    Outcome.NOT_RUN: NOT_RUN,
    Outcome.INFO: "info",
    Outcome.WARN: "warn",
}
STRICT_XPASS = "[XPASS(strict)]"  # how pytest begins to say that a test passed which must not


def one_line(text: str) -> str:
    """The first line that says something, short; never empty."""
    return first_line(literal(text), REASON) or "failed"


def has_zone(text: str) -> bool:
    """Whether it is an ISO 8601 time that says where."""
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
