"""What a Python session is asked for beyond a plain run, in the variable that the injected code takes."""

from __future__ import annotations

import json

from proctor.errors import UsageError
from proctor.launch import ASKED_VARIABLE
from proctor.spec import RunSpec

_MOST = 100_000  # bytes; Linux takes 128 KiB in one variable, and a later session adds to this


def asked(spec: RunSpec, **more: object) -> dict[str, str]:
    """As an addition to the environment; empty for a plain run. `more`: what only one runner knows."""
    facts = {
        "repeat": spec.repeat if spec.repeat > 1 else 0,
        "locals": spec.locals,
        "test_timeout": spec.test_timeout,
        "isolate": spec.isolate,
        "quarantine": [entry.test for entry in spec.quarantine],
        **more,
    }
    given = {name: value for name, value in facts.items() if value}
    if not given:
        return {}
    text = json.dumps(given)
    if len(text) > _MOST:
        raise UsageError(
            f"quarantine: {len(spec.quarantine)} entries are {len(text):,} bytes: expected at most {_MOST:,};"
            " a pattern with * stands for many tests"
        )
    return {ASKED_VARIABLE: text}
