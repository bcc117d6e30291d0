"""`proctor merge`: which files it takes, and what it writes."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from support.cli import converted, shown
from support.projects import run_suite
from support.shard_runs import FAILED, PASSED, events_of, log_of, merge_said, plan_of, shard_log

from proctor.archive.store import EVENTS_FILE
from proctor.errors import UsageError
from proctor.outcome import Outcome
from proctor.shards.plan import encode
from proctor.wire import formats

PLAN = plan_of(["t/test_a.py::test_1", "t/test_a.py::TestX::test_2[a::b]"], ["t/test_b.py::test_1"], [])
FIRST, SECOND = PLAN.shards[0].tests, PLAN.shards[1].tests
BROKEN = shard_log(PLAN, 2, {SECOND[0]: FAILED})
CODES = {"all": 0, "failed": 1, "missing": 2, "cut": 2, "empty": 5}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    tmp_path.joinpath("pyproject.toml").write_text("")
    tmp_path.joinpath("plan.json").write_bytes(encode(PLAN))
    for number in (1, 2, 3):
        tmp_path.joinpath(f"{number}.jsonl").write_bytes(shard_log(PLAN, number))
    tmp_path.joinpath("broken.jsonl").write_bytes(BROKEN)
    tmp_path.joinpath("cut.jsonl").write_bytes(BROKEN[:-700])
    nothing = plan_of([])
    tmp_path.joinpath("empty.jsonl").write_bytes(shard_log(nothing, 1))
    return tmp_path


FILES = {
    "all": ["1.jsonl", "2.jsonl", "3.jsonl"],
    "failed": ["1.jsonl", "broken.jsonl", "3.jsonl"],
    "missing": ["1.jsonl", "3.jsonl"],
    "cut": ["1.jsonl", "cut.jsonl", "3.jsonl"],
    "empty": ["empty.jsonl"],
}


def _merge(project: Path, *files: str, form: str = "agent", more: tuple[str, ...] = ()) -> tuple[int, str]:
    said = merge_said(*(str(project / file) for file in files), "--format", form, *more, directory=project)
    assert said.err == ""
    return said.code, said.out


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize(
    "form", [form for form in formats.offered("show") if form in formats.offered("from")]
)
def test_every_format_can_be_read_again_with_the_same_verdict(project: Path, case: str, form: str) -> None:
    code, out = _merge(project, *FILES[case], form=form)
    written = project / "merged"
    written.write_text(out)

    assert code == CODES[case]
    if formats.FORMATS[form].whole_runs:
        assert shown(written, "agent")[0] == code
        assert _merge(project, "merged")[0] == code
    elif form != "failures":  # a list of failures is no run
        assert bool(shown(written, "agent")[0]) is bool(code)


@pytest.mark.parametrize("form", formats.offered("show"))
def test_every_format_of_show_can_be_written(project: Path, form: str) -> None:
    code, out = _merge(project, *FILES["failed"], form=form, more=("-o", f"{form}={project / 'written'}"))

    assert code == 1
    assert "test_b" in out
    assert "test_b" in project.joinpath("written").read_text()


@pytest.mark.parametrize("form", ["json", "stream"])
def test_documents_and_streams_are_merged_like_logs(project: Path, form: str) -> None:
    for number, file in enumerate(FILES["failed"], 1):
        project.joinpath(f"{number}.x").write_bytes(converted(project.joinpath(file).read_bytes(), form)[1])
    code, text = _merge(project, "1.x", "2.x", "3.x", more=("--plan", str(project / "plan.json")))

    assert (code, text.splitlines()[0]) == (1, "1 failed 2 passed")


def test_reports_count_for_the_plan_by_the_names_that_they_have_for_its_tests(project: Path) -> None:
    plan = ("--plan", str(project / "plan.json"))
    for file in ("1.jsonl", "2.jsonl"):
        project.joinpath(file).with_suffix(".xml").write_bytes(
            converted(project.joinpath(file).read_bytes(), "junit")[1]
        )

    assert _merge(project, "1.xml", "2.xml", more=plan) == (0, "3 passed\n")
    assert _merge(project, "1.jsonl", "2.xml", "3.jsonl", more=plan) == (0, "3 passed\n")
    code, text = _merge(project, "1.xml", more=plan)
    assert code == 2
    assert "plan: 1 of 3 planned tests have no result: t/test_b.py::test_1" in text
    code, text = _merge(project, "1.xml", "1.jsonl", "2.jsonl", "3.jsonl", more=plan)
    assert code == 0
    assert "2 tests have results in" in text


def test_the_same_test_in_two_reports_without_a_plan_is_two_tests(project: Path) -> None:
    for name, ends in (("py311", PASSED), ("py312", FAILED)):
        log = log_of(events_of({"t.py::a": ends}))
        project.joinpath(f"{name}.xml").write_bytes(converted(log, "junit")[1])
    shutil.copy(project / "py311.xml", project / "copy.xml")
    code, out = _merge(project, "py311.xml", "py312.xml", "copy.xml", form="json")
    document = json.loads(out)

    assert (code, document["summary"]["total"]) == (1, 2)
    assert [suite["name"] for suite in document["suites"]] == ["junit py311.xml", "junit py312.xml"]
    assert "copy.xml is the same as" in document["notices"][0]


def test_a_report_that_is_cut_is_incomplete(project: Path) -> None:
    report = converted(project.joinpath("1.jsonl").read_bytes(), "junit")[1]
    project.joinpath("1.xml").write_bytes(report[:-40])

    assert _merge(project, "1.xml")[0] == 2


@pytest.mark.parametrize("name", ["nothing.jsonl", "nothing", "./nothing", "t"])
def test_what_is_not_there_is_refused_by_its_name(project: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"nothing.* is neither a file nor a run"):
        merge_said(str(project / "1.jsonl"), name if name != "t" else "nothing/x", directory=project)


def test_an_empty_file_makes_the_merge_incomplete_and_the_other_results_are_shown(project: Path) -> None:
    project.joinpath("lost.jsonl").write_text("\n")
    code, text = _merge(project, *FILES["all"], "lost.jsonl", more=("--plan", str(project / "plan.json")))

    assert (code, text.splitlines()[0]) == (2, "INCOMPLETE 3 passed")
    assert "lost.jsonl: the file is empty" in text
    with pytest.raises(UsageError, match=r"lost\.jsonl is empty"):
        _merge(project, "lost.jsonl")


@pytest.mark.parametrize("content", ["hello", "{", "[]", "<xml/>"])
def test_a_file_that_holds_no_run_is_refused_by_its_name(project: Path, content: str) -> None:
    project.joinpath("garbage").write_text(content)

    with pytest.raises(UsageError, match="garbage"):
        merge_said(*(str(project / file) for file in ("1.jsonl", "garbage")), directory=project)


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"shards": [], "schema": "proctor.plan/1"}'])
def test_a_file_that_holds_no_plan_is_refused_by_its_name(project: Path, content: str) -> None:
    project.joinpath("odd.json").write_text(content)

    with pytest.raises(UsageError, match=r"odd\.json"):
        merge_said(str(project / "1.jsonl"), "--plan", str(project / "odd.json"), directory=project)


def test_one_file_under_two_names_counts_once(project: Path) -> None:
    os.symlink("1.jsonl", project / "link.jsonl")
    os.link(project / "2.jsonl", project / "other.jsonl")
    code, text = _merge(project, *FILES["all"], "link.jsonl", "other.jsonl", "1.jsonl")

    assert (code, text.splitlines()[0], text.count("is the same file as")) == (0, "3 passed", 3)


def test_an_output_that_cannot_be_written_is_said(project: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        _merge(project, "1.jsonl", more=("-o", f"json={project}/no/such/place"))
    with pytest.raises(UsageError, match="results"):
        _merge(project, "1.jsonl", more=("-o", f"results={project}/results"))


def test_kept_runs_are_merged_by_their_ids_and_their_files_are_found(tmp_path: Path) -> None:
    tmp_path.joinpath("test_long.py").write_text(
        "def test_a():\n    assert [*range(9_000)] == [*range(1, 9_001)]\n"
    )
    assert run_suite(tmp_path, "-o", "json=own.json").code == 1
    run = next(tmp_path.joinpath(".proctor/runs").iterdir())
    own = json.loads(tmp_path.joinpath("own.json").read_text())
    for name in ("last", run.name, str(run), str(run / EVENTS_FILE)):
        said = merge_said(
            name, "--format", "json", "-o", f"events={tmp_path / 'merged.jsonl'}", directory=tmp_path
        )
        (test,) = json.loads(said.out)["tests"]

        assert test["files"]
        assert all(Path(file["path"]).is_file() for file in test["files"])
        assert test["traceback"] == own["tests"][0]["traceback"]
        again = json.loads(shown(tmp_path / "merged.jsonl", "json")[1])["tests"][0]
        assert (again["files"], again["traceback"]) == (test["files"], test["traceback"])


def test_a_shard_that_was_killed_is_incomplete_and_its_rest_is_named(project: Path) -> None:
    plan = plan_of(["a", "b"])
    killed = log_of(events_of({"a": PASSED}, ["a", "b"])[:-2]).splitlines(keepends=True)
    project.joinpath("killed.jsonl").write_bytes(b"".join(killed[:-2]))
    project.joinpath("own.json").write_bytes(encode(plan))
    code, text = _merge(project, "killed.jsonl", more=("--plan", str(project / "own.json")))

    assert (code, text.splitlines()[0]) == (2, "INCOMPLETE 1 passed 1 not run")


def test_no_text_names_a_merged_run_that_nothing_can_show(tmp_path: Path) -> None:
    tmp_path.joinpath("test_long.py").write_text(
        "def test_a():\n    assert [*range(9_000)] == [*range(1, 9_001)]\n"
    )
    own = run_suite(tmp_path, "--format", "agent", "-o", f"events={tmp_path / 'a.jsonl'}")
    code, text = _merge(tmp_path, "a.jsonl")

    assert "more: proctor show" in own.out
    assert (code, text.splitlines()[0]) == (1, "1 failed")
    assert "proctor show" not in text


def test_a_crash_in_a_shard_is_the_verdict_of_the_merge(project: Path) -> None:
    project.joinpath("crash.jsonl").write_bytes(shard_log(PLAN, 2, {SECOND[0]: Outcome.CRASH}))

    assert _merge(project, "1.jsonl", "crash.jsonl", "3.jsonl")[0] == 2


def test_a_plan_or_a_pipe_in_the_place_of_a_run_is_named(project: Path) -> None:
    os.mkfifo(project / "pipe")

    with pytest.raises(UsageError, match=r"plan.json is a plan: use `--plan "):
        _merge(project, "1.jsonl", "plan.json")
    with pytest.raises(UsageError, match=r"pipe is a pipe or a device: expected a file or a run"):
        _merge(project, "1.jsonl", "pipe")
