"""`proctor show`, and the public stream of real runs, whichever way they end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.projects import (
    GUARD,
    clean_environment,
    command,
    proctor,
    project_python,
    run_suite,
    with_enough_time,
    write_project,
)
from support.streams import BUILD, STARTED, Log, case, final, objects, suite, violations, written

from proctor import events as e
from proctor.outcome import Outcome
from proctor.relay import Relay
from proctor.wire.control.decoder import encode

OUTCOMES = {
    "test_a.py": """
        import pytest

        def test_ok(): print("seen")
        def test_bad(): assert [1] == [2]
        @pytest.mark.skip(reason="later")
        def test_skipped(): pass
        @pytest.mark.xfail
        def test_expected(): assert 0
    """
}
CRASH = {
    "test_a.py": """
        import os

        def test_ok(): pass
        def test_dies(): os.abort()
        def test_later(): pass
    """
}
SIGNAL_US = """
    import os, signal, time

    def test_ok(): pass
    def test_waits():
        os.kill(int(os.environ["PROCTOR_PID"]), signal.{name})
        time.sleep(600)
    def test_never(): pass
"""


def stream_of(root: Path, *arguments: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and lines of `--format stream`, which keep the rules."""
    ran = run_suite(root, "--format", "stream", *arguments)
    assert violations(ran.out.encode()) == []
    return ran.code, objects(ran.out.encode().splitlines())


def told(lines: list[dict[str, Any]]) -> dict[str, str]:
    """How each test ended: its status, and the word beside it if there is one."""
    return {
        line["label"]: " ".join([line["status"], line.get("extra", {}).get("outcome", "")]).strip()
        for line in lines
        if line["type"] == "test"
    }


def test_the_stream_of_a_run_that_passed(tmp_path: Path) -> None:
    code, lines = stream_of(write_project(tmp_path, {"test_a.py": "def test_ok(): pass"}))

    assert code == 0
    assert [line["type"] for line in lines] == ["suite", "test", "final"]
    assert lines[-1]["extra"]["outcome"] == "passed"


def test_the_stream_of_a_run_with_every_kind_of_test(tmp_path: Path) -> None:
    code, lines = stream_of(write_project(tmp_path, OUTCOMES))

    assert code == 1
    assert told(lines) == {
        "test_a.py::test_ok": "ok",
        "test_a.py::test_bad": "fail",
        "test_a.py::test_skipped": "ignore",
        "test_a.py::test_expected": "ignore xfail",
    }


def test_the_stream_of_a_crash(tmp_path: Path) -> None:
    code, lines = stream_of(write_project(tmp_path, CRASH))

    assert code == 2
    assert told(lines) == {
        "test_a.py::test_ok": "ok",
        "test_a.py::test_dies": "fail crash",
        "test_a.py::test_later": "ok",  # in another session
    }
    assert lines[-1]["extra"]["exit"] == {"code": -signal.SIGABRT, "signal": "SIGABRT"}


def test_the_stream_of_a_process_that_leaves_in_the_middle_with_status_0(tmp_path: Path) -> None:
    files = {"test_a.py": CRASH["test_a.py"].replace("os.abort()", "os._exit(0)")}
    code, lines = stream_of(write_project(tmp_path, files))

    assert (code, told(lines)["test_a.py::test_dies"]) == (2, "fail crash")


def test_the_stream_of_a_run_that_took_too_long(tmp_path: Path) -> None:
    slow = "def test_slow(): open('reached', 'w').close(); time.sleep(600)"
    root = write_project(tmp_path, {"test_a.py": f"import time\n{slow}\ndef test_never(): pass"})
    code, lines = with_enough_time(lambda limit: stream_of(root, "--timeout", limit), root / "reached")

    assert code == 2
    assert told(lines) == {"test_a.py::test_slow": "fail timeout", "test_a.py::test_never": "ignore not_run"}
    assert lines[-1]["extra"]["outcome"] == "timeout"


