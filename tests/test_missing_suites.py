"""A suite that was found and cannot run here is in every answer; a run that requires it is incomplete."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from support.cli import converted, shown
from support.mcp_client import talk, text_of
from support.projects import (
    Ran,
    clean_environment,
    document_of,
    outcomes,
    proctor,
    project_python,
    run_suite,
    write_project,
)
from support.streams import STARTED, Log, Strict, entered, objects

from proctor import events as e
from proctor.archive.compare import reconcile
from proctor.config import Settings, TestSettings
from proctor.errors import ConfigError, UsageError
from proctor.outcome import Outcome, RunOutcome
from proctor.prepare import Prepared, prepare
from proctor.relay import Relay
from proctor.render.agent import Detail, agent_text
from proctor.render.agent_budget import agent_text_within
from proctor.render.human import report_text
from proctor.render.tokens import estimate
from proctor.render.verdict_line import verdict_line
from proctor.replay import Replay
from proctor.result import RunResult
from proctor.runners.plan import Suite
from proctor.spec import RunSpec, Selection
from proctor.verdict import disputed_run
from proctor.wire.document import writer
from proctor.wire.document.schema import read
from proctor.wire.reports import tap_writer
from proctor.wire.reports.any_report import AnyReport

NODE = {
    "package.json": '{"scripts": {"test": "node --test"}}',
    "test/a.test.js": "require('node:test')('adds', () => {});\n",
}
PYTHON = {"test_a.py": "def test_a(): pass\n"}
GO = {"go.mod": "module shop\n", "a_test.go": "package shop\n\nfunc TestA(t *testing.T) {}\n"}
TAP = {"t/a.t": "#!/bin/sh\necho 1..1; echo ok 1 - one\n"}
NO_NODE = "no node on PATH: install node, or add its directory to PATH"


def plan(
    root: Path,
    environ: Mapping[str, str] | None = None,
    settings: Settings | None = None,
    selection: Selection | None = None,
    **more: object,
) -> Prepared:
    spec = msgspec.structs.replace(RunSpec(str(root)), selection=selection or Selection(), **more)
    return prepare(spec, settings or Settings(), sys.executable, {"PATH": "/nowhere", **(environ or {})})


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    return write_project(tmp_path, {**PYTHON, **NODE})


# Which suites are missing, and whether they are required


def test_a_suite_whose_tool_is_not_here_is_missing_with_the_reason(mixed: Path) -> None:
    prepared = plan(mixed)

    assert prepared.runner == "pytest"
    assert prepared.missing == (e.SuiteMissing("node", NO_NODE),)
    assert prepared.notices == ()


@pytest.mark.parametrize(
    "value, required",
    [
        ("true", True),
        ("1", True),
        ("github", True),
        ("", False),
        ("false", False),
        ("FALSE", False),
        ("0", False),
        (" ", False),
    ],
)
def test_it_is_required_where_ci_is_set(mixed: Path, value: str, required: bool) -> None:
    (missing,) = plan(mixed, {"CI": value}).missing

    assert missing.required is required


@pytest.mark.parametrize(
    "strict, optional, environ, required",
    [
        (True, (), {}, True),
        (False, (), {"CI": "1"}, False),
        (None, ("node",), {"CI": "1"}, False),
        (True, ("node",), {}, False),
        (None, ("go", "jest"), {"CI": "1"}, True),
    ],
)
def test_options_and_settings_say_whether_it_is_required(
    mixed: Path, strict: bool | None, optional: tuple[str, ...], environ: dict[str, str], required: bool
) -> None:
    (missing,) = plan(mixed, environ, Settings(optional_suites=optional), strict_suites=strict).missing

    assert missing.required is required


def test_an_optional_suite_that_no_runner_has_is_an_error_with_those_that_are_known(mixed: Path) -> None:
    with pytest.raises(ConfigError, match="optional_suites: no runner for 'nod'; known: pytest, unittest"):
        plan(mixed, settings=Settings(optional_suites=("nod",)))


@pytest.mark.parametrize(
    "more", [{"runner": "node"}, {"runner": "pytest,node"}, {"selection": Selection(("test/a.test.js",))}]
)
def test_a_suite_that_was_asked_for_by_name_is_an_error(mixed: Path, more: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="no node on PATH"):
        plan(mixed, {"CI": "1"}, strict_suites=False, **more)  # type: ignore[arg-type]


def test_a_directory_with_tests_of_several_runners_names_none_of_them(tmp_path: Path) -> None:
    files = {"test/test_a.py": PYTHON["test_a.py"], **NODE}
    prepared = plan(write_project(tmp_path, files), selection=Selection(("test",)))

    assert (prepared.runner, [missing.runner for missing in prepared.missing]) == ("pytest", ["node"])


def test_tests_that_failed_last_name_no_runner(tmp_path: Path) -> None:
    spec = RunSpec(str(write_project(tmp_path, {**PYTHON, **TAP, **NODE})), workers="2")
    failed = Selection(("t/a.t", "test/a.test.js", "/x"))
    settings = Settings(tests=(TestSettings("x", "true"),))
    environ = {"PATH": "/nowhere", "CI": "1"}
    spec = msgspec.structs.replace(spec, selection=failed)
    prepared = prepare(spec, settings, None, environ, names_targets=False)

    assert (prepared.runner, [one.runner for one in prepared.missing]) == ("command,tap", ["node"])
    assert prepared.notices == ("-n: tap has no such option; its tests run without it",)
    with pytest.raises(UsageError, match="no node on PATH"):
        prepare(spec, settings, None, environ)


def test_where_no_suite_can_run_that_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no go on PATH"):
        plan(write_project(tmp_path, {**GO, **NODE}))


@pytest.mark.parametrize(
    "script, is_missing",
    [
        ("mocha", True),
        ("NODE_ENV=test npx c8 mocha test/", True),
        ("node_modules/.bin/ava --verbose", True),
        ("playwright test", True),
        ("eslint . && tape test/*.js", True),
        ("eslint .", False),
        ("tsc --noEmit && eslint tap", False),
        ("playwright install", False),
        ("echo no test specified", False),
    ],
)
def test_tests_of_npm_that_no_runner_knows_are_missing(tmp_path: Path, script: str, is_missing: bool) -> None:
    package = {"package.json": json.dumps({"scripts": {"test": script}})}
    prepared = plan(write_project(tmp_path, {**PYTHON, **package}), {"CI": "1"})
    optional = plan(tmp_path, {"CI": "1"}, Settings(optional_suites=("npm",)))
    listed = plan(tmp_path, {"CI": "1"}, Settings(tests=(TestSettings("npm", "npm test"),)))

    assert [(one.runner, one.required) for one in prepared.missing] == [("npm", True)] * is_missing
    assert [one.required for one in optional.missing] == [False] * is_missing
    assert listed.missing == ()


@pytest.mark.parametrize("head", ["", "#!/nowhere/bin/perl -w\n", "#!/usr/bin/env perl\n"])
def test_tests_of_perl_are_missing_where_perl_is(tmp_path: Path, head: str) -> None:
    write_project(tmp_path, {**PYTHON, "t/a.t": f"{head}print '1..1';\n"})
    perl = tmp_path / "bin" / "perl"

    assert [one.runner for one in plan(tmp_path).missing] == ["tap"]
    write_project(tmp_path, {"bin/perl": "#!/bin/sh\n"})
    perl.chmod(0o755)
    assert plan(tmp_path, {"PATH": str(perl.parent)}).missing == ()


def test_a_marker_deselects_the_tests_of_a_runner_that_has_none(tmp_path: Path) -> None:
    prepared = plan(
        write_project(tmp_path, {**PYTHON, **NODE, **TAP}),
        {"CI": "1"},
        selection=Selection(markers="slow"),
        seed=3,
    )

    assert prepared.missing == ()
    assert prepared.notices == ("-m deselects all tests of tap, node: they have no markers",)
    assert [(suite.name, suite.deselected) for suite in prepared.suites] == [
        ("pytest", ()),
        ("tap", ("t/a.t",)),
    ]


def test_where_no_runner_has_markers_one_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="tap has no markers"):
        plan(write_project(tmp_path, TAP), selection=Selection(markers="slow"))


def test_an_option_that_is_for_another_suite_leaves_none_out(tmp_path: Path) -> None:
    prepared = plan(write_project(tmp_path, {**PYTHON, **TAP}), {"CI": "1"}, seed=3, locals=True, maxfail=2)
    workers = plan(
        tmp_path, {"PATH": "/bin"}, Settings(tests=(TestSettings("x", "true"),)), runner="", workers="2"
    )

    assert (prepared.runner, prepared.missing) == ("pytest,tap", ())
    assert prepared.notices == (
        "--locals: tap has no such option; it is for pytest; its tests run without it",
        "--seed: tap has no such option; it is for pytest, unittest; its tests run without it",
    )
    assert workers.notices == ("-n: tap has no such option; its tests run without it",)
    with pytest.raises(UsageError, match="seed: tap has no such option; it is for pytest, unittest"):
        plan(tmp_path, runner="tap", seed=3)


def test_keywords_that_cannot_be_read_are_an_error_and_no_missing_suite(mixed: Path) -> None:
    with pytest.raises(UsageError, match="invalid expression"):
        plan(mixed, selection=Selection(keywords="a or"))


def test_keywords_that_no_test_of_a_suite_matches_deselect_it(tmp_path: Path) -> None:
    go = tmp_path / "bin" / "go"
    write_project(tmp_path, {**PYTHON, **GO, "bin/go": "#!/bin/sh\n"})
    go.chmod(0o755)
    prepared = plan(tmp_path, {"PATH": str(go.parent)}, selection=Selection(keywords="test_a"))

    assert prepared.missing == ()
    assert [suite.deselected for suite in prepared.suites] == [(), ("shop::TestA",)]


# Arguments after `--`


def with_argument(suites: tuple[Suite, ...]) -> list[str]:
    return [suite.runner for suite in suites if "--flag" in suite.launches[0].argv]


@pytest.mark.parametrize(
    "files, runner, takers",
    [
        ({**PYTHON, **TAP}, "", ["pytest"]),
        ({**PYTHON, **TAP}, "pytest,tap", ["pytest"]),
        ({**PYTHON, **TAP}, "tap", ["tap"]),
        (TAP, "", ["tap"]),
        (PYTHON, "", ["pytest"]),
    ],
)
def test_arguments_go_to_one_runner(
    tmp_path: Path, files: dict[str, str], runner: str, takers: list[str]
) -> None:
    prepared = plan(write_project(tmp_path, files), {"CI": "1"}, runner=runner, arguments=("--flag",))

    assert with_argument(prepared.suites) == takers
    assert prepared.missing == ()


def test_arguments_go_to_the_only_runner_of_the_targets(tmp_path: Path) -> None:
    write_project(tmp_path, {**PYTHON, **TAP})
    prepared = plan(tmp_path, selection=Selection(("t/a.t",)), arguments=("--flag",))

    assert with_argument(prepared.suites) == ["tap"]


@pytest.mark.parametrize("runner", ["", "tap,node"])
def test_arguments_that_could_be_for_several_runners_are_an_error(tmp_path: Path, runner: str) -> None:
    with pytest.raises(
        UsageError, match="go to one runner, and this run has tap, node: name it with --runner"
    ):
        plan(write_project(tmp_path, {**TAP, **NODE}), {"PATH": "/bin"}, runner=runner, arguments=("--flag",))


# What is said about it


def run_without(*missing: e.SuiteMissing, outcome: Outcome = Outcome.PASSED) -> tuple[RunResult, Strict, Log]:
    strict, log = Strict(), Log()
    relay = Relay(STARTED, [strict, log])
    for one in missing:
        relay.publish(one, 0.0)
    test = (e.TestsSelected(("t",)), e.SuiteStarted("pytest", "", 1), e.TestFinished("t", outcome))
    code = 0 if outcome is Outcome.PASSED else 1
    relay.publish_all((entered("pytest"), *test, e.SessionFinished(code), e.ProcessExited(code)), 0.0)
    return relay.close(1.0), strict, log


def replayed(data: bytes, source: str) -> list[RunResult]:
    results: list[RunResult] = []
    replay, report = Replay(lambda: [], results.append), AnyReport("record", source)
    replay.take([*report.feed(data), *report.close()])
    replay.close()
    return results


def document(result: RunResult) -> bytes:
    return b"".join(writer.chunks(result, lambda path: path))


LACKING = e.SuiteMissing("node", "no node")
REQUIRED = e.SuiteMissing("node", "no node", required=True)


def test_the_verdict_names_it_and_the_texts_say_why() -> None:
    result, _, _ = run_without(LACKING, e.SuiteMissing("go", "no go"))

    assert (result.outcome, result.reason) == (RunOutcome.PASSED, "")
    assert verdict_line(result) == "1 passed, node: not run, go: not run"
    assert agent_text(result) == "1 passed, node: not run, go: not run\nnode: no node\ngo: no go\n"
    assert report_text(result) == (
        "node: not run: no node\ngo: not run: no go\n1 passed in 1.00s, node: not run, go: not run\n"
    )


@pytest.mark.parametrize("outcome, counted", [(Outcome.PASSED, "1 passed"), (Outcome.FAILED, "1 failed")])
def test_a_run_without_a_required_suite_is_incomplete_and_keeps_its_counts(
    outcome: Outcome, counted: str
) -> None:
    result, _, _ = run_without(REQUIRED, outcome=outcome)

    assert (result.outcome, result.exit_code) == (RunOutcome.INCOMPLETE, 2)
    assert result.reason == "node: not run: no node"
    assert agent_text(result).splitlines()[:2] == [f"INCOMPLETE {counted}, node: not run", "node: no node"]
    assert report_text(result).splitlines()[-1] == (
        f"INCOMPLETE {counted} in 1.00s, node: not run (node: not run: no node)"
    )


def test_what_is_worse_than_a_missing_suite_stays_the_outcome() -> None:
    relay = Relay(STARTED, [])
    relay.publish_all((REQUIRED, entered("pytest"), e.ProcessExited(-11, "SIGSEGV")), 0.0)
    result = relay.close(1.0)

    assert result.outcome is RunOutcome.CRASHED
    assert result.reason == "SIGSEGV; node: not run: no node"


@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED])
@pytest.mark.parametrize("missing", [LACKING, REQUIRED])
def test_log_document_and_stream_tell_it_again(
    missing: e.SuiteMissing, outcome: Outcome, tmp_path: Path
) -> None:
    result, strict, log = run_without(missing, outcome=outcome)

    for name, data in (
        ("events", b"".join(log.lines)),
        ("stream", b"".join(strict.lines)),
        ("json", document(result)),
    ):
        (again,) = replayed(data, name)
        assert (again.missing, again.outcome, again.reason) == ([missing], result.outcome, result.reason), (
            name
        )
        assert [suite.outcome for suite in again.suites] == [suite.outcome for suite in result.suites], name
        assert read(document(again)).missing == [missing], name
        path = tmp_path / name
        path.write_bytes(data)
        code, text = shown(path, "agent")
        assert (code, text.splitlines()[0]) == (result.exit_code, verdict_line(result)), name
        assert objects(converted(data, "stream")[1].splitlines(keepends=True))[-3:]  # can be written again


@pytest.mark.parametrize("count", [1, 2, 6, 9])
@pytest.mark.parametrize("outcome", [Outcome.PASSED, Outcome.FAILED])
def test_a_budget_is_kept_whatever_is_missing(count: int, outcome: Outcome) -> None:
    missing = [e.SuiteMissing(f"runner{number}", "no such tool " * 40, True) for number in range(count)]
    result, _, _ = run_without(*missing, outcome=outcome)

    for budget in (100, 150, 400):
        text = agent_text_within(result, budget, Detail())
        assert estimate(text) <= budget
        assert text.splitlines()[0] == verdict_line(result)
    assert verdict_line(result).count("not run") == (count if count <= 6 else 6)


def test_tap_says_it_in_a_comment_or_bails_out() -> None:
    lacking, required = (b"".join(tap_writer.write(run_without(one)[0])) for one in (LACKING, REQUIRED))
    also_failed = b"".join(tap_writer.write(run_without(REQUIRED, outcome=Outcome.FAILED)[0]))

    assert lacking.endswith(b"# node: not run: no node\n")
    assert required.endswith(b"Bail out! incomplete: node: not run: no node\n")
    assert b"node: not run: no node" in also_failed


def test_other_texts_say_it_too(tmp_path: Path) -> None:
    (tmp_path / "json").write_bytes(document(run_without(LACKING)[0]))
    summary, libtest, names = (shown(tmp_path / "json", form)[1] for form in ("summary", "libtest", "names"))

    assert "node: not run" in summary.splitlines()[0]
    assert "\nnode: not run: no node\n" in summary
    assert libtest.endswith("warning: node: not run: no node\n")
    assert "node: not run: no node\n" in names


def test_the_stream_has_a_suite_that_fails_only_if_it_is_required() -> None:
    _, lacking, _ = run_without(LACKING)
    _, required, _ = run_without(REQUIRED)

    suite, final = objects(lacking.lines)[-2:]
    assert (suite["name"], suite["count"], final["results"]) == ("node", 0, {"ok": 0, "fail": 0, "ignore": 0})
    assert suite["extra"]["missing"] == {"reason": "no node", "required": False}
    suite, test, final = objects(required.lines)[-3:]
    assert (suite["count"], test["status"], final["extra"]["outcome"]) == (1, "fail", "incomplete")


HIDDEN = '{"type":"test","status":"fail","label":"hidden","reason":"bad"}'
RUN = '{"type":"test","status":"fail","label":"x","reason":"bad","extra":{"phase":"run"}}'
GOOD = '{"type":"test","status":"ok","label":"x"}'
COUNTED = '{"type":"final","results":{"ok":0,"fail":1,"ignore":0}}'
EXITED = '{"type":"final","results":{"ok":1,"fail":0,"ignore":0},"extra":{"exit":{"code":1,"signal":null}}}'


@pytest.mark.parametrize(
    "line, final", [(HIDDEN, COUNTED), (RUN, COUNTED), (GOOD, EXITED), (HIDDEN, ""), ("noise", COUNTED)]
)
def test_a_suite_of_a_stream_that_says_it_did_not_run_hides_no_failure(line: str, final: str) -> None:
    lines = [
        '{"type":"suite","name":"a","build":"2026-01-01T00:00:00Z","count":1,"rustc":"none"}',
        '{"type":"test","status":"ok","label":"t"}',
        '{"type":"final","results":{"ok":1,"fail":0,"ignore":0}}',
        '{"type":"suite","name":"b","build":"2026-01-01T00:00:00Z","count":1,"rustc":"none",'
        '"extra":{"missing":{"reason":"no b","required":false}}}',
        line,
        final,
    ]
    (result,) = replayed("\n".join(lines).encode(), "stream")

    assert result.outcome not in (RunOutcome.PASSED, RunOutcome.NO_TESTS)


def test_a_document_that_says_it_passed_without_a_required_suite_is_disputed() -> None:
    data = document(run_without(REQUIRED)[0]).replace(b'"outcome":"incomplete"', b'"outcome":"passed"')
    (result,) = replayed(data, "json")

    assert result.outcome is RunOutcome.INCOMPLETE
    assert "node: not run: no node" in result.reason


def test_a_record_whose_only_suite_ends_with_the_run_is_judged_alike() -> None:
    relay = Relay(STARTED, [])
    relay.publish_all((REQUIRED, e.TestFinished("t", Outcome.PASSED), e.SessionFinished(0)), 0.0)
    relay.publish(e.ProcessExited(0), 0.0)

    found = disputed_run(relay.result, RunOutcome.PASSED)
    assert found is not None and found[0] is RunOutcome.INCOMPLETE


def test_a_document_from_which_a_missing_suite_was_taken_disagrees_with_the_log() -> None:
    result, _, _ = run_without(LACKING)
    kept = json.loads(document(result))
    assert reconcile(result, read(json.dumps(kept).encode())) == ""
    del kept["missing"]

    assert "other suites could not be started" in reconcile(result, read(json.dumps(kept).encode()))


# From end to end


def without_node(root: Path, *arguments: str, **environ: str) -> Ran:
    return run_suite(root, *arguments, PATH="/nowhere", **environ)


def test_a_run_with_and_without_ci(mixed: Path) -> None:
    here = without_node(mixed, "--format", "agent")
    in_ci = without_node(mixed, "--format", "json", CI="true")
    allowed = without_node(mixed, "--format", "agent", "--allow-missing-suites", CI="true")
    strict = without_node(mixed, "--format", "agent", "--strict-suites")

    first = "1 passed, node: not run"
    assert (here.code, here.out) == (0, f"{first}\nnode: {NO_NODE}\n")
    assert (allowed.code, allowed.out) == (0, here.out)
    assert (strict.code, strict.out.splitlines()[0]) == (2, f"INCOMPLETE {first}")
    assert (in_ci.code, in_ci.document["outcome"]) == (2, "incomplete")
    assert in_ci.document["missing"] == [{"runner": "node", "reason": NO_NODE, "required": True}]
    assert in_ci.document["reason"] == f"node: not run: {NO_NODE}"
    assert without_node(mixed, "--runner", "node", "--allow-missing-suites").code == 4


def test_a_list_of_tests_says_which_suite_it_lacks(mixed: Path) -> None:
    arguments = ("discover", "--python", project_python())
    listed = proctor(*arguments, cwd=mixed, environ=clean_environment(PATH="/nowhere"))
    in_ci = proctor(
        *arguments, "--format", "json", cwd=mixed, environ=clean_environment(PATH="/nowhere", CI="1")
    )

    assert listed.code == 0
    assert f"node: not listed: {NO_NODE}\n" in listed.out
    assert (in_ci.code, json.loads(in_ci.out)["missing"][0]["required"]) == (2, True)


def test_the_server_says_it_and_knows_ci(mixed: Path) -> None:
    with talk(mixed, PATH="/nowhere") as server:
        answer = server.call("execute_tests", python=project_python())
        listed = server.call("discover_tests", python=project_python())
    with talk(mixed, PATH="/nowhere", CI="1") as server:
        in_ci = server.document("execute_tests", python=project_python(), detail="summary")

    assert text_of(answer).startswith(f"1 passed, node: not run\nnode: {NO_NODE}")
    assert answer.structured_content["missing"] == [{"runner": "node", "reason": NO_NODE, "required": False}]
    assert f"node: not listed: {NO_NODE}" in text_of(listed)
    assert (in_ci["outcome"], in_ci["missing"][0]["required"]) == ("incomplete", True)


def test_arguments_for_pytest_work_beside_another_suite(tmp_path: Path) -> None:
    write_project(tmp_path, {**PYTHON, **TAP})
    found = document_of(tmp_path, "--", "--deselect", "test_a.py::test_a", CI="1")

    assert (found["outcome"], outcomes(found)) == ("passed", {"t/a.t::one": "passed"})
