"""A project with several kinds of tests is one run: one result, one exit code, each suite told by itself."""

from __future__ import annotations

import json
import os
import sys
import types
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from support.projects import (
    clean_environment,
    outcomes,
    proctor,
    project_python,
    run_suite,
    with_enough_time,
    write_project,
)
from support.streams import STARTED, Strict, entered, objects

from proctor import events as e
from proctor import launch
from proctor.execute import Request, execute
from proctor.launch import Artifact, Launch, Voice
from proctor.outcome import Outcome, RunOutcome
from proctor.plan_run import RunPlan
from proctor.prepare import Prepared
from proctor.process.stop import Stop
from proctor.relay import Relay
from proctor.result import RunResult
from proctor.runners.plan import Plan, Suite
from proctor.running import Keeping
from proctor.spec import RunSpec
from proctor.wire import formats
from proctor.wire.relabel import SuiteLabels
from proctor.wire.reports.report import LineReport
from proctor.wire.stream.rules import StreamRules

TAP = "#!/bin/sh\nprintf '1..2\\nok 1 - one\\n%sok 2 - two\\n'\n"
FILES = {
    "tests/test_a.py": "def test_one(): pass\ndef test_two(): assert 1 == 2\n",
    "t/shell.t": TAP % "",
    "proctor.toml": """
        [[tests]]
        name = "good"
        command = "true"

        [[tests]]
        name = "bad"
        command = "false"
    """,
}
ALL = {
    "tests/test_a.py::test_one": "passed",
    "tests/test_a.py::test_two": "failed",
    "/good": "passed",
    "/bad": "failed",
    "t/shell.t::one": "passed",
    "t/shell.t::two": "passed",
}


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return write_project(tmp_path, FILES)


def test_every_suite_that_is_found_runs_and_the_result_is_one(mixed: Path) -> None:
    ran = run_suite(mixed, "--format", "json")

    document = ran.document
    assert (ran.code, document["outcome"]) == (1, "failed")
    assert outcomes(document) == ALL
    assert document["runner"] == "pytest,command,tap"
    assert {suite["name"]: suite["outcome"] for suite in document["suites"]} == {
        "pytest": "failed",
        "command": "failed",
        "t/shell.t": "passed",
    }
    assert {test["suite"] for test in document["tests"]} == {"pytest", "command", "t/shell.t"}
    assert document["summary"]["total"] == 6


PYTEST_TESTS, TAP_TESTS = list(ALL)[:2], list(ALL)[4:]


@pytest.mark.parametrize(
    "arguments, tests, several",
    [
        (["t/shell.t"], TAP_TESTS, False),
        (["t"], TAP_TESTS, False),
        (["tests/test_a.py::test_one"], PYTEST_TESTS[:1], False),
        (["/good", "tests"], [*PYTEST_TESTS, "/good"], True),
        (["--runner", "command"], ["/good", "/bad"], False),
        (["--runner", "tap,command"], ["/good", "/bad", *TAP_TESTS], True),
    ],
)
def test_a_target_goes_to_whoever_owns_it(
    mixed: Path, arguments: list[str], tests: list[str], several: bool
) -> None:
    document = run_suite(mixed, "--format", "json", *arguments).document

    assert list(outcomes(document)) == tests
    assert ("suites" in document) == several


