"""No part of the archive's path below the project may be a link: nothing behind one is read or changed."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.mcp_client import Talk, talk
from support.projects import Ran, clean_environment, proctor, project_python, write_project

from proctor import events as e
from proctor.archive import inside, store
from proctor.archive.inside import Folder
from proctor.archive.last_failed import last_failed
from proctor.archive.lookup import find_run, read_run
from proctor.archive.recording import Recording
from proctor.errors import UsageError
from proctor.outcome import Outcome
from proctor.relay import Relay

IDS = [f"20260101-00000{number}-abcdef" for number in range(9)]
PASSES = {"test_a.py": "def test_a(): pass"}


def record(root: Path, run_id: str, outcome: Outcome = Outcome.FAILED) -> Folder:
    directory = store.open_run(root, run_id, {})
    assert directory is not None
    recording = Recording(directory)
    started = e.RunStarted(run_id, "pytest", (), str(root), "python", "2026-01-01T00:00:00Z", True)
    relay = Relay(started, [recording])
    relay.publish(e.TestFinished("t.py::secret", outcome), 0.0)
    relay.close(1.0)
    recording.close()
    return directory.folder


def contents(root: Path) -> dict[str, bytes]:
    """Everything below a directory, links not followed."""
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b""
        for path in sorted(root.rglob("*"))
    }


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Another project, with runs."""
    root = tmp_path / "other"
    root.mkdir()
    for run_id in IDS[:4]:
        record(root, run_id)
    return root


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "project", PASSES)


def linked_archive(project: Path, other: Path) -> None:
    (project / ".proctor").symlink_to(other / ".proctor")


def linked_by_a_relative_path(project: Path, other: Path) -> None:
    (project / ".proctor").symlink_to("../other/.proctor")


def linked_to_the_parent(project: Path, other: Path) -> None:
    (project / ".proctor").symlink_to("..")


def linked_runs(project: Path, other: Path) -> None:
    (project / ".proctor").mkdir()
    (project / ".proctor" / "runs").symlink_to(other / ".proctor" / "runs")


def linked_inside(project: Path, other: Path) -> None:
    shutil.move(other / ".proctor", project / "build")
    (project / ".proctor").symlink_to("build")


def dangling(project: Path, other: Path) -> None:
    (project / ".proctor").symlink_to(other / "not there")


def dangling_runs(project: Path, other: Path) -> None:
    (project / ".proctor").mkdir()
    (project / ".proctor" / "runs").symlink_to(other / "not there")


def looping(project: Path, other: Path) -> None:
    (project / ".proctor").symlink_to(".proctor")


LINKS: list[Callable[[Path, Path], None]] = [
    linked_archive,
    linked_by_a_relative_path,
    linked_to_the_parent,
    linked_runs,
    linked_inside,
    dangling,
    dangling_runs,
    looping,
]


def run(project: Path, cache: Path, *options: str) -> Ran:
    environ = clean_environment(XDG_CACHE_HOME=str(cache))
    arguments = ("run", "--python", project_python(), "--format", "json", *options)
    return proctor(*arguments, cwd=project, environ=environ)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.__name__)
def test_a_link_in_the_archives_place_is_neither_read_nor_written_nor_pruned(
    tmp_path: Path, project: Path, other: Path, link: Callable[[Path, Path], None]
) -> None:
    link(project, other)
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    before = contents(tmp_path)

    assert list(store.list_runs(project, environ)) == []
    assert last_failed(project, environ) == ([], 0)
    with pytest.raises(UsageError, match="is a link, which is not followed"):
        find_run("last", project, environ)
    with pytest.raises(UsageError):
        find_run(str(project / ".proctor" / "runs" / IDS[0]), project, environ)
    directory = store.open_run(project, IDS[5], environ)
    store.prune(project, environ, keep=0)

    assert directory is not None
    assert directory.path.is_relative_to(tmp_path / "cache")
    directory.discard()
    shutil.rmtree(tmp_path / "cache")
    assert contents(tmp_path) == before
    assert store.open_run(project, IDS[5], {}) is None


