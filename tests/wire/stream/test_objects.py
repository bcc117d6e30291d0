"""The objects of the public stream."""

from __future__ import annotations

from proctor import events as e
from proctor.outcome import Outcome
from proctor.wire.stream.objects import captured


def test_output_is_that_of_all_phases() -> None:
    one, two = (e.Phase(when, "passed", stdout=f"{when}\n", stderr=when) for when in ("setup", "call"))
    test = e.TestFinished("a", Outcome.PASSED, phases=(one, two))

    assert (captured(test, "stdout"), captured(test, "stderr")) == ("setup\ncall\n", "setupcall")
