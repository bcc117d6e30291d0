"""Programs as tests: the command runner, with real processes, pipes and clocks."""

from __future__ import annotations

import base64
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from support.control_vectors import VECTORS, matches, same, stream_of
from support.projects import (
    GUARD,
    Ran,
    clean_environment,
    command,
    processes_with,
    proctor,
    with_enough_time,
)
from support.shared import made_once

SEND = """
import base64, json, os, sys
vector = json.load(open(sys.argv[1]))
data = base64.b64decode(vector["stream"])
sizes, at, number = vector["sizes"] or [65536], 0, 0
try:
    while at < len(data):
        at += os.write(3, data[at:at + sizes[number % len(sizes)]])
        number += 1
except BrokenPipeError:
    pass  # what follows an error is not read
sys.stdout.write(vector["stdout"])
sys.stdout.flush()
os._exit(vector["exit"])
"""


def program(root: Path, name: str, text: str, python: bool = True) -> Path:
    """An executable script at that place."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    head = f"#!{sys.executable}\n" if python else "#!/bin/sh\n"
    path.write_text(head + textwrap.dedent(text).lstrip("\n"))
    path.chmod(0o755)
    return path


def run(root: Path, *arguments: str, **environ: str) -> Ran:
    return proctor("run", "--runner", "command", *arguments, cwd=root, environ=clean_environment(**environ))


def document(root: Path, *arguments: str, **environ: str) -> dict[str, Any]:
    return run(root, "--format", "json", *arguments, **environ).document


def results(root: Path, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(root, "--format", "results", *arguments).out.splitlines()]


def outcomes(found: dict[str, Any]) -> dict[str, str]:
    return {test["node_id"]: test["outcome"] for test in found["tests"]}


def report(data: bytes = b"", **result: Any) -> str:
    """Python source that reports this; `data` is what its files hold."""
    raw = json.dumps(result).encode()
    return f"import os; os.write(3, {b'result %d' % len(raw) + bytes([10]) + raw + data!r})\n"


# Every vector, through a real process and a real pipe


VectorsRun = tuple[Path, list[dict[str, Any]], dict[str, Any]]


@pytest.fixture(scope="module")
def vectors_run(tmp_path_factory: pytest.TempPathFactory) -> VectorsRun:
    home = made_once(tmp_path_factory, "vectors", run_vectors)
    (directory,) = (home / "project" / ".proctor" / "runs").iterdir()
    lines = [json.loads(line) for line in (directory / "results.jsonl").read_text().splitlines()]
    return directory, lines, json.loads((home / "document.json").read_text())


def run_vectors(home: Path) -> None:
    root = home / "project"
    program(root, "send", SEND)
    entries = []
    for number, vector in enumerate(VECTORS):
        stream = base64.b64encode(stream_of(vector)).decode()
        facts = {
            "stream": stream,
            "sizes": vector.get("write_sizes"),
            "stdout": vector["stdout_text"],
            "exit": vector["exit_code"],
        }
        (root / f"{number}.json").write_text(json.dumps(facts))
        entries.append(f'[[tests]]\nname = "v{number}"\ncommand = ["./send", "{number}.json"]\n')
    (root / "proctor.toml").write_text("\n".join(entries))
    (home / "document.json").write_text(run(root, "-n", "2", "--format", "json").out)


@pytest.mark.parametrize("number", range(len(VECTORS)), ids=[vector["name"] for vector in VECTORS])
def test_a_vector_gives_its_results_through_the_real_runner(vectors_run: VectorsRun, number: int) -> None:
    directory, lines, found = vectors_run
    expected = VECTORS[number]["expected"]
    test = f"/v{number}"
    mine = [deepcopy(line) for line in lines if (line["test"] + "/").startswith(test + "/")]

    files: dict[str, dict[str, bytes]] = {}
    for line in mine:
        kept = files.setdefault(line.get("name", ""), {})
        for file in line.get("files", ()):
            kept[file["name"]] = (directory / file.pop("path")).read_bytes()
        if "testout" in line:
            kept[line["testout"]] = (directory / line.pop("testout_path")).read_bytes()
        assert line.pop("test") == (f"{test}/{line['name']}" if "name" in line else test)
        if line.pop("by", None) == "proctor":
            assert line.pop("note")

    assert same(mine, expected["results"])
    for name, contents in expected["files"].items():
        assert files[name].keys() == contents.keys()
        assert all(matches(files[name][file], content) for file, content in contents.items())
    if expected["error"]:
        assert outcomes(found)[test] == "error"


def test_nothing_is_written_outside_the_run(
    vectors_run: VectorsRun,
) -> None:
    directory, _, _ = vectors_run
    root = directory.parent.parent.parent
    own = {"send", "proctor.toml", ".proctor", *(f"{n}.json" for n in range(len(VECTORS)))}

    assert set(os.listdir(root)) == own
    assert all(path.is_file() and not path.is_symlink() for path in (directory / "files").iterdir())


# Names, outcomes, verdicts


def test_a_program_is_named_by_its_place_in_the_project(tmp_path: Path) -> None:
    program(tmp_path, "checks/deep/ok", "pass")
    program(tmp_path, "checks/also ok", report(name="part/one", status="pass"))
    (tmp_path / "checks" / "notes.txt").write_text("not a program")
    program(tmp_path, "checks/.hidden/never", "raise SystemExit(1)")

    found = document(tmp_path, "checks")

    assert outcomes(found) == {
        "/checks/also ok/part/one": "passed",
        "/checks/also ok": "passed",
        "/checks/deep/ok": "passed",
    }
    assert found["outcome"] == "passed"


@pytest.mark.parametrize(
    ("status", "outcome", "run_outcome"),
    [
        ("pass", "passed", "passed"),
        ("fail", "failed", "failed"),
        ("error", "error", "failed"),
        ("skip", "skipped", "passed"),
        ("info", "info", "passed"),
        ("warn", "warn", "passed"),
    ],
)
def test_each_status_has_its_outcome_and_only_two_are_failures(
    tmp_path: Path, status: str, outcome: str, run_outcome: str
) -> None:
    program(tmp_path, "t", report(name="part", status=status) + report(status=status, note="because"))

    found = document(tmp_path, "t")

    assert outcomes(found) == {"/t/part": outcome, "/t": outcome}
    assert found["outcome"] == run_outcome


def test_a_result_without_a_status_is_never_a_pass(tmp_path: Path) -> None:
    program(tmp_path, "part", report(name="x"))
    program(tmp_path, "own", report(note="hello"))

    found = document(tmp_path, "part", "own")

    assert outcomes(found) == {"/part/x": "info", "/part": "passed", "/own": "error"}
    assert found["summary"]["passed"] == 1
    assert found["outcome"] == "failed"


def test_a_name_that_comes_again_hides_nothing(tmp_path: Path) -> None:
    program(tmp_path, "t", report(name="x", status="fail") + report(name="x", status="pass"))

    found = document(tmp_path, "t")

    assert outcomes(found) == {"/t/x": "failed", "/t/x#2": "passed", "/t": "passed"}
    assert [line["test"] for line in results(tmp_path, "t")] == ["/t/x", "/t/x", "/t"]


def test_two_results_of_the_test_itself_count_as_the_worse(tmp_path: Path) -> None:
    program(tmp_path, "t", report(status="fail", note="first") + report(status="pass"))

    assert outcomes(document(tmp_path, "t")) == {"/t": "failed"}


def test_an_exit_code_speaks_for_who_says_nothing(tmp_path: Path) -> None:
    program(tmp_path, "t", "echo working; echo 'no such table' >&2; exit 3", python=False)

    ran = run(tmp_path, "--format", "agent", "t")

    assert ran.out == "1 failed\n/t exit code 3: no such table\n"
    assert ran.code == 1


def test_the_exitcode_word_speaks_louder(tmp_path: Path) -> None:
    program(tmp_path, "t", "printf 'exitcode 0\\n' >&3; exit 7", python=False)

    assert outcomes(document(tmp_path, "t")) == {"/t": "passed"}


def test_who_says_pass_and_then_dies_has_not_passed(tmp_path: Path) -> None:
    program(tmp_path, "t", report(status="pass") + "os.kill(os.getpid(), 11)")

    ran = run(tmp_path, "--format", "json", "t")

    assert outcomes(ran.document) == {"/t": "crash"}
    assert ran.document["outcome"] == "crashed"
    assert ran.code == 2


def test_a_program_that_cannot_start_fails_alone(tmp_path: Path) -> None:
    program(tmp_path, "ok", "pass")
    text = tmp_path / "text"
    text.write_bytes(b"\x00\x01 no program\n")
    text.chmod(0o755)

    found = document(tmp_path, "text", "ok")

    assert outcomes(found) == {"/text": "error", "/ok": "passed"}
    assert "Exec format error" in found["tests"][0]["message"]


def test_a_broken_channel_is_an_error_with_its_place_and_rule_and_cause(tmp_path: Path) -> None:
    raw = '{"status": "pass"}'
    program(tmp_path, "t", f"import os; os.write(3, b'result {len(raw) + 1}\\n{raw}noop')\nprint('went on')")

    found = document(tmp_path, "t")
    (test,) = found["tests"]

    assert test["outcome"] == "error"
    assert "JSON is 18 bytes, the line announced 19" in test["message"]
    assert "rule R3, byte 28" in test["message"]
    assert "went on" in found["text_output"]


@pytest.mark.parametrize("partial", [False, True])
def test_a_program_that_says_pass_and_kills_its_supervisor_has_not_passed(
    tmp_path: Path, partial: bool
) -> None:
    said = report(status="pass", partial=partial) + report(name="part", status="pass")
    program(tmp_path, "t", said + "os.kill(os.getppid(), 9)\nimport time; time.sleep(1000)")

    ran = run(tmp_path, "--format", "json", "t")

    assert outcomes(ran.document) == {"/t/part": "passed", "/t": "error"}
    assert ran.document["tests"][-1]["message"] == "the end of its process was not seen"
    assert ran.document["outcome"] == "failed"


# Settings


def test_a_project_lists_its_tests_with_their_surroundings(tmp_path: Path) -> None:
    program(
        tmp_path,
        "tools/show",
        "import os; print(os.getcwd(), os.environ['MODE'], os.environ['PROCTOR_DURATION'])",
    )
    (tmp_path / "data").mkdir()
    (tmp_path / "pyproject.toml").write_text(
        textwrap.dedent("""
        [[tool.proctor.tests]]
        name = "show"
        command = "../tools/show 'two words'"
        duration = "1m 30s"
        cwd = "data"
        environment = {MODE = "fast"}
        tags = ["quick"]

        [[tool.proctor.tests]]
        name = "slow/one"
        command = ["false"]
        """)
    )

    found = proctor(
        "run", "--format", "json", "-m", "quick", cwd=tmp_path, environ=clean_environment()
    ).document

    assert outcomes(found) == {"/show": "passed"}
    assert found["text_output"].split() == [str(tmp_path / "data"), "fast", "90"]
    assert found["summary"]["deselected"] == 1
    assert found["command"] == [str(tmp_path / "data" / ".." / "tools" / "show"), "two words"]


def test_names_and_expressions_select(tmp_path: Path) -> None:
    entries = [f'[[tests]]\nname = "{name}"\ncommand = "true"\n' for name in ("db/read", "db/write", "net")]
    (tmp_path / "proctor.toml").write_text("".join(entries))

    def selected(*arguments: str) -> list[str]:
        return list(outcomes(document(tmp_path, *arguments)))

    assert selected() == ["/db/read", "/db/write", "/net"]
    assert selected("-k", "DB and not write") == ["/db/read"]
    assert selected("/net") == ["/net"]
    assert selected("/db/write/some/part") == ["/db/write"]
    assert run(tmp_path, "-k", "nothing").code == 5
    assert "invalid expression" in run(tmp_path, "-k", "a and").err


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ('[[tests]]\nname = "a"\n', "command"),
        ('[[tests]]\nname = "a"\ncommand = []\n', "empty"),
        ('[[tests]]\nname = "a"\ncommand = "x \'y"\n', "cannot be split"),
        ('[[tests]]\nname = "a"\ncommand = "x"\nduration = "soon"\n', "'soon'"),
        ('[[tests]]\nname = "a"\ncommand = "x"\nretries = 3\n', "retries"),
        ('[[tests]]\nname = "a"\ncommand = "x"\n[[tests]]\nname = "/a"\ncommand = "y"\n', "twice"),
        ("[limits]\nfile = 3\n", "file"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, settings: str, said: str) -> None:
    (tmp_path / "proctor.toml").write_text(settings)

    ran = run(tmp_path)

    assert ran.code == 4
    assert said in ran.err
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("target", ["", "nowhere", "plain.txt", "empty"])
def test_a_wrong_target_is_named(tmp_path: Path, target: str) -> None:
    (tmp_path / "plain.txt").write_text("x")
    (tmp_path / "empty").mkdir()

    ran = run(tmp_path, target)

    assert ran.code == 4
    assert repr(target) in ran.err or target in ran.err


def test_nothing_to_run_is_a_clear_error(tmp_path: Path) -> None:
    ran = run(tmp_path)

    assert ran.code == 4
    assert "[[tool.proctor.tests]]" in ran.err


def test_what_failed_last_is_run_again_by_its_name(tmp_path: Path) -> None:
    program(tmp_path, "t/a", "pass")
    program(tmp_path, "t/b", report(name="part", status="fail") + report(status="pass"))
    run(tmp_path, "t")

    assert set(outcomes(document(tmp_path, "--last-failed"))) == {"/t/b/part", "/t/b"}


def test_discover_lists_programs_and_runs_none(tmp_path: Path) -> None:
    program(tmp_path, "t/a", "open('ran', 'w')")

    ran = proctor("discover", "--runner", "command", "t", cwd=tmp_path, environ=clean_environment())

    assert "a" in ran.out
    assert ran.code == 0
    assert not (tmp_path / "ran").exists()


def test_several_run_at_once_and_their_output_stays_apart(tmp_path: Path) -> None:
    meet = """
        import os, sys, time
        mine, other = sys.argv[0][-1], {"a": "b", "b": "a"}[sys.argv[0][-1]]
        print("this is", mine, flush=True)
        open(mine + ".here", "w").close()
        while not os.path.exists(other + ".here"): time.sleep(0.01)
    """
    for name in "ab":
        program(tmp_path, f"t/{name}", meet)

    found = document(tmp_path, "-n", "2", "--timeout", str(GUARD), "t")

    assert outcomes(found) == {"/t/a": "passed", "/t/b": "passed"}
    (directory,) = (tmp_path / ".proctor" / "runs").iterdir()
    texts = {t["node_id"]: (directory / t["testout"]["path"]).read_text() for t in found["tests"]}
    assert texts == {"/t/a": "this is a\n", "/t/b": "this is b\n"}


def test_after_enough_failures_the_rest_is_not_run(tmp_path: Path) -> None:
    for name in "abc":
        program(tmp_path, f"t/{name}", "raise SystemExit(name := 1)")

    found = document(tmp_path, "-x", "t")

    assert outcomes(found) == {"/t/a": "failed"}
    assert found["not_run"] == ["/t/b", "/t/c"]
    assert found["outcome"] == "failed"


# Time


def test_a_test_that_outstays_its_duration_is_ended_and_the_others_run(tmp_path: Path) -> None:
    done = report(name="done", status="pass")
    program(tmp_path, "stuck", f"{done}open('reached', 'w').close()\nimport time; time.sleep(1000)")

    def with_duration(limit: str) -> Ran:
        (tmp_path / "proctor.toml").write_text(
            f'[[tests]]\nname = "stuck"\ncommand = "./stuck"\nduration = {limit}\n'
            '[[tests]]\nname = "fine"\ncommand = "true"\n'
        )
        return run(tmp_path, "--format", "json")

    ran = with_enough_time(with_duration, tmp_path / "reached")

    assert outcomes(ran.document) == {"/stuck/done": "passed", "/stuck": "timeout", "/fine": "passed"}
    assert ran.document["outcome"] == "timeout"
    assert ran.code == 2


def test_a_test_can_ask_for_more_time_and_for_less(tmp_path: Path) -> None:
    asks = "import os, time; os.write(3, b'duration save\\nduration 1h\\n'); open('reached', 'w').close()"
    less = "import os, time; os.write(3, b'duration -1d\\n'); time.sleep(1000)"
    program(tmp_path, "less", less)

    def with_duration(limit: str) -> dict[str, Any]:
        program(tmp_path, "more", f"{asks}; time.sleep({limit} + 1)")
        (tmp_path / "proctor.toml").write_text(
            f'[[tests]]\nname = "more"\ncommand = "./more"\nduration = {limit}\n'
            '[[tests]]\nname = "less"\ncommand = "./less"\nduration = "1h"\n'
        )
        return document(tmp_path)

    found = with_enough_time(with_duration, tmp_path / "reached")

    assert outcomes(found) == {"/more": "passed", "/less": "timeout"}


def test_the_limit_of_the_run_holds_whatever_a_test_asks_for(tmp_path: Path) -> None:
    longer = "import os, time; os.write(3, b'duration 1h\\n'); open('reached', 'w').close(); time.sleep(1000)"
    program(tmp_path, "t/a", longer)
    program(tmp_path, "t/b", "pass")

    found = with_enough_time(lambda limit: document(tmp_path, "--timeout", limit, "t"), tmp_path / "reached")

    assert outcomes(found) == {"/t/a": "timeout"}
    assert found["outcome"] == "timeout"
    assert found["not_run"] == ["/t/b"]


# Whatever a program does


def test_a_daemon_that_holds_the_channel_does_not_hold_the_run(tmp_path: Path) -> None:
    marker = f"daemon-{os.getpid()}-{tmp_path.name}"
    program(
        tmp_path,
        "t",
        report(status="pass") + "import time\nif os.fork() == 0: os.setsid(); time.sleep(1000)",
    )

    found = document(tmp_path, "t", DAEMON=marker)

    assert outcomes(found) == {"/t": "passed"}
    assert processes_with("DAEMON", marker) == []


HALF_A_FILE = report(b"abc", name="x", files=[{"name": "a", "length": 10}])


@pytest.mark.parametrize(
    "said",
    ["os.write(3, b'res')", "os.write(3, b'result 20\\n{}')", HALF_A_FILE],
    ids=["line", "json", "file"],
)
def test_half_a_message_is_an_error_and_what_came_before_stays(tmp_path: Path, said: str) -> None:
    program(tmp_path, "t", report(name="whole", status="pass") + said)

    found = document(tmp_path, "t")

    assert outcomes(found) == {"/t/whole": "passed", "/t": "error"}
    assert "ends early" in found["tests"][-1]["message"]


def test_four_writers_of_small_messages_need_no_lock(tmp_path: Path) -> None:
    program(
        tmp_path,
        "t",
        """
        import json, os
        for writer in range(4):
            if os.fork() == 0:
                for number in range(200):
                    body = {"name": f"{writer}/{number}", "status": "pass", "pad": "x" * 3000}
                    raw = json.dumps(body).encode()
                    os.write(3, b"result %d\\n%b" % (len(raw), raw))
                os._exit(0)
        for writer in range(4): os.wait()
        """,
    )

    found = document(tmp_path, "t")

    assert found["summary"]["passed"] == 801
    assert found["outcome"] == "passed"


def test_four_writers_of_large_messages_with_the_lock(tmp_path: Path) -> None:
    program(
        tmp_path,
        "t",
        """
        import fcntl, json, os
        for writer in range(4):
            if os.fork() == 0:
                own = os.open("/proc/self/fd/3", os.O_WRONLY)
                for number in range(10):
                    files = [{"name": "f", "length": 100000}]
                    head = {"name": f"{writer}/{number}", "status": "pass", "files": files}
                    raw = json.dumps(head).encode()
                    data = memoryview(b"result %d\\n%b" % (len(raw), raw) + b"%d" % writer * 100000)
                    fcntl.flock(own, fcntl.LOCK_EX)
                    while data: data = data[os.write(own, data):]
                    fcntl.flock(own, fcntl.LOCK_UN)
                os._exit(0)
        for writer in range(4): os.wait()
        """,
    )

    found = document(tmp_path, "t")
    (directory,) = (tmp_path / ".proctor" / "runs").iterdir()

    assert found["summary"]["passed"] == 41
    for test in found["tests"][:-1]:
        (file,) = test["files"]
        writer = test["node_id"].split("/")[2]
        assert (directory / file["path"]).read_bytes() == writer.encode() * 100000


def test_a_test_that_reads_its_input_finds_the_end_of_it(tmp_path: Path) -> None:
    program(tmp_path, "t", "import sys; assert sys.stdin.read() == ''")

    assert outcomes(document(tmp_path, "t")) == {"/t": "passed"}


@pytest.mark.skipif(not Path("/bin/dash").exists(), reason="no dash here")
def test_dash_can_write_to_the_descriptor(tmp_path: Path) -> None:
    path = program(tmp_path, "t", "", python=False)
    path.write_text('#!/bin/dash\nprintf \'result 17\\n{"status":"warn"}\' >&$PROCTOR_CONTROL_FD\n')

    assert outcomes(document(tmp_path, "t")) == {"/t": "warn"}


def test_who_lost_the_descriptor_finds_the_channel_by_its_path(tmp_path: Path) -> None:
    program(
        tmp_path,
        "t",
        """
        import os, subprocess, sys
        code = "from proctor.client import report; report('warn')"
        subprocess.run([sys.executable, "-c", code], check=True, close_fds=True)
        """,
    )

    assert outcomes(document(tmp_path, "t")) == {"/t": "warn"}


def test_old_tests_find_the_channel_under_the_old_name(tmp_path: Path) -> None:
    program(tmp_path, "t", """printf 'result 17\\n{"status":"warn"}' >&$ATEX_TEST_CONTROL""", python=False)

    assert outcomes(document(tmp_path, "t")) == {"/t": "warn"}


def test_a_shell_script_reports_with_the_verbs(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("what happened\n")
    program(
        tmp_path,
        "t",
        """
        proctor begin
        proctor report --name first --status pass --set 'speed=3'
        proctor report --name second --status fail --file log.txt --note 'see log.txt'
        proctor duration +60
        proctor noop
        proctor report --status warn
        """,
        python=False,
    )
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    found = document(tmp_path, "t", PATH=path)
    tests = {test["node_id"]: test for test in found["tests"]}

    assert outcomes(found) == {"/t/first": "passed", "/t/second": "failed", "/t": "warn"}
    assert tests["/t/first"]["properties"] == {"speed": 3}
    assert tests["/t/second"]["message"] == "see log.txt"
    shown = proctor("show", "last", "--test", "/t/second", "--file", "log.txt", cwd=tmp_path)
    assert shown.out == "what happened\n"


def test_a_guard_speaks_for_who_ends_too_soon(tmp_path: Path) -> None:
    program(tmp_path, "t", "from proctor.client import begin\nbegin()\nraise SystemExit(0)")

    assert outcomes(document(tmp_path, "t")) == {"/t": "error"}


# While it runs, and after a kill


def test_partial_results_and_files_show_up_while_the_test_runs(tmp_path: Path) -> None:
    program(
        tmp_path,
        "t",
        report(b"hello", name="x", partial=True, n=1, files=[{"name": "log", "length": 5}])
        + "import time\nwhile not os.path.exists('seen'): time.sleep(0.01)",
    )
    arguments = command("run", "--runner", "command", "--format", "events", "t")
    process = subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.PIPE, env=clean_environment())
    assert process.stdout is not None
    seen: dict[str, Any] = {}
    for raw in process.stdout:
        line = json.loads(raw)
        kind = line.get("kind") or line["type"]
        if kind in ("amended", "attachment"):
            seen[kind] = line["extra"]
        if len(seen) == 2:
            (tmp_path / "seen").touch()
    process.stdout.close()

    assert process.wait(GUARD) == 0
    assert seen["amended"]["said"]["n"] == 1
    assert (seen["attachment"]["name"], seen["attachment"]["size"]) == ("log", 5)


def test_a_test_that_is_killed_keeps_what_it_finished_and_what_it_had_open(tmp_path: Path) -> None:
    program(
        tmp_path,
        "t",
        report(name="done", status="pass")
        + report(name="open", status="info", partial=True, step=3)
        + report(status="error", partial=True)
        + "os.kill(os.getpid(), 9)",
    )

    found = results(tmp_path, "t")

    assert [(line["test"], line["status"]) for line in found] == [
        ("/t/done", "pass"),
        ("/t/open", "info"),
        ("/t", "error"),
    ]
    assert outcomes(document(tmp_path, "t")) == {"/t/done": "passed", "/t/open": "info", "/t": "crash"}


def test_a_proctor_that_is_killed_has_written_what_it_had_read(tmp_path: Path) -> None:
    program(tmp_path, "t", report(name="done", status="pass") + "import time; time.sleep(1000)")
    marker = f"killed-{os.getpid()}-{tmp_path.name}"
    process = subprocess.Popen(
        command("run", "--runner", "command", "--format", "results", "t"),
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        env=clean_environment(KILLED=marker),
    )
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["test"] == "/t/done"
    (directory,) = (tmp_path / ".proctor" / "runs").iterdir()
    deadline = time.monotonic() + GUARD
    while not (directory / "results.jsonl").read_bytes():  # the line on disk may follow the one on stdout
        assert time.monotonic() < deadline
    process.send_signal(signal.SIGKILL)
    process.stdout.close()
    process.wait(GUARD)

    (line,) = (directory / "results.jsonl").read_text().splitlines()
    assert json.loads(line)["test"] == "/t/done"
    while processes_with("KILLED", marker):
        assert time.monotonic() < deadline


# Files and limits


def test_a_large_file_arrives_whole_beside_small_ones(tmp_path: Path) -> None:
    program(
        tmp_path,
        "t",
        """
        import json, os
        big = os.urandom(1 << 16) * 80
        sizes = {"a": b"first", "big": big, "none": b"", "z": b"last"}
        head = {"status": "pass", "files": [{"name": n, "length": len(d)} for n, d in sizes.items()]}
        raw = json.dumps(head).encode()
        data = memoryview(b"result %d\\n%b" % (len(raw), raw) + b"".join(sizes.values()) + b"noop\\n")
        open("big", "wb").write(big)
        while data: data = data[os.write(3, data):]
        """,
    )

    (test,) = document(tmp_path, "t")["tests"]
    (directory,) = (tmp_path / ".proctor" / "runs").iterdir()
    kept = {file["name"]: (directory / file["path"]).read_bytes() for file in test["files"]}

    assert test["outcome"] == "passed"
    assert kept == {"a": b"first", "big": (tmp_path / "big").read_bytes(), "none": b"", "z": b"last"}


@pytest.mark.parametrize(
    ("limit", "reports"),
    [
        ("results", 2 * report(name="x", status="pass")),
        ("partials", report(name="x", partial=True) + report(name="y", partial=True)),
        ("files", report(files=[{"name": "a", "length": 0}, {"name": "b", "length": 0}])),
        ("file_bytes", report(files=[{"name": "a", "length": 2}])),
        ("json", report(name="x" * 100)),
    ],
)
def test_a_quota_has_an_error_that_names_it(tmp_path: Path, limit: str, reports: str) -> None:
    program(tmp_path, "t", reports)
    (tmp_path / "proctor.toml").write_text(f"[limits]\n{limit} = {50 if limit == 'json' else 1}\n")

    found = document(tmp_path, "t")
    own = found["tests"][-1]

    assert own["outcome"] == "error"
    assert limit in own["message"] or "at most 50" in own["message"]


# What cannot be promised --------------------------------------------------------------------------------

WITHOUT_ADOPTION = """
import sys
from proctor.cli.main import main
from proctor.process import supervise
supervise.SUPERVISOR = "import sys; sys.path.insert(0, %r); " % sys.argv[1] + supervise.SUPERVISOR
sys.exit(main(sys.argv[2:]))
"""


def test_a_run_says_once_that_what_its_tests_detach_may_live_on(tmp_path: Path) -> None:
    """Where the supervisors' Python has no `_ctypes`, which is how they ask the kernel for orphans."""
    (tmp_path / "stub").mkdir()
    (tmp_path / "stub" / "_ctypes.py").write_text("raise ImportError")
    programs = [str(program(tmp_path, name, "pass\n")) for name in ("a", "b")]

    python = [sys.executable, "-c", WITHOUT_ADOPTION, str(tmp_path / "stub")]
    done = subprocess.run(
        [*python, "run", "--runner", "command", "--format", "json", *programs],
        cwd=tmp_path,
        env=clean_environment(),
        capture_output=True,
        timeout=GUARD,
        check=False,
    )

    found = json.loads(done.stdout)
    assert done.returncode == 0
    assert set(outcomes(found).values()) == {"passed"}
    assert found["notices"] == [
        "processes that the tests detach may outlive the run: this system does not let proctor adopt them"
    ]
    assert document(tmp_path, *programs)["notices"] == []
