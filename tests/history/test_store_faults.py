"""Whatever is wrong with the store, a run gives the same answer and ends with the same code."""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.projects import GUARD, Ran, clean_environment, command, proctor, write_project
from support.sqlite_faults import die_at, full_at, in_child

from proctor.cli.main import main
from proctor.history.file import place
from proctor.history.repository import repository
from proctor.history.store import FailureRow, ResultRow, RunRow, Store, TestKey, open_first, open_store

ANCIENT = "1970-01-01T00:00:00.000+00:00"
ASKED = ("run", "--runner", "command", "--format", "json", "a", "b")
TRUTH = {"/a": "passed", "/b": "failed"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = write_project(tmp_path / "project", {"a": "#!/bin/sh\nexit 0\n", "b": "#!/bin/sh\nexit 1\n"})
    for name in ("a", "b"):
        (root / name).chmod(0o755)
    return root


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def run(root: Path, state: Path, *more: str) -> Ran:
    return proctor(*ASKED, *more, cwd=root, environ=clean_environment(XDG_STATE_HOME=str(state)))


def check(ran: Ran) -> dict[str, Any]:
    """The answer is the same, whatever happened."""
    assert ran.code == 1
    document = ran.document
    assert {test["node_id"]: test["outcome"] for test in document["tests"]} == TRUTH
    return document


def notices(ran: Ran) -> str:
    return "\n".join(check(ran).get("notices", []))


def store_of(root: Path, state: Path) -> Path:
    return place(root, repository(root), {"XDG_STATE_HOME": str(state)})


def runs_in(path: Path) -> int:
    store = open_store(path, make=False)
    assert not store.notice
    number = int(store.connection.execute("select count(*) from run").fetchone()[0])
    store.close()
    return number


# Something else is in its place


def garbage(path: Path) -> None:
    path.write_bytes(b"no database, but many words " * 500)


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def without_a_page(path: Path) -> None:
    """Only who reads the results notices."""
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 4096] = b"\xa5" * 4096
    path.write_bytes(data)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()
    (path / "notes").write_text("mine")


def a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def another_database(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("create table songs (name text)")


def a_pipe_for_its_log(path: Path) -> None:
    os.mkfifo(f"{path}-wal")


@pytest.mark.parametrize(
    "spoil",
    [garbage, truncated, without_a_page, a_folder, a_pipe, another_database, a_pipe_for_its_log],
    ids=lambda spoil: spoil.__name__.replace("_", " "),
)
def test_what_is_no_store_is_moved_aside_with_a_notice(
    project: Path, state: Path, spoil: Callable[[Path], None]
) -> None:
    check(run(project, state))
    path = store_of(project, state)
    spoil(path)

    ran = run(project, state)

    aside = path.with_name(f"{path.name}.broken-1")
    assert f"it is kept as {aside}" in notices(ran)
    assert not ran.err
    assert aside.exists()
    assert runs_in(path) == 1
    assert "broken" not in notices(run(project, state))
    assert runs_in(path) == 2


@pytest.mark.parametrize("log", [False, True], ids=["alone", "with a log"])
def test_an_empty_file_is_a_new_store(project: Path, state: Path, log: bool) -> None:
    check(run(project, state))
    path = store_of(project, state)
    path.write_bytes(b"")
    if log:
        Path(f"{path}-wal").write_bytes(b"left over " * 1000)

    ran = run(project, state)

    assert "history" not in notices(ran)
    assert runs_in(path) == 1


def test_damage_that_only_the_writer_meets_is_mended_after_the_answer(tmp_path: Path) -> None:
    path = tmp_path / "p.sqlite"
    store = open_store(path)
    rows = [ResultRow(TestKey(".", "r", "s", f"test {n}"), 1, "passed", 1, "x") for n in range(3000)]
    store.add(RunRow("1", "/p", ANCIENT, 1.0, "passed"), rows, "")
    store.close()
    without_a_page(path)

    damaged = open_store(path)
    with pytest.raises(sqlite3.DatabaseError, match="malformed") as caught:
        damaged.add(RunRow("2", "/p", ANCIENT, 1.0, "passed"), rows, "")
    damaged.renew(caught.value)

    assert "malformed" in damaged.notice
    assert damaged.add(RunRow("2", "/p", ANCIENT, 1.0, "passed"), rows, "")
    damaged.close()
    assert runs_in(path) == 1


def test_two_processes_that_find_the_same_damage_keep_one_new_store(tmp_path: Path) -> None:
    path = tmp_path / "p.sqlite"
    open_store(path).close()
    first, second = open_store(path), open_store(path)
    error = sqlite3.DatabaseError("malformed")
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT

    first.renew(error)
    first.add(RunRow("1", "/p", ANCIENT, 1.0, "passed"), [], "")
    second.renew(error)
    second.add(RunRow("2", "/p", ANCIENT, 1.0, "passed"), [], "")

    assert first.notice
    assert not second.notice
    first.close()
    second.close()
    assert runs_in(path) == 2
    assert len([name for name in os.listdir(tmp_path) if re.search(r"broken-.\Z", name)]) == 1


def test_an_error_that_is_no_damage_moves_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path / "p.sqlite")
    with pytest.raises(sqlite3.OperationalError) as caught:
        store.connection.execute("select nothing from nowhere")
    with pytest.raises(sqlite3.OperationalError):
        store.renew(caught.value)
    store.close()
    assert os.listdir(tmp_path) == ["p.sqlite"]


