"""Reports in TAP, garbled in the ways in which reports get garbled: always the same ones for a seed."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

from support.reports import REPORTS

REAL = (
    "perl/fine.tap",
    "perl/sums.tap",
    "perl/bails.tap",
    "node/fine.tap",
    "bats/sums.tap",
    "bats/sums-13.tap",
)
WRITTEN = (
    "1..4\nok 1 - a\nnot ok 2 - b # TODO later\nok 3 - c # TODO now\nok 4 # SKIP no\n",
    "ok 1 - a\nok 2 - b\nok 3\n1..3\n",
    'TAP version 13\n1..3\nok 1 - a\n  ---\n  message: "x"\n  severity: comment\n  ...\nok 2\nok 3 - c\n',
    "TAP version 13\npragma +strict\n1..3\nok 1 - a\n# hello\nok 2 - b\nok 3 - c\n",
    "TAP version 13\n1..2\n# Subtest: a\n    ok 1 - x\n    ok 2 - y\n    1..2\nok 1 - a\nok 2 - b\n",
    "1..3 todo 2\nok 1\nnot ok 2\nok 3\n",
)
GARBAGE = (
    *(
        "garbage",
        "  garbage",
        "",
        "ok",
        "not ok",
        "ok 2",
        "ok 99999999999999999999",
        "ok: fine",
        "okay",
        "ok-1",
    ),
    *(
        "ok 2x",
        "ok 1.5",
        "not  ok 3",
        "\tok 1",
        "not ok # TODO x",
        "not ok 1 - z # SKIP no",
        "not ok 2 # TODOS",
    ),
    *("not ok 2 # TODO_x", "not ok 2 - a # b # TODO x", r"not ok 3 x\# TODO y", "1..3", "1..0", "1..2 # x"),
    *(
        "1..99999999999999",
        "TAP version 13",
        "TAP version 12",
        "TAP version 14",
        "Bail out!",
        "  Bail out! x",
    ),
    *("# a comment", "pragma +strict", "pragma -strict", "  ---", "  ...", "    ok 1 - sub", "    not ok 1"),
)
DIRECTIVES = (" # TODO x", " # SKIP y", " # skip", " #todo", r" \# TODO", " # nothing", " {")


def reports(seed: int, number: int) -> Iterator[str]:
    chance = random.Random(seed)
    originals = [*(REPORTS[name].decode() for name in REAL), *WRITTEN]
    for _ in range(number):
        lines = chance.choice(originals).split("\n")
        for _ in range(chance.choice((1, 1, 2, 3))):
            lines = chance.choice(_WAYS)(chance, lines) or [""]
        yield "\n".join(lines)


def _drop(chance: random.Random, lines: list[str]) -> list[str]:
    at = chance.randrange(len(lines))
    return lines[:at] + lines[at + 1 :]


def _double(chance: random.Random, lines: list[str]) -> list[str]:
    at = chance.randrange(len(lines))
    return [*lines[:at], lines[at], *lines[at:]]


def _insert(chance: random.Random, lines: list[str]) -> list[str]:
    at = chance.randrange(len(lines))
    return [*lines[:at], chance.choice(GARBAGE), *lines[at:]]


def _replan(chance: random.Random, lines: list[str]) -> list[str]:
    more = chance.choice((-1, 1))
    return [re.sub(r"^1\.\.(\d+)", lambda plan: f"1..{max(0, int(plan[1]) + more)}", row) for row in lines]


def _cut(chance: random.Random, lines: list[str]) -> list[str]:
    text = "\n".join(lines)
    return text[: chance.randrange(len(text) + 1)].split("\n")


def _swap(chance: random.Random, lines: list[str]) -> list[str]:
    at = chance.randrange(len(lines))
    return [*lines[:at], *reversed(lines[at : at + 2]), *lines[at + 2 :]]


def _changed(change: Callable[[random.Random, str], str]) -> Callable[[random.Random, list[str]], list[str]]:
    def way(chance: random.Random, lines: list[str]) -> list[str]:
        at = chance.randrange(len(lines))
        return [*lines[:at], change(chance, lines[at]), *lines[at + 1 :]]

    return way


def _turned(chance: random.Random, line: str) -> str:
    return f"not {line}" if line.startswith("ok") else line.removeprefix("not ")


def _renumbered(chance: random.Random, line: str) -> str:
    return re.sub(r"ok (\d+)", lambda point: f"ok {int(point[1]) + chance.choice((-1, 1))}", line)


_WAYS = (
    *(_drop, _double, _insert, _insert, _replan, _cut, _swap),
    *(_changed(_turned), _changed(_renumbered)),
    _changed(lambda chance, line: line + chance.choice(DIRECTIVES)),
    _changed(lambda chance, line: f"    {line}"),
)