@pytest.mark.parametrize(
    "link", [linked_archive, linked_to_the_parent, dangling_runs], ids=lambda link: link.__name__
)
def test_a_run_behind_a_link_is_kept_in_the_cache_and_says_so(
    tmp_path: Path, project: Path, other: Path, link: Callable[[Path, Path], None]
) -> None:
    (project / "proctor.toml").write_text("keep_runs = 1\n")
    link(project, other)
    before = contents(other)
    (tmp_path / ".gitignore").touch()

    ran = run(project, tmp_path / "cache")

    assert (ran.code, ran.document["outcome"]) == (0, "passed")
    (notice,) = ran.document["notices"]
    assert "is a link, which is not followed: this run is kept in" in notice
    assert str(tmp_path / "cache") in notice
    assert contents(other) == before
    assert (tmp_path / ".gitignore").read_bytes() == b""
    environ = clean_environment(XDG_CACHE_HOME=str(tmp_path / "cache"))
    listed = proctor("runs", cwd=project, environ=environ)
    assert ran.document["run_id"] in listed.out
    assert len(listed.out.splitlines()) == 2  # with the header
    assert "is a link, which is not followed" in listed.err
    assert "is a link" in proctor("doctor", cwd=project, environ=environ).out


@pytest.mark.parametrize("name", [".proctor", ".proctor/runs"])
def test_a_link_that_a_test_puts_there_gets_nothing_and_a_notice(
    tmp_path: Path, other: Path, name: str
) -> None:
    body = f"""
        import os

        def test_swaps():
            os.rename("{name}", "was")
            os.symlink("{other / name}", "{name}")
    """
    project = write_project(tmp_path / "project", {"test_a.py": body, "proctor.toml": "keep_runs = 1\n"})
    before = contents(other)

    ran = run(project, tmp_path / "cache")

    assert (ran.code, ran.document["outcome"]) == (0, "passed")
    assert ran.document["notices"] == [
        f"{project / name} is a link, which is not followed: this run is not kept there"
    ]
    assert contents(other) == before
    assert [path.name for path in (tmp_path / "cache").glob("proctor/runs/*/*")] == [ran.document["run_id"]]


def test_the_server_reads_no_runs_behind_a_link(tmp_path: Path, project: Path, other: Path) -> None:
    linked_archive(project, other)
    below = project / "below"
    below.mkdir()
    linked_runs(below, other)
    (project / "side").symlink_to(other)
    with talk(project, XDG_CACHE_HOME=str(tmp_path / "cache")) as server:
        for name in ("last", IDS[0], "20260101"):
            assert "secret" not in server.refusal("get_run", run_id=name)
            server.refusal("get_test", run_id=name, node_id="t.py::secret")
        assert server.do(server.client.list_resources()).resources == []
        with pytest.raises(Exception, match="no kept runs of"):
            server.do(server.client.read_resource(f"proctor://runs/{IDS[0]}/result.json"))
        assert server.document("execute_tests")["outcome"] == "passed"
        assert server.document("execute_tests", last_failed=True)["outcome"] == "passed"
        _replaced_by_a_link(server, project, other)


def _replaced_by_a_link(server: Talk, project: Path, other: Path) -> None:
    """A project that the server found by itself is swapped for a link."""
    found = write_project(project / "found", PASSES)
    record(found, IDS[6])
    assert server.document("get_run", run_id=IDS[6])["run_id"] == IDS[6]
    shutil.rmtree(found)
    found.symlink_to(other)
    assert "secret" not in server.refusal("get_run", run_id=IDS[1])
    assert "secret" not in server.refusal("get_run", run_id=IDS[6])