def test_a_newer_store_is_left_alone_with_a_notice(project: Path, state: Path) -> None:
    check(run(project, state))
    path = store_of(project, state)
    with sqlite3.connect(path) as connection:
        connection.execute("pragma user_version = 99")
    connection.close()
    before = path.read_bytes()

    ran = run(project, state)

    assert "is of a newer version of proctor" in notices(ran)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


# It cannot be written


def test_without_a_home_that_can_be_written_it_is_in_the_project(project: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")

    for number in (1, 2):
        ran = run(project, blocked)
        assert "history" not in notices(ran)
        assert runs_in(project / ".proctor" / "history.sqlite") == number

    assert (project / ".proctor" / "history.sqlite").stat().st_mode & 0o777 == 0o600


@contextmanager
def another_user() -> Iterator[Path]:
    """A directory that everybody can reach. Permissions mean nothing to root, so that the child is nobody."""
    with tempfile.TemporaryDirectory(prefix="proctor-nobody-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


def become_nobody() -> None:
    if os.geteuid() == 0:
        os.setgid(65534)
        os.setuid(65534)


def opened_by_nobody(root: Path, state: Path, expected: Path) -> Callable[[], None]:
    def check_place() -> None:
        become_nobody()
        store = open_first(root, None, {"XDG_STATE_HOME": str(state)})
        assert store.path == expected, store.path
        assert store.add(RunRow("1", "/p", ANCIENT, 1.0, "passed"), [], "")
        store.close()

    return check_place


@pytest.mark.parametrize("there", [False, True], ids=["without a store", "with a store"])
def test_a_home_that_is_read_only_is_not_used(there: bool) -> None:
    with another_user() as home:
        project, state = home / "project", home / "state"
        project.mkdir()
        if os.geteuid() == 0:
            os.chown(project, 65534, 65534)
        (state / "proctor").mkdir(parents=True)
        if there:
            store = open_first(project, None, {"XDG_STATE_HOME": str(state)})
            store.close()
            store.path.chmod(0o444)
        (state / "proctor").chmod(0o555)
        state.chmod(0o555)
        try:
            expected = project / ".proctor" / "history.sqlite"
            assert in_child(opened_by_nobody(project, state, expected)) == 0
        finally:
            state.chmod(0o755)
            (state / "proctor").chmod(0o755)


def allow_writes_below(folder: Path) -> bool:
    """As a sandbox does, in which files still seem to be writable; False if this system cannot."""
    libc = ctypes.CDLL(None, use_errno=True)
    writes = sum(1 << bit for bit in (1, 4, 5, 7, 8))  # write, remove and make files, remove and make folders
    rules = libc.syscall(444, ctypes.byref(ctypes.c_uint64(writes)), 8, 0)
    if rules < 0:
        return False
    descriptor = os.open(folder, os.O_PATH)
    libc.syscall(445, rules, 1, struct.pack("=Qi", writes, descriptor), 0)
    libc.prctl(38, 1, 0, 0, 0)
    return bool(libc.syscall(446, rules, 0) == 0)


@pytest.mark.skipif(sys.platform != "linux", reason="a way of Linux")
@pytest.mark.parametrize("there", [False, True], ids=["without a store", "with a store"])
def test_in_a_sandbox_that_only_lets_the_project_be_written_it_is_in_the_project(
    project: Path, state: Path, there: bool
) -> None:
    environ = {"XDG_STATE_HOME": str(state)}
    (state / "proctor").mkdir(parents=True)
    if there:
        open_first(project, None, environ).close()

    def in_sandbox() -> None:
        if allow_writes_below(project):
            store = open_first(project, None, environ)
            assert store.path == project / ".proctor" / "history.sqlite", store.path
            assert store.add(RunRow("1", "/p", ANCIENT, 1.0, "passed"), [], "")
            store.close()

    assert in_child(in_sandbox) == 0


def test_without_any_place_there_is_no_word_about_it(project: Path, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    (project / ".proctor").write_text("")

    with_history = run(project, blocked)
    without = run(project, blocked, "--no-history")

    def shape(ran: Ran) -> list[str]:
        return notices(ran).replace(check(ran)["run_id"], "ID").splitlines()

    assert shape(with_history) == shape(without)
    assert not with_history.err


# Links


def test_no_link_below_the_project_is_followed(project: Path, tmp_path: Path) -> None:
    blocked, elsewhere = tmp_path / "file", tmp_path / "elsewhere"
    blocked.write_text("")
    elsewhere.mkdir()
    (project / ".proctor").symlink_to(elsewhere)

    check(run(project, blocked))

    assert os.listdir(elsewhere) == []


@pytest.mark.parametrize("way", ["symlink", "hard link"])
def test_a_file_in_the_project_that_is_a_link_gets_nothing(project: Path, tmp_path: Path, way: str) -> None:
    blocked, other = tmp_path / "file", tmp_path / "other.sqlite"
    blocked.write_text("")
    open_store(other).close()
    before = other.read_bytes()
    (project / ".proctor").mkdir()
    link = project / ".proctor" / "history.sqlite"
    link.symlink_to(other) if way == "symlink" else link.hardlink_to(other)

    check(run(project, blocked))

    assert other.read_bytes() == before


def test_a_link_in_the_users_own_directory_is_the_users(project: Path, state: Path, tmp_path: Path) -> None:
    path, target = store_of(project, state), tmp_path / "mine.sqlite"
    path.parent.mkdir(parents=True)
    path.symlink_to(target)

    check(run(project, state))
    check(run(project, state))

    assert path.is_symlink()
    assert runs_in(target) == 2


# Other processes


@contextmanager
def locked(path: Path) -> Iterator[Callable[[], None]]:
    """The store, held by another process, which nobody can read or write; gives what ends that."""
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], isolation_level=None);"
        "c.execute('pragma locking_mode = exclusive'); c.execute('begin exclusive');"
        "c.execute('update run set seconds = 2'); print('held', flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", code, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None and holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"

        def release() -> None:
            holder.kill()
            holder.wait()

        try:
            yield release
        finally:
            release()


def test_a_store_that_is_locked_costs_the_words_and_the_run_waits_to_be_added(
    project: Path, state: Path
) -> None:
    check(run(project, state))
    path = store_of(project, state)
    environ = clean_environment(XDG_STATE_HOME=str(state))
    with (
        locked(path) as release,
        subprocess.Popen(
            command(*ASKED), cwd=project, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process,
    ):
        guard = threading.Timer(GUARD, process.kill)
        guard.start()
        assert process.stdout is not None and process.stderr is not None
        text = b""
        while not _is_whole(text):  # the answer is there while the store is still held
            piece = os.read(process.stdout.fileno(), 1 << 16)
            assert piece, process.stderr.read()
            text += piece
        release()
        assert process.wait() == 1
        guard.cancel()
        assert process.stderr.read() == b""
    document = json.loads(text)
    assert {test["node_id"]: test["outcome"] for test in document["tests"]} == TRUTH
    assert document.get("compared_with") is None
    assert runs_in(path) == 2


def _is_whole(text: bytes) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_a_store_that_stays_locked_is_told_in_one_line(project: Path, state: Path) -> None:
    check(run(project, state))
    with locked(store_of(project, state)):
        ran = run(project, state)

    assert "history" not in notices(ran)
    assert ran.err == "proctor: this run is not in the history of the tests: database is locked\n"


# The disk is full, or proctor dies


def in_process(root: Path, state: Path, out: Path, hinder: Callable[[], None]) -> int:
    def child() -> None:
        os.environ.clear()
        os.environ.update(clean_environment(XDG_STATE_HOME=str(state)))
        for descriptor, name in ((1, out), (2, out.with_suffix(".err"))):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
        sys.stdout, sys.stderr = (open(number, "w", closefd=False) for number in (1, 2))  # noqa: SIM115
        hinder()
        code = main(["run", "-C", str(root), *ASKED[1:]])
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code or 0)

    return in_child(child)


@pytest.mark.parametrize("write", [1, 12])
@pytest.mark.parametrize("known", [0, 1], ids=["a new store", "a store with a run"])
def test_a_full_disk_changes_neither_the_answer_nor_the_code(
    project: Path, state: Path, tmp_path: Path, known: int, write: int
) -> None:
    for _ in range(known):
        check(run(project, state))

    code = in_process(project, state, tmp_path / "out", lambda: full_at(write))

    said = (tmp_path / "out.err").read_text()
    check(Ran(code, (tmp_path / "out").read_text(), said))
    told = (
        r"proctor: this run is not in the history of the tests: (database or disk is full|disk I/O error)\n"
    )
    assert re.fullmatch(f"({told})?", said)
    check(run(project, state))
    assert runs_in(store_of(project, state)) == known + 1 + (not said)


@pytest.mark.parametrize("write", [1, 4, 9])
def test_after_a_run_that_was_killed_at_a_write_the_next_one_is_as_good(
    project: Path, state: Path, tmp_path: Path, write: int
) -> None:
    assert in_process(project, state, tmp_path / "out", lambda: die_at(write, torn=True)) == -signal.SIGKILL

    ran = run(project, state)

    assert "history" not in notices(ran)
    assert not ran.err
    assert runs_in(store_of(project, state)) == 1


# Texts


def test_secrets_are_masked_before_they_are_stored(tmp_path: Path, state: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    root = write_project(
        tmp_path / "secret", {"test_a.py": f"def test_a():\n    raise ValueError('the key is {secret}')\n"}
    )
    kept = []

    def keep(number: int, *more: str) -> None:
        ran = proctor(
            *("run", "--format", "agent", "--python", sys.executable, *more),
            cwd=root,
            environ=clean_environment(XDG_STATE_HOME=str(state)),
        )
        assert ran.code == 1, ran.err
        kept.append(b"".join(path.read_bytes() for path in (state / "proctor").iterdir()))

    keep(1)
    assert b"the key is" in kept[0]
    assert secret.encode() not in kept[0]

    reader = sqlite3.connect(next((state / "proctor").glob("*.sqlite")))
    assert reader.execute("select count(*) from run").fetchone() == (1,)  # keeps the log from being removed
    keep(2)
    assert secret.encode() not in kept[1]
    reader.close()


def test_names_and_texts_that_are_no_utf8_cost_nothing(tmp_path: Path, state: Path) -> None:
    root = write_project(
        tmp_path / "odd",
        {
            "test_a.py": """
                import pytest
                @pytest.mark.parametrize('x', ['\\udc80'])
                def test(x): assert 0, x
            """
        },
    )
    for number in (1, 2):
        ran = proctor(
            *("run", "--format", "json", "--python", sys.executable),
            cwd=root,
            environ=clean_environment(XDG_STATE_HOME=str(state)),
        )
        assert ran.code == 1
        assert not ran.err
        assert runs_in(store_of(root, state)) == number


def test_a_store_can_be_used_by_threads_of_one_process(tmp_path: Path) -> None:
    """As the server does, with several runs at a time."""
    path = tmp_path / "state" / "p.sqlite"
    failures: list[BaseException] = []

    def add(number: int) -> None:
        try:
            store: Store = open_store(path)
            failure = FailureRow(b"%012d" % number, "x")
            rows = [
                ResultRow(TestKey(".", "r", "s", f"t{n}"), 1, "failed", 1, "x", failure) for n in range(200)
            ]
            store.add(RunRow(str(number), "/p", ANCIENT, 1.0, "failed"), rows, "")
            store.close()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    assert runs_in(path) == 8
