"""The words for tests, told slowly and plainly: a list of runs, and a loop for each sentence of the rule.

It knows nothing of proctor's own code. Each failure gets a word:

- new: the last result of the test on this branch, or else on the branch it was created from, was a pass;
- still: it failed then, since the first of the failures in a row;
- flaky: it passed and failed with the same files and selection, or passed when it ran again; wins over new;
- unknown: no earlier result.

Only passes and failures in the same environment count; imported results count in every one.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

BAD = ("failed", "error", "crash", "timeout")
WINDOW = 20


@dataclass
class Branch:
    """A branch is the same one under another name, and another one if it is created anew."""

    name: str
    parent: str = ""  # the name of the branch that it was created from
    certain: bool = True  # otherwise runs of the parent count only at commits that this branch has


@dataclass
class Run:
    """All that is known of a run. Tests map to the outcomes of their tries, the last one last."""

    id: str
    started: int
    branch: Branch | None  # None: no branch is checked out
    branch_name: str  # at the time
    commit: str  # empty: none yet, or no git
    history: frozenset[str]  # the commit, and all that came before it
    files: tuple[object, ...] | None  # the content of all files; None: nobody knows
    moment: object  # equal only if no file was written in between
    clean: bool
    environment: str | None  # None: imported
    selection: str
    tests: dict[str, list[str]]
    broken: list[str] = field(default_factory=list)  # files that could not be collected
    lost: list[str] = field(default_factory=list)  # tests that ended because something else did
    hashed: bool = False  # the content of its files was looked at, because a failure had to be compared


@dataclass
class Word:
    word: str
    since: str = ""
    failed: int = 0
    results: int = 0


@dataclass
class Answer:
    words: dict[str, Word]
    fixed: set[str]
    compared_with: str


class Model:
    def __init__(self, git: bool) -> None:
        self.git = git
        self.runs: list[Run] = []
        self.default = ""  # the name of the default branch
        self.gone: set[str] = set()  # commits that are no longer there

    def place(self, run: Run, now: Run) -> str:
        """Whether a run was on this branch ("own"), on the one before it ("before"), or elsewhere ("")."""
        if not self.git:
            return "own"
        reachable = run.commit != "" and run.commit in now.history and run.commit not in self.gone | {""}
        if run.commit == now.commit and now.commit:
            reachable = True
        if now.branch is None:
            if run.branch is None:
                return "own" if reachable else ""
            return "before" if run.branch_name == self.default and reachable else ""
        if run.branch is now.branch:
            return "own"
        if run.branch is not None and run.branch_name == now.branch.parent:
            return "before" if now.branch.certain or reachable else ""
        return ""

    def ends(self, run: Run, name: str) -> list[str]:
        """How the tries of a test ended in a run. A file was fine if one of its tests ran."""
        if name in run.lost:
            return []
        if name in run.broken:
            return ["error"]
        if "::" not in name:
            ran = [test for test in run.tests if test.startswith(f"{name}::") and test not in run.lost]
            return ["passed"] if ran else []
        return run.tests.get(name, [])

    def results(self, name: str, now: Run) -> list[tuple[Run, str, list[str]]]:
        """The earlier results of a test that count, the newest first."""
        found = []
        for run in sorted(self.runs, key=lambda run: -run.started):
            where = self.place(run, now)
            tries = self.ends(run, name)
            counts = bool(tries) and (tries[-1] == "passed" or tries[-1] in BAD)
            if where and counts and run.environment in (None, now.environment):
                found.append((run, where, tries))
        return found

    def same_files(self, one: Run, other: Run) -> bool:
        if one.files is None or other.files is None or one.selection != other.selection:
            return False
        if one is other or (one.moment == other.moment and one.commit == other.commit):
            return True
        return one.files == other.files and self.has_hash(one) and self.has_hash(other)

    def has_hash(self, run: Run) -> bool:
        return run.hashed or (run.clean and run.commit not in self.gone)

    def flakes(self, now: Run, name: str) -> tuple[int, int]:
        window = [(now, "own", self.ends(now, name)), *self.results(name, now)][:WINDOW]
        passes = [run for run, _, tries in window if tries[-1] == "passed"]
        count = 0
        for run, _, tries in window:
            if tries[-1] == "passed":
                count += any(one in BAD for one in tries)
            else:
                count += any(self.same_files(run, passed) for passed in passes)
        return count, len(window)

    def last(self, name: str, now: Run) -> tuple[Run, str, list[str]] | None:
        found = self.results(name, now)
        own = [one for one in found if one[1] == "own"]
        return next(iter(own or found), None)

    def word(self, name: str, now: Run) -> Word:
        if name in now.lost:
            return Word("unknown")
        count, results = self.flakes(now, name)
        if count:
            return Word("flaky", failed=count, results=results)
        last = self.last(name, now)
        if last is None:
            return Word("unknown")
        if last[2][-1] == "passed":
            return Word("new")
        return Word("still", since=self.since(name, now))

    def since(self, name: str, now: Run) -> str:
        """The first failure of those in a row: on this branch, and if they go back to its first result, on
        the branch before it, at an earlier time."""
        found = self.results(name, now)
        own = [one for one in found if one[1] == "own"]
        first = ""
        for run, _, tries in own:
            if tries[-1] == "passed":
                return first
            first = run.id
        for run, where, tries in found:
            if where == "before" and (not own or run.started < own[-1][0].started):
                if tries[-1] == "passed":
                    return first
                first = run.id
        return first

    def names(self, now: Run) -> list[str]:
        files = dict.fromkeys(name.partition("::")[0] for name in now.tests)
        return [*now.tests, *(file for file in files if file not in now.broken)]

    def fixed(self, now: Run) -> set[str]:
        found = set()
        for name in self.names(now):
            tries = self.ends(now, name)
            last = self.last(name, now)
            if not tries or tries[-1] != "passed" or last is None or last[2][-1] == "passed":
                continue
            if not self.flakes(now, name)[0]:
                found.add(name)
        return found

    def compared_with(self, now: Run) -> str:
        """The newest run with results of the same tests: on this branch, or else on the one before it."""
        for wanted in ("own", "before"):
            for run in sorted(self.runs, key=lambda run: -run.started):
                if self.place(run, now) == wanted and run.environment in (None, now.environment):
                    for name in (*now.tests, *now.broken):
                        direct = name in run.broken or (name in run.tests and name not in run.lost)
                        if direct:
                            return run.id
        return ""

    def judge(self, now: Run) -> Answer:
        """Of a run that comes after all others."""
        bad = [name for name, tries in now.tests.items() if tries[-1] in BAD] + now.broken
        before = any(self.place(run, now) for run in self.runs)
        # Contents are looked at when a failure is compared, or seems to be gone.
        gone = self.fixed(replace(now, files=None))
        now.hashed = before and now.files is not None and bool(bad or gone)
        words = {name: self.word(name, now) for name in bad}
        return Answer(words, self.fixed(now), self.compared_with(now))
