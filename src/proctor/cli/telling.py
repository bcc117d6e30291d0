"""How much an agent is told."""

from __future__ import annotations

import msgspec

from proctor.outcome import RunOutcome
from proctor.render.verdict_line import verdict_line
from proctor.result import RunResult


class Telling(msgspec.Struct, frozen=True):
    budget: int = 0  # tokens; 0: as many as it takes
    mask_secrets: bool = True
    kept: bool = True  # `proctor show` will find the run

    def text(self, result: RunResult) -> str:
        if result.outcome is RunOutcome.PASSED and not (result.reason or result.notices):
            return verdict_line(result) + "\n"  # all there is to say; what says more takes long to load
        from proctor.render.agent import Detail, agent_text

        detail = Detail(mask=self.mask_secrets, kept=self.kept)
        if not self.budget:
            return agent_text(result, detail)
        from proctor.render.agent_budget import agent_text_within

        return agent_text_within(result, self.budget, detail)
