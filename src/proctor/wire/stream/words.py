"""The words of the public stream: three statuses, more exact words for `extra`, the reason in one line."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from proctor.outcome import BAD, Outcome
from proctor.text import first_line, literal

Object = dict[str, Any]

SUBTYPES = ("test", "bench", "should_panic")
REASON = 500  # characters of a `reason`: one short line
NOT_RUN = "not_run"
MOST_SESSIONS = 1000  # of a suite; a record that says more is not believed
MISSING = "missing"  # in `extra` of a suite that could not be started: `reason`, `required`

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
#: Likewise of a test in quarantine, which is ignored whatever it did.
BAD_WORDS = {Outcome.FAILED: "failed"} | {outcome: WORDS[outcome] for outcome in BAD - {Outcome.FAILED}}
_RFC_3339 = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:[.][0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"
STRICT_XPASS = "[XPASS(strict)]"  # how pytest begins to say that a test passed which must not


def status_of(outcome: Outcome, quarantined: bool) -> str:
    """The status of a test; one that ended badly in quarantine is ignored."""
    return "ignore" if quarantined and outcome in BAD else STATUS[outcome]


def one_line(text: str) -> str:
    """The first line that is not blank, shortened; never empty."""
    return first_line(literal(text), REASON) or "failed"


def has_zone(text: str) -> bool:
    """Whether it is an ISO 8601 time with a zone."""
    return bool(rfc3339(text))


def rfc3339(text: str) -> str:
    """An ISO 8601 time with a zone, in the form of RFC 3339; empty for any other text."""
    try:
        found = datetime.fromisoformat(text)
        offset = found.utcoffset()
        if offset is None:
            return ""
        if re.fullmatch(_RFC_3339, text):
            return text
        return (found if offset.seconds % 60 == 0 else found.astimezone(UTC)).isoformat()
    except (ValueError, OverflowError):
        return ""
