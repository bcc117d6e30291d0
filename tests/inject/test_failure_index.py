"""The failure index after a plain pytest run: `projects/failures` has a test for each way to fail."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from support.inject import QUIET, SOURCE, VERSIONS, Version, each_version, plain, text_of
from support.projects import GUARD, clean_environment, document_of, project_python, run_suite, write_project

from proctor.agent_mode import FALSE, STRONG, VALUES, WEAK
from proctor.failure_row import CLOSE, OPEN, Row, decode
from proctor.wire.reports.failures import FailuresReader

PROJECT = Path(__file__).parent.parent / "projects" / "failures"
GOLDEN = Path(__file__).parent.parent / "data" / "failure_index.txt"
EVERYTHING = ("--doctest-modules", "--continue-on-collection-errors", "shop", "guide.txt", "tests", "broken")
AGENT = {"CLAUDECODE": "1"}


def on_a_terminal(command: list[str], cwd: Path, environ: Mapping[str, str]) -> str:
    """What a process writes to a terminal of 80 columns, until it ends."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(command, cwd=cwd, env=environ, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    written = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # the other end is gone
            break
        if not piece:
            break
        written += piece
    os.close(ours)
    process.wait(GUARD)
    return text_of(written)


def block(text: str) -> str:
    """The index as it was printed, to the last byte of the text."""
    assert text.count(f"{OPEN}\n") >= 1, text
    found = text[text.rindex(f"{OPEN}\n") :]
    assert found.endswith(f"\n{CLOSE}\n")
    return found


def rows(text: str) -> list[Row]:
    reader = FailuresReader()
    reader.feed(text.encode())
    return reader.close()


def masked(text: str) -> str:
    """Without how long things took, and where they were in memory."""
    text = re.sub("0x[0-9a-f]+", "0x0", text)
    return re.sub(r"in [0-9.]+s( \([0-9:]+\))?", "in 0s", re.sub(r"=+( .* in [0-9.]+s.*? )=+", r"=\1=", text))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return Path(shutil.copytree(PROJECT, tmp_path / "project"))


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return write_project(
        tmp_path,
        {
            "pytest.ini": "[pytest]\n",
            "tests/test_a.py": """
            import time
            def test_slow(): time.sleep(0.2); assert 0, "slow one"
            def test_fast(): assert 0, "fast one"
            def test_good(): pass
            def test_last(): assert 0, "last one"
            """,
        },
    )


# Every case, in every version ---------------------------------------------------------------------------


def expected(version: Version) -> str:
    text = GOLDEN.read_text()
    if "pytest==7" in str(version):  # which does not know the group of one
        text = text.replace(
            "KeyError('k') [single exception in ExceptionGroup]",
            "ExceptionGroup: one (1 sub-exception) > KeyError: 'k'",
        )
    return text


@each_version
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("-q", "--tb=line"),
        ("-v", "--tb=short"),
        ("-v", "--tb=long", "-s"),
        ("-n", "2", "--tb=native"),
        ("-q", "-n", "2", "--tb=no"),
    ],
    ids=" ".join,
)
def test_each_way_to_fail_has_its_row_however_pytest_is_told_to_print(
    project: Path, version: Version, options: tuple[str, ...]
) -> None:
    ran = plain(project, *options, *EVERYTHING, python=version.interpreter(), **AGENT)

    assert ran.code == 1, ran.err
    assert block(ran.out) == expected(version)


@each_version
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "workers"])
def test_each_way_to_fail_has_the_same_row_on_a_terminal(
    project: Path, version: Version, workers: tuple[str, ...]
) -> None:
    command = [version.interpreter(), "-m", "pytest", *QUIET, "-p", "proctor_pytest", *workers, *EVERYTHING]
    environ = clean_environment(PYTHONPATH=str(SOURCE), TERM="xterm", **AGENT)

    text = on_a_terminal(command, project, environ)

    assert block(text.replace("\r\n", "\n")) == expected(version)


def test_every_place_in_the_expected_rows_exists() -> None:
    found = [decode(line) for line in GOLDEN.read_text().splitlines()[1:-1]]

    for row in found:
        file, _, line = row.place.rpartition(":")
        assert 1 <= int(line) <= len((PROJECT / file).read_text().splitlines()), row


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "workers"])
def test_proctor_prints_the_same_block_after_its_own_human_text(
    project: Path, workers: tuple[str, ...]
) -> None:
    options, targets = EVERYTHING[:2], EVERYTHING[2:]
    ran = run_suite(project, "--format", "human", *workers, *targets, "--", *options, **AGENT)

    assert block(ran.out) == GOLDEN.read_text()
    assert ran.code == 1


