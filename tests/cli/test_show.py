"""`proctor show`: a test of a run that is over, under way, or cut short, and never a file of anybody else."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support.projects import GUARD, Ran, clean_environment, command, proctor, run_suite, write_project

from proctor.wire.control.decoder import encode

BINARY = bytes(range(256)) * 40
SUITE = {
    "test_a.py": """
        def test_pass(): pass
        def test_fail():
            assert [1, 2] == [1, 3]
    """,
}


def source(*messages: tuple[dict[str, Any], bytes], then: str = "") -> str:
    stream = b"".join(encode(body) + data for body, data in messages)
    return f"import os, sys, time\nos.write(3, {stream!r})\nprint('hello')\n{then}"


REPORT = source(
    ({"name": "part/one", "status": "pass", "group": "slow"}, b""),
    ({"name": "part/two", "status": "fail", "note": "two is broken"}, b""),
    (
        {
            "status": "fail",
            "note": "one of two",
            "retries": [1, 2],
            "testout": "all.txt",
            "files": [{"name": "log.txt", "length": 12}, {"name": "core", "length": len(BINARY)}],
        },
        b"\x1b[31mred\x1b[0m" + BINARY,
    ),
)


def program(root: Path, text: str = REPORT) -> Path:
    quoted = json.dumps([sys.executable, "report.py"])
    return write_project(
        root, {"report.py": text, "proctor.toml": f'[[tests]]\nname = "t"\ncommand = {quoted}\n'}
    )


def show(root: Path, *arguments: str) -> Ran:
    return proctor("show", *arguments, cwd=root)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose one run has a test with parts, files, output and properties."""
    root = program(tmp_path_factory.mktemp("reported"))
    proctor("run", "--runner", "command", cwd=root)
    return root


def run_directory(root: Path) -> Path:
    (directory,) = (root / ".proctor" / "runs").iterdir()
    return directory


def test_a_test_with_all_that_is_known_about_it(reported: Path) -> None:
    ran = show(reported, "last", "--test", "/t")

    directory = run_directory(reported)
    lines = ran.out.splitlines()
    assert ran.code == 0
    assert lines[0].startswith("FAILED /t in ")
    assert "one of two" in lines
    assert "  retries: [1,2]" in lines
    (log,) = [line for line in lines if line.startswith("  log.txt")]
    assert log.startswith(f"  log.txt  12 bytes  {directory}/files/")
    assert Path(log.split()[-1]).read_bytes() == b"\x1b[31mred\x1b[0m"
    assert any(line.startswith("  all.txt  its stdout and stderr") for line in lines)
    assert lines[lines.index("results below") + 1 :] == [
        "  PASSED /t/part/one",
        "  FAILED /t/part/two: two is broken",
    ]


def test_a_part_of_a_test_is_shown_by_its_own_id(reported: Path) -> None:
    assert show(reported, "--test", "/t/part/one").out == "PASSED /t/part/one\n\nproperties\n  group: slow\n"


def test_as_json(reported: Path) -> None:
    answer = show(reported, "last", "--test", "/t", "--format", "json").document

    assert answer["schema"] == "proctor.test/1"
    assert answer["run_outcome"] == "failed"
    assert answer["notes"] == []
    assert answer["test"]["outcome"] == "failed"
    assert answer["test"]["properties"]["retries"] == [1, 2]
    assert [file["name"] for file in answer["test"]["files"]] == ["log.txt", "core"]
    assert answer["test"]["testout"]["name"] == "all.txt"
    assert [test["node_id"] for test in answer["results_below"]] == ["/t/part/one", "/t/part/two"]


@pytest.mark.parametrize(
    "name, content", [("core", BINARY), ("log.txt", b"\x1b[31mred\x1b[0m"), ("all.txt", b"hello\n")]
)
def test_the_bytes_of_a_file_as_they_were_sent(reported: Path, name: str, content: bytes) -> None:
    done = subprocess.run(
        command("show", "--test", "/t", "--file", name),
        cwd=reported,
        env=clean_environment(),
        capture_output=True,
        timeout=GUARD,
        check=True,
    )

    assert done.stdout == content


def on_a_terminal(root: Path, *arguments: str) -> tuple[int, bytes, str]:
    ours, theirs = pty.openpty()
    done = proctor("show", *arguments, cwd=root, stdout=theirs)
    os.set_blocking(ours, False)
    try:
        shown = os.read(ours, 1 << 16)
    except BlockingIOError:
        shown = b""
    os.close(ours)
    os.close(theirs)
    return done.code, shown, done.err


