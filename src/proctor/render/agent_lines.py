"""The lines of the text for agents, and how they stand below each other."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from proctor.render.ids import file_of
from proctor.render.neutral import neutral


class AgentLine(msgspec.Struct, frozen=True):
    """`test`, if any, is written in full or under its file, whichever is shorter."""

    text: str
    test: str = ""
    more: tuple[str, ...] = ()
    opens: bool = False  # lines of this test's parameters follow, so its file stands alone


def laid_out(lines: list[AgentLine]) -> Iterator[str]:
    """A file with two lines or more in a row stands alone, once, before them."""
    files = [file_of(line.test) for line in lines if line.test]
    current = ""
    at = 0
    for line in lines:
        if line.test:
            file = files[at]
            at += 1
            if file and file != current and (line.opens or files[at : at + 1] == [file]):
                yield neutral(file)
                current = file
            current = current if file == current else ""
            yield neutral(line.test[len(current) :]) + line.text
        else:
            yield line.text
        yield from (f" {more}" for more in line.more)
