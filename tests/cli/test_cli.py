"""The command line, as a newcomer, an agent and a script meet it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.projects import (
    GUARD,
    clean_environment,
    command,
    document_of,
    proctor,
    project_python,
    run_suite,
    write_project,
)

from proctor.text import without_escapes

SUITE = {
    "test_a.py": """
        import pytest

        def test_pass(): pass
        @pytest.mark.slow
        def test_fail(): assert [1, 2] == [1, 3]
    """,
    "pytest.ini": "[pytest]\nmarkers = slow: takes long\n",
}


def test_help_version_and_an_unknown_verb(tmp_path: Path) -> None:
    assert "usage: proctor" in proctor(cwd=tmp_path).out
    assert proctor("--version", cwd=tmp_path).out.startswith("proctor 0.")
    wrong = proctor("rnu", cwd=tmp_path)
    assert wrong.code == 4
    assert "did you mean `proctor run`?" in wrong.err
    assert "--maxfail" in proctor("run", "--help", cwd=tmp_path).out


@pytest.mark.parametrize(
    "arguments, word",
    [
        (["--nonsense"], "--nonsense"),
        (["-n", "many"], "many"),
        (["--timeout", "soon"], "invalid --timeout 'soon': expected e.g. 90, 15m or 1h 30m [usage]"),
        (["--memory", "lots"], "invalid --memory 'lots': expected a size such as 512M or 2G [usage]"),
        (["--runner", "ruby"], "known: pytest"),
        (["-C", "nowhere"], "nowhere"),
        (["--python", "nowhere/python"], "nowhere/python"),
        (["-o", "nonsense"], "FORMAT=PATH"),
        (["-o", "hologram=x"], "FORMAT one of human"),
        (["-o", "json=/nowhere/at/all"], "cannot be written"),
        (["--maxfail", "-2"], "expected 1 or more"),
        (["--format", "hologram"], "hologram"),
        (["@file"], "not a target"),
    ],
)
def test_bad_input_is_one_line_that_names_it_and_exit_code_4(
    tmp_path: Path, arguments: list[str], word: str
) -> None:
    ran = run_suite(write_project(tmp_path, SUITE), *arguments)

    assert ran.code == 4
    assert word in ran.err
    assert ran.err.count("\n") == 1
    assert ran.out == ""


def test_an_interpreter_without_pytest_is_an_error_with_the_command_that_helps(tmp_path: Path) -> None:
    import venv

    venv.create(tmp_path / "empty", with_pip=False)

    ran = proctor("run", "--python", str(tmp_path / "empty"), cwd=write_project(tmp_path, SUITE))

    assert ran.code == 4
    assert "pytest" in ran.err
    assert "install" in ran.err
    assert str(tmp_path / "empty") in ran.err


def test_an_agent_gets_a_verdict_and_a_line_a_failure(tmp_path: Path) -> None:
    ran = run_suite(write_project(tmp_path, SUITE), CLAUDECODE="1")

    assert ran.code == 1
    assert ran.out.splitlines() == [
        "1 failed 1 passed",
        "test_a.py::test_fail :5 assert [1, 2] == [1, 3]",
    ]


def test_a_person_gets_the_trace_and_the_verdict_at_the_end(tmp_path: Path) -> None:
    ran = run_suite(write_project(tmp_path, SUITE))

    first, second, *_ = ran.out.splitlines()
    assert re.fullmatch(r"pytest [0-9.]+, Python [0-9.]+: 2 tests", first)
    assert second == "FAILED test_a.py::test_fail at test_a.py:5: assert [1, 2] == [1, 3]"
    assert "--- FAILED test_a.py::test_fail at test_a.py:5\n  [1]: 2 != 3\n" in ran.out
    assert "1 failed 1 passed in " in ran.out.splitlines()[-1]
    assert "\x1b" not in ran.out


def test_escape_sequences_of_a_test_reach_no_terminal(tmp_path: Path) -> None:
    source = (
        "def test_x():\n    print('\\x1b[2Jgone')\n    raise ValueError('\\x1b]0;title\\x07 \\x1b[31mred')\n"
    )
    root = write_project(tmp_path, {"test_a.py": source})

    for form in ("human", "agent"):
        assert "\x1b" not in run_suite(root, "--format", form).out


def test_several_outputs_of_one_run(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)

    ran = run_suite(
        root,
        "--format",
        "events",
        "-o",
        "json=d.json",
        "-o",
        "agent=a.txt",
        "-o",
        "human=h.txt",
        "-o",
        "results=r",
    )

    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert lines[-1]["type"] == "final"
    assert lines[-1]["results"] == {"ok": 1, "fail": 1, "ignore": 0}
    document = json.loads((root / "d.json").read_text())
    assert document["outcome"] == "failed"
    assert (root / "a.txt").read_text().startswith("1 failed 1 passed\n")
    assert "1 failed 1 passed in" in (root / "h.txt").read_text()
    results = [json.loads(line) for line in (root / "r").read_text().splitlines()]
    assert [(result["test"], result["status"]) for result in results] == [
        ("test_a.py::test_pass", "pass"),
        ("test_a.py::test_fail", "fail"),
        ("pytest", "fail"),
    ]
    kept = root / ".proctor" / "runs" / document["run_id"]
    assert (kept / "results.jsonl").read_text() == (root / "r").read_text()
    assert (kept / "events.jsonl").read_text() == ran.out


def test_selection_by_keyword_marker_target_and_the_runners_own_arguments(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)

    def ran(*arguments: str) -> list[str]:
        return [test["node_id"].rpartition("::")[2] for test in document_of(root, *arguments)["tests"]]

    assert ran("-k", "pass") == ["test_pass"]
    assert ran("-k", "not pass") == ["test_fail"]
    assert ran("-m", "slow") == ["test_fail"]
    assert ran("test_a.py::test_pass") == ["test_pass"]
    assert ran("--", "--deselect", "test_a.py::test_fail") == ["test_pass"]
    assert document_of(root, "-x", "--", "-p", "no:randomly")["summary"]["failed"] == 1


def test_maxfail_stops_after_so_many(tmp_path: Path) -> None:
    source = "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_x(n): assert n > 9\n"

    document = document_of(write_project(tmp_path, {"test_a.py": source}), "--maxfail", "2")

    assert document["summary"]["failed"] == 2
    assert document["summary"]["not_run"] == 4


def test_workers_need_nothing_in_the_project(tmp_path: Path) -> None:
    from support.projects import environment

    bare = environment(sys.executable, ["pytest"])

    ran = run_suite(write_project(tmp_path, SUITE), "-n", "2", "--format", "agent", python=bare)

    assert ran.code == 1
    assert ran.out.startswith("1 failed 1 passed")


def test_last_failed_runs_what_failed_and_everything_when_nothing_did(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)

    first = run_suite(root, "--last-failed", "--format", "agent")
    assert "no recorded failures" in first.err
    assert first.out.startswith("1 failed 1 passed")
    assert run_suite(root, "--last-failed", "--format", "agent").out.startswith(
        "1 failed, still failing since "
    )
    write_project(root, {"test_a.py": SUITE["test_a.py"].replace("3]", "2]")})
    assert run_suite(root, "--last-failed", "--format", "agent").out == "1 passed, 1 fixed\n"
    again = run_suite(root, "--last-failed", "--format", "agent")
    assert "no recorded failures" in again.err
    assert again.out == "2 passed\n"


def test_last_failed_says_what_nobody_has_come_to(tmp_path: Path) -> None:
    root = write_project(
        tmp_path, {"test_a.py": "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\n"}
    )
    write_project(root, {"test_c.py": "def test_c(): pass\ndef test_d(): pass\n"})
    write_project(root, {"proctor.toml": "max_restarts = 0\n"})

    assert run_suite(root).code == 2
    again = run_suite(root, "--last-failed", "--format", "agent")

    assert again.err == (
        "proctor: 2 tests were never reached by an earlier run and are not included;"
        " run without --last-failed to run them\n"
    )
    assert "test_b" in again.out
    assert "test_c" not in again.out


def test_last_failed_from_a_directory_below_pytests_root(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"pytest.ini": "[pytest]\n", "sub/test_a.py": "def test_x(): assert 0\n"})

    document_of(root / "sub")
    again = document_of(root / "sub", "--last-failed")

    assert [test["node_id"] for test in again["tests"]] == ["sub/test_a.py::test_x"]


def test_last_failed_remembers_files_that_could_not_be_collected(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_bad.py": "import nowhere\n", "test_ok.py": "def test_x(): pass\n"})

    document_of(root)
    again = document_of(root, "--last-failed")

    assert again["command"][-1] == "test_bad.py"


def test_without_an_archive_nothing_is_left(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)

    document_of(root, "--no-archive")

    assert not (root / ".proctor").exists()


def test_runs_are_listed_newest_first(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)
    assert "no kept runs" in proctor("runs", cwd=root).out
    first, second = document_of(root, "-k", "pass"), document_of(root)

    lines = proctor("runs", cwd=root).out.splitlines()
    records = [json.loads(line) for line in proctor("runs", "--format", "json", cwd=root).out.splitlines()]

    assert lines[0].split() == ["RUN", "AGE", "OUTCOME", "TIME", "TESTS", "ASKED", "FOR"]
    expected = {first["run_id"]: "1 passed -k pass", second["run_id"]: "1 failed 1 passed everything"}
    assert [line.split()[0] for line in lines[1:]] == sorted(expected, reverse=True)
    for line in lines[1:]:
        run_id, age, _, _, *rest = line.split()
        assert age in ("now", "1m")
        assert " ".join(rest).removeprefix("ago ") == expected[run_id]
    assert {record["run_id"]: record["outcome"] for record in records} == {
        first["run_id"]: "passed",
        second["run_id"]: "failed",
    }


def test_keep_runs_bounds_the_archive(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_x(): pass\n", "proctor.toml": "keep_runs = 2\n"})

    for _ in range(4):
        document_of(root)

    assert len(list((root / ".proctor" / "runs").iterdir())) == 2


def test_discover_shows_a_tree_with_lines_and_markers(tmp_path: Path) -> None:
    ran = proctor("discover", "--python", project_python(), cwd=write_project(tmp_path, SUITE))

    assert ran.code == 0
    assert ran.out == "test_a.py\n  test_pass :3\n  test_fail :4 @slow\n2 tests\n"


def test_discover_in_pages_and_beside_a_broken_file(tmp_path: Path) -> None:
    source = "import pytest\n@pytest.mark.parametrize('n', range(2500))\ndef test_x(n): pass\n"
    root = write_project(tmp_path, {"test_a.py": source, "test_bad.py": "import nowhere\n"})

    ran = proctor(
        "discover",
        "--python",
        project_python(),
        "--format",
        "json",
        "--offset",
        "1999",
        "--limit",
        "2",
        cwd=root,
    )

    assert ran.code == 1
    found = ran.document
    assert found["total"] == 2500
    assert [test["node_id"] for test in found["tests"]] == [
        "test_a.py::test_x[1999]",
        "test_a.py::test_x[2000]",
    ]
    assert found["tests"][0]["markers"] == ["parametrize"]
    assert found["tests"][0]["line"] == 2
    (error,) = found["collection_errors"]
    assert error["file"] == "test_bad.py"
    assert "nowhere" in error["message"]
    past = proctor("discover", "--python", project_python(), "--format", "json", "--offset", "9999", cwd=root)
    assert past.document["tests"] == []


def test_doctor_says_what_would_be_used_and_why(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)

    ran = proctor("doctor", "--python", project_python(), cwd=root, environ=clean_environment(CLAUDECODE="1"))

    assert ran.code == 0
    assert f"chosen: {project_python()}" in ran.out
    assert "* explicit" in ran.out
    assert "agent mode: on (CLAUDECODE is set)" in ran.out
    assert not (root / ".proctor").exists()


def test_doctor_names_the_problem(tmp_path: Path) -> None:
    (tmp_path / "proctor.toml").write_text("pyhton = 'x'\n")

    ran = proctor("doctor", cwd=tmp_path)

    assert ran.code == 4
    assert "pyhton" in ran.out


def test_variables_that_are_secret_stay_out_of_the_tests(tmp_path: Path) -> None:
    files = {
        "proctor.toml": 'hide_environment = ["SECRET_*"]\n',
        "test_a.py": """
            import os

            def test_x():
                assert "SECRET_KEY" not in os.environ
                assert os.environ["OPEN"] == "1"
        """,
    }
    ran = run_suite(write_project(tmp_path, files), SECRET_KEY="x", OPEN="1")

    assert ran.code == 0, ran.out


def test_tests_see_none_of_our_variables_but_the_runs_tag(tmp_path: Path) -> None:
    source = """
        import os, sys

        def test_x():
            ours = {name for name in os.environ if name.startswith(("PROCTOR", "ATEX"))}
            assert ours == {"PROCTOR_RUN"}
            assert os.environ.get("PYTHONPATH") == os.environ["EXPECTED"] or not os.environ["EXPECTED"]
            assert "PYTHONPATH" in os.environ or not os.environ["EXPECTED"]
            assert not sys.path[0].endswith("inject/path")
    """
    root = write_project(tmp_path, {"test_a.py": source})

    assert run_suite(root, EXPECTED="", format="").code == 0
    assert run_suite(root, EXPECTED=str(tmp_path), PYTHONPATH=str(tmp_path)).code == 0


def test_a_low_limit_on_descriptors_does_not_silence_the_report(tmp_path: Path) -> None:
    root = write_project(tmp_path, SUITE)
    limited = ["sh", "-c", 'ulimit -n 64 && exec "$@"', "sh"]
    run = command("run", "--python", project_python(), "--format", "agent")
    done = subprocess.run(
        [*limited, *run], cwd=root, env=clean_environment(), timeout=GUARD, capture_output=True
    )

    assert done.stdout.startswith(b"1 failed 1 passed\n")


def test_a_reader_that_goes_away_does_not_make_noise(tmp_path: Path) -> None:

    root = write_project(tmp_path, SUITE)
    process = subprocess.Popen(
        command("run", "--python", project_python(), "--format", "events"),
        cwd=root,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate(timeout=GUARD)

    assert b"Traceback" not in err
    assert process.returncode in (1, 2)


def test_starting_up_imports_no_more_than_it_needs(tmp_path: Path) -> None:
    code = """
        import sys
        from proctor.cli.main import main
        main(["--version"])
        assert not {"msgspec", "argparse", "rich", "subprocess"} & sys.modules.keys(), sys.modules.keys()
        main(["run", "--format", "agent", "--python", sys.executable, "--no-archive"])
        assert not {"rich", "mcp", "pydantic", "asyncio", "tempfiles"} & sys.modules.keys()
    """
    import textwrap

    root = write_project(tmp_path, SUITE)
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        cwd=root,
        env=clean_environment(),
        timeout=GUARD,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()


def test_the_live_view_on_a_real_terminal(tmp_path: Path) -> None:
    """A pseudo-terminal: the bar moves, and what stays on the screen is the report."""
    import pty

    root = write_project(tmp_path, SUITE)
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        command("run", "--python", project_python()),
        cwd=root,
        env=clean_environment(TERM="xterm-256color", COLUMNS="100", LINES="30"),
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 65536)
        except OSError:
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    process.wait(GUARD)
    text = seen.decode()

    assert process.returncode == 1
    assert "FAILED test_a.py::test_fail" in without_escapes(text)
    assert "1 failed 1 passed in" in without_escapes(text)
    assert "\x1b[?25h" in text  # the cursor is back


def test_a_budget_is_kept_and_says_what_it_cut(tmp_path: Path) -> None:
    text = "".join(f"def test_{n}():\n    raise ValueError('{chr(97 + n) * 60}')\n" for n in range(26))
    root = write_project(tmp_path, {"test_a.py": text})

    ran = run_suite(root, "--format", "agent", "--budget", "300")
    lines = ran.out.splitlines()

    assert lines[0] == "26 failed"
    assert lines[-1].startswith("cut to 300 tokens, without ")
    run = lines[-1].rpartition(" ")[2]
    everything = proctor("show", run, cwd=root).out
    assert all(f"::test_{n} " in everything for n in range(26))


def test_a_budget_too_small_for_a_verdict_is_a_mistake(tmp_path: Path) -> None:
    ran = run_suite(write_project(tmp_path, {"test_a.py": "def test_a(): pass"}), "--budget", "7")

    assert ran.code == 4
    assert "invalid budget 7: expected 100 tokens or more" in ran.err


def test_secrets_are_shown_only_on_request(tmp_path: Path) -> None:
    files = {"test_a.py": "def test_a(): raise ValueError(\"password='hunter2'\")"}
    root = write_project(tmp_path, files)
    assert "hunter2" not in run_suite(root, "--format", "agent").out

    write_project(root, {"proctor.toml": "mask_secrets = false"})
    assert "hunter2" in run_suite(root, "--format", "agent").out
