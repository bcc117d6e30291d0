"""Histories made by chance: branches, commits, edits and runs, for the real store and for the model alike.

No test and no git runs: the runs are made of facts, and what git would say of the files is made with them.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from history.model import Answer, Branch, Model, Run, Word

from proctor import events as e
from proctor.history.lineage import Lineage
from proctor.history.memory import Memory
from proctor.history.repository import repository
from proctor.history.rows import Keys, rows
from proctor.history.store import RunRow, open_store, place
from proctor.history.tree import Checkout
from proctor.outcome import BAD, Outcome, RunOutcome
from proctor.relay import Relay
from proctor.spec import RunSpec, Selection

TESTS = ("a.py::one", "a.py::two[x::y]", "a.py::T::three", "b.py::one", "b.py::four [ü #2]", "ab.py::one")
FILES = ("a.py", "b.py", "ab.py")
OUTCOMES = (("passed", 10), ("failed", 8), ("skipped", 2), ("xfailed", 1), ("xpassed", 1), ("error", 2))
START = datetime.now(UTC) - timedelta(days=2)  # results of last month are not kept


def clock(ticks: int) -> str:
    return (START + timedelta(seconds=ticks)).isoformat(timespec="milliseconds")


class Commit:
    def __init__(self, name: str, parent: Commit | None, files: int) -> None:
        self.name, self.files = name, files
        self.history: frozenset[str] = frozenset({name}) | (parent.history if parent else frozenset())
        self.parent = parent


class Line:
    """A branch, and what git's logs would say of it."""

    def __init__(self, branch: Branch, tip: Commit | None, since: str) -> None:
        self.branch, self.tip, self.since = branch, tip, since
        self.formerly: dict[str, str] = {}


class MadeFiles:
    """What git would say."""

    def __init__(self, world: World, changed: bool) -> None:
        self._world, self._changed = world, changed
        self._now = world.checkout()

    def checkout(self) -> Checkout:
        return self._now

    def settled(self, compared: bool) -> Checkout:
        del compared
        if self._changed:
            self._now = msgspec.structs.replace(self._now, state="")
        return self._now

    def tree(self) -> str:
        return f"tree of {self._world.files}"

    def trees(self, commits: Sequence[str]) -> dict[str, str]:
        there = self._world.there()
        return {name: f"tree of {there[name].files}" for name in commits if name in there}

    def contained(self, commits: Sequence[str]) -> Collection[str]:
        head = self._world.head
        if head is None:
            return set()
        return {
            name for name in commits if name == head.name or name in head.history & set(self._world.there())
        }

    def close(self) -> None:
        pass


