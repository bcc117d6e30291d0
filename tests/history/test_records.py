"""What a real run says of earlier ones, in each of its records and in what is made of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cli import converted
from support.projects import clean_environment, document_of, proctor, run_suite, write_project
from support.reports import read

BEFORE = {
    "test_a.py": """
        def test_old(): assert 1 == 2
        def test_mended(): assert 1 == 2
        def test_good(): pass
    """,
    "test_b.py": "def test_b(): pass\n",
    "pytest.ini": "[pytest]\naddopts = --continue-on-collection-errors\n",
}
AFTER = {
    "test_a.py": """
        def test_old(): assert 1 == 2
        def test_mended(): pass
        def test_good(): assert 1 == 2
        def test_added(): assert 1 == 2
    """,
    "test_b.py": "import nowhere\n",
}
OUTPUTS = {"ctrf": "ctrf.json", "junit-full": "junit.xml", "events": "events.jsonl"}
OF_RUN = ("fixed", "compared_with")


class Runs:
    """The documents of two runs, between which the project was changed, and other outputs of the second."""

    def __init__(self, home: Path) -> None:
        self.root = write_project(home / "project", BEFORE)
        self.environ = {"XDG_STATE_HOME": str(home / "state")}
        self.first = document_of(self.root, **self.environ)
        write_project(self.root, AFTER)
        options = [f"-o={form}={home / name}" for form, name in OUTPUTS.items()]
        self.second = document_of(self.root, *options, **self.environ)
        self.written = {form: (home / name).read_bytes() for form, name in OUTPUTS.items()}

    def show(self, *arguments: str) -> dict[str, Any]:
        environ = clean_environment(**self.environ)
        return proctor("show", *arguments, "--format", "json", cwd=self.root, environ=environ).document


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return Runs(tmp_path_factory.mktemp("runs"))


def words(document: dict[str, Any]) -> dict[str, Any]:
    found = {test["node_id"]: test.get("history") for test in document["tests"]}
    return found | {error["file"]: error.get("history") for error in document["collection_errors"]}


def test_the_first_run_knows_of_no_other(runs: Runs) -> None:
    assert [runs.first[name] for name in OF_RUN] == [[], None]
    unknown = {"word": "unknown", "since": None}
    assert words(runs.first) == {
        "test_a.py::test_old": unknown,
        "test_a.py::test_mended": unknown,
        "test_a.py::test_good": None,
        "test_b.py::test_b": None,
    }


def test_the_next_one_says_what_is_new_and_since_when_the_rest_fails(runs: Runs) -> None:
    earlier = {"run_id": runs.first["run_id"], "commit": "", "started": runs.first["started"]}

    assert [runs.second[name] for name in OF_RUN] == [["test_a.py::test_mended"], earlier]
    assert words(runs.second) == {
        "test_a.py::test_old": {"word": "still", "since": earlier},
        "test_a.py::test_mended": None,
        "test_a.py::test_good": {"word": "new", "since": None},
        "test_a.py::test_added": {"word": "unknown", "since": None},
        "test_b.py": {"word": "new", "since": None},
    }


@pytest.mark.parametrize("form", OUTPUTS)
def test_every_output_is_read_back_with_these_words(runs: Runs, form: str) -> None:
    again = json.loads(converted(runs.written[form], "json")[1])

    assert words(again) == words(runs.second)
    assert [again[name] for name in OF_RUN] == [runs.second[name] for name in OF_RUN]


def test_a_kept_run_repeats_them_whole_and_test_by_test(runs: Runs) -> None:
    kept = runs.show(runs.second["run_id"])
    (old,) = (test for test in runs.second["tests"] if test["node_id"].endswith("test_old"))

    assert kept["notices"] == runs.second["notices"]
    assert (words(kept), kept["fixed"]) == (words(runs.second), runs.second["fixed"])
    assert runs.show(runs.second["run_id"], "--test", "test_old")["test"]["history"] == old["history"]


def test_a_run_without_its_document_repeats_them_from_the_log(runs: Runs, tmp_path: Path) -> None:
    log = tmp_path / "events.jsonl"
    log.write_bytes((runs.root / ".proctor" / "runs" / runs.second["run_id"] / "events.jsonl").read_bytes())

    again = runs.show(str(log))

    assert words(again) == words(runs.second)


def test_without_history_no_record_has_a_word(tmp_path: Path) -> None:
    root = write_project(tmp_path / "project", BEFORE)
    state, out = str(tmp_path / "state"), tmp_path / "ctrf.json"
    run_suite(root, XDG_STATE_HOME=state)

    document = document_of(root, "--no-history", f"-o=ctrf={out}", XDG_STATE_HOME=state)

    assert not {*OF_RUN, "baseline"} & document.keys()
    assert set(words(document).values()) == {None}
    assert "extra" not in json.loads(out.read_bytes())
    assert read(out.read_bytes(), "ctrf").history is None


def test_the_public_stream_has_none_of_them_and_keeps_its_rules(runs: Runs, tmp_path: Path) -> None:
    document = tmp_path / "result.json"
    document.write_text(json.dumps(runs.second))
    ran = proctor("show", str(document), "--format", "stream", cwd=tmp_path)
    stream = tmp_path / "stream.jsonl"
    stream.write_text(ran.out)

    checked = proctor("show", str(stream), "--strict", cwd=tmp_path)

    assert (checked.code, checked.err) == (0, "")
    assert "history" not in ran.out
