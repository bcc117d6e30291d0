"""What earlier runs and another commit say, as properties of JUnit XML, and the way back."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from proctor.result import RunResult
from proctor.wire.document.history import of_run
from proctor.wire.document.schema import History
from proctor.wire.literal import encode
from proctor.wire.reports.contents import printable

#: Of a test, and of a suite: those of the run are with its first one.
HISTORY, SINCE, FLAKY = "proctor.history", "proctor.since", "proctor.flaky"
BASELINE, REASON = "proctor.baseline", "proctor.baseline_reason"
OF_RUN = {name: f"proctor.{name}" for name in ("fixed", "compared_with", "checkout", "baseline")}
_EVIDENCE = re.compile("([0-9]{1,9}) of ([0-9]{1,9})")


def of_test(facts: dict[str, Any]) -> dict[str, str]:
    """The properties for what `Words.of` gives."""
    found = {}
    history: History | None = facts.get("history")
    if history is not None:
        found[HISTORY] = history.word
        if history.since is not None:
            found[SINCE] = _json(history.since)
        if history.results is not msgspec.UNSET:
            found[FLAKY] = f"{history.failed} of {history.results}"
    names = {BASELINE: "baseline", REASON: "baseline_reason"}
    return found | {name: facts[field] for name, field in names.items() if field in facts}


def taken(properties: dict[str, str]) -> dict[str, Any]:
    """What `of_test` was given; its properties are removed."""
    if not any(name in properties for name in (HISTORY, BASELINE)):  # nearly all
        return {}
    found: dict[str, Any] = {}
    word, since, evidence = (properties.pop(name, None) for name in (HISTORY, SINCE, FLAKY))
    if word is not None:
        found["history"] = {"word": word, "since": _value(since)}
        if counts := _EVIDENCE.fullmatch(evidence or ""):
            found["history"] |= {"failed": int(counts[1]), "results": int(counts[2])}
    for name, field in ((BASELINE, "baseline"), (REASON, "baseline_reason")):
        if (text := properties.pop(name, None)) is not None:
            found[field] = text
    return found


def of_suite(result: RunResult) -> dict[str, str]:
    """The properties of the run that there is something to say in."""
    facts = of_run(result)
    if "fixed" in facts:
        facts["fixed"] = [printable(name) for name in facts["fixed"]]
    return {OF_RUN[name]: _json(value) for name, value in facts.items() if value}


def of_properties(properties: dict[str, str]) -> dict[str, Any]:
    """What `of_suite` was given."""
    return {name: _value(properties[key]) for name, key in OF_RUN.items() if key in properties}


def _json(value: Any) -> str:
    return encode(value).decode()


def _value(text: str | None) -> Any:
    """What is no JSON is nothing."""
    try:
        return msgspec.json.decode(text or "null")
    except (msgspec.MsgspecError, RecursionError):
        return None