def test_a_file_calls_for_its_runner_wherever_it_is(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": "def test_a(): pass\n", "deep/down/a.t": TAP % ""})

    assert outcomes(run_suite(tmp_path, "--format", "json").document) == {"test_a.py::test_a": "passed"}
    document = run_suite(tmp_path, "deep/down/a.t", "--format", "json").document
    assert list(outcomes(document)) == ["deep/down/a.t::one", "deep/down/a.t::two"]


def test_a_project_without_python_asks_for_no_interpreter(tmp_path: Path) -> None:
    write_project(tmp_path, {"t/a.t": TAP % ""})
    ran = proctor("run", "--python", "/nowhere/python", "--format", "json", cwd=tmp_path)

    assert (ran.code, ran.document["runner"]) == (0, "tap")


def test_a_target_that_nobody_owns_is_refused(mixed: Path) -> None:
    ran = run_suite(mixed, "tests/nothing.txt")

    assert ran.code == 4
    assert "'tests/nothing.txt' is no test of pytest, command, tap" in ran.err


def test_a_kind_without_markers_is_deselected_by_one_and_told(mixed: Path) -> None:
    ran = run_suite(mixed, "--format", "agent", "-m", "not slow", "-k", "test_one")
    asked = run_suite(mixed, "--runner", "pytest,tap", "-m", "not slow")
    alone = run_suite(mixed, "--runner", "tap", "-m", "not slow")

    assert "note: -m deselects all tests of tap: they have no markers" in ran.out
    assert "1 passed" in ran.out
    assert (asked.code, alone.code) == (4, 4)


def test_the_settings_choose_the_runner(mixed: Path) -> None:
    text = (mixed / "proctor.toml").read_text()
    (mixed / "proctor.toml").write_text(f'runner = "tap"\n{text}')

    assert set(outcomes(run_suite(mixed, "--format", "json").document)) == {
        "t/shell.t::one",
        "t/shell.t::two",
    }


def test_only_what_failed_runs_again_in_every_suite(mixed: Path) -> None:
    run_suite(mixed)
    document = run_suite(mixed, "--last-failed", "--format", "json").document

    assert set(outcomes(document)) == {"tests/test_a.py::test_two", "/bad"}


def test_what_there_is_to_run_is_one_list(mixed: Path) -> None:
    ran = proctor("discover", "--python", project_python(), "--format", "json", cwd=mixed)

    found = [test["node_id"] for test in json.loads(ran.out)["tests"]]
    assert found == ["tests/test_a.py::test_one", "tests/test_a.py::test_two", "/good", "/bad", "t/shell.t"]


def test_the_public_stream_is_one_suite_after_another(mixed: Path) -> None:
    ran = run_suite(mixed, "--format", "stream")
    lines = [json.loads(line) for line in ran.out.splitlines()]

    rules = StreamRules()
    broken = [v for line in ran.out.splitlines(keepends=True) for v in rules.check(line.encode())]
    assert [*broken, *rules.close()] == []
    suites = [(line["name"], line["count"]) for line in lines if line["type"] == "suite"]
    assert suites == [("pytest", 2), ("command", 2), ("t/shell.t", 2)]
    assert [line["extra"]["outcome"] for line in lines if line["type"] == "final"] == [
        "failed",
        "failed",
        "passed",
    ]


def test_what_is_told_live_is_told_again_from_the_log(mixed: Path) -> None:
    files = [f"{form}={form}.out" for form in ("events", "stream", "json", "agent")]
    run_suite(mixed, *(part for file in files[:3] for part in ("-o", file)), "-o", files[3])

    stream = proctor("show", "events.out", "--format", "stream", cwd=mixed).out
    assert stream == (mixed / "stream.out").read_text()
    agent = (mixed / "agent.out").read_text()
    assert proctor("show", "events.out", "--format", "agent", cwd=mixed).out == agent
    assert proctor("show", "json.out", "--format", "agent", cwd=mixed).out == agent


def test_a_log_that_is_cut_anywhere_is_incomplete_and_says_so(mixed: Path) -> None:
    run_suite(mixed, "-o", "events=whole")
    lines = (mixed / "whole").read_text().splitlines(keepends=True)
    for count in range(1, len(lines), 5):
        (mixed / "cut").write_text("".join(lines[:count]))
        ran = proctor("show", "cut", "--format", "agent", cwd=mixed)

        assert ran.code == 2
        assert "the stream ends without its final line" in ran.out, count


def test_junit_has_a_suite_for_each(mixed: Path) -> None:
    root = ElementTree.fromstring(run_suite(mixed, "--format", "junit").out)

    found = {suite.get("name"): (suite.get("tests"), suite.get("failures")) for suite in root}
    assert found == {"pytest": ("2", "1"), "command": ("2", "1"), "t/shell.t": ("2", "0")}
    assert (root.get("tests"), root.get("failures")) == ("6", "2")


def test_a_suite_that_fails_without_a_failing_test_is_explained_everywhere(tmp_path: Path) -> None:
    write_project(
        tmp_path, {"test_a.py": "def test_a(): pass\n", "t/a.t": "#!/bin/sh\nprintf '1..2\\nok 1\\n'\n"}
    )
    why = "t/a.t: tap: 1 of 2 planned tests were reported"

    ran = run_suite(tmp_path, "--format", "agent")
    assert (ran.code, ran.out.splitlines()[1]) == (2, why)
    assert why in run_suite(tmp_path, "--format", "human").out
    assert "1 of 2 planned" in run_suite(tmp_path, "--format", "junit").out
    stream = run_suite(tmp_path, "--format", "stream").out
    assert '"status":"fail"' in stream


def test_a_suite_without_tests_is_told_and_does_no_harm(tmp_path: Path) -> None:
    write_project(
        tmp_path, {"test_a.py": "def test_a(): pass\n", "t/a.t": "#!/bin/sh\necho '1..0 # skip no net'\n"}
    )
    ran = run_suite(tmp_path, "--format", "json")

    assert (ran.code, ran.document["outcome"], ran.document["reason"]) == (0, "passed", "t/a.t: no tests")


def test_a_suite_that_cannot_start_fails_and_the_others_run(tmp_path: Path) -> None:
    write_project(tmp_path, {"test_a.py": "def test_a(): pass\n", "t/a.t": "#!/nowhere/sh\n"})
    document = run_suite(tmp_path, "--format", "json").document

    assert outcomes(document) == {"test_a.py::test_a": "passed"}
    assert document["outcome"] != "passed"


def test_an_interrupt_ends_the_suite_under_way_and_those_to_come(tmp_path: Path) -> None:
    endless = "import time\ndef test_a(): open('reached', 'w').close(); time.sleep(600)\n"
    write_project(tmp_path, {"test_a.py": endless, "t/a.t": TAP % ""})
    document = with_enough_time(
        lambda limit: run_suite(tmp_path, "--timeout", limit, "--format", "json"), tmp_path / "reached"
    ).document

    assert (document["outcome"], outcomes(document)) == ("timeout", {"test_a.py::test_a": "timeout"})
    assert document["notices"] == ["suites that were not run: t/a.t"]


def test_a_name_that_an_earlier_suite_has_used_gets_a_number() -> None:
    labels = SuiteLabels(["a"])
    events = (e.TestStarted("a"), e.TestFinished("a", Outcome.PASSED))
    told = [labels.relabelled(event, suite) for suite in (1, 0, 2, 1) for event in events]
    names = [event.test for event in told if isinstance(event, e.TestStarted | e.TestFinished)]

    assert names == ["a#2", "a#2", "a", "a", "a#3", "a#3", "a#2", "a#2"]


def test_a_run_that_is_stopped_between_its_suites_has_a_suite_that_says_so() -> None:
    strict = Strict()
    relay = Relay(msgspec.structs.replace(STARTED, runner="a,b", source="suites"), [strict])
    tests = (e.TestsSelected(("t",)), e.SuiteStarted("a", "", 1), e.TestFinished("t", Outcome.PASSED))
    relay.publish_all((entered("a"), *tests, e.SessionFinished(0), e.ProcessExited(0)), 0.0)
    relay.close_suite(1.0, 0)
    relay.publish(e.RunStopped(RunOutcome.CANCELLED), 1.0)
    relay.close(2.0)

    lines = objects(strict.lines)
    assert [line["type"] for line in lines] == ["suite", "test", "final", "suite", "test", "final"]
    assert (lines[4]["status"], lines[4]["reason"]) == ("fail", "cancelled")


# A build, and what follows it


class BuildReader(LineReport):
    """`made PATH` and `broken FILE` lines."""

    format = "test-build"

    def __init__(self) -> None:
        super().__init__()
        self.artifacts: list[Artifact] = []

    def _line(self, line: bytes) -> Iterator[e.Event]:
        word, _, rest = line.decode().partition(" ")
        if word == "made":
            self.artifacts.append(Artifact(rest, name=os.path.basename(rest)))
        elif word == "broken":
            yield e.CollectionFailed(rest, e.Failure("", "does not build", e.Place(rest, 3)))

    def _last(self) -> list[e.Event]:
        return [e.SessionFinished(None)]


def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str) -> RunResult:
    row = formats.Format(read="wire.test_build:BuildReader")
    monkeypatch.setitem(formats.FORMATS, "test-build", row)
    monkeypatch.setattr(formats, "READERS", (*formats.READERS, "test-build"))
    module = types.ModuleType("proctor.wire.test_build")
    vars(module)["BuildReader"] = BuildReader
    monkeypatch.setitem(sys.modules, "proctor.wire.test_build", module)

    def then(artifacts: tuple[Artifact, ...]) -> Plan:
        return Plan(
            tuple(
                Launch(
                    ("/bin/sh", a.path),
                    str(tmp_path),
                    a.name,
                    launch.Lines("tap", f"{a.name}::"),
                )
                for a in artifacts
            )
        )

    build = Launch(("/bin/sh", "-c", text), str(tmp_path), "build", launch.Build("test-build"))
    suite = Suite("build", "made", Voice.BUILD, (build,), then=then)
    spec = RunSpec(str(tmp_path), "made")
    plan = RunPlan(spec, Prepared((suite,)), clean_environment(), Keeping(archive=False))
    return execute(Request(plan, Stop())).result


