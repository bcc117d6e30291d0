"""Real git repositories, with the same author for every commit and none of the user's own settings."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from proctor import events as e
from proctor.history.memory import Memory
from proctor.outcome import BAD, Outcome
from proctor.relay import Relay
from proctor.spec import RunSpec, Selection

GUARD = 60  # seconds: only against hanging
ENVIRON = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_SYSTEM": "/dev/null",
    "GIT_AUTHOR_NAME": "A",
    "GIT_AUTHOR_EMAIL": "a@example.org",
    "GIT_COMMITTER_NAME": "A",
    "GIT_COMMITTER_EMAIL": "a@example.org",
    "GIT_TERMINAL_PROMPT": "0",
}


def git(directory: Path, *arguments: str, at: int = 0) -> str:
    """What git prints. `at` is the time of the commit, and of what the logs say of it."""
    when = {"GIT_AUTHOR_DATE": f"{at} +0000", "GIT_COMMITTER_DATE": f"{at} +0000"} if at else {}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(
        ["git", "-C", str(directory), *arguments],
        env={**inherited, **ENVIRON, **when},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def fingerprint(*folders: Path) -> dict[str, str]:
    """All files below, git's own included: their kind, content and time of change."""
    found = {}
    for folder in folders:
        for directory, names, files in os.walk(os.fsencode(folder)):
            for name in (*names, *files):
                path = os.path.join(directory, name)
                about = os.lstat(path)
                text = f"{about.st_mode} {about.st_mtime_ns}"
                if os.path.isfile(path) and not os.path.islink(path):
                    with open(path, "rb") as file:
                        text += hashlib.sha256(file.read()).hexdigest()
                found[os.fsdecode(path)] = text
    return found


class Repository:
    """A project in a repository, whose tests end as we say: only git and the store are real."""

    def __init__(self, root: Path, state: Path, make: bool = True) -> None:
        self.root, self.state = root, state
        self.environ: dict[str, str] = {}
        self._clock = int(datetime.now(UTC).timestamp()) - 100_000
        self._runs = 0
        if make:
            root.mkdir(parents=True, exist_ok=True)
            self.git("init", "-q", "-b", "main")
            self.commit("first", {"a.py": "1\n"})

    def at(self, root: Path) -> Repository:
        """The same repository, seen from another worktree or folder."""
        other = Repository(root, self.state, make=False)
        other.environ, other._clock, other._runs = self.environ, self._clock, self._runs + 100
        return other

    def tick(self) -> int:
        self._clock += 10
        return self._clock

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments, at=self.tick())

    def write(self, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def commit(self, message: str, files: Mapping[str, str] | None = None) -> str:
        self.write(files or {message: message})
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def run(
        self,
        outcome: str = "passed",
        *,
        meanwhile: Callable[[], object] | None = None,
        folder: str = "",
        environment: str = "same",
        selection: str = "",
        watched: tuple[Path, ...] = (),
    ) -> Said:
        """One test ends so. `meanwhile` happens while the tests run; nothing else may change a file of the
        project, or of git."""
        self._runs += 1
        started = datetime.fromtimestamp(self.tick(), UTC).isoformat(timespec="milliseconds")
        environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.state),
            "XDG_STATE_HOME": str(self.state),
            **ENVIRON,
            **self.environ,
        }
        root = self.root / folder
        spec = RunSpec(str(root), selection=Selection(keywords=selection))
        before = fingerprint(self.root, *watched)
        with Memory(spec, {"py": (environment,)}, environ, mask=False) as memory:
            name = f"run-{self.state.name}-{self._runs}"
            relay = Relay(e.RunStarted(name, "pytest", (), str(root), "py", started), [])
            if meanwhile is not None:
                memory.checkout  # noqa: B018  git has answered: what happens now happens during the run
                meanwhile()
                before = fingerprint(self.root, *watched)
            why = e.Failure("E", "no") if outcome in BAD else None
            relay.publish(e.TestFinished("t.py::test", Outcome(outcome), failure=why), 1.0)
            relay.close_suite(2.0, 0)
            for event in memory.compare(relay.result, lambda test, _: test):
                relay.publish(event, 3.0)
            assert memory.keep(relay.close(4.0), lambda test, _: test) == ""
            checkout = memory.checkout
        after = fingerprint(self.root, *watched)
        written = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
        assert not written, f"written: {sorted(written)}"
        history = relay.result.history
        word = history.tests["t.py::test"] if history.tests else None
        return Said(name, word, bool(history.fixed), history.compared_with, checkout.branch, checkout.state)


class Said:
    """What a run was told."""

    def __init__(
        self,
        name: str,
        history: e.TestHistory | None,
        fixed: bool,
        compared_with: e.EarlierRun | None,
        branch: str,
        state: str,
    ) -> None:
        self.name, self.fixed, self.branch, self.state = name, fixed, branch, state
        self.word = history.word if history else "fixed" if fixed else ""
        self.since = history.since.run_id if history and history.since else ""
        self.compared_with = compared_with.run_id if compared_with else ""
