"""What others printed: plugins after the tests, and a process whose exit status no test explains."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.render.neutral import neutral, neutral_block
from proctor.result import RunResult


def printed_text(result: RunResult) -> str:
    """What plugins of each suite printed after its tests, harmless; empty if they printed nothing."""
    texts = [neutral_block(suite.printed).strip("\n") for suite in result.suites]
    return "".join(f"{text}\n" for text in texts if text.strip())


def quoted_output(result: RunResult) -> Iterator[tuple[str, list[str]]]:
    """(title, lines of output, harmless) of each suite whose exit status neither a test nor the verdict
    explains."""
    for suite in result.suites:
        quoted = suite.quoted
        if quoted is not None and (suite.broke is not None or not quoted.explains):
            which = "output" if quoted.explains else "last lines of output"
            yield f"{which} of {neutral(suite.name)}", [neutral(line) for line in quoted.lines]