def test_a_terminal_gets_text_made_harmless_and_nothing_else(reported: Path) -> None:
    assert on_a_terminal(reported, "--test", "/t", "--file", "log.txt") == (0, b"red", "")
    code, shown, said = on_a_terminal(reported, "--test", "/t", "--file", "core")
    assert (code, shown) == (4, b"")
    assert "'core' is not text" in said


def test_a_run_is_found_by_id_beginning_last_and_path(reported: Path) -> None:
    directory = run_directory(reported)
    expected = show(reported, directory.name, "--test", "/t").out

    for name in ("last", directory.name[:12], str(directory), f"./{directory.relative_to(reported)}"):
        assert show(reported, name, "--test", "/t").out == expected
    assert proctor("show", "last", "-C", str(reported), "--test", "/t", cwd=reported.parent).out == expected


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--test", "/t/part/tow"], ["no test '/t/part/tow'", "/t/part/two"]),
        (["--test", "two"], ["did you mean /t/part/two?"]),
        (["--test", "/t", "--file", "nope"], ["no file 'nope'", "log.txt, core, all.txt"]),
        (["--test", "/t/part/one", "--file", "nope"], ["it has none"]),
        (["--file", "log.txt"], ["--test ID"]),
        (["1999"], ["no run begins with '1999'", "the newest are 2"]),
        (["./nowhere"], ["./nowhere is not the directory of a run"]),
    ],
)
def test_what_is_not_there_is_one_line_that_names_what_is(
    reported: Path, arguments: list[str], words: list[str]
) -> None:
    ran = show(reported, *arguments)

    assert ran.code == 4
    assert all(word in ran.err for word in words), ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


def test_a_project_without_runs_says_so(tmp_path: Path) -> None:
    assert "no kept runs of" in show(tmp_path).err


def test_a_beginning_that_several_runs_share_names_them(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)
    run_suite(root)
    run_suite(root)
    names = sorted(path.name for path in (root / ".proctor" / "runs").iterdir())

    ran = show(root, "2")

    assert ran.code == 4
    assert "2 runs begin with '2'" in ran.err
    assert all(name in ran.err for name in names)
    assert show(root, names[0]).out == "1 failed 1 passed\ntest_a.py::test_fail :3 assert [1, 2] == [1, 3]\n"


def test_a_run_and_its_bad_tests_and_its_document(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)
    run_suite(root)

    assert show(root).out == "1 failed 1 passed\ntest_a.py::test_fail :3 assert [1, 2] == [1, 3]\n"
    assert show(root, "--format", "json").out == (run_directory(root) / "result.json").read_text()
    shown = show(root, "--test", "test_a.py::test_fail").out
    assert shown.startswith("FAILED test_a.py::test_fail in ")
    assert "At index 1 diff: 2 != 3" in shown