def test_what_a_build_has_made_runs_next_each_as_a_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path, {"one": TAP % "", "two": TAP % "not "})
    result = built(tmp_path, monkeypatch, f"echo made {tmp_path}/one; echo made {tmp_path}/two")

    assert [(s.name, s.outcome) for s in result.suites] == [
        ("build", RunOutcome.PASSED),
        ("one", RunOutcome.PASSED),
        ("two", RunOutcome.FAILED),
    ]
    assert list(result.tests) == ["one::one", "one::two", "two::one", "two::two"]
    assert result.outcome is RunOutcome.FAILED


def test_what_cannot_be_built_fails_the_run_and_the_rest_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_project(tmp_path, {"one": TAP % ""})
    result = built(tmp_path, monkeypatch, f"echo broken src/two; echo made {tmp_path}/one; exit 101")

    assert result.outcome is RunOutcome.COLLECTION_ERROR
    assert [error.file for error in result.collection_errors] == ["src/two"]
    assert list(result.tests) == ["one::one", "one::two"]


def test_a_build_that_makes_nothing_is_no_tests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert built(tmp_path, monkeypatch, "true").outcome is RunOutcome.NO_TESTS


def test_a_build_that_fails_without_a_word_is_not_a_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = built(tmp_path, monkeypatch, "echo 'error: no such manifest' >&2; exit 101")

    assert (result.outcome, result.reason) == (RunOutcome.COLLECTION_ERROR, "build: no such manifest")
