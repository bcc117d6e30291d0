"""Whatever a project does: the document of a run that began from a waiting process equals the one of a run
that was started from nothing.

Each ninth kind is tried, of those that need not wait; with `PROCTOR_TORTURE_WARM=all`, every one.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from support.projects import LIMITS, clean_environment
from support.warm import Counted, Document, cold, differences, planned, standbys, warm
from torture import ways
from torture.kind import Kind
from torture.kinds import KINDS
from torture.test_torture import verdict
from torture.ways import Place, Surroundings

from proctor.plan_run import RunPlan

#: Not those that have no document, that need other limits for all of this process, or that are not of pytest.
ALL = [
    kind
    for each in KINDS
    for kind in (each, *each.in_other_ways())
    if not (kind.silent or kind.limits or kind.runner or "package.json" in kind.files)
]
QUICK = [kind for kind in ALL if not (kind.hangs or "--test-timeout" in kind.options)][::9]
TRIED = ALL if os.environ.get("PROCTOR_TORTURE_WARM") == "all" else QUICK
#: They write to the end of their time, or what is no text: what comes first, or at all, is chance.
RACES = {"its child goes on through pytest", "tests read and write what is no text"}


@pytest.fixture(scope="module")
def waiting() -> Iterator[Counted]:
    with standbys() as found:
        yield found


@pytest.mark.parametrize("kind", TRIED, ids=[kind.name for kind in TRIED])
def test_the_document_does_not_tell_how_the_run_began(kind: Kind, tmp_path: Path, waiting: Counted) -> None:
    for limit in LIMITS if kind.hangs and not kind.options else (None,):  # options have a limit of their own
        first = document(kind, limit, tmp_path, cold)
        second = document(kind, limit, tmp_path, partial(warm, waiting=waiting))
        if first is not None and second is not None:
            break
    assert first is not None and second is not None
    if kind.options:  # which worker is faster is chance, too
        first, second = ({**verdict(found), "reason": ""} for found in (first, second))
    elif kind.name in RACES or writes_to_several_pipes(kind) or first["stderr"]:
        first, second = ({**found, "text_output": ""} for found in (first, second))
    assert differences(first, second) == []


def writes_to_several_pipes(kind: Kind) -> bool:
    """Which of them is read first is chance, as it is of the session's stdout and stderr."""
    return any("pipes()" in text for text in kind.files.values())


def document(
    kind: Kind, limit: int | None, base: Path, start: Callable[[RunPlan], Document]
) -> Document | None:
    """Nothing if a busy machine did not let it hang before the limit."""
    around = Surroundings(base / "user")
    place = Place(kind, base / "project", around, limit)
    environ = clean_environment(**{"PYTHONHASHSEED": "0", **around.environ, **kind.environ})
    try:
        with place.set_up():
            began = time.time()
            found = start(planned(place.root, environ, archive=True, timeout=limit, **asked(kind)))
            alive, hung = place.alive(), place.has_hung(began)
    finally:
        ways.end(place.alive())
        place.remove()
    assert alive == []
    return found if hung else None


def asked(kind: Kind) -> dict[str, Any]:
    """What its options say."""
    words = iter(kind.options)
    found: dict[str, Any] = {}
    for word in words:
        match word:
            case "-n":
                found["workers"] = next(words)
            case "--isolate":
                found["isolate"] = True
            case "--test-timeout":
                found["test_timeout"] = next(words)
            case _:
                raise ValueError(word)
    return found