# How many -----------------------------------------------------------------------------------------------


def test_no_failures_no_block(small: Path) -> None:
    ran = plain(small, "-k", "good", **AGENT)

    assert ran.code == 0
    assert "##" not in ran.out


def test_one_failure_one_row(small: Path) -> None:
    ran = plain(small, "-k", "fast", **AGENT)

    assert block(ran.out) == (
        f"{OPEN}\ntests/test_a.py::test_fast | AssertionError: fast one | tests/test_a.py:3\n{CLOSE}\n"
    )


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "workers"])
def test_over_the_cap_the_first_of_the_collection_are_listed_and_the_rest_is_counted(
    small: Path, workers: tuple[str, ...]
) -> None:
    """With two workers the slow one, first in the file, is the last to end."""
    ran = plain(small, "-o", "failure_rows=1", *workers, **AGENT)

    assert block(ran.out).splitlines() == [
        OPEN,
        "tests/test_a.py::test_slow | AssertionError: slow one | tests/test_a.py:2",
        "## ...truncated, 2 more failures...",
        CLOSE,
    ]


def test_the_length_of_an_error_is_a_setting(small: Path) -> None:
    ran = plain(small, "-k", "fast", "-o", "failure_length=20", **AGENT)

    assert rows(ran.out)[0].error == "AssertionError: f..."


@pytest.mark.parametrize("setting", ["failure_rows=0", "failure_rows=many", "failure_length=3"])
@pytest.mark.parametrize("environ", [{}, AGENT], ids=["human", "agent"])
def test_a_setting_that_cannot_be_is_an_error_for_everybody(
    small: Path, setting: str, environ: dict[str, str]
) -> None:
    ran = plain(small, "-o", setting, **environ)

    assert ran.code == 4
    assert setting.partition("=")[0] in ran.err and "at least" in ran.err


def index_of(most: int) -> Any:
    """The plugin's own object, outside of any session."""
    import proctor_pytest

    config = SimpleNamespace(
        rootpath="/p", invocation_params=SimpleNamespace(dir="/p"), getini=lambda name: ["test_*.py"]
    )
    return proctor_pytest._load("failure_index").FailureIndex(config, most, 200)


def test_very_many_failures_take_no_more_memory_than_the_rows_that_are_listed() -> None:
    count = 40_000  # their messages alone are 12 MB, which is more than is allowed below
    index = index_of(5000)
    index.ids = [f"test_a.py::test_{number}" for number in range(count)]
    index._position("")  # the ids are pytest's, and there anyway
    tracemalloc.start()
    for number in reversed(range(count)):
        nodeid = f"test_a.py::test_{number}"
        location = ("test_a.py", number, "test")
        index.pytest_runtest_logreport(
            pytest.TestReport(nodeid, location, {}, "failed", f"{number:0300}", "call")
        )
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    lines = index.rows.block(index.first.lines(), index.first.count - index.most).splitlines()
    assert index.fault is None
    assert len(lines) == 5003
    assert lines[1].startswith("test_a.py::test_0 | ")
    assert lines[5000].startswith("test_a.py::test_4999 | ")
    assert lines[5001] == "## ...truncated, 35000 more failures..."
    assert peak < 8 << 20


# Odd places ---------------------------------------------------------------------------------------------


def test_a_dead_worker_has_a_row_without_a_place(tmp_path: Path) -> None:
    write_project(
        tmp_path, {"test_a.py": "import os\ndef test_dies(): os._exit(3)\ndef test_lives(): pass\n"}
    )

    (row,) = rows(plain(tmp_path, "-n", "1", **AGENT).out)

    assert row.test == "test_a.py::test_dies"
    assert re.fullmatch(r"worker 'gw\d' crashed while running 'test_a.py::test_dies'", row.error)
    assert row.place == ""


def test_names_and_places_start_where_the_reader_stands(small: Path) -> None:
    ran = plain(small / "tests", "-k", "fast", **AGENT)

    assert rows(ran.out) == [Row("test_a.py::test_fast", "AssertionError: fast one", "test_a.py:3")]