def under_way(root: Path) -> subprocess.Popen[bytes]:
    """A run whose test has reported, and waits."""
    messages = (
        ({"name": "done", "status": "pass"}, b""),
        ({"partial": True, "files": [{"name": "early.log", "length": 5}]}, b"early"),
    )
    program(root, source(*messages, then="open('here', 'w').close()\ntime.sleep(600)\n"))
    process = subprocess.Popen(
        command("run", "--runner", "command"),
        cwd=root,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    limit = time.monotonic() + GUARD
    log = ""
    while "early.log" not in log and time.monotonic() < limit:
        time.sleep(0.05)
        if (root / "here").exists():
            log = (run_directory(root) / "events.jsonl").read_text()
    assert "early.log" in log
    return process


def test_a_run_under_way_shows_what_there_is_and_a_killed_one_what_there_was(tmp_path: Path) -> None:
    process = under_way(tmp_path)
    try:
        now = show(tmp_path, "--test", "/t")
        file = show(tmp_path, "--test", "/t", "--file", "early.log")
        whole = show(tmp_path)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait(GUARD)

    assert "is under way: this is its record so far" in now.out
    assert "RUNNING /t\n" in now.out
    assert "early.log  5 bytes" in now.out
    assert "PASSED /t/done" in now.out
    assert file.out == "early"
    assert whole.out.startswith("running 1 passed\n")

    after = show(tmp_path, "--test", "/t", "--format", "json").document
    assert "was cut short" in after["notes"][0]
    assert after["run_outcome"] == "incomplete"
    assert after["test"]["outcome"] == "error"
    assert [entry["node_id"] for entry in after["results_below"]] == ["/t/done"]
    assert show(tmp_path).out.startswith("INCOMPLETE ")
    assert show(tmp_path, "--format", "json").document["outcome"] == "incomplete"


def test_a_damaged_document_is_said_and_the_log_serves(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)
    run_suite(root)
    directory = run_directory(root)
    (directory / "result.json").write_text("{")
    head, *lines = (directory / "events.jsonl").read_text().splitlines(keepends=True)
    (directory / "events.jsonl").write_text("".join([head, "not a line of ours\n", *lines]))

    ran = show(root, "--test", "test_a.py::test_fail")

    assert "note: result.json cannot be read, so this is from the log" in ran.out
    assert "note: line 2 is left out: not a line of an event stream" in ran.out
    assert "FAILED test_a.py::test_fail" in ran.out


def secret(root: Path) -> Path:
    path = root / "secret"
    path.write_text("do not show")
    return path


def pointed_at(directory: Path, path: str) -> None:
    """The document's word for where a file is, changed."""
    document = json.loads((directory / "result.json").read_text())
    next(test for test in document["tests"] if test["node_id"] == "/t")["files"][0]["path"] = path
    (directory / "result.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    "kind",
    ["absolute path", "path that climbs", "link", "linked folder", "pipe", "linked document", "linked log"],
)
def test_nothing_outside_the_run_is_read_whatever_a_test_did_to_its_directory(
    tmp_path: Path, kind: str
) -> None:
    root = program(tmp_path)
    proctor("run", "--runner", "command", cwd=root)
    hidden, directory = secret(tmp_path), run_directory(root)
    (kept,) = (directory / "files").glob("*-log.txt")
    relative = str(kept.relative_to(directory))
    match kind:
        case "absolute path":
            pointed_at(directory, str(hidden))
        case "path that climbs":
            pointed_at(directory, f"files/../{os.path.relpath(hidden, directory)}")
        case "link":
            kept.unlink()
            kept.symlink_to(hidden)
        case "linked folder":
            (directory / "files").rename(directory / "moved")
            (directory / "files").symlink_to(tmp_path)
            pointed_at(directory, "files/secret")
        case "pipe":
            kept.unlink()
            os.mkfifo(kept)
        case "linked document":
            hidden.write_text(json.dumps({"run_id": "do not show", "outcome": "do not show", "tests": []}))
            (directory / "result.json").unlink()
            (directory / "result.json").symlink_to(hidden)
            relative = ""
        case "linked log":
            (directory / "result.json").unlink()
            (directory / "events.jsonl").rename(hidden)
            (directory / "events.jsonl").symlink_to(hidden)

    ran = show(root, "--test", "/t", "--file", "log.txt")

    assert "do not show" not in ran.out + ran.err
    if relative:
        assert ran.code == 4
        assert "cannot be read" in ran.err
    else:
        assert ran.out == "\x1b[31mred\x1b[0m"  # from the log


def test_escape_sequences_of_a_test_are_made_harmless(tmp_path: Path) -> None:
    text = source(
        ({"status": "fail", "note": "\x1b]0;title\x07", "\x1b[2Jkey": "\x1b[31m"}, b""), then="sys.exit(1)\n"
    )
    root = program(tmp_path, text)
    proctor("run", "--runner", "command", cwd=root)

    assert "\x1b" not in show(root, "--test", "/t").out + show(root).out


def test_what_a_test_wrote_is_shown_whole(tmp_path: Path) -> None:
    text = """
        import logging

        def test_talks():
            for n in range(300):
                print("line", n)
            logging.getLogger("shop").warning("low on disk")
            assert False
        """
    root = write_project(tmp_path, {"test_a.py": text})
    run_suite(root, "--format", "agent")

    shown = proctor("show", "--test", "test_a.py::test_talks", cwd=root).out

    assert all(f"line {n}\n" in shown for n in range(300))
    assert "log of call\nWARNING shop: low on disk" in shown


def test_a_test_can_be_named_as_the_failure_index_writes_it(tmp_path: Path) -> None:
    body = "import pytest\n@pytest.mark.parametrize('x', ['a|b'])\ndef test_a(x): assert not x\n"
    write_project(tmp_path, {"test_a.py": body})
    run_suite(tmp_path, "--format", "agent")

    for name in ("test_a.py::test_a[a|b]", r"test_a.py::test_a[a\|b]"):
        assert "test_a.py::test_a[a|b]" in proctor("show", "--test", name, cwd=tmp_path).out


def test_a_test_can_be_named_by_the_end_of_its_id_if_no_other_has_it(tmp_path: Path) -> None:
    tests = "class TestA:\n    def test_x(self): assert 0\ndef test_y(): pass\n"
    root = write_project(tmp_path, {"test_a.py": tests, "test_b.py": "def test_y(): pass\n"})
    run_suite(root)

    for name in ("test_x", "TestA::test_x"):
        assert proctor("show", "--test", name, cwd=root).out.startswith("FAILED test_a.py::TestA::test_x")
    both = proctor("show", "--test", "test_y", cwd=root)
    assert both.code == 4
    assert "did you mean test_a.py::test_y or test_b.py::test_y?" in both.err
