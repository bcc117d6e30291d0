"""Earlier tries at a test, by plugins that run a test again when it fails. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded when
there is such a try. Of a try only its end is reported: no output, no log, no whole traceback.
"""

_channel = globals()["load"]("proctor_channel")  # the loader gives `load` to each file
KEPT = ("when", "outcome", "duration", "reason", "wasxfail", "subtest", "crash", "failure")
ENDS = ("passed", "failed", "skipped")  # others are words of plugins for a try that failed


def hidden(facts, when, call):
    """The tries that nobody reported: what `facts` were pinned before, for another call of the same phase."""
    tries = facts.get("hidden", [])
    earlier, seconds = facts.get("mark", (None, 0.0))
    if earlier is None or earlier() is call or when == "teardown":  # which follows another failure
        return tries
    failure = {k: value for k, value in (facts["failure"] or {}).items() if not k.startswith("whole_")}
    phase = {"when": when, "outcome": "failed", "duration": _channel.took(seconds), "failure": failure}
    return [*tries, {"phases": [phase]}]


def reported(phases):
    """A try by the phases that `UnderWay` has of it."""
    return {"phases": [_phase(phase) for phase in phases]}


def _phase(phase):
    if not isinstance(phase, str):
        return {"when": phase[0], "outcome": "passed", "duration": phase[1]}
    facts = _channel.loads(phase)
    kept = {key: facts[key] for key in KEPT if key in facts}
    if kept["outcome"] not in ENDS:
        kept["outcome"] = "failed"
    return kept
