"""`proctor run --shard`: all shards together are the whole run, and what is missing is named."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from support.projects import document_of, outcomes, proctor, run_suite, write_project
from support.repositories import commit, new_repository
from support.shards import PLAN, ends, planned, shard, shards

SIMPLE = {f"test_{name}.py": f"def test_{name}(): pass\n" for name in "abc"}
#: Whatever changes which tests there are, and how they are called.
ODD = {
    "pytest.ini": "[pytest]\ntestpaths = in/tests in/more\nmarkers = xdist_group\n",
    "conftest.py": """
        def pytest_addoption(parser):
            parser.addoption("--many", default=1, type=int)
        def pytest_generate_tests(metafunc):
            if "number" in metafunc.fixturenames:
                metafunc.parametrize("number", range(metafunc.config.getoption("many")))
        """,
    "in/more/conftest.py": """
        import pytest
        @pytest.fixture
        def here(): return 1
        def pytest_collection_modifyitems(items):
            items.reverse()
        """,
    "in/more/test_m.py": "def test_here(here): pass\ndef test_many(number): pass\n",
    "in/tests/test_a.py": """
        import pytest
        @pytest.mark.parametrize("v", ["a::b", "\\udc80", "x\\ny", "[z]", "é"])
        def test_odd(v): assert v != "é"
        def test_slow(): pass
        """,
    "in/tests/test_twice.py": """
        import pytest
        class TestX:
            @pytest.mark.parametrize("v", [1, 2], ids=["a", "a"])
            def test_twice(self, v): pass
        """,
    "in/tests/test_skipped.py": "import pytest\npytest.skip('not here', allow_module_level=True)\n",
    "in/tests/test_g1.py": "import pytest\n@pytest.mark.xdist_group('g')\ndef test_g(): pass\n",
    "in/tests/sub/test_g2.py": """
        import pytest
        @pytest.mark.xdist_group("g")
        def test_g(): pass
        def test_h(): pass
        """,
}


def _together(documents: list[dict[str, Any]], name: str) -> int:
    return sum(document["summary"].get(name, 0) for document in documents)


def test_all_shards_together_are_the_whole_run(tmp_path: Path) -> None:
    """The project is below pytest's root; its plan leaves tests out, and has arguments for pytest."""
    root = write_project(tmp_path, ODD) / "in"
    chosen = ("-k", "not slow", "tests", "more/test_m.py")
    whole = document_of(root, *chosen, "--", "--many=3")

    planned(root, 3, *chosen, "--", "--many=3")
    found = shards(root, 3)
    alone = [document_of(root, *chosen, "--shard", f"{number}/3", "--", "--many=3") for number in (1, 2, 3)]

    assert whole["summary"]["failed"] == 1 and whole["summary"]["skipped"] == 1
    for documents in (found, alone):
        assert ends(documents) == ends([whole])
        assert _together(documents, "deselected") == whole["summary"]["deselected"] == 1
        for mark in ("in/tests/test_g1.py::test_g", "in/tests/sub/test_g2.py::test_g"):
            assert [mark in outcomes(document) for document in documents].count(True) == 1
        joined = [document for document in documents if "in/tests/test_g1.py::test_g" in outcomes(document)]
        assert "in/tests/sub/test_g2.py::test_h" in outcomes(joined[0])
        assert len({document["plan"]["plan"] for document in documents}) == 1
        assert [(document["plan"]["shard"], document["plan"]["shards"]) for document in documents] == [
            (1, 3),
            (2, 3),
            (3, 3),
        ]
    assert [document["plan"].get("own") for document in (*found, *alone)] == [None] * 3 + [True] * 3
    assert all("tests of the plan " in document["notices"][0] for document in found)
    assert all("; no plan was used: the tests are divided" in document["notices"][0] for document in alone)


