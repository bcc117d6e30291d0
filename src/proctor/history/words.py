"""The word for a test that failed, by what earlier runs say of it. Pure: this is the only place for the rule.

- `new`: its last result on this branch, or else on the branch that this was created from, was a pass.
- `still`: that was a failure, since the first of the failures in a row.
- `flaky`: among the last 20 results one passed and one failed with the same files, environment and
  selection, or one passed when it ran again. It wins over `new`, and such a test is never `fixed`.
- `unknown`: there is no result that counts. Never a guess.

A result counts if the test passed or failed, in this environment (or the result was imported): where it was
skipped, failed as expected, or ended only because something else did, the result before it is the last.
Without git, or where files changed during a run, nobody knows whether two runs had the same files: then a
test is flaky only if a retry passed. Which runs are on this branch, `earlier.is_own` says.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from proctor.events import FLAKY_TEST, NEW, STILL, UNKNOWN, EarlierRun, TestHistory

WINDOW = 20  # results that decide whether a test is flaky, the present one included


class Past(msgspec.Struct, frozen=True, gc=False):
    """A result of a test that counts: it passed or failed, in this environment."""

    run: EarlierRun
    bad: bool
    retried: bool = False  # it passed, after a try that did not
    same: frozenset[str] = frozenset()  # results with one of these in common are of the same files
    own: bool = True  # on this branch; otherwise on the one that this was created from


def word(now: Past, earlier: Sequence[Past]) -> TestHistory:
    """`earlier` are those of this branch and of the one that it was created from, the newest first."""
    flakes, results = flaky(now, earlier)
    if flakes:
        return TestHistory(FLAKY_TEST, failed=flakes, results=results)
    last = last_of(earlier)
    if last is None:
        return TestHistory(UNKNOWN)
    if not last.bad:
        return TestHistory(NEW)
    return TestHistory(STILL, first_of_failures(earlier).run)


def is_fixed(now: Past, earlier: Sequence[Past]) -> bool:
    """Whether a test that passes now failed before, and not by chance."""
    last = last_of(earlier)
    return last is not None and last.bad and not flaky(now, earlier)[0]


def last_of(earlier: Sequence[Past]) -> Past | None:
    """On this branch, or else on the one that it was created from."""
    return next((one for one in earlier if one.own), earlier[0] if earlier else None)


def first_of_failures(earlier: Sequence[Past]) -> Past:
    """The oldest of the failures in a row up to the last result. Results of the branch before this one count,
    too, if they are older than every result of this one."""
    found = oldest = None
    for oldest in (one for one in earlier if one.own):
        if not oldest.bad:
            break
        found = oldest
    else:
        for one in earlier:
            if not one.own and (oldest is None or one.run.started < oldest.run.started):
                if not one.bad:
                    break
                found = one
    assert found is not None  # the last result is a failure
    return found


def flaky(now: Past, earlier: Sequence[Past]) -> tuple[int, int]:
    """How often the test failed where it had to pass, and of how many results; nothing is 0 of them.

    It had to pass where it passed with the same files, environment and selection, or when it ran again.
    """
    window = (now, *earlier[: WINDOW - 1])
    passing = frozenset[str]().union(*(one.same for one in window if not one.bad))
    flakes = [one for one in window if one.retried or (one.bad and not one.same.isdisjoint(passing))]
    return len(flakes), len(window)