def test_a_link_that_appears_before_the_removal_removes_nothing_elsewhere(
    project: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run_id in IDS[:3]:
        record(project, run_id)
    before = contents(other)
    really_empty = inside.empty

    def swap_then_empty(folder: int) -> None:
        if not (project / "was").exists():
            (project / ".proctor").rename(project / "was")
            linked_archive(project, other)
        really_empty(folder)

    monkeypatch.setattr(store, "empty", swap_then_empty)
    store.prune(project, {}, keep=1)

    assert contents(other) == before


def test_a_link_that_appears_after_the_look_removes_nothing_elsewhere(
    project: Path, other: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run_id in IDS[:3]:
        record(project, run_id)
    before = contents(other)
    really_list = store.list_runs

    def list_then_swap(*arguments: object) -> list[Folder]:
        found = list(really_list(project, {}))
        (project / ".proctor").rename(project / "was")
        linked_archive(project, other)
        return found

    monkeypatch.setattr(store, "list_runs", list_then_swap)
    store.prune(project, {}, keep=0)

    assert contents(other) == before
    assert len(os.listdir(project / "was" / "runs")) == 3


def test_what_is_in_a_runs_directory_is_removed_however_deep_and_links_are_not_followed(
    project: Path, tmp_path: Path
) -> None:
    run = record(project, IDS[0])
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").touch()
    here = os.open(run.path, os.O_RDONLY)
    for _ in range(3000):  # deeper than a path can be, and than Python recurses
        os.mkdir("d", dir_fd=here)
        os.symlink(victim, "link", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)

    store.prune(project, {}, keep=0)

    assert not run.path.exists()
    assert (victim / "file").exists()


def put_a_link(path: Path, target: Path) -> None:
    path.symlink_to(target)


def put_a_hard_link(path: Path, target: Path) -> None:
    path.hardlink_to(target)


def put_a_pipe(path: Path, target: Path) -> None:
    os.mkfifo(path)


def put_a_directory(path: Path, target: Path) -> None:
    path.mkdir()


PUT: list[Callable[[Path, Path], None]] = [put_a_link, put_a_hard_link, put_a_pipe, put_a_directory]


@pytest.mark.parametrize("put", PUT, ids=lambda put: put.__name__)
def test_only_regular_files_with_one_name_are_read_and_nothing_waits(
    project: Path, other: Path, put: Callable[[Path, Path], None]
) -> None:
    run = record(project, IDS[5], Outcome.PASSED)
    theirs = other / ".proctor" / "runs" / IDS[0]
    for name in (*os.listdir(run.path),):
        (run.path / name).unlink()
        put(run.path / name, theirs / name)

    assert store.read_head(run) is None
    assert not store.in_use(run)
    assert last_failed(project, {}) == ([], 0)
    with pytest.raises(UsageError, match="cannot be read"):
        read_run(run)
    with pytest.raises(OSError, match=r"link|regular|directory"):
        store.RunDirectory(run)
    before = contents(other)
    store.prune(project, {}, keep=0)
    assert contents(other) == before


@pytest.mark.parametrize("put", PUT, ids=lambda put: put.__name__)
def test_git_is_told_to_ignore_the_archive_in_a_new_file_only(
    project: Path, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine\n")
    (project / ".proctor").mkdir()
    put(project / ".proctor" / ".gitignore", victim)
    target = tmp_path / "new"
    (project / "dangling").mkdir()
    (project / "dangling" / ".proctor").mkdir()
    (project / "dangling" / ".proctor" / ".gitignore").symlink_to(target)

    record(project, IDS[0])
    record(project / "dangling", IDS[0])

    assert victim.read_text() == "mine\n"
    assert not target.exists()


def test_a_lock_that_somebody_keeps_holds_nobody_up(project: Path) -> None:
    run = record(project, IDS[0])
    with (run.path / "lock").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(OSError, match="another process holds the lock"):
            store.RunDirectory(run)


def test_a_project_behind_links_of_its_owner_is_served(tmp_path: Path, project: Path) -> None:
    (tmp_path / "short").symlink_to(project)
    record(tmp_path / "short", IDS[0])

    assert [run.name for run in store.list_runs(project, {})] == IDS[:1]
    assert [run.name for run in store.list_runs(tmp_path / "short", {})] == IDS[:1]


def test_settings_come_from_where_a_run_is_kept_not_from_what_it_says(tmp_path: Path) -> None:
    environ = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    root = Path("/some/project")
    homes = store.homes(root, environ)

    assert [store.project_of(home.folder(IDS[0])) for home in homes] == [root, root]
    assert store.project_of(Folder(tmp_path)) is None
