"""proctor killed (SIGKILL) at each change it makes to the disk: what is left tells the truth up to there."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.projects import clean_environment, processes_with, proctor, write_project

from proctor.archive.lookup import read_run
from proctor.archive.read_log import read_log
from proctor.archive.store import list_runs, read_head
from proctor.cli.main import main
from proctor.errors import UsageError

PROGRAM = """\
#!/bin/sh
say() { printf 'result %d\\n%s' ${#1} "$1" >&3; }
echo words
say '{"name":"first","status":"pass"}'
say '{"name":"second","status":"fail","files":[{"name":"log","length":5}]}'
printf 'hello' >&3
say '{"status":"pass"}'
"""
TRUTH = {"/a": "passed", "/a/first": "passed", "/a/second": "failed", "/b": "passed"}
CHANGES = ("write", "open", "replace", "mkdir", "unlink")
MARK = "PROCTOR_KILLED_ANYWHERE"  # in the environment of everything that a run starts
GUARD = 400  # changes: many more than there are


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = write_project(tmp_path, {"a": PROGRAM, "b": "#!/bin/sh\nexit 0\n"})
    for name in ("a", "b"):
        (root / name).chmod(0o755)
    return root


def killed_at(number: int, root: Path, torn: bool) -> bool:
    """A run in a process of its own, which dies at this change; False if it came to its end before."""
    child = os.fork()
    if child == 0:
        try:
            null = os.open(os.devnull, os.O_RDWR)
            for standard in range(3):
                os.dup2(null, standard)
            os.environ.clear()
            os.environ.update(clean_environment(**{MARK: str(root)}))
            _die_at(number, torn)
            main(["run", "-C", str(root), "--runner", "command", "--format", "agent", "a", "b"])
        finally:
            os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def _die_at(number: int, torn: bool) -> None:
    left = number

    def deadly(name: str, change: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **options: Any) -> Any:
            nonlocal left
            if name != "open" or args[1] & os.O_CREAT:
                left -= 1
                if left == 0:
                    if torn and name == "write":
                        change(args[0], bytes(args[1])[: len(args[1]) // 2])
                    os.kill(os.getpid(), signal.SIGKILL)
            return change(*args, **options)

        return wrapped

    for name in CHANGES:
        setattr(os, name, deadly(name, getattr(os, name)))


def none_is_left(root: Path) -> bool:
    """A supervisor notices the death of proctor by itself; that takes a moment."""
    until = time.monotonic() + 180  # only against hanging
    while processes_with(MARK, str(root)):
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


@pytest.mark.parametrize("torn", [False, True], ids=["between writes", "within a write"])
def test_whatever_is_left_is_true(project: Path, torn: bool) -> None:
    ended = next(number for number in range(1, GUARD) if not killed_at(number, project, torn))

    assert ended > 20  # the run does change things
    runs = list(list_runs(project, clean_environment()))
    assert len(runs) > 20
    for path in runs:
        try:
            result = read_log(path).result
        except UsageError as error:
            assert "has no recorded events" in str(error) or "cannot be read" in str(error)
            continue
        found = {test.test: str(test.outcome) for test in result.tests.values()}
        complete = str(result.outcome) == "failed"
        lost = {name for name, outcome in found.items() if outcome != TRUTH[name]}
        assert complete or str(result.outcome) == "incomplete", (path, result.outcome)
        assert not lost if complete else all(found[name] == "error" for name in lost), (path, found)
        head = read_head(path)
        assert head is None or head.outcome in ("incomplete", "failed")
        assert read_run(path).tests.keys() >= found.keys()
    assert none_is_left(project)


def test_a_run_after_all_that_is_as_good_as_the_first(project: Path) -> None:
    for number in (3, 9, 15):
        assert killed_at(number, project, torn=True)

    ran = proctor("run", "--runner", "command", "--format", "json", "a", "b", cwd=project)

    assert {test["node_id"]: test["outcome"] for test in ran.document["tests"]} == TRUTH
    assert ran.code == 1
