"""The life of processes that wait for a run, with real processes that say what a test wants them to say."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from uuid import uuid4

import pytest
from support.mcp_client import until
from support.projects import GUARD, processes_with
from support.supervised import is_watched, parent_of, read_proc

from proctor.launch import Ahead, Launch
from proctor.outcome import RunOutcome
from proctor.process import standby as standby_module
from proctor.process import warm_start
from proctor.process.preloads import Preloads
from proctor.process.standby import Standby, State, key_of
from proctor.process.stop import Stop
from proctor.process.supervise import Supervised
from proctor.process.warm_start import MOST, MOST_FAILURES, READY_SECONDS, UNUSED_SECONDS, Standbys, WarmStart

MARK = "PROCTOR_TEST_MARK"
#: Stands for an interpreter: what it does before its launch comes is added.
PROGRAM = """#!/bin/sh
[ -n "$PROCTOR_STANDBY" ] || { echo cold; exit; }
{before}
echo ready >&5
touch ready-$$
head -c 10 <&5 >/dev/null
{after}
echo go >&5
exec 5>&-
echo warm
"""


class Scene:
    """A project, a pool of processes for it, and a clock that a test moves."""

    def __init__(self, home: Path) -> None:
        self.home, self.mark = home, uuid4().hex
        self.environ = {"PATH": os.environ["PATH"], "PYTHONPATH": "", MARK: self.mark}
        self.now = 0.0
        self.log: list[str] = []
        self.preloads = Preloads(None)
        self.stop = Stop()
        self.standbys = Standbys(self.preloads, self.log.append, lambda: self.now)

    def project(self, name: str = "one", before: str = "", after: str = "", **more: object) -> Launch:
        root = self.home / name
        root.mkdir(exist_ok=True)
        program = root / "program"
        program.write_text(PROGRAM.replace("{before}", before).replace("{after}", after))
        program.chmod(0o755)
        ahead = Ahead(1, (), more.pop("preload", ()))  # type: ignore[arg-type]
        return Launch((str(program), "--some"), str(root), ahead=ahead, **more)  # type: ignore[arg-type]

    def run(self, launch: Launch, number: int = 1) -> str:
        """What the process of the run writes."""
        with closing(self.starter(number).start(launch)) as process:
            return self.heard(process)

    def run_that_lets_it_go_on(self, launch: Launch) -> str:
        """The same, of a run that begins while a standby waits for the file `go`."""
        until(lambda: self.waiting() != [])
        said: list[str] = []
        thread = threading.Thread(target=lambda: said.append(self.run(launch)))
        thread.start()
        (self.home / "go").touch()
        thread.join(GUARD)
        return "".join(said)

    def starter(self, number: int = 1) -> WarmStart:
        return self.standbys.starter(f"run-{self.mark}-{number}", self.environ, self.stop)

    def heard(self, process: Supervised) -> str:
        said, deadline = b"", time.monotonic() + GUARD
        while not process.done:
            assert time.monotonic() < deadline
            for _, chunks in self.starter().wait([process], 0.2):
                said += b"".join(chunk.data for chunk in chunks if chunk.stream == "stdout")
        return said.decode()

    def rest(self, seconds: float = 1.0) -> None:
        """So much time passes after a run."""
        self.standbys.refill()
        self.now += seconds
        self.standbys.refill()

    def after_a_run(self, launch: Launch) -> None:
        """Somebody has run the tests, and a process for the next run is ready."""
        assert self.run(launch) == "cold\n"
        self.rest_until_ready(launch)

    def rest_until_ready(self, launch: Launch) -> None:
        self.rest()

        def is_ready(pid: int) -> bool:
            return (Path(launch.cwd) / f"ready-{pid}").exists() and is_watched(pid)

        until(lambda: any(map(is_ready, self.waiting())))

    def waiting(self) -> list[int]:
        """Processes that stand by, without their supervisors."""
        found = [pid for pid in self.alive() if b"program\0" in read_proc(f"/proc/{pid}/cmdline")]
        # A shell is there twice for a moment, before its child becomes another program.
        return [pid for pid in found if parent_of(pid) not in found]

    def tries(self, launch: Launch) -> int:
        """Lines of the file in which a program counts its starts."""
        return len(read_proc(f"{launch.cwd}/tries").splitlines())

    def claim(self, launch: Launch) -> Standby | None:
        key = key_of(launch, self.environ)
        assert key is not None
        return self.standbys._claim(key, self.environ)

    def waiting_in(self) -> list[str]:
        """The directories of those."""
        found = []
        for pid in self.waiting():
            with suppress(OSError):  # it has ended
                found.append(os.readlink(f"/proc/{pid}/cwd"))
        return sorted(found)

    def alive(self) -> list[int]:
        return processes_with(MARK, self.mark)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    for name in ("ANSWER_SECONDS", "IMPORT_SECONDS"):  # the machine may be busy
        monkeypatch.setattr(standby_module, name, GUARD)
    monkeypatch.setattr(warm_start, "START_PATIENCE", GUARD)
    scene = Scene(tmp_path)
    yield scene
    scene.standbys.close()
    scene.stop.close()
    assert scene.alive() == []


def test_the_second_run_takes_the_process_that_waits_and_the_third_the_next_one(scene: Scene) -> None:
    launch = scene.project()
    scene.after_a_run(launch)

    assert scene.run(launch) == "warm\n"
    assert scene.waiting() == []  # a call that follows at once is not in its way
    scene.rest_until_ready(launch)
    assert scene.run(launch) == "warm\n"
    assert scene.log == []


def test_a_call_that_follows_at_once_starts_cold_and_nothing_else_is_started(scene: Scene) -> None:
    launch = scene.project()
    for _ in range(3):
        assert scene.run(launch) == "cold\n"
        scene.standbys.refill()  # no time passes

    assert list(Path(launch.cwd).glob("ready-*")) == []


def test_of_calls_at_the_same_time_one_is_warm_and_all_are_answered(scene: Scene) -> None:
    launch = scene.project()
    scene.after_a_run(launch)
    said: list[str] = []
    threads = [
        threading.Thread(target=lambda number=number: said.append(scene.run(launch, number)))
        for number in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GUARD)

    assert sorted(said) == ["cold\n"] * 3 + ["warm\n"]


def test_a_run_waits_for_a_process_that_is_importing(scene: Scene) -> None:
    launch = scene.project(before="until [ -e ../go ]; do sleep 0.01; done")
    assert scene.run(launch) == "cold\n"
    scene.rest()

    assert scene.run_that_lets_it_go_on(launch) == "warm\n"


def test_of_fifty_projects_the_last_four_have_a_process_and_never_more(scene: Scene) -> None:
    launches = [scene.project(f"p{number}") for number in range(50)]
    most = 0
    for launch in launches:
        scene.run(launch)
        scene.rest()
        most = max(most, len(scene.waiting()))
    until(lambda: scene.waiting_in() == sorted(launch.cwd for launch in launches[-MOST:]))

    assert most <= MOST


def test_who_is_used_stays(scene: Scene) -> None:
    first = scene.project("first")
    scene.after_a_run(first)
    for number in range(MOST + 1):
        scene.run(scene.project(f"other-{number}"))
        assert scene.run(first) == "warm\n"
        scene.rest_until_ready(first)


def test_one_that_nobody_needs_for_ten_minutes_ends(scene: Scene) -> None:
    launch = scene.project()
    scene.after_a_run(launch)
    scene.rest(UNUSED_SECONDS / 2)
    assert len(scene.waiting()) == 1
    scene.rest(UNUSED_SECONDS / 2)
    until(lambda: scene.alive() == [])
    scene.rest()

    assert scene.alive() == []
    assert scene.run(launch) == "cold\n"
    assert scene.log == []


@pytest.mark.parametrize("whom", ["it", "its supervisor"])
def test_one_that_is_killed_is_not_missed(scene: Scene, whom: str) -> None:
    launch = scene.project()
    scene.after_a_run(launch)
    (pid,) = scene.waiting()
    os.kill(pid if whom == "it" else parent_of(pid), signal.SIGKILL)
    until(lambda: scene.alive() == [])

    assert scene.run(launch) == "cold\n"
    assert scene.log == [f"a process that was kept ready for {launch.cwd} was not used: it has ended"]


@pytest.mark.parametrize("whom", ["it", "its supervisor"])
def test_one_that_was_stopped_goes_on(scene: Scene, whom: str) -> None:
    launch = scene.project()
    scene.after_a_run(launch)
    (pid,) = scene.waiting()
    os.kill(pid if whom == "it" else parent_of(pid), signal.SIGSTOP)

    assert scene.run(launch) == "warm\n"


def test_one_that_does_not_answer_is_given_up_and_never_begins(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(standby_module, "ANSWER_SECONDS", 0.1)
    launch = scene.project(after="trap '' TERM; until [ -e ../late ]; do sleep 0.01; done")
    scene.after_a_run(launch)

    assert scene.run(launch) == "cold\n"
    (scene.home / "late").touch()
    until(lambda: scene.alive() == [])
    assert scene.log == [f"a process that was kept ready for {launch.cwd} was not used: it does not answer"]


def test_one_whose_answer_comes_as_it_is_given_up_is_the_process_of_the_run(scene: Scene) -> None:
    launch = scene.project(after="echo go >&5; touch answered; exec sleep 600")
    scene.after_a_run(launch)
    standby = scene.claim(launch)
    assert standby is not None
    standby._send(b"%010d" % 0)
    until(lambda: (Path(launch.cwd) / "answered").exists())
    standby._give_up("it does not answer")

    assert standby.state is State.TAKEN
    standby.close()


def test_a_run_that_is_cancelled_does_not_wait_for_an_answer(scene: Scene) -> None:
    launch = scene.project(after="sleep 600")
    scene.after_a_run(launch)
    scene.stop.ask(RunOutcome.CANCELLED)

    assert scene.run(launch) == "cold\n"  # whoever asked for it ends it
    assert "was not used: the run was stopped" in scene.log[0]


@pytest.mark.parametrize("stream", ["1", "2"])
@pytest.mark.parametrize("size", [1, 1 << 20])
def test_one_that_writes_before_its_run_is_not_used(scene: Scene, stream: str, size: int) -> None:
    launch = scene.project(before=f"echo once more >>tries; head -c {size} /dev/zero >&{stream}")
    for _ in range(4):
        assert scene.run(launch) == "cold\n"
        scene.rest()
        until(lambda: scene.log != [] and scene.alive() == [])

    wrote = "it wrote something before its run"
    assert scene.log == [f"a process that was kept ready for {launch.cwd} was not used: {wrote}"]
    assert scene.tries(launch) <= MOST_FAILURES


@pytest.mark.parametrize("size", [1, 1_000_000])
def test_one_that_writes_while_a_run_waits_for_it_is_not_used(scene: Scene, size: int) -> None:
    launch = scene.project(before=f"until [ -e ../go ]; do sleep 0.01; done; head -c {size} /dev/zero")
    scene.run(launch)
    scene.rest()

    assert scene.run_that_lets_it_go_on(launch) == "cold\n"


def test_one_that_closes_its_output_is_waited_for_without_a_hurry(scene: Scene) -> None:
    launch = scene.project(before="exec 2>&-")
    scene.after_a_run(launch)
    before = time.process_time()
    threading.Event().wait(0.3)

    assert time.process_time() - before < 0.2
    assert scene.run(launch) == "warm\n"


def test_one_that_fails_twice_is_tried_again_after_ten_minutes(scene: Scene) -> None:
    launch = scene.project(before="[ -e mended ] || { echo >>tries; echo failed 'no pytest' >&5; exit; }")
    for _ in range(MOST_FAILURES):
        before = scene.tries(launch)
        scene.run(launch)
        scene.rest()
        until(lambda: scene.tries(launch) > before and scene.alive() == [])  # noqa: B023
    (Path(launch.cwd) / "mended").touch()
    scene.run(launch)
    scene.rest()
    assert scene.run(launch) == "cold\n"
    scene.rest(UNUSED_SECONDS)

    until(lambda: list(Path(launch.cwd).glob("ready-*")) != [])
    assert scene.run(launch) == "warm\n"
    assert scene.log == [f"a process that was kept ready for {launch.cwd} was not used: no pytest"]


PACKAGES = """
case "$PROCTOR_STANDBY" in *numpy*)
    echo importing numpy >&5
    {what}
