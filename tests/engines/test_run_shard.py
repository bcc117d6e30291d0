"""A shard on its worker: what it returns, what it sends meanwhile, and when it ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from support.engines import Inline, dispatched, ends_of, plan_of
from support.projects import project_python, write_project
from support.streams import STARTED

from proctor import events as e
from proctor.archive.inside import Folder, read_inside
from proctor.engines import host
from proctor.engines.host import PlainHost
from proctor.engines.lease import Lease
from proctor.engines.project import Project, Shipping
from proctor.engines.run_shard import run_shard
from proctor.engines.shard_files import ShardFiles
from proctor.engines.shard_log import ShardLog, unpack
from proctor.engines.task import Answer, Task, decode_answer, decode_task, encode_answer, encode_task
from proctor.errors import LaunchError
from proctor.outcome import Outcome, RunOutcome
from proctor.plan_run import Asked
from proctor.relay import Relay
from proctor.running import Running

PROGRAMS = '[[tests]]\nname = "p"\ncommand = "true"\n\n[[tests]]\nname = "q"\ncommand = "true"\n'


def task_of(root: Path, **more: Any) -> Task:
    asked = Asked(root=root, runner="command", archive=False, history=False)
    plan = plan_of("/p /q", runner="command")
    project = Shipping(root, {}, elsewhere=True).project(with_files=False)
    return Task("20260101-120000-abcdef", "try1", 1, 1, plan, asked, project, **more)


def test_a_task_and_an_answer_are_json_whatever_the_names_of_tests() -> None:
    names = ("test_\udcff.py::a", "b\ud800", "c\0")
    plan = plan_of(names)
    task = msgspec.structs.replace(task_of(Path("/p/\udc80")), plan=plan)
    answer = Answer("try1", "wörker", files={"files/\udc80": "AA=="})

    carried = json.loads(json.dumps([encode_task(task), encode_answer(answer)]))

    assert all(str(value).isascii() for one in carried for value in one.values())
    assert (decode_task(carried[0]), decode_answer(carried[1])) == (task, answer)


def test_a_shard_returns_its_whole_log_and_sends_the_same_lines_meanwhile(tmp_path: Path) -> None:
    write_project(tmp_path, {"proctor.toml": PROGRAMS})
    sent: list[tuple[str, str]] = []
    word = host.listen(lambda attempt, lines: sent.append((attempt, lines)))
    lease = Lease()

    answer = decode_answer(
        run_shard(encode_task(task_of(tmp_path, live=word, lease=lease.path, secret=lease.secret)))
    )

    host.forget(word)
    log = unpack(answer.log).decode()
    assert (answer.attempt, answer.error, lease.worker("try1")) == ("try1", "", answer.worker)
    assert {attempt for attempt, _ in sent} <= {"try1"}
    assert log.startswith("".join(lines for _, lines in sent))
    assert log.count('"type":"test"') == 2
    assert not (tmp_path / ".proctor").exists()
    lease.close()


def test_a_project_that_is_not_there_is_an_answer(tmp_path: Path) -> None:
    task = msgspec.structs.replace(task_of(tmp_path), project=Project(str(tmp_path / "gone")))

    answer = decode_answer(run_shard(encode_task(task)))

    assert (answer.attempt, answer.needs_project, answer.error) == ("try1", True, "")


def test_a_shard_whose_lease_is_over_runs_nothing(tmp_path: Path) -> None:
    write_project(tmp_path, {"proctor.toml": '[[tests]]\nname = "p"\ncommand = ["sleep", "600"]\n'})
    lease = Lease()
    task = task_of(tmp_path, lease=lease.path, secret=lease.secret)
    task = msgspec.structs.replace(task, plan=plan_of("/p", runner="command"))
    lease.end(RunOutcome.INTERRUPTED)

    log = unpack(decode_answer(run_shard(encode_task(task))).log).decode()

    assert '"status":"interrupted"' in log or '"outcome":"interrupted"' in log, log
    lease.close()


def test_a_shard_that_its_worker_gives_up_ends_without_an_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path, {"proctor.toml": '[[tests]]\nname = "p"\ncommand = ["sleep", "600"]\n'})
    monkeypatch.setattr(PlainHost, "is_unwanted", lambda self: True)
    task = msgspec.structs.replace(task_of(tmp_path), plan=plan_of("/p", runner="command"))

    with pytest.raises(LaunchError, match="gave the shard up"):
        run_shard(encode_task(task))


def test_output_without_end_is_cut_in_the_log_and_results_are_whole() -> None:
    log = ShardLog("try1", PlainHost(), output_limit=10)
    relay = Relay(STARTED, [log])
    for text in ("12345", "6789", "too long", "more"):
        relay.publish(e.OutputReceived("stdout", text), 0.0)
    relay.publish(e.TestFinished("t", Outcome.PASSED), 0.0)
    relay.close(1.0)

    text = unpack(log.pack()).decode()

    assert [word in text for word in ("12345", "6789", "too long", "more")] == [True, True, False, False]
    assert text.count("its output is longer than 10 characters: the rest is left out") == 1
    assert '"label":"t"' in text


def test_a_host_that_cannot_send_is_not_asked_again() -> None:
    class Mute(PlainHost):
        asked = 0

        def send(self, attempt: str, lines: str) -> None:
            self.asked += 1
            raise ConnectionError

    mute = Mute()
    relay = Relay(STARTED, [log := ShardLog("try1", mute)])
    for number in range(1000):
        relay.publish(e.TestFinished(f"t{number}", Outcome.PASSED), 0.0)
    relay.close(1.0)

    assert mute.asked == 1
    assert unpack(log.pack()).count(b'"type":"test"') == 1000


def test_files_that_fit_are_returned_and_the_others_stay_by_reference(tmp_path: Path) -> None:
    files = tmp_path / "files"
    files.mkdir()
    for number, size in enumerate((10, 11, 10, 10), 1):
        (files / f"00000{number}-f").write_bytes(b"x" * size)
    attached = tuple(e.File("f", f"files/00000{number}-f", 10) for number in range(1, 6))
    relay = Relay(STARTED, [])
    relay.publish(e.TestFinished("t", Outcome.PASSED, files=attached), 0.0)
    returned = ShardFiles("machine", most_of_one=10, most_of_all=25)

    returned.take(relay.result, Folder(tmp_path))

    assert list(returned.files) == ["files/000001-f", "files/000003-f"]
    kept = {path: Path(where.removeprefix("machine:")) for path, where in returned.kept.items()}
    assert {path: len(where.read_bytes()) for path, where in kept.items()} == {
        "files/000002-f": 11,
        "files/000004-f": 10,
    }
    for where in kept.values():
        where.unlink()
    where.parent.rmdir()


def test_files_and_output_of_a_shard_are_files_and_output_of_the_run(tmp_path: Path) -> None:
    source = 'def test_a():\n    print("printed")\n    assert list(range(3000)) == list(range(2999))\n'
    write_project(tmp_path, {"test_a.py": source})
    asked = Asked(root=tmp_path, python=project_python(), archive=False, history=False)
    read: dict[str, bytes] = {}

    def look(run: Running) -> None:
        files = run.result.tests["test_a.py::test_a"].files
        read.update({file.path: read_inside(run.shelf.files, file.path) for file in files})

    result = dispatched(plan_of("test_a.py::test_a"), lambda: Inline(None), tmp_path, asked=asked, look=look)

    assert ends_of(result) == {"test_a.py::test_a": "failed"}
    assert "1 failed" in result.output.text()
    (file,) = result.tests["test_a.py::test_a"].files
    assert len(read[file.path]) == file.size > 0
