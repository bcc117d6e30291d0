"""What there is to run, a page at a time."""

from __future__ import annotations

import pytest
from support.full_runs import result_of

from proctor import events as e
from proctor.wire.document.discovery import Discovered, Discovery, Uncollected, discovery

WHY = e.Failure("E", "E: x")
FACTS = (
    e.TestsSelected(("a", "b", "c"), {"a": ("slow",)}, {"a": e.Place("t.py", 3), "b": e.Place("t.py")}),
    e.TestsDeselected(("d", "e")),
    e.CollectionFailed("u.py", WHY, "long"),
)
ALL = [Discovered("a", 3, ("slow",)), Discovered("b", None, ()), Discovered("c", None, ())]


@pytest.mark.parametrize("offset, limit", [(0, 9), (0, 3), (1, 1), (2, 5), (3, 1), (0, 0)])
def test_a_page_has_its_tests_and_the_figures_of_the_whole(offset: int, limit: int) -> None:
    assert discovery(result_of(FACTS), offset, limit) == Discovery(
        "proctor.discovery/1",
        "incomplete",
        3,
        2,
        offset,
        ALL[offset : offset + limit],
        [Uncollected("u.py", "E: x", "long", WHY)],
    )
