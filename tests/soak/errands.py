"""What is asked for, and what is done to it meanwhile: decided beforehand, by one seed."""

from __future__ import annotations

import random
import signal
from dataclasses import dataclass
from typing import Any

from soak.kinds import KINDS, PROGRAMS, Kind

BLIND = 0.8  # seconds: before, during or after the tests of a short run
LIMIT = 1.5  # seconds for a run that does not end by itself

GENTLE = ("wait", "wait", "wait", "poll", "poll", "full", "discover")
HARSH = ("cancel", "take_back", "kill_test", "kill_supervisor")
#: How a run ends to which that is done in time.
ENDS = {
    "cancel": "cancelled",
    "take_back": "cancelled",
    "kill_test": "crashed",
    "kill_supervisor": "incomplete",
    "kill_child": "failed",
    "limit": "timeout",
}


@dataclass(frozen=True)
class Errand:
    """One run, and what is done to it."""

    number: int
    kind: Kind
    project: str
    deed: str
    delay: float
    wait: float
    signal: signal.Signals

    def __str__(self) -> str:
        deed = f"{self.deed} {self.signal.name}" if self.deed == "kill_test" else self.deed
        return f"run {self.number} ({self.kind.name} in {self.project}, {deed} after {self.delay:.2f} s)"

    @property
    def token(self) -> str:
        """Is in the command of a run, so that it can be found by somebody who was not told its id."""
        return f"not soak{self.number}x"

    @property
    def arguments(self) -> dict[str, Any]:
        limit = {"timeout": LIMIT} if self.deed == "limit" else {}
        token = {} if self.project == PROGRAMS else {"keywords": self.token}
        return {"project": self.project, **self.kind.arguments, **limit, **token}

    @property
    def ends(self) -> set[str]:
        """How it may end. What is done blindly may come too late."""
        return {end for end in (self.done, self.kind.alone) if end}

    @property
    def done(self) -> str:
        """How it ends if what is done to it comes in time."""
        if self.deed == "kill_supervisor" and self.project == PROGRAMS:
            return "failed"  # a program is a test, and that has an error
        return ENDS.get(self.deed, "")


def errands(runs: int, chance: random.Random) -> list[Errand]:
    return [_errand(number, chance) for number in range(runs)]


def _errand(number: int, chance: random.Random) -> Errand:
    kind = chance.choice(KINDS)
    project = chance.choice(kind.projects)
    deeds = (*GENTLE, *HARSH) if kind.alone else (*HARSH, *kind.deeds, "limit")
    deed = chance.choice(deeds)
    while project == PROGRAMS and deed in ("take_back", "discover"):  # it could not be found; it is not known
        deed = chance.choice(deeds)
    delay, wait = chance.uniform(0, BLIND), chance.uniform(0, 1)
    return Errand(number, kind, project, deed, delay, wait, chance.choice((signal.SIGKILL, signal.SIGSEGV)))
