"""The ways to a run and back: the command line, the MCP server, and the archive."""

from __future__ import annotations

import fnmatch
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from mcp import MCPError
from support.mcp_client import Talk, server_pid, stdio, text_of
from support.projects import GUARD, clean_environment, command, processes_with, proctor, project_python
from torture.kind import LEDGER, Kind

from proctor.archive.inside import Folder
from proctor.archive.read_log import read_log

MARK = "TORTURE_MARK"
Document = dict[str, Any]
Snapshot = dict[str, tuple[int, ...]]


class Surroundings:
    """Where proctor is at home, and the mark that every process started by this way to it carries."""

    def __init__(self, base: Path) -> None:
        self.base, self.mark = base, uuid4().hex
        self.home, self.temporary, self.cache = base / "home", base / "tmp", base / "cache"
        self.restore()

    def restore(self) -> None:
        """A test may have deleted them."""
        for directory in (self.home, self.temporary, self.cache):
            directory.mkdir(parents=True, exist_ok=True)

    @property
    def environ(self) -> dict[str, str]:
        return {
            MARK: self.mark,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "XDG_CACHE_HOME": str(self.cache),
            "PYTHONDONTWRITEBYTECODE": "1",  # what pytest and Python leave behind is not our subject
            "PYTEST_ADDOPTS": "-p no:cacheprovider",
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        }

    def alive(self) -> list[int]:
        return processes_with(MARK, self.mark)


class Server:
    """A `proctor mcp` for a project, or for everything below a directory."""

    def __init__(self, root: Path, around: Surroundings, environ: Mapping[str, str] | None = None) -> None:
        self.root, self.around = root, around
        variables: dict[str, Any] = {**around.environ, **(environ or {})}
        self._talk = Talk(stdio(root, "--no-warm", **variables), "auto")  # who waits is alive
        self.call = self._talk.call
        self.pid = server_pid(MARK, self.around.mark)

    def resource(self, uri: str) -> str:
        (read,) = self._talk.do(self._talk.client.read_resource(uri)).contents
        text: str = read.text
        return text

    def close(self) -> None:
        self._talk.close()


@dataclass(frozen=True)
class Told:
    """What one way told of a run, and what was found to be true beside it."""

    way: str
    place: Place
    code: int | None  # of the command line
    document: Document | None  # as it was answered; None if proctor was killed
    alive: list[int]


class Place:
    """A kind's project on disk, and what is beside it."""

    def __init__(self, kind: Kind, beside: Path, around: Surroundings, limit: int | None) -> None:
        self.kind, self.beside, self.around, self.limit = kind, beside, around, limit
        self.root = beside / kind.project
        self.root.mkdir(parents=True)
        for name, content in {"ledger.py": LEDGER, **kind.files}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            data = content if isinstance(content, bytes) else textwrap.dedent(content).encode()
            path.write_bytes(data)
            if data.startswith(b"#!"):
                path.chmod(0o755)

    @contextmanager
    def set_up(self) -> Iterator[None]:
        with self.kind.setting(self.root) if self.kind.setting else nullcontext():
            self._before = self._snapshot()
            yield

    def lines(self, name: str) -> list[str]:
        path = self.beside / name
        return path.read_text("utf-8", "surrogateescape").splitlines() if path.exists() else []

    @property
    def finished(self) -> set[str]:
        """Tests that came to their end."""
        return set(self.lines("ledger"))

    @property
    def repeated(self) -> set[str]:
        """Tests that came to their end more than once."""
        return {test for test, times in Counter(self.lines("ledger")).items() if times > 1}

    def has_hung(self, since: float) -> bool:
        """It was reached a second before the limit or earlier: what it reported before has arrived."""
        reached = self.beside / "reached"
        return not self.limit or (reached.exists() and reached.stat().st_mtime < since + self.limit - 1)

    def alive(self) -> list[int]:
        """By the mark in their environment; and those that a test named, for they may have emptied it."""
        named = {int(pid) for pid in self.lines("started")}
        return [*self.around.alive(), *filter(lives, named)]

    def _snapshot(self) -> Snapshot:
        return below(self.beside) | below(self.around.base)

    def changes(self) -> list[str]:
        """Files that were written, changed or removed and should not have been."""
        before, after = self._before, self._snapshot()
        differing = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
        return sorted(name for name in differing if not self._is_allowed(name))

    def _is_allowed(self, name: str) -> bool:
        cache, root = str(self.around.cache), str(self.root)
        ours = [cache, f"{cache}/proctor", f"{cache}/proctor/interpreters-2.json", root]
        ours += [f"{root}/{name}" for name in (".proctor", ".proctor/.gitignore", ".proctor/runs")]
        ours += [f"{root}/.proctor/runs/*"] if self.kind.kept != "cache" else []
        ours += [f"{cache}/proctor/runs*"] if self.kind.kept != "project" else []
        noted = ("", "ledger", "started", "reached", *self.kind.writes)
        theirs = [
            f"{where}/{name}".rstrip("/") for where in (self.beside, self.around.base) for name in noted
        ]
        return any(fnmatch.fnmatchcase(name, pattern) for pattern in (*ours, *theirs))

    def runs(self) -> list[Path]:
        in_project = [
            run
            for run in self.root.glob(".proctor/runs/*")
            if not any(part.is_symlink() for part in (run, *run.parents[:2]))
        ]
        return [*in_project, *self.around.cache.glob(f"proctor/runs/*%2F{self.beside.name}%2F*/*")]

    def remove(self) -> None:
        for directory in (self.beside, self.around.cache / "proctor" / "runs"):
            shutil.rmtree(directory, ignore_errors=True)
        self.around.restore()


