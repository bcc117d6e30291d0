"""How much an agent is told."""

from __future__ import annotations

import msgspec

from proctor.render.agent import Detail, agent_text
from proctor.result import Result


class Telling(msgspec.Struct, frozen=True):
    budget: int = 0  # tokens; 0: as many as it takes
    mask_secrets: bool = True
    kept: bool = True  # `proctor show` will find the run

    def text(self, result: Result) -> str:
        detail = Detail(mask=self.mask_secrets, kept=self.kept)
        if not self.budget:
            return agent_text(result, detail)
        from proctor.render.budget import within

        return within(result, self.budget, detail)