esac
"""


@pytest.mark.parametrize(
    ("what", "why"),
    [
        ("echo dropped numpy it prints >&5; exit", "it prints"),
        ("kill -9 $$", "its import ended the process"),
        ("echo Fatal >&2; sleep 600", "it wrote something before its run"),
    ],
)
def test_a_package_that_cannot_be_preloaded_is_left_out_from_then_on(
    scene: Scene, what: str, why: str
) -> None:
    launch = scene.project(before=PACKAGES.replace("{what}", what), preload=("numpy",))
    scene.run(launch)
    scene.rest()
    until(lambda: list(Path(launch.cwd).glob("ready-*")) != [])

    assert scene.run(launch) == "warm\n"
    assert scene.log == [f"numpy is not preloaded for {launch.cwd}: {why}"]


def test_a_package_whose_import_takes_more_than_a_minute_is_left_out(scene: Scene) -> None:
    imports = PACKAGES.replace("{what}", "touch ../imports; exec sleep 600")
    launch = scene.project(before=imports, preload=("numpy",))
    scene.run(launch)
    scene.rest()
    until((scene.home / "imports").exists)
    scene.rest(READY_SECONDS)
    until(lambda: list(Path(launch.cwd).glob("ready-*")) != [])

    assert scene.run(launch) == "warm\n"
    assert scene.log == [f"numpy is not preloaded for {launch.cwd}: it took more than 60 s"]


def test_a_launch_that_is_larger_than_the_socket_arrives_whole(scene: Scene) -> None:
    launch = scene.project(after="head -c 4000000 <&5 >/dev/null")
    scene.after_a_run(launch)
    many = tuple(f"test_{number:06}" for number in range(400_000))
    large = Launch((*launch.argv, *many), launch.cwd, ahead=launch.ahead)

    assert scene.run(large) == "warm\n"


def test_without_descriptors_runs_go_on_as_far_as_they_can(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    launch = scene.project()
    scene.run(launch)

    def none_left() -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pipe", none_left)
        scene.rest()
        scene.rest()
    assert scene.log == ["no process is kept ready: [Errno 24] Too many open files"]

    scene.rest()  # it comes back with them
    until(lambda: scene.waiting() != [])
    assert scene.run(launch) == "warm\n"


def test_without_threads_runs_start_cold(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    launch = scene.project()
    descriptors = len(os.listdir("/proc/self/fd"))

    def no_thread(_: object) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", no_thread)
        for _ in range(2):
            assert scene.run(launch) == "cold\n"
            scene.rest()

    assert scene.log == ["no process is kept ready: can't start new thread"]
    assert len(os.listdir("/proc/self/fd")) == descriptors


def test_many_runs_leave_no_descriptor_and_no_thread(scene: Scene) -> None:
    launches = [scene.project(f"p{number}") for number in range(MOST + 2)]
    before = len(os.listdir("/proc/self/fd")), threading.active_count()
    for _ in range(3):
        for launch in launches:
            scene.run(launch)
            scene.rest()
    scene.standbys.close()

    assert (len(os.listdir("/proc/self/fd")), threading.active_count()) == before
    assert scene.alive() == []


def test_a_project_that_is_gone_needs_no_process(scene: Scene) -> None:
    launch = scene.project()
    scene.run(launch)
    (Path(launch.cwd) / "program").unlink()
    Path(launch.cwd).rmdir()
    scene.rest()
    until(lambda: scene.log != [])

    assert scene.log[0].startswith(f"no process is kept ready for {launch.cwd}: cannot start {launch.cwd}")


def test_another_interpreter_under_the_same_name_starts_cold(scene: Scene) -> None:
    launch = scene.project()
    scene.after_a_run(launch)
    (Path(launch.cwd) / "program").unlink()
    again = scene.project()

    assert scene.run(again) == "cold\n"


def test_what_a_warm_run_leaves_behind_dies_with_it_though_it_killed_its_supervisor(scene: Scene) -> None:
    orphan = "setsid sleep 600 </dev/null >/dev/null 2>&1 & sleep 0.1; kill -9 $PPID; sleep 600"
    launch = scene.project()
    program = Path(launch.argv[0])
    program.write_text(program.read_text() + orphan)
    scene.claim(launch)
    scene.rest()
    until(lambda: list(Path(launch.cwd).glob("ready-*")) != [])

    assert scene.run(launch) == "warm\n"
    assert scene.alive() == []