def lives(pid: int) -> bool:
    """One that only waits for its burial does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def below(directory: Path) -> Snapshot:
    """All there is, with what a write would change. A directory's own times change with what is in it."""
    found: Snapshot = {}
    waiting = [str(directory)]
    while waiting:
        try:
            entries = list(os.scandir(waiting.pop()))
        except OSError:
            continue
        for entry in entries:
            seen = entry.stat(follow_symlinks=False)
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
                found[entry.path] = (seen.st_mode,)
            else:
                found[entry.path] = (seen.st_mode, seen.st_size, seen.st_mtime_ns, seen.st_ino)
    return found


# There -------------------------------------------------------------------------------------------------


def by_command_line(place: Place) -> Told:
    kind = place.kind
    options = ["--timeout", str(place.limit)] if place.limit else []
    options += [*(["--runner", kind.runner] if kind.runner else []), *kind.options]
    done = subprocess.run(
        [*limited(kind), *command("run", "--python", project_python(), "--format", "json", *options)],
        cwd=place.root,
        env=clean_environment(**place.around.environ, **kind.environ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
    )
    if not kind.silent:
        assert done.stdout, done.stderr.decode(errors="replace")
    document = json.loads(done.stdout) if done.stdout else None
    return Told("command line", place, done.returncode, document, left(place))


def by_mcp(place: Place, server: Server) -> Told:
    kind = place.kind
    arguments: dict[str, Any] = {"wait": GUARD, "detail": "full"}
    arguments |= {"project": str(place.root)} if place.root != server.root else {}
    arguments |= {"timeout": place.limit} if place.limit else {}
    arguments |= {"runner": kind.runner} if kind.runner else {}
    usual = lower(server.pid, kind.limits)
    document = None
    try:
        answer = server.call("execute_tests", **arguments)
        assert not answer.is_error or kind.silent, text_of(answer)
        document = _without_text(answer.structured_content)
    except MCPError:
        assert kind.kills_proctor
    finally:
        if not kind.kills_proctor:
            lower(server.pid, usual)
    return Told("mcp", place, None, document, left(place, server))


def _without_text(document: Any) -> Any:
    """The document that is written down: an answer has a text before its fields."""
    return {name: value for name, value in document.items() if name != "text"} if document else document


def left(place: Place, server: Server | None = None) -> list[int]:
    """Who is alive but should not be. Where proctor was killed, its supervisors get a moment."""
    keeper = server and server.pid
    deadline = time.monotonic() + (GUARD if place.kind.kills_proctor else 0)
    while True:
        alive = [pid for pid in place.alive() if pid != keeper]
        if not alive or time.monotonic() >= deadline:
            return alive
        time.sleep(0.01)


LIMITED = """
import os, resource, sys
for pair in sys.argv[1].split():
    name, limit = map(int, pair.split("="))
    resource.setrlimit(name, (limit, resource.getrlimit(name)[1]))
os.execv(sys.argv[2], sys.argv[2:])
"""


def limited(kind: Kind) -> list[str]:
    """What to put before a command so that it has the limits of the kind."""
    limits = " ".join(f"{name}={limit}" for name, limit in kind.limits.items())
    return [sys.executable, "-c", LIMITED, limits] if limits else []


def lower(pid: int, limits: Mapping[int, int]) -> dict[int, int]:
    """Soft limits of a process, which can be raised again; returns those that were."""
    usual = {}
    for name, limit in limits.items():
        soft, hard = resource.prlimit(pid, name)
        resource.prlimit(pid, name, (limit, hard))
        usual[name] = soft
    return usual


# And back ----------------------------------------------------------------------------------------------


def shown(place: Place, run: Path) -> Document:
    """`proctor show`, as somebody else would call it."""
    ran = proctor("show", str(run), "--format", "json", cwd=place.beside, environ=environ_of(place))
    assert ran.out, ran.err
    return ran.document


def page_of(place: Place, run: Path) -> Path:
    """`proctor show --format html`, as somebody else would call it."""
    page = place.beside / "page.html"
    ran = proctor(
        "show", str(run), "--format", "html", "-o", str(page), cwd=place.beside, environ=environ_of(place)
    )
    assert page.exists(), ran.err
    return page


def told_again(run: Path) -> tuple[str, dict[str, str], list[str]]:
    """From the log alone: how the run ended, its tests, and what was not run."""
    result = read_log(Folder(run)).result
    tests = {test: str(finished.outcome) for test, finished in result.tests.items()}
    return str(result.outcome), tests, list(result.not_run)


def environ_of(place: Place) -> dict[str, str]:
    return clean_environment(**place.around.environ)


def got(server: Server, run_id: str) -> Document:
    """`get_run`: the whole document, with its tests taken from all pages of them."""
    answer = server.call("get_run", run_id=run_id, detail="full")
    assert not answer.is_error, text_of(answer)
    whole = _without_text(answer.structured_content)
    tests: list[Document] = []
    left = True
    while left:
        answer = server.call(
            "get_run", run_id=run_id, select="tests", offset=len(tests), limit=100_000, budget=100_000
        )
        assert not answer.is_error, text_of(answer)
        page = answer.structured_content
        tests += page["tests"]
        left = bool(page["omitted"].get("tests"))
    return {**whole, "tests": tests}


def end(pids: list[int]) -> None:
    """Only after a failure."""
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