class World:
    """A repository, or a directory without one, in which things happen by chance."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.git = self.random.random() < 0.85
        self.model = Model(self.git)
        self.time = 0
        self.commits: dict[str, Commit] = {}
        self.lines: dict[str, Line] = {}
        self.on: Line | None = None
        self.head: Commit | None = None
        self.files, self.written = 0, 0  # which content, and when it was written
        self.environment = "env-1"
        self.environ = {"XDG_STATE_HOME": str(folder / "state")}
        self.roots = self._roots(folder)
        if self.git:
            main = Branch(self.random.choice(("main", "master")))
            self.model.default = main.name
            self.lines[main.name] = self.on = Line(main, None, "")

    def _roots(self, folder: Path) -> list[Path]:
        """The project, and a worktree of it elsewhere."""
        main, other = folder / "main", folder / "other" / "tree"
        for root in (main, other):
            (root / "pkg").mkdir(parents=True)
        if self.git:
            (main / ".git" / "worktrees" / "tree").mkdir(parents=True)
            (main / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
            inside = main / ".git" / "worktrees" / "tree"
            (inside / "HEAD").write_text("ref: refs/heads/main\n")
            (inside / "commondir").write_text("../..\n")
            (inside / "gitdir").write_text(f"{other}/.git\n")
            (other / ".git").write_text(f"gitdir: {inside}\n")
            return [main, other]
        return [main]

    def there(self) -> dict[str, Commit]:
        return {name: commit for name, commit in self.commits.items() if name not in self.model.gone}

    def tick(self) -> int:
        self.time += self.random.randint(1, 5)
        return self.time

    @property
    def dirty(self) -> bool:
        return self.head is None or self.files != self.head.files

    def checkout(self) -> Checkout:
        if not self.git:
            return Checkout(versioned=False)
        commit = self.head.name if self.head else ""
        state = f"{commit} {self.files} {self.written}" if self.dirty else commit
        if self.on is None:
            return Checkout(commit, "", Lineage(parent=self.model.default), self.dirty, state)
        branch, line = self.on.branch, self.on
        parent = branch.parent if branch.parent != branch.name else ""
        lineage = Lineage(line.since, tuple(line.formerly.items()), parent, branch.certain)
        return Checkout(commit, branch.name, lineage, self.dirty, state)

    # What happens between runs.

    def happen(self) -> None:
        steps = [self.edit, self.touch, self.undo, self.change_environment]
        if self.git:
            steps += [self.commit, self.commit, self.amend, self.revert, self.switch, self.create]
            steps += [self.rename, self.recreate, self.detach, self.lose_a_commit]
        self.random.choice(steps)()

    def edit(self) -> None:
        self.files, self.written = self.random.randint(0, 3), self.tick()

    def touch(self) -> None:
        self.written = self.tick()

    def undo(self) -> None:
        if self.head is not None:
            self.files = self.head.files

    def change_environment(self) -> None:
        self.environment = self.random.choice(("env-1", "env-1", "env-2"))

    def _commit(self, parent: Commit | None, files: int) -> None:
        made = Commit(f"{len(self.commits) + 1:040x}", parent, files)
        self.commits[made.name] = self.head = made
        self.files, self.written = files, self.tick()
        if self.on is not None:
            self.on.tip = made

    def commit(self) -> None:
        self._commit(self.head, self.files)

    def amend(self) -> None:
        if self.head is not None:
            self._commit(self.head.parent, self.files)

    def revert(self) -> None:
        if self.head is not None and self.head.parent is not None:
            self._commit(self.head, self.head.parent.files)

    def switch(self) -> None:
        """The changes that are not committed are lost."""
        self._go(self.random.choice(list(self.lines.values())))

    def _go(self, line: Line) -> None:
        if line.tip is not None:
            self.on, self.head = line, line.tip
            self.files, self.written = line.tip.files, self.tick()

    def create(self) -> None:
        """From the branch that is checked out, or from a commit: then nobody knows from which branch."""
        if self.head is None or len(self.lines) > 4:
            return
        name = next(name for name in ("x", "y", "z", "v", "w", "u") if name not in self.lines)
        self._create(name)

    def _create(self, name: str) -> None:
        certain = self.on is not None and self.on.branch.name != name and self.random.random() < 0.7
        parent = self.on.branch.name if certain and self.on is not None else self.model.default
        line = Line(Branch(name, parent, certain), self.head, clock(self.tick()))
        self.lines[name] = self.on = line

    def rename(self) -> None:
        if self.on is None or self.on.branch.name == self.model.default or len(self.on.formerly) > 1:
            return
        old, new = self.on.branch.name, f"renamed-{self.tick()}"
        self.on.formerly[old] = clock(self.tick())
        self.on.branch.name = new
        self.lines[new] = self.lines.pop(old)

    def recreate(self) -> None:
        """A branch is deleted, and another one gets its name."""
        names = [name for name in self.lines if name != self.model.default]
        if names and self.head is not None:
            name = self.random.choice(names)
            if self.on is not None and self.on.branch.name == name:
                self._go(self.lines[self.model.default])
            if self.on is not None and self.on.branch.name == name:
                return
            del self.lines[name]
            self._create(name)

    def detach(self) -> None:
        if self.commits:
            self.on, self.head = None, self.random.choice(list(self.there().values()) or [None])
            if self.head is None:
                self._go(self.lines[self.model.default])
            else:
                self.files, self.written = self.head.files, self.tick()

    def lose_a_commit(self) -> None:
        kept: set[str] = set(self.head.history if self.head else ())
        for line in self.lines.values():
            kept |= line.tip.history if line.tip else set()
        lost = sorted(set(self.commits) - kept - self.model.gone)
        if lost:
            self.model.gone.add(self.random.choice(lost))

    # Runs.

    def run(self) -> tuple[Answer, Answer]:
        """What the store and the model say of a run with outcomes by chance."""
        at = self.tick()
        imported = self.random.random() < 0.1
        selection = self.random.choice(("", "", "", "-k x"))
        tests, broken, lost = self._outcomes()
        changed = self.random.random() < 0.1
        known = self.git and not changed and not imported
        now = Run(
            f"run-{at:05d}",
            at,
            self.on.branch if self.on else None,
            self.on.branch.name if self.on else "",
            self.head.name if self.head and self.git else "",
            self.head.history if self.head else frozenset(),
            ("files", self.files) if known else None,
            ("clean",) if not self.dirty else (self.files, self.written),
            not self.dirty,
            None if imported else self.environment,
            selection,
            tests,
            broken,
            lost,
        )
        root = self.random.choice(self.roots)
        relay = self._facts(now, root)
        if imported:
            self._import(now, root, relay)
            self.model.runs.append(now)
            return Answer({}, set(), ""), Answer({}, set(), "")
        said = self._remembered(now, root, relay, MadeFiles(self, changed))
        expected = self.model.judge(now)
        self.model.runs.append(now)
        return said, expected

    def _outcomes(self) -> tuple[dict[str, list[str]], list[str], list[str]]:
        chance = self.random
        words, weights = zip(*OUTCOMES, strict=True)
        broken = [file for file in FILES if chance.random() < 0.08]
        tests: dict[str, list[str]] = {}
        for test in TESTS:
            if test.partition("::")[0] in broken or chance.random() < 0.25:
                continue
            end = chance.choices(words, weights)[0]
            bad_first = chance.random() < 0.1 and (end == "passed" or end in BAD)
            tests[test] = ["failed", end] if bad_first else [end]
        lost: list[str] = []
        if chance.random() < 0.1:  # the process died while several tests were running
            lost = [test for test in tests if chance.random() < 0.5 and len(tests[test]) == 1]
            lost = lost if len(lost) > 1 else []
            for test in lost:
                tests[test] = ["crash"]
        return tests, broken, lost

    def _facts(self, now: Run, root: Path) -> Relay:
        started = e.RunStarted(now.id, "pytest", (), str(root), "py", clock(now.started))
        relay = Relay(started, [])
        said: list[e.Event] = [e.SuiteDescribed(str(root / "pkg"), {"python": "3"})]
        said += [e.CollectionFailed(file, e.Failure("E", "broken")) for file in now.broken]
        for test, tries in now.tests.items():
            if test not in now.lost:
                earlier = tuple(e.Attempt(Outcome(one)) for one in tries[:-1])
                why = e.Failure("E", f"no: {self.random.random()}") if tries[-1] in BAD else None
                said.append(e.TestFinished(test, Outcome(tries[-1]), failure=why, attempts=earlier))
        said += [e.TestStarted(test) for test in now.lost]
        said.append(e.ProcessExited(-9, "SIGKILL") if now.lost else e.ProcessExited(0))
        if now.lost and self.random.random() < 0.5:
            said.insert(-1, e.RunStopped(RunOutcome.CANCELLED))
        relay.publish_all(said, 1.0)
        relay.close_suite(2.0, 0)
        return relay

    def _remembered(self, now: Run, root: Path, relay: Relay, files: MadeFiles) -> Answer:
        spec = RunSpec(str(root), selection=Selection(keywords=now.selection))
        installed = {"py": (now.environment or "",)}
        with Memory(spec, installed, self.environ, mask=False, files=files) as memory:
            for event in memory.compare(relay.result, lambda test, _: test):
                relay.publish(event, 3.0)
            result = relay.close(4.0)
            assert memory.keep(result, lambda test, _: test) == ""
        said = result.history or e.HistoryCompared({})  # a run without tests is compared with nothing
        words = {
            test: Word(word.word, word.since.run_id if word.since else "", word.failed, word.results)
            for test, word in said.tests.items()
        }
        return Answer(words, set(said.fixed), said.compared_with.run_id if said.compared_with else "")

    def _import(self, now: Run, root: Path, relay: Relay) -> None:
        found = repository(root)
        result = relay.close(4.0)
        keys = Keys(result, found.top if found else str(root), lambda test, _: test)
        read = [
            type(row)(row.test, row.attempt, row.outcome, row.microseconds, None, row.failure)
            for row in rows(result, keys, [""], str)
        ]
        run = RunRow(
            now.id,
            str(root),
            clock(now.started),
            1.0,
            "failed",
            now.commit,
            branch=now.branch_name,
            imported=True,
        )
        store = open_store(place(root, found, self.environ))
        try:
            store.add(run, read, "")
        finally:
            store.close()