def test_proctor_too_starts_where_the_reader_stands(small: Path) -> None:
    ran = run_suite(small / "tests", "--format", "human", "-k", "fast", **AGENT)

    assert rows(ran.out) == [Row("test_a.py::test_fast", "AssertionError: fast one", "test_a.py:3")]


def test_a_test_without_a_user_frame_below_the_root_has_its_definition(small: Path) -> None:
    write_project(small, {"tests/test_b.py": "\ndef test_b(nothing): pass\n"})

    ran = plain(small / "tests", "test_b.py", **AGENT)

    assert rows(ran.out)[0].place == "test_b.py:1"


def test_sentinels_that_a_test_prints_do_not_confuse_a_reader(tmp_path: Path) -> None:
    shown = f"\\n{OPEN}\\nfake | x | y\\n{CLOSE}\\n{OPEN}"
    write_project(tmp_path, {"test_a.py": f'def test_a():\n    print("{shown}")\n    assert 0'})

    ran = plain(tmp_path, "-s", **AGENT)

    assert ran.out.count(f"{OPEN}\n") > 1
    assert rows(ran.out) == [Row("test_a.py::test_a", "assert 0", "test_a.py:3")]


def test_an_output_of_ascii_gets_the_same_rows(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": 'def test_a(): raise ValueError("naïve \U0001f600")'})

    ran = plain(tmp_path, PYTHONIOENCODING="ascii", **AGENT)

    assert block(ran.out).isascii()
    assert rows(ran.out)[0].error == "ValueError: naïve \U0001f600"


@each_version
def test_a_test_that_passes_when_it_is_run_again_has_no_row_and_one_that_does_not_has_one(
    tmp_path: Path, version: Version
) -> None:
    write_project(
        tmp_path,
        {
            "test_a.py": """
            attempts = []
            def test_flaky():
                attempts.append(1)
                assert len(attempts) > 1
            def test_never(): assert 0
            """
        },
    )

    ran = plain(tmp_path, "--reruns", "2", python=version.interpreter(), **AGENT)

    assert [row.test for row in rows(ran.out)] == ["test_a.py::test_never"]


def test_stopping_early_and_last_failed_list_what_ran(small: Path) -> None:
    first = plain(small, "-x", "-p", "cacheprovider", **AGENT)
    again = plain(small, "--lf", "-p", "cacheprovider", **AGENT)

    assert [row.test for row in rows(first.out)] == ["tests/test_a.py::test_slow"]
    assert [row.test for row in rows(again.out)] == ["tests/test_a.py::test_slow"]


@each_version
@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["serial", "workers"])
def test_a_conftest_that_cannot_be_loaded_has_a_row(
    tmp_path: Path, version: Version, workers: tuple[str, ...]
) -> None:
    """At the root pytest gives up; below it, what is there cannot be collected."""
    write_project(
        tmp_path, {"conftest.py": "import nowhere_at_all\n", "below/test_a.py": "def test_a(): pass\n"}
    )
    python = version.interpreter()

    root = plain(tmp_path, *workers, python=python, **AGENT)
    human = plain(tmp_path, *workers, python=python)
    proctors = run_suite(tmp_path, "--format", "human", *workers, python=python, **AGENT)
    (tmp_path / "conftest.py").rename(tmp_path / "below" / "conftest.py")
    below = plain(tmp_path, *workers, python=python, **AGENT)

    said = "[collect] ModuleNotFoundError: No module named 'nowhere_at_all'"
    assert rows(root.out) == rows(proctors.out) == [Row("conftest.py", said, "conftest.py:1")]
    assert (root.code, root.err) == (human.code, human.err)
    assert human.out + block(root.out) == root.out
    assert rows(below.out)[0][1:] == (said, "below/conftest.py:1")


def test_a_conftest_that_cannot_be_loaded_comes_before_its_row_in_one_stream(tmp_path: Path) -> None:
    write_project(tmp_path, {"conftest.py": "import nowhere_at_all\n"})
    command = [project_python(), "-m", "pytest", "-p", "proctor_pytest"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=clean_environment(PYTHONPATH=str(SOURCE), **AGENT),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )

    assert done.returncode == 4
    assert done.stdout.startswith("ImportError while loading conftest")
    assert done.stdout.endswith(block(done.stdout))


