"""`proctor compare` with real runs and the reports of them, in every pair of formats."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.projects import Ran, clean_environment, proctor, project_python, write_project

FILES = {
    "test_a.py": """
        import os
        import time

        LATER = os.environ.get("LATER") == "1"

        def test_new(): assert not LATER, "password=hunter2hunter2"
        def test_fixed(): assert LATER
        def test_still(): assert 0
        def test_slow(): time.sleep(0.3 if LATER else 0.01)
        if LATER:
            def test_added(): pass
        else:
            def test_removed(): pass
    """,
    "test_b.py": """
        import os
        if os.environ.get("LATER") == "1":
            import nowhere
        def test_b(): pass
    """,
}
FORMATS = ("json", "stream", "events", "junit", "ctrf")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_project(tmp_path_factory.mktemp("project"), FILES)
    for later in "01":
        outputs = [word for form in FORMATS for word in ("-o", f"{form}={form}-{later}")]
        words = ("run", "--python", project_python(), *outputs, "--", "--continue-on-collection-errors")
        ran = proctor(*words, cwd=root, environ=environ(root, LATER=later))
        assert ran.code == 1, ran.err
    return root


def environ(root: Path, **more: str) -> dict[str, str]:
    return clean_environment(XDG_STATE_HOME=str(root / "state"), **more)


def compare(root: Path, *arguments: str) -> Ran:
    return proctor("compare", *arguments, cwd=root, environ=environ(root))


def runs(root: Path) -> list[str]:
    return sorted(path.name for path in (root / ".proctor/runs").iterdir())


@pytest.mark.parametrize("after", [*FORMATS, "run"])
@pytest.mark.parametrize("before", ["junit", "run"])
def test_two_runs_differ_in_the_same_way_however_they_were_written(
    made: Path, before: str, after: str
) -> None:
    first, second = runs(made)
    a, b = (first if before == "run" else f"{before}-0"), (second if after == "run" else f"{after}-1")

    ran = compare(made, a, b, "--format", "json")

    assert ran.code == 1
    found = ran.document
    assert list(found)[3:] == ["new", "fixed", "still", "added", "removed", "slower", "faster"]
    dotted = before == after == "junit"
    file, test = ("test_{}", "test_{}::{}") if dotted else ("test_{}.py", "test_{}.py::{}")
    assert found["schema"] == "proctor.comparison/1"
    assert sorted(found["new"]) == sorted([file.format("b"), test.format("a", "test_new")])
    assert found["fixed"] == [test.format("a", "test_fixed")]
    assert found["still"] == [test.format("a", "test_still")]
    assert sorted(found["added"]) == sorted([test.format("a", "test_added"), file.format("b")])
    assert found["removed"] == [test.format("a", "test_removed")]
    assert [one["node_id"] for one in found["slower"]] == [test.format("a", "test_slow")]
    assert found["slower"][0]["before"] < 0.2 < found["slower"][0]["after"]


def test_people_read_what_matters_first_without_secrets(made: Path) -> None:
    ran = compare(made, runs(made)[0], "last")

    lines = ran.out.splitlines()
    assert lines[2] == "2 new, 1 fixed, 1 still failing, 2 added, 1 removed, 1 slower"
    assert [line.split()[0] for line in lines[3:6]] == ["new", "new", "still"]
    assert "password=***" in ran.out
    assert "hunter2" not in ran.out
    assert ran.err == "proctor: 2 tests fail that did not fail in the first run\n"


def test_a_run_and_itself_have_no_new_failures(made: Path) -> None:
    assert compare(made, "last", f".proctor/runs/{runs(made)[1]}").code == 0


def test_a_run_that_is_no_longer_kept_is_taken_from_the_history(made: Path, tmp_path: Path) -> None:
    first, second = runs(made)
    shutil.move(made / ".proctor/runs" / first, tmp_path)
    try:
        ran = compare(made, first[:20], second, "--format", "json")
    finally:
        shutil.move(tmp_path / first, made / ".proctor/runs")

    assert ran.code == 1, ran.err
    assert ran.document["before"]["run_id"] == first
    assert sorted(ran.document["new"]) == ["test_a.py::test_new", "test_b.py"]
    assert ran.document["removed"] == ["test_a.py::test_removed"]


def test_a_second_run_that_was_cut_is_not_fine(made: Path) -> None:
    lines = (made / "stream-0").read_text().splitlines(keepends=True)
    (made / "cut").write_text("".join(lines[:-1]))

    ran = compare(made, "stream-0", "cut")

    assert ran.code == 2
    assert "it did not run to its end: the stream ends without its final line" in ran.out
    assert ran.err == "proctor: cut: incomplete\n"


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["last"], "B is missing"),
        (["-", "-"], "both stdin"),
        (["last", "20000101"], "no run begins with '20000101'"),
        (["last", "test_a.py"], "cannot tell the format of test_a.py: expected one of"),
        (["last", "./nowhere"], "is not the directory of a run"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_4(made: Path, arguments: list[str], words: str) -> None:
    ran = compare(made, *arguments)

    assert (ran.code, ran.err.count("\n")) == (4, 1)
    assert words in ran.err