@pytest.mark.parametrize(("name", "outcome"), [("SIGINT", "interrupted"), ("SIGTERM", "cancelled")])
def test_the_stream_of_a_run_that_was_stopped(tmp_path: Path, name: str, outcome: str) -> None:
    write_project(tmp_path, {"test_a.py": SIGNAL_US.format(name=name)})
    start = ["sh", "-c", 'PROCTOR_PID=$$ exec "$@"', "sh"]  # the shell's number becomes proctor's
    arguments = command("run", "--python", project_python(), "--format", "stream")
    done = subprocess.run(
        [*start, *arguments],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    lines = objects(done.stdout.splitlines())

    assert violations(done.stdout) == []
    assert done.returncode == 2
    assert told(lines) == {
        "test_a.py::test_ok": "ok",
        "test_a.py::test_waits": "fail error",
        "test_a.py::test_never": "ignore not_run",
    }
    assert lines[-1]["extra"]["outcome"] == outcome


def test_the_stream_of_a_file_that_cannot_be_collected(tmp_path: Path) -> None:
    code, lines = stream_of(write_project(tmp_path, {**OUTCOMES, "test_b.py": "import nothing_like_it"}))

    assert code == 1
    assert lines[0]["count"] == len(lines) - 2
    assert told(lines)["test_b.py"] == "fail error"
    assert told(lines)["test_a.py::test_ok"] == "ignore not_run"


def test_the_stream_of_a_run_without_tests(tmp_path: Path) -> None:
    code, lines = stream_of(write_project(tmp_path, {"test_a.py": "x = 1"}))

    assert code == 5
    assert [line["type"] for line in lines] == ["suite", "final"]
    assert lines[-1]["results"] == {"ok": 0, "fail": 0, "ignore": 0}


def test_the_stream_of_a_run_that_never_began_has_a_failure_that_says_why(tmp_path: Path) -> None:
    code, lines = stream_of(write_project(tmp_path, OUTCOMES), "no_such_name")

    assert code == 4
    (test,) = [line for line in lines if line["type"] == "test"]
    assert test["reason"] == "usage error: file or directory not found: no_such_name"


def test_the_stream_of_programs_counts_the_parts_that_they_report(tmp_path: Path) -> None:
    messages = encode({"name": "one", "status": "pass"}) + encode({"name": "two", "status": "fail"})
    source = f"import os; os.write(3, {messages + encode({'status': 'pass'})!r})"
    commands = json.dumps([sys.executable, "report.py"])
    write_project(
        tmp_path, {"report.py": source, "proctor.toml": f'[[tests]]\nname = "t"\ncommand = {commands}\n'}
    )

    ran = proctor("run", "--runner", "command", "--format", "stream", cwd=tmp_path)

    lines = objects(ran.out.encode().splitlines())
    assert violations(ran.out.encode()) == []
    assert lines[0]["count"] == 3
    assert told(lines) == {"/t/one": "ok", "/t/two": "fail", "/t": "ok"}
    assert [line["extra"]["part_of"] for line in lines[1:3]] == ["/t", "/t"]


def test_the_parts_that_a_test_reports_stand_in_a_suite_of_their_own(tmp_path: Path) -> None:
    source = """
        def test_a(proctor_report): proctor_report("fail", "part")
        def test_b(): pass
    """
    code, lines = stream_of(write_project(tmp_path, {"test_a.py": source}))

    assert code == 1
    assert [(line["name"], line["count"]) for line in lines if line["type"] == "suite"] == [
        ("pytest", 2),
        ("pytest (beyond the count)", 1),
    ]
    assert told(lines)["test_a.py::test_a/part"] == "fail"


def without_introduction(text: str) -> str:
    """Without the first line, which says who is going to run the tests."""
    return text.partition("\n")[2]


def test_a_run_is_shown_by_name_in_any_format(tmp_path: Path) -> None:
    write_project(tmp_path, OUTCOMES)
    ran = run_suite(tmp_path, "--format", "human")

    shown = proctor("show", "last", "--format", "human", cwd=tmp_path)
    (run,) = (tmp_path / ".proctor" / "runs").iterdir()

    assert (shown.out, shown.code, shown.err) == (
        without_introduction(ran.out),
        1,
        f"proctor: {run.name}: failed\n",
    )
    assert proctor("show", "--format", "tree", cwd=tmp_path).out.startswith("test_a.py\n  passed  test_ok")


def test_the_recorded_log_projects_to_the_stream_that_was_written_live(tmp_path: Path) -> None:
    write_project(tmp_path, OUTCOMES)
    run_suite(tmp_path, "-o", "stream=live.jsonl")
    (run,) = (tmp_path / ".proctor" / "runs").iterdir()

    from_log = proctor("show", str(run), "--format", "stream", cwd=tmp_path)
    from_stream = proctor("show", "live.jsonl", "--format", "stream", cwd=tmp_path)

    live = (tmp_path / "live.jsonl").read_text()
    assert from_log.out == live
    assert from_stream.out == live


def test_a_log_shown_as_a_document_is_the_document_of_the_run(tmp_path: Path) -> None:
    write_project(tmp_path, OUTCOMES)
    ran = run_suite(tmp_path, "--format", "json")
    (run,) = (tmp_path / ".proctor" / "runs").iterdir()

    shown = proctor("show", str(run / "events.jsonl"), "--format", "json", cwd=tmp_path)

    assert shown.document == ran.document
    assert (shown.code, shown.err) == (1, f"proctor: {run / 'events.jsonl'}: failed\n")


def test_a_log_shown_to_people_is_what_they_saw_live(tmp_path: Path) -> None:
    write_project(tmp_path, OUTCOMES)
    ran = run_suite(tmp_path, "--format", "human")
    (run,) = (tmp_path / ".proctor" / "runs").iterdir()

    assert proctor("show", str(run), "--format", "human", cwd=tmp_path).out == without_introduction(ran.out)


def test_the_replay_of_a_long_run_does_not_pretend_to_wait(tmp_path: Path) -> None:
    kept = Log()
    relay = Relay(STARTED, [kept])
    relay.publish(e.SuiteStarted("pytest", BUILD, 2000), 0.5)
    for number in range(2000):
        relay.publish(e.TestFinished(f"t{number}", Outcome.PASSED), float(number))
    relay.close(2000.0)
    log = b"".join(kept.lines)
    assert len(log) > 2 << 16  # more than is read at once
    (tmp_path / "e.jsonl").write_bytes(log)

    ran = proctor("show", "e.jsonl", "--format", "human", cwd=tmp_path)

    verdict = "INCOMPLETE 2000 passed in 2000.00s (the end of the process was not seen)"
    assert ran.out == f"{verdict}\n"


def test_every_format_shows_a_stream(tmp_path: Path) -> None:
    data = written(suite(2), case("a"), case("b", "fail"), final(1, 1))
    (tmp_path / "s.jsonl").write_bytes(data)
    expected = {
        "human": "--- FAILED b\n",
        "libtest": "test b ... FAILED\n",
        "dots": ".\nFAILED b",
        "names": "FAILED  b: it broke\n",
        "tree": "FAILED  b: it broke\n",
        "summary": "1 failed 1 passed in 0.00s\n",
        "agent": "1 failed 1 passed\n",
        "github": "::error title=FAILED b::it broke\n",
        "json": '"outcome":"failed"',
        "stream": '"label":"b"',
        "events": '"kind":"run"',
        "auto": "FAILED b: it broke\n",
    }
    for form, text in expected.items():
        ran = proctor("show", "s.jsonl", "--format", form, cwd=tmp_path)
        assert text in ran.out, form
        assert (ran.code, ran.err) == (1, "proctor: s.jsonl: failed\n"), form


def test_the_exit_code_is_that_of_the_worst_suite(tmp_path: Path) -> None:
    good, empty = [suite(1), case("a"), final(1)], [suite(0), final()]
    bad, cut = [suite(1), case("b", "fail"), final(0, 1)], [suite(1), case("c")]
    for lines, code in (
        (good, 0),
        (good + empty, 0),
        (good + empty + bad, 1),
        (good + bad + cut, 2),
        (empty, 5),
    ):
        (tmp_path / "s.jsonl").write_bytes(written(*lines))
        assert proctor("show", "s.jsonl", cwd=tmp_path).code == code


def test_input_that_ends_early_is_said_to_be_incomplete(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(written(suite(2), case("a")))

    ran = proctor("show", "s.jsonl", cwd=tmp_path)

    assert (ran.code, ran.err) == (2, "proctor: s.jsonl: incomplete\n")
    assert ran.out.startswith("INCOMPLETE 1 passed")


@pytest.mark.parametrize(
    ("content", "said"), [(b"", "x is empty"), (b"hello\n", "cannot tell the format of x")]
)
def test_input_that_tells_of_no_run_is_a_clear_error(tmp_path: Path, content: bytes, said: str) -> None:
    (tmp_path / "x").write_bytes(content)

    ran = proctor("show", "x", cwd=tmp_path)

    assert (ran.code, ran.out) == (4, "")
    assert said in ran.err


def test_another_tool_s_report_is_shown_like_a_run_of_ours(tmp_path: Path) -> None:
    (tmp_path / "x.tap").write_text("1..2\nok 1 - first\nnot ok 2 - second\n")

    ran = proctor("show", "x.tap", "--format", "names", cwd=tmp_path)

    assert ran.code == 1
    assert "passed  first" in ran.out
    assert "FAILED  second" in ran.out


def test_a_file_that_is_not_there_is_a_mistake_in_the_command(tmp_path: Path) -> None:
    ran = proctor("show", "./nowhere", cwd=tmp_path)

    assert (ran.code, ran.err) == (4, "proctor: ./nowhere is not the directory of a run [usage]\n")


def test_strict_names_each_broken_rule_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(written(suite(2), b"noise", case("a", "great"), final(1)))

    ran = proctor("show", "s.jsonl", "--strict", cwd=tmp_path)

    noise, *others = ran.out.splitlines()
    assert ran.code == 1
    assert noise.startswith("s.jsonl: line 2: not JSON: ")
    assert noise.endswith(": b'noise\\n' (R2)")
    assert others == [
        's.jsonl: line 3: status is "great": expected one of ok, fail, ignore (R14)',
        "s.jsonl: line 4: the suite announced 2 tests and has 0 (R9)",
        's.jsonl: line 4: results is {"ok":1,"fail":0,"ignore":0}; '
        'the tests above add up to {"ok":0,"fail":0,"ignore":0} (R26)',
    ]
    assert ran.err == "proctor: s.jsonl breaks the rules of the stream 4 times [stream]\n"


def test_strict_is_content_with_what_keeps_the_rules(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(written(suite(1), case("a"), final(1)))

    ran = proctor("show", "s.jsonl", "--strict", cwd=tmp_path)

    assert (ran.code, ran.out, ran.err) == (0, "s.jsonl: 3 lines, no rule broken\n", "")


def showing(root: Path, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command("show", *arguments),
        cwd=root,
        env=clean_environment(**more),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def test_lines_are_shown_as_they_arrive(tmp_path: Path) -> None:
    with showing(tmp_path, "-", "--format", "names") as shown:
        shown.stdin.write(written(suite(2), case("a")))
        shown.stdin.flush()
        first = shown.stdout.readline()  # and the second test has not been written yet
        shown.stdin.write(written(case("b"), final(2)))
        shown.stdin.close()
        rest = shown.stdout.read()

    assert first == b"passed  a\n"
    assert rest == b"passed  b\n2 passed in 0.00s\n"
    assert shown.returncode == 0


def test_a_growing_file_is_followed_to_its_final_line(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_bytes(written(suite(2), case("a"))[:-5])
    with showing(tmp_path, "s.jsonl", "--follow", "--format", "libtest") as shown:
        while shown.stdout.readline() != b"running 2 tests\n":
            pass
        with open(path, "ab") as file:
            file.write(written(suite(2), case("a"))[-5:] + written(case("b"), final(2)))
        rest = shown.stdout.read()

    assert rest.startswith(b"test a ... ok\ntest b ... ok\n")
    assert shown.returncode == 0


def test_following_ends_with_the_writer_of_a_run_that_was_killed(tmp_path: Path) -> None:
    write_project(tmp_path, OUTCOMES)
    run_suite(tmp_path)
    (run,) = (tmp_path / ".proctor" / "runs").iterdir()
    log = run / "events.jsonl"
    log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[:-1]))

    ran = proctor("show", str(run), "--follow", cwd=tmp_path)

    assert (ran.code, ran.err) == (2, f"proctor: {run.name}: incomplete\n")


def test_colours_are_forced_and_forbidden_by_the_environment(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(written(suite(1), case("a", "fail"), final(0, 1)))

    def shown(**more: str) -> str:
        return proctor("show", "s.jsonl", cwd=tmp_path, environ=clean_environment(**more)).out

    assert "\x1b[31mFAILED a: it broke\x1b[0m\n" in shown(FORCE_COLOR="1")
    assert "\x1b" not in shown()
    assert "\x1b" not in shown(FORCE_COLOR="0")
    assert "\x1b" not in shown(FORCE_COLOR="1", NO_COLOR="1")


def test_github_gets_places_in_the_repository_and_a_summary_beside_what_is_there(tmp_path: Path) -> None:
    root = write_project(tmp_path / "repo" / "sub", OUTCOMES)
    summary = tmp_path / "summary.md"
    summary.write_text("earlier\n")
    places = {"GITHUB_WORKSPACE": str(tmp_path / "repo"), "GITHUB_STEP_SUMMARY": str(summary)}

    ran = run_suite(root, "--format", "github", **places)

    assert ran.out.startswith(
        "::error file=sub/test_a.py,line=4,title=FAILED test_a.py%3A%3Atest_bad::assert"
    )
    assert re.search(r"::stop-commands::([0-9a-f]{32})\n.*^::\1::\n\Z", ran.out, re.DOTALL | re.MULTILINE)
    assert summary.read_text().startswith("earlier\n### ❌ 1 failed 1 passed")


def test_whoever_stops_reading_stops_us_quietly(tmp_path: Path) -> None:
    tests = [case(str(number)) for number in range(5000)]
    (tmp_path / "s.jsonl").write_bytes(written(suite(5000), *tests, final(5000)))
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = subprocess.run(
        command("show", "s.jsonl", "--format", "names"),
        cwd=tmp_path,
        env=clean_environment(),
        stdout=write_end,
        stderr=subprocess.PIPE,
        timeout=GUARD,
        check=False,
    )
    os.close(write_end)

    assert b"Traceback" not in done.stderr


def test_the_lines_of_events_can_be_read_again(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_bytes(written(suite(1), case("a"), final(1)))
    events = proctor("show", "s.jsonl", "--format", "events", cwd=tmp_path).out
    (tmp_path / "e.jsonl").write_text(events)

    assert [json.loads(line)["seq"] for line in events.splitlines()] == list(range(len(events.splitlines())))
    assert proctor("show", "e.jsonl", "--format", "agent", cwd=tmp_path).out == "1 passed\n"


def test_the_failure_index_follows_any_stream(tmp_path: Path) -> None:
    (tmp_path / "x.tap").write_text("1..2\nok 1 - first\nnot ok 2 - second\n")

    shown = proctor("show", "x.tap", "--format", "names", "--failure-summary", "on", cwd=tmp_path).out

    assert shown.endswith("##[failures]\nsecond | failed | \n##[/failures]\n")
    (tmp_path / "log.txt").write_text(shown)
    back = proctor("convert", "log.txt", "--from", "failures", "--to", "json", cwd=tmp_path)
    assert back.code == 0
    assert [(test["node_id"], test["outcome"]) for test in back.document["tests"]] == [("second", "failed")]
    again = proctor("convert", "log.txt", "--from", "failures", "--to", "failures", cwd=tmp_path)
    assert again.out == "##[failures]\nsecond | failed | \n##[/failures]\n"