def test_a_pytest_that_a_test_runs_in_its_own_process_prints_no_block(tmp_path: Path) -> None:
    write_project(
        tmp_path,
        {
            "conftest.py": "pytest_plugins = ['pytester']\n",
            "test_a.py": """
            def test_a(pytester):
                pytester.makepyfile("def test_inner(): assert 0")
                result = pytester.runpytest_inprocess("-p", "proctor_pytest")
                assert "##" not in str(result.stdout)
                assert 0, "outer"
            """,
        },
    )

    ran = plain(tmp_path, **AGENT)

    assert rows(ran.out) == [Row("test_a.py::test_a", "AssertionError: outer", "test_a.py:5")]


# Who reads ----------------------------------------------------------------------------------------------

ONE_FAILS = {"test_a.py": "def test_a(): assert 0\n"}


@pytest.mark.parametrize(
    ("options", "environ", "printed"),
    [
        ((), {}, False),
        ((), {"CI": "true"}, False),
        ((), {"CLAUDECODE": "1"}, True),
        ((), {"CLAUDECODE": "0"}, False),
        ((), {"CLAUDECODE": "1", "AI_AGENT": "off"}, False),
        ((), {"CLAUDECODE": "1", "PROCTOR_AGENT": "0"}, False),
        ((), {"PROCTOR_AGENT": "yes"}, True),
        ((), {"ZED_TERM": "1"}, True),
        (("--failure-summary", "on"), {"PROCTOR_AGENT": "0"}, True),
        (("--failure-summary=off",), {"PROCTOR_AGENT": "1"}, False),
        (("--failure-summary=auto",), {"GEMINI_CLI": "1"}, True),
    ],
)
def test_the_block_is_printed_for_agents(
    tmp_path: Path, options: tuple[str, ...], environ: dict[str, str], printed: bool
) -> None:
    write_project(tmp_path, ONE_FAILS)

    assert (OPEN in plain(tmp_path, *options, **environ).out) is printed
    human = run_suite(tmp_path, "--format", "human", *options, **environ)
    assert (OPEN in human.out) is printed


def test_every_variable_counts_in_the_plugin_as_it_does_in_proctor() -> None:
    """They read the same file: this says that the plugin's way to it is whole."""
    import proctor_pytest

    loaded = proctor_pytest._by_path("agent_mode")

    assert (loaded.STRONG, loaded.WEAK, loaded.VALUES, loaded.FALSE) == (STRONG, WEAK, VALUES, FALSE)
    assert loaded.agent_mode({"CLAUDECODE": "1"}, False).on


@pytest.mark.parametrize(("name", "printed"), [("CLAUDECODE", True), ("ZED_TERM", False)])
def test_on_a_terminal_only_a_strong_variable_counts(tmp_path: Path, name: str, printed: bool) -> None:
    write_project(tmp_path, ONE_FAILS)
    command = [project_python(), "-m", "pytest", *QUIET, "-p", "proctor_pytest"]

    text = on_a_terminal(command, tmp_path, clean_environment(PYTHONPATH=str(SOURCE), **{name: "1"}))

    assert (f"{OPEN}\r\n" in text) is printed
    if printed:
        assert text.endswith(f"test_a.py::test_a | assert 0 | test_a.py:1\r\n{CLOSE}\r\n")


def test_a_machine_format_has_no_block_and_says_so_when_asked_for_one(tmp_path: Path) -> None:
    write_project(tmp_path, ONE_FAILS)

    assert OPEN not in run_suite(tmp_path, "--format", "results", **AGENT).out
    assert OPEN not in run_suite(tmp_path, "--format", "agent", **AGENT).out
    assert OPEN in run_suite(tmp_path, "--format", "agent", "--failure-summary", "on").out
    refused = run_suite(tmp_path, "--format", "json", "--failure-summary", "on")
    assert refused.code == 4
    assert "--failure-summary on" in refused.err and "human" in refused.err


def test_proctor_takes_rows_and_length_from_the_project(small: Path) -> None:
    (small / "proctor.toml").write_text("failure_rows = 1\nfailure_length = 20\n")

    ran = run_suite(small, "--format", "human", **AGENT)

    assert block(ran.out).splitlines()[1:3] == [
        "tests/test_a.py::test_slow | AssertionError: s... | tests/test_a.py:2",
        "## ...truncated, 2 more failures...",
    ]


