"""Which runs count in a merge, and for which tests; what is missing, and what is there twice. Pure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence

import msgspec

from proctor.shards.choice import choose_owners, choose_tries, leave_out_copies
from proctor.shards.families import Counted, Family, divide, number_of, several_plans, shard_label, shard_name
from proctor.shards.gaps import Gap, gaps_of_run, missing
from proctor.shards.plan import Plan
from proctor.shards.record import Seen
from proctor.text import named


class Account(msgspec.Struct):
    runs: list[Counted]
    families: list[Family]  # those that share a plan
    gaps: list[Gap]
    notices: list[str]

    @property
    def counted(self) -> list[Counted]:
        return [run for run in self.runs if not run.left_out]


def account(seen: Sequence[Seen], plan: Plan | None) -> Account:
    """Raises UsageError for a record that contradicts itself or the others."""
    found = Account([Counted(one) for one in seen], [], [], [])
    leave_out_copies(found.runs, found.notices)
    found.families, others = divide(found.counted, plan)
    for family in found.families:
        unended = choose_tries(family, found.notices)
        found.gaps += [Gap(shard_name(family, number), "", "none of its runs ended") for number in unended]
    _label(found)
    for family in (*found.families, *others):
        choose_owners(family, found.notices)
    digest = plan.digest() if plan is not None else None
    for family in found.families:
        found.gaps += missing(family, plan if family.plan == digest else None, found.families)
        if digest is not None and family.plan != digest:
            names = named([run.seen.name for run in family.runs])
            found.gaps.append(Gap("plan", "", f"runs of another plan than the one that was given: {names}"))
    for run in found.counted:
        found.gaps += gaps_of_run(run)
    return found


def _label(found: Account) -> None:
    """Gives each run a label for the names of its suites, so that those of two runs differ."""
    several, counted = several_plans(found.families), found.counted
    short = Counter(os.path.basename(run.seen.name) for run in counted)
    for run in counted:
        base = os.path.basename(run.seen.name)
        if number := number_of(run):
            assert run.family is not None
            run.label = shard_label(run.family, number, several)
        elif len(counted) > 1:
            run.label = base if short[base] == 1 else run.seen.name