@pytest.mark.parametrize("seed", [1, 2])
def test_all_shards_of_a_project_made_at_random_are_the_whole_run(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    folders = ["", "a/", "a/b/", "c/"]
    files = {f"{folder}__init__.py": "" for folder in folders[1:] if chance.random() < 0.5}
    for number in range(chance.randint(3, 9)):
        lines = ["import pytest"]
        lines += ["pytest.importorskip('not_there')"] if chance.random() < 0.15 else []
        for test in range(chance.randint(0, 4)):
            lines += [f"@pytest.mark.xdist_group('g{chance.randint(0, 3)}')"] if chance.random() < 0.3 else []
            lines += [f"@pytest.mark.parametrize('v', range({chance.randint(1, 3)}))"]
            lines += [f"def test_{test}(v): assert {chance.choice([0, 1, 1])}"]
        files[f"{chance.choice(folders)}test_{number}.py"] = "\n".join(lines) + "\n"
    root, count = write_project(tmp_path, files), chance.randint(2, 4)
    whole = document_of(root)

    planned(root, count)
    documents = shards(root, count, *chance.choice([(), ("-n", "2"), ("--isolate",)]))

    assert ends(documents) == ends([whole])


def test_tests_that_are_gone_are_named_and_the_others_run(tmp_path: Path) -> None:
    root = write_project(tmp_path, {**SIMPLE, "test_d.py": "def test_d(): pass\ndef test_e(): pass\n"})
    planned(root, 1, "test_a.py", "test_b.py::test_b", "test_d.py::test_d", "test_d.py::test_e")
    (root / "test_a.py").unlink()
    write_project(root, {"test_d.py": "def test_d(): pass\n"})

    found = shard(root, "1/1", "--force")

    assert outcomes(found) == {"test_b.py::test_b": "passed", "test_d.py::test_d": "passed"}
    assert found["outcome"] == "incomplete"
    assert found["not_run"] == ["test_a.py::test_a", "test_d.py::test_e"]
    assert found["reason"].endswith(
        "2 of 4 tests of the plan were not found: test_a.py::test_a, test_d.py::test_e"
    )


def test_tests_that_something_here_leaves_out_are_missing_too(tmp_path: Path) -> None:
    root = write_project(tmp_path, SIMPLE)
    planned(root, 1)
    deselects = """
        def pytest_collection_modifyitems(items, config):
            config.hook.pytest_deselected(items=items[:1])
            del items[0]
        """
    write_project(root, {"conftest.py": deselects})

    by_conftest = shard(root, "1/1")
    write_project(root, {"conftest.py": "", "test_b.py": "import not_there\n"})
    broken = shard(root, "1/1")

    assert (by_conftest["outcome"], by_conftest["not_run"]) == ("incomplete", ["test_a.py::test_a"])
    assert (broken["outcome"], [*outcomes(broken)]) == ("incomplete", [])
    assert sorted(broken["not_run"]) == [f"test_{name}.py::test_{name}" for name in "abc"]
    assert "test_b.py::test_b" in broken["reason"]


def test_tests_that_the_plan_does_not_know_run_in_the_last_shard(tmp_path: Path) -> None:
    root = write_project(tmp_path, SIMPLE)
    planned(root, 2)
    new = "def test_{0}(): pass\ndef test_more(): pass\n"
    write_project(root, {"test_a.py": new.format("a"), "test_new.py": "def test_new(): pass\n"})

    first, last = shards(root, 2)

    assert first["outcome"] == last["outcome"] == "passed"
    assert ends([first, last]) == ends([document_of(root)])
    assert {"test_a.py::test_more", "test_new.py::test_new"} <= outcomes(last).keys()
    said = (
        "2 tests are not in the plan; the last shard, this one, runs them:"
        " test_a.py::test_more, test_new.py::test_new"
    )
    assert said in last["notices"] and said not in first["notices"]


def test_a_new_test_that_was_listed_and_has_another_name_when_it_runs_is_not_green(tmp_path: Path) -> None:
    root = write_project(tmp_path, SIMPLE)
    planned(root, 2)
    random_name = """
        import os, pytest
        @pytest.mark.parametrize("name", [os.urandom(8).hex()])
        def test_new(name): assert False
        """
    write_project(root, {"test_new.py": random_name})

    first = shard(root, "1/2", "-o", "events=1.jsonl")
    last = shard(root, "2/2", "-o", "events=2.jsonl", "-o", "json=2.json")
    merged = proctor("merge", "1.jsonl", "2.jsonl", "--plan", PLAN, "--format", "agent", cwd=root)
    without = proctor("merge", "1.jsonl", "2.json", "--format", "agent", cwd=root)

    assert (first["outcome"], last["outcome"]) == ("passed", "incomplete")
    assert "1 of 1 tests that are not in the plan were listed, and then not found" in last["reason"]
    assert [*last["plan"]["more"]] == last["not_run"]
    assert (merged.code, without.code) == (2, 2)
    assert "test_new.py::test_new[" in merged.out and "test_new.py::test_new[" in without.out


def test_arguments_that_only_a_shard_gets_reach_pytest(tmp_path: Path) -> None:
    """The plan was made without any, and so it does not say for whom they are."""
    only = {"conftest.py": "def pytest_addoption(parser): parser.addoption('--say', default='nothing')\n"}
    said = "def test_c(pytestconfig): assert pytestconfig.getoption('say') == 'this'\n"
    root = write_project(tmp_path, SIMPLE | only | {"test_c.py": said})
    planned(root, 2)

    found = shards(root, 2, "--", "--say", "this")

    assert [document["outcome"] for document in found] == ["passed", "passed"]


def test_what_the_plan_does_not_know_and_cannot_be_loaded_is_not_green(tmp_path: Path) -> None:
    root = write_project(tmp_path, SIMPLE)
    planned(root, 4)
    write_project(root, {"test_new.py": "import not_there\n"})

    first, last = shard(root, "1/4"), shard(root, "4/4")

    assert first["outcome"] == "passed"
    assert last["plan"]["tests"] == [] and last["outcome"] == "incomplete"
    assert "could not be listed: test_new.py: ModuleNotFoundError" in last["reason"]
    assert [error["file"] for error in last["collection_errors"]] == ["test_new.py"]


def test_another_commit_is_refused_and_edits_are_a_note(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "project", SIMPLE)
    planned(root, 3)
    ran = tmp_path / "ran"
    write_project(root, {"test_a.py": f"open({str(ran)!r}, 'w')\ndef test_a(): pass\n"})
    edited = run_suite(root, "--plan", PLAN, "--shard", "1/3")
    ran.unlink()
    commit(root, {}, "next")

    refused = [run_suite(root, "--plan", PLAN, "--shard", f"{number}/3") for number in (1, 3)]
    refused_before = not ran.exists()
    forced = run_suite(root, "--plan", PLAN, "--shard", "1/3", "--force")

    assert edited.code == 0 and "note: the files differ from the plan's: same commit " in edited.out
    assert [one.code for one in refused] == [4, 4] and refused_before
    assert all(one.err.startswith("proctor: the plan was made for commit ") for one in refused)
    assert "; use --force to run anyway [usage]" in refused[0].err
    assert forced.code == 0 and "note: the plan was made for commit " in forced.out


def test_plans_and_logs_in_the_project_are_no_edits(tmp_path: Path) -> None:
    root = new_repository(tmp_path, {**SIMPLE, ".gitignore": "__pycache__/\n.proctor/\n"})
    assert run_suite(root, "-o", "json=timings.json").code == 0
    planned(root, 2, "--timings", "timings.json")
    (root / "timings.json").unlink()

    ran = [
        run_suite(root, "--plan", PLAN, "--shard", f"{number}/2", "-o", f"events=shard-{number}.jsonl")
        for number in (1, 2)
    ]

    assert [one.code for one in ran] == [0, 0]
    assert not any("the files differ" in one.out + one.err for one in ran)


def test_other_packages_are_refused_before_code_of_the_project_runs(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    root = write_project(tmp_path / "project", {"test_a.py": "def test_a(): pass\n"})
    path = planned(root, 1)
    made = json.loads(path.read_text())
    path.write_text(
        json.dumps({**made, "fingerprint": "cpython 3.9.1, 7 packages (0000)", "commit": "c0ffee"})
    )
    write_project(root, {"conftest.py": f"open({str(ran)!r}, 'w')\n"})

    refused = run_suite(root, "--plan", PLAN, "--shard", "1/1")
    untouched = not ran.exists()
    forced = shard(root, "1/1", "--force")

    assert (refused.code, untouched) == (4, True)
    assert "the plan was made with cpython 3.9.1, 7 packages (0000), but this is cpython 3." in refused.err
    assert forced["outcome"] == "passed"
    notes = " ".join(forced["notices"])
    assert "the plan was made with cpython 3.9.1" in notes
    assert "the commit here is not known" in notes  # there is no repository


def test_a_shard_without_tests_is_no_failure_and_says_so(tmp_path: Path) -> None:
    root = write_project(tmp_path, {"test_a.py": "def test_a(): pass\n"})
    planned(root, 3)

    found = [
        run_suite(root, "--format", form, "--plan", PLAN, "--shard", f"{number}/3")
        for number, form in ((2, "human"), (3, "agent"))
    ]

    assert [(one.code, one.err) for one in found] == [(0, "")] * 2
    assert all("shard" in one.out and ": none of 1 tests of the plan" in one.out for one in found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--shard", "0/3"), "invalid --shard '0/3'"),
        (("--shard", "x"), "invalid --shard 'x'"),
        (("--plan", PLAN), "--plan needs --shard I/N"),
        (("--plan", PLAN, "--shard", "1/2"), "--shard 1/2: plan.json has 3 shards, not 2"),
        (("--plan", "none.json", "--shard", "1/3"), "the plan none.json cannot be read"),
        (("--plan", "test_a.py", "--shard", "1/3"), "test_a.py is no plan"),
        (("--plan", PLAN, "--shard", "1/3", "test_a.py"), "expected no targets, -k or -m with it"),
        (("--plan", PLAN, "--shard", "1/3", "-k", "a"), "expected no targets, -k or -m with it"),
        (("--plan", PLAN, "--shard", "1/3", "--runner", "unittest"), "plan.json was made for every runner"),
        (("--plan", PLAN, "--shard", "1/3", "--last-failed"), "--shard and --last-failed"),
        (("--shard", "1/3", "--force"), "--force needs --plan FILE or --engine ENGINE"),
        (("--force",), "--force needs --plan FILE or --engine ENGINE"),
    ],
)
def test_a_shard_that_cannot_be_meant_is_refused(
    tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    made = {
        "schema": "proctor.plan/1",
        "shards": [{"tests": [f"test_{name}.py::test_{name}"]} for name in "abc"],
    }
    root = write_project(tmp_path, {**SIMPLE, PLAN: json.dumps(made)})

    refused = proctor("run", *arguments, cwd=root)

    assert refused.code == 4
    assert message in refused.err
    assert not (root / ".proctor").exists()


def test_a_plan_of_another_tool_need_not_say_whose_tests_it_has(tmp_path: Path) -> None:
    made = {
        "schema": "proctor.plan/1",
        "shards": [{"tests": ["test_b.py::test_b", "test_gone.py::test"]}, {"tests": ["test_a.py::test_a"]}],
    }
    root = write_project(tmp_path, {**SIMPLE, PLAN: json.dumps(made)})

    first, last = shards(root, 2)

    assert outcomes(first) == {"test_b.py::test_b": "passed"}
    assert (first["outcome"], first["not_run"]) == ("incomplete", ["test_gone.py::test"])
    assert outcomes(last) == {"test_a.py::test_a": "passed", "test_c.py::test_c": "passed"}


MIXED = {
    "proctor.toml": """
        history = false
        runner = "unittest,command,node"
        [[tests]]
        name = "/ok"
        command = ["true"]
        """,
    "package.json": '{"name": "x", "scripts": {"test": "node --test"}}',
    "tests/test_a.py": """
        import unittest
        class A(unittest.TestCase):
            def test_a(self): pass
            def test_b(self): pass
        """,
    "tests/test_b.py": "import unittest\nclass B(unittest.TestCase):\n    def test_a(self): self.fail()\n",
    "tests/test_skipped.py": "import unittest\nraise unittest.SkipTest('not here')\n",
    "tests/a.test.js": "const t = require('node:test'); t('adds > up', () => {}); t('two', () => {});",
    "tests/b.test.js": "const t = require('node:test'); t('adds', () => { throw new Error('no'); });",
}


def test_a_project_of_several_languages_is_divided_as_one(tmp_path: Path) -> None:
    root = write_project(tmp_path, MIXED)
    whole = document_of(root)
    planned(root, 3)

    documents = shards(root, 3)
    without_node = shard(root, "1/3", PATH="/nowhere")
    write_project(
        root,
        {
            "tests/test_a.py": MIXED["tests/test_b.py"],
            "tests/test_new.py": MIXED["tests/test_a.py"],
            "tests/new.test.js": MIXED["tests/b.test.js"],
            "proctor.toml": MIXED["proctor.toml"].replace("/ok", "/new"),
        },
    )
    (root / "tests/b.test.js").unlink()
    changed = shards(root, 3)

    assert ends(documents) == ends([whole])
    assert without_node["outcome"] == "incomplete"
    assert [suite["runner"] for suite in without_node["missing"]] == ["node"]
    assert set(without_node["not_run"]) == {test for test in outcomes(documents[0]) if ".js" in test} != set()
    assert (
        outcomes(without_node).keys() == outcomes(documents[0]).keys() - set(without_node["not_run"]) != set()
    )
    assert ends(changed) == ends([document_of(root)])
    gone = [test for document in changed for test in document["not_run"]]
    assert sorted(gone) == [
        "/ok",
        "tests/b.test.js::adds",
        "tests/test_a.py::A::test_a",
        "tests/test_a.py::A::test_b",
    ]
    assert {document["outcome"] for document in changed if document["not_run"]} == {"incomplete"}
    new = [test for test in outcomes(changed[2]) if "new" in test]
    assert sorted(new) == [
        "/new",
        "tests/new.test.js::adds",
        "tests/test_new.py::A::test_a",
        "tests/test_new.py::A::test_b",
    ]


OPTIONS = {
    "pyproject.toml": """
        [tool.proctor]
        quarantine = [{ test = "test_b.py::*", reason = "elsewhere" }]
        """,
    "test_a.py": """
        import os
        def test_first():
            assert os.path.exists("tried") or open("tried", "w").close()
        def test_last(): pass
        """,
    "test_b.py": "def test_b(): assert 0\n",
}


def test_a_shard_takes_the_options_of_a_run(tmp_path: Path) -> None:
    root = write_project(tmp_path, OPTIONS)
    path = planned(root, 2)
    number = 1 + [
        shard["tests"][0].startswith("test_a") for shard in json.loads(path.read_text())["shards"]
    ].index(True)

    stopped = shard(root, f"{number}/2", "-x")
    (root / "tried").unlink()
    again = shard(root, f"{number}/2", "-n", "2", "--retries", "1")
    first = shard(root, f"{number}/2", "--isolate", "--failed-first", "--repeat", "2")

    assert (stopped["outcome"], stopped["not_run"]) == ("failed", ["test_a.py::test_last"])
    assert (again["outcome"], again["summary"]["flaky"]) == ("passed", 1)
    assert outcomes(first) == {"test_a.py::test_first": "passed", "test_a.py::test_last": "passed"}
    notices = [notice for document in (stopped, again, first) for notice in document["notices"]]
    assert not [notice for notice in notices if "quarantine" in notice]
    assert proctor("runs", cwd=root).out.count(f"--shard {number}/2") == 3