# People see no difference -------------------------------------------------------------------------------


@each_version
def test_people_see_the_same_bytes_with_and_without_us_and_agents_more_at_the_end(
    project: Path, version: Version
) -> None:
    python = version.interpreter()
    bare = [python, "-m", "pytest", *QUIET, *EVERYTHING]
    done = subprocess.run(
        bare, cwd=project, env=clean_environment(), stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    without = text_of(done.stdout)

    human = plain(project, *EVERYTHING, python=python)
    agent = plain(project, *EVERYTHING, python=python, **AGENT)

    assert masked(human.out) == masked(without)
    assert masked(agent.out[: -len(block(agent.out))]) == masked(without)
    assert human.err == agent.err == text_of(done.stderr)
    assert human.code == agent.code == done.returncode == 1


def test_people_at_a_terminal_see_the_same_bytes_too(small: Path) -> None:
    bare = [sys.executable, "-m", "pytest", *QUIET, "-p", "no:proctor_pytest"]  # where it is installed
    ours = [sys.executable, "-m", "pytest", *QUIET, "-p", "proctor_pytest"]
    environ = clean_environment(TERM="xterm", COLUMNS="80")

    without = on_a_terminal(bare, small, environ)
    human = on_a_terminal(ours, small, environ)
    agent = on_a_terminal(ours, small, {**environ, **AGENT})

    assert "\x1b[31m" in without
    assert masked(_steady(human)) == masked(_steady(without))
    before, sentinel, listed = agent.partition(f"{OPEN}\r\n")
    assert sentinel and "\x1b" not in listed
    assert masked(_steady(before)) == masked(_steady(without))


def _steady(text: str) -> str:
    """Without pytest's line about plugins, which names installed ones, and without the count that it shows
    while it collects: it is renewed each half second, so only a slow collection has one."""
    return re.sub(r"plugins: .*\r?\n|\x1b\[1m\rcollecting \d[^\r\n]*\x1b\[0m", "", text)


def test_while_no_agent_reads_nothing_of_the_index_is_loaded(tmp_path: Path) -> None:
    write_project(
        tmp_path,
        {
            "test_a.py": """
            import sys
            def test_a(request):
                assert request.config.pluginmanager.hasplugin("proctor_pytest")
                assert not request.config.pluginmanager.hasplugin("_proctor_failure_index")
                assert [n for n in sys.modules if "proctor" in n.lower() and n != "proctor_pytest"] == [
                    "_proctor_installed_agent_mode"
                ]
            """
        },
    )

    assert plain(tmp_path).code == 0


# It is a guest ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["serial", "workers"])
def test_a_fault_of_the_index_costs_a_line_and_not_the_run(tmp_path: Path, workers: tuple[str, ...]) -> None:
    write_project(
        tmp_path,
        {
            **ONE_FAILS,
            "conftest.py": """
            import sys
            def broken(row): raise ZeroDivisionError("broken")
            def pytest_collection_finish(session):
                sys.modules["proctor_pytest"]._load("../failure_row").encode = broken
            """,
        },
    )

    ran = plain(tmp_path, *workers, **AGENT)

    assert ran.code == 1
    assert "1 failed" in ran.out and OPEN not in ran.out
    assert re.fullmatch(r"proctor: no failure index: .*ZeroDivisionError: broken\n", ran.err)


def test_an_index_that_cannot_be_loaded_costs_a_line_and_not_the_run(tmp_path: Path) -> None:
    write_project(tmp_path / "tests", ONE_FAILS)
    shutil.copy(SOURCE / "proctor_pytest.py", tmp_path)
    (tmp_path / "proctor").mkdir()
    shutil.copy(SOURCE / "proctor" / "agent_mode.py", tmp_path / "proctor")
    command = [project_python(), "-m", "pytest", *QUIET, "-p", "proctor_pytest"]

    done = subprocess.run(
        command,
        cwd=tmp_path / "tests",
        env=clean_environment(PYTHONPATH=str(tmp_path), **AGENT),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert done.stderr.startswith("proctor: no failure index: FileNotFoundError")


def test_under_proctor_the_installed_plugin_stands_down(tmp_path: Path) -> None:
    write_project(tmp_path, {**ONE_FAILS, "pytest.ini": "[pytest]\naddopts = -p proctor_pytest\n"})

    document = document_of(tmp_path, python=sys.executable, **AGENT)

    assert document["outcome"] == "failed"
    assert OPEN not in document["text_output"]


def test_an_installed_proctor_is_found_by_pytest_itself_and_can_be_named_as_well(tmp_path: Path) -> None:
    """With the entry point as pyproject.toml has it, in an environment that has no proctor otherwise."""
    python = VERSIONS[-1].interpreter()
    write_project(tmp_path / "tests", ONE_FAILS)
    site = tmp_path / "site"
    wheel(site)

    for options in ((), ("-p", "proctor_pytest"), ("-n", "2")):
        done = subprocess.run(
            [python, "-m", "pytest", *QUIET, *options],
            cwd=tmp_path / "tests",
            env=clean_environment(PYTHONPATH=str(site), **AGENT),
            capture_output=True,
            text=True,
            check=False,
        )
        assert rows(done.stdout) == [Row("test_a.py::test_a", "assert 0", "test_a.py:1")], done.stderr


def wheel(target: Path) -> None:
    """What an installation of proctor puts into site-packages."""
    import zipfile

    from hatchling.builders.wheel import WheelBuilder

    (built,) = WheelBuilder(str(SOURCE.parent)).build(directory=str(target.parent), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        archive.extractall(target)


UNCOLLECTED = {
    "a/test_same.py": "def test_a(): pass\n",
    "b/test_same.py": "def test_b(): pass\n",
    "test_json.py": "import json\njson.loads('{')\n",
    "test_json_in_a_test.py": "import json\n\ndef test_json(): json.loads('{')\n",
    "test_surrogate.py": "raise ValueError('lone \\udc80, and its repr: ' + repr('\\udc80'))\n",
    "test_surrogates.py": """
        import pytest
        def test_raises(): raise ValueError("lone \\udc80, and its repr: " + repr("\\udc80"))
        @pytest.mark.xfail(strict=True, reason="lone \\udc80, and its repr: " + repr("\\udc80"))
        def test_passes(): pass
        def test_untraced(): pytest.fail("lone \\udc80", pytrace=False)
        @pytest.fixture
        def odd():
            yield
            pytest.fail("odd \\udc80", pytrace=False)
        def test_teardown(odd): pass
    """,
    "test_unprintable.py": "class Odd(Exception):\n    def __str__(self): raise KeyError\nraise Odd\n",
}
SAME = (
    "import file mismatch: the module 'test_same' is known as a/test_same.py already. HINT: remove"
    " __pycache__ / .pyc files and/or use a unique basename for your test file modules"
)


def test_rows_of_files_and_of_tests_have_one_source_on_either_side(tmp_path: Path) -> None:
    root = write_project(tmp_path, UNCOLLECTED)
    arguments = ["--continue-on-collection-errors", "-p", "no:cacheprovider"]
    plainly = plain(root, *arguments, **AGENT)
    ran = run_suite(root, "--format", "human", "--", *arguments, **AGENT)
    workers = run_suite(root, "--format", "human", "--", *arguments, "-n2", **AGENT)

    assert block(ran.out) == block(plainly.out) == block(workers.out)
    found = {row.test: row.error for row in rows(plainly.out)}
    assert found["b/test_same.py"] == f"[collect] {SAME}"
    assert found["test_json.py"] == f"[collect] {found['test_json_in_a_test.py::test_json']}"
    assert found["test_json.py"].startswith("[collect] json.decoder.JSONDecodeError: Expecting")
    assert found["test_surrogate.py"] == f"[collect] {found['test_surrogates.py::test_raises']}"
    assert found["test_surrogates.py::test_passes"].endswith("lone \udc80, and its repr: '\\udc80'")
    assert found["test_surrogate.py"] == "[collect] ValueError: lone \udc80, and its repr: '\\udc80'"


def test_an_agent_reads_why_a_file_does_not_match_its_module(tmp_path: Path) -> None:
    files = {name: text for name, text in UNCOLLECTED.items() if "same" in name}
    ran = run_suite(write_project(tmp_path, files), "--format", "agent")

    assert ran.out.splitlines()[1] == f"b/test_same.py {SAME}"
