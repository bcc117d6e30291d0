"""Real git repositories, and what `proctor run --baseline` says in them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

from proctor.archive.lookup import LAST, find_run
from proctor.archive.read_log import read_log
from proctor.events import BaselineCompared
from support.projects import GUARD, Ran, clean_environment, run_suite, write_project

IDENTITY = (
    "-c",
    "user.name=Nobody",
    "-c",
    "user.email=nobody@example.org",
    "-c",
    "protocol.file.allow=always",
)
IGNORED = "__pycache__/\n.pytest_cache/\n.proctor/\n*.egg-info/\nbuild/\n.venv/\n"


def git(root: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *IDENTITY, *arguments],
        cwd=root,
        env=clean_environment(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull),
        capture_output=True,
        text=True,
        timeout=GUARD,
        check=False,
    )
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.strip()


def commit(root: Path, files: Mapping[str, str], message: str = "change") -> str:
    """The commit of all files of the project, with these written anew."""
    write_project(root, files)
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "--message", message)
    return git(root, "rev-parse", "HEAD")


def new_repository(root: Path, files: Mapping[str, str]) -> Path:
    """On the branch main, with one commit."""
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "--quiet", "--initial-branch=main")
    commit(root, {".gitignore": IGNORED, **files}, "first")
    return root


def baseline_run(
    root: Path, *arguments: str, python: str = "", **more: str
) -> tuple[Ran, BaselineCompared | None]:
    """With a cache of its own below `root`'s parent, unless `more` has one."""
    more = {"XDG_CACHE_HOME": str(root.parent / "cache"), **more}
    asked = () if any(word.startswith("--baseline") for word in arguments) else ("--baseline",)
    ran = run_suite(root, *asked, *arguments, python=python, **more)
    folder = find_run(LAST, root, clean_environment(**more))
    return ran, read_log(folder).result.baseline


def baseline_of(root: Path, *arguments: str, python: str = "", **more: str) -> BaselineCompared:
    ran, found = baseline_run(root, *arguments, python=python, **more)
    assert found is not None, ran.err
    return found


def leftovers(root: Path) -> list[str]:
    """What a run with `--baseline` has left, in the cache and in git's directory."""
    kept = list((root.parent / "cache" / "proctor" / "baseline").glob("*"))
    return [str(path) for path in (*kept, *(root / ".git").glob("worktrees"))]


def fingerprints(root: Path, without: tuple[str, ...] = ()) -> dict[str, str]:
    """Of every file in a tree, git's own among them."""
    found = {}
    for path in sorted(root.rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.is_file() and not any(part in without for part in path.relative_to(root).parts):
            found[name] = f"{path.stat().st_mode:o} {sha256(path.read_bytes()).hexdigest()}"
    return found
