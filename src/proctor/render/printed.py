"""What others printed: plugins after the tests, and a process whose exit status no test explains."""

from __future__ import annotations

from proctor.render.neutral import neutral_block
from proctor.result import RunResult


def printed_text(result: RunResult) -> str:
    """What plugins of each suite printed after its tests, harmless; empty if they printed nothing."""
    texts = [neutral_block(suite.printed).strip("\n") for suite in result.suites]
    return "".join(f"{text}\n" for text in texts if text.strip())
