"""How tests that failed end at another commit, in real repositories without an installed project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from support.projects import outcomes, proctor, project_python, write_project
from support.repositories import (
    baseline_of,
    baseline_run,
    commit,
    fingerprints,
    git,
    leftovers,
    new_repository,
)

SHOP = {
    "shop.py": """
        def price():
            return 1

        def tax():
            return 1
    """,
    "test_shop.py": """
        import shop

        def test_price():
            assert shop.price() == 1

        def test_tax():
            assert shop.tax() == 2

        def test_fine():
            pass
    """,
}
BROKEN = {"shop.py": "def price():\n    return 3\n\n\ndef tax():\n    return 1\n"}
NEW_TEST = "\n\ndef test_new():\n    assert False\n"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A repository with a test that fails on main, and a branch that breaks another one."""
    root = new_repository(tmp_path / "shop", SHOP)
    git(root, "switch", "--quiet", "--create", "feature")
    (root / "test_shop.py").write_text((root / "test_shop.py").read_text() + NEW_TEST)
    commit(root, BROKEN)
    return root


def test_each_failure_has_the_word_for_how_it_ends_where_the_branch_began(shop: Path) -> None:
    before = fingerprints(shop, without=(".proctor", "__pycache__", ".pytest_cache"))

    ran, found = baseline_run(shop)

    assert found is not None
    assert found.tests == {
        "test_shop.py::test_price": "passes",
        "test_shop.py::test_tax": "fails",
        "test_shop.py::test_new": "absent",
    }
    assert (found.ref, found.commit, found.reason) == ("main", git(shop, "rev-parse", "main"), "")
    assert ran.code == 1
    assert fingerprints(shop, without=(".proctor", "__pycache__", ".pytest_cache")) == before
    assert leftovers(shop) == []
    assert git(shop, "worktree", "list", "--porcelain").count("worktree ") == 1


def test_the_run_at_the_other_commit_leaves_no_run_and_no_history(shop: Path, tmp_path: Path) -> None:
    state = {"XDG_STATE_HOME": str(tmp_path / "state")}

    baseline_run(shop, **state)

    assert len(list((shop / ".proctor" / "runs").iterdir())) == 1
    assert len(list((tmp_path / "state" / "proctor").glob("*.db*"))) <= 3  # one store, with its log


def test_changed_files_that_are_not_committed_are_compared_with_the_commit(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "shop", SHOP)
    write_project(root, BROKEN)

    found = baseline_of(root)

    assert (found.ref, found.commit) == ("HEAD", git(root, "rev-parse", "HEAD"))
    assert found.tests == {"test_shop.py::test_price": "passes", "test_shop.py::test_tax": "fails"}


def test_on_the_default_branch_without_changes_the_commit_before_is_meant(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "shop", SHOP)
    first = git(root, "rev-parse", "HEAD")
    commit(root, BROKEN)

    found = baseline_of(root)

    assert (found.ref, found.commit) == ("HEAD~1", first)
    assert found.tests["test_shop.py::test_price"] == "passes"


def test_what_was_not_pushed_from_the_default_branch_is_compared_with_what_was(tmp_path: Path) -> None:
    new_repository(tmp_path / "origin", SHOP)
    git(tmp_path, "clone", "--quiet", "origin", "shop")
    root = tmp_path / "shop"
    pushed = git(root, "rev-parse", "HEAD")
    commit(root, BROKEN)
    commit(root, {"more.py": ""})

    found = baseline_of(root)

    assert (found.ref, found.commit) == ("main", pushed)


def test_a_reference_can_be_named_and_a_target_after_the_option_stays_a_target(shop: Path) -> None:
    named = baseline_of(shop, "--baseline=HEAD", "test_shop.py::test_new")
    plain = baseline_of(shop, "--baseline", "test_shop.py::test_price")

    assert (named.ref, named.tests) == ("HEAD", {"test_shop.py::test_new": "fails"})
    assert plain.tests == {"test_shop.py::test_price": "passes"}


@pytest.mark.parametrize("wanted", ["nowhere", "-x", "HEAD:test_shop.py"])
def test_a_reference_that_does_not_exist_is_refused_before_any_test_runs(shop: Path, wanted: str) -> None:
    ran = proctor("run", f"--baseline={wanted}", "--python", project_python(), cwd=shop)

    assert ran.code == 4
    assert f"invalid --baseline {wanted!r}" in ran.err and "e.g. --baseline=main" in ran.err
    assert not (shop / ".proctor").exists()


def test_without_failures_nothing_is_compared(shop: Path) -> None:
    ran, found = baseline_run(shop, "test_shop.py::test_fine")

    assert (ran.code, found) == (0, None)


def test_without_a_repository_the_reason_is_given(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop", SHOP)
    if any((parent / ".git").exists() for parent in root.parents):
        pytest.skip("the temporary directory lies in a repository")

    found = baseline_of(root)

    assert found.tests == {"test_shop.py::test_tax": "unknown"}
    assert "not in a git repository" in found.reason


def test_without_a_commit_or_a_default_branch_the_reason_is_given(tmp_path: Path) -> None:
    root = write_project(tmp_path / "shop", SHOP)
    git(root, "init", "--quiet", "--initial-branch=mine")
    without_commit = baseline_of(root)
    commit(root, {})
    without_branch = baseline_of(root)

    assert without_commit.reason == "there is no commit yet"
    assert without_branch.reason.startswith("no default branch was found")


def test_a_shallow_clone_without_the_commit_says_so(shop: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "--quiet", "--depth=1", "--branch=feature", f"file://{shop}", "shallow")
    root = tmp_path / "shallow"

    ran = proctor("run", "--baseline=HEAD~1", "--python", project_python(), cwd=root)
    found = baseline_of(root, "--baseline")

    assert ran.code == 4 and "this clone is shallow" in ran.err
    assert set(found.tests.values()) == {"unknown"}
    assert "shallow" in found.reason or "no default branch" in found.reason


def test_a_project_below_the_top_of_its_repository_is_found_there(tmp_path: Path) -> None:
    top = tmp_path / "all"
    new_repository(top, {f"services/shop/{name}": text for name, text in SHOP.items()})
    git(top, "switch", "--quiet", "--create", "feature")
    commit(
        top,
        {"services/shop/shop.py": BROKEN["shop.py"], "services/new/test_new.py": "def test(): assert 0\n"},
    )

    below, new = top / "services" / "shop", top / "services" / "new"

    assert baseline_of(below).tests == {
        "test_shop.py::test_price": "passes",
        "test_shop.py::test_tax": "fails",
    }
    assert baseline_of(new).tests == {"test_new.py::test": "absent"}


def test_settings_above_the_failing_file_are_those_of_the_users_run(tmp_path: Path) -> None:
    files = {
        "pytest.ini": "[pytest]\npythonpath = lib\naddopts = -x\n",
        "lib/shop.py": SHOP["shop.py"],
        "tests/pytest.ini": "[pytest]\naddopts = --no-such-option\n",
        "tests/test_shop.py": SHOP["test_shop.py"],
    }
    root = new_repository(tmp_path / "shop", files)
    git(root, "switch", "--quiet", "--create", "feature")
    commit(root, {"lib/shop.py": BROKEN["shop.py"]})

    assert baseline_of(root).tests == {"tests/test_shop.py::test_price": "passes"}


def test_a_file_that_cannot_be_collected_is_told_by_whether_it_can_be_there(tmp_path: Path) -> None:
    root = new_repository(
        tmp_path / "shop",
        {
            "shop.py": "rate = 1\n",
            "test_old.py": "raise RuntimeError('for ever')\n",
            "test_shop.py": "import shop\n\ndef test_rate():\n    assert shop.rate\n",
            "test_other.py": "raise RuntimeError('once')\n",
        },
    )
    git(root, "switch", "--quiet", "--create", "feature")
    commit(
        root, {"shop.py": "raise ValueError('broken')\n", "test_other.py": "raise RuntimeError('twice')\n"}
    )

    found = baseline_of(root)

    assert found.tests == {"test_old.py": "fails", "test_shop.py": "passes", "test_other.py": "unknown"}
    assert "for another reason" in found.reason


def test_a_test_whose_file_cannot_be_collected_there_is_not_said_to_fail_there(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "shop", {"test_shop.py": "raise RuntimeError('then')\n"})
    git(root, "switch", "--quiet", "--create", "feature")
    commit(root, {"test_shop.py": "def test_a():\n    assert False\n"})

    found = baseline_of(root)

    assert found.tests == {"test_shop.py::test_a": "unknown"}
    assert "cannot be collected there" in found.reason


def test_a_failure_for_lack_of_an_ignored_file_is_not_said_to_be_one_there(tmp_path: Path) -> None:
    root = new_repository(
        tmp_path / "shop",
        {
            ".gitignore": "_version.py\ndata/\n__pycache__/\n.proctor/\n.pytest_cache/\n",
            "shop/__init__.py": "",
            "test_shop.py": """
                def test_version():
                    from shop import _version
                    assert _version.number == 1

                def test_data():
                    try:
                        text = open("data/prices.txt").read()
                    except OSError:
                        text = ""
                    assert text == "1"
            """,
        },
    )
    write_project(root, {"shop/_version.py": "number = 2\n", "data/prices.txt": "2"})

    version = baseline_of(root, "--baseline=HEAD", "test_shop.py::test_version")
    data = baseline_of(root, "--baseline=HEAD", "test_shop.py::test_data")

    assert set(version.tests.values()) == {"unknown"}
    assert version.reason == "shop/_version.py is in the working tree but not in git"
    assert set(data.tests.values()) == {"unknown"}
    assert data.reason == "data/prices.txt is in the working tree but not in git"


def test_a_module_from_the_users_tree_is_never_taken_for_that_of_the_commit(shop: Path) -> None:
    files = {
        "conftest.py": "import os, sys\nsys.path.insert(0, os.environ['SHOP'])\n",
        "tests/test_shop.py": SHOP["test_shop.py"],
        "lib/shop.py": BROKEN["shop.py"],
    }
    git(shop, "rm", "--quiet", "shop.py", "test_shop.py")
    commit(shop, files)

    found = baseline_of(shop, "--baseline=HEAD", SHOP=str(shop / "lib"))

    assert set(found.tests.values()) == {"unknown"}
    assert "lib/" in found.reason and "of the working tree was read" in found.reason


def test_a_module_that_a_test_removes_again_is_noticed_all_the_same(shop: Path) -> None:
    hidden = """
        import importlib.util, os, sys

        def test_hidden():
            spec = importlib.util.spec_from_file_location("hidden", os.environ["HIDDEN"])
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            assert module.price() == 1
    """
    commit(shop, {"test_hidden.py": hidden})

    found = baseline_of(shop, "--baseline=HEAD", "test_hidden.py", HIDDEN=str(shop / "shop.py"))

    assert found.tests == {"test_hidden.py::test_hidden": "unknown"}
    assert found.reason == "shop.py of the working tree was read"


def test_paths_of_the_users_tree_on_pythonpath_and_in_arguments_are_those_of_the_worktree(
    tmp_path: Path,
) -> None:
    files = {
        "lib/shop.py": SHOP["shop.py"],
        "tests/test_shop.py": SHOP["test_shop.py"],
        "other.ini": "[pytest]\n",
    }
    root = new_repository(tmp_path / "shop", files)
    git(root, "switch", "--quiet", "--create", "feature")
    commit(root, {"lib/shop.py": BROKEN["shop.py"]})

    found = baseline_of(root, "--", "-c", str(root / "other.ini"), PYTHONPATH=str(root / "lib"))

    assert found.tests == {
        "tests/test_shop.py::test_price": "passes",
        "tests/test_shop.py::test_tax": "fails",
    }


def test_a_directory_that_pythonpath_has_for_another_reason_may_hide_nothing(tmp_path: Path) -> None:
    test = "import shop\n\ndef test_price():\n    assert shop.price() == 1\n"
    root = new_repository(tmp_path / "shop", {"shop.py": SHOP["shop.py"], "test_shop.py": test})
    write_project(root, BROKEN)
    write_project(tmp_path / "elsewhere", {"shop.py": "def price():\n    return 9\n"})

    found = baseline_of(root, PYTHONPATH=str(tmp_path / "elsewhere"))

    assert found.tests == {"test_shop.py::test_price": "passes"}


def test_unittest_tests_are_compared_too(tmp_path: Path) -> None:
    test = """
        import unittest
        import shop

        class Shop(unittest.TestCase):
            def test_price(self):
                self.assertEqual(shop.price(), 1)

            def test_tax(self):
                self.assertEqual(shop.tax(), 2)
    """
    root = new_repository(tmp_path / "shop", {"shop.py": SHOP["shop.py"], "test_shop.py": test})
    git(root, "switch", "--quiet", "--create", "feature")
    commit(root, BROKEN)

    found = baseline_of(root, "--runner", "unittest")

    assert found.tests == {
        "test_shop.py::Shop::test_price": "passes",
        "test_shop.py::Shop::test_tax": "fails",
    }


def test_tests_of_other_runners_cannot_be_told(tmp_path: Path) -> None:
    settings = '[[tests]]\nname = "/bad"\ncommand = ["false"]\n'
    root = new_repository(tmp_path / "shop", {"proctor.toml": settings})
    write_project(root, {"new.txt": ""})

    found = baseline_of(root, "--runner", "command")

    assert found.tests == {"/bad": "unknown"}
    assert found.reason == "only tests of pytest and unittest can be run at another commit"


def test_skipped_and_expected_failures_are_told_apart_there(tmp_path: Path) -> None:
    marked = """
        import pytest

        @pytest.mark.skip
        def test_skipped():
            assert False

        @pytest.mark.xfail
        def test_expected():
            assert False
    """
    root = new_repository(tmp_path / "shop", {"test_shop.py": marked})
    plain = marked.replace("@pytest.mark.skip", "").replace("@pytest.mark.xfail", "")
    write_project(root, {"test_shop.py": plain})

    found = baseline_of(root)

    assert found.tests == {"test_shop.py::test_skipped": "unknown", "test_shop.py::test_expected": "fails"}
    assert found.reason == "it was skipped there"


def test_hooks_and_filters_are_not_run_and_what_needs_them_cannot_be_told(tmp_path: Path) -> None:
    root = new_repository(tmp_path / "shop", {**SHOP, "data.bin": "pointer\n", "test_data.py": _READS_DATA})
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        path = root / ".git" / "hooks" / hook
        path.write_text(f"#!/bin/sh\necho {hook} >> {tmp_path}/ran\n")
        path.chmod(0o755)
    (root / ".git" / "info" / "attributes").write_text("data.bin filter=big\n")
    git(root, "config", "filter.big.smudge", f"echo smudge >> {tmp_path}/ran; exit 1")
    git(root, "config", "filter.big.clean", "cat")  # which `git status` runs
    git(root, "config", "filter.big.required", "true")
    write_project(root, BROKEN)
    (tmp_path / "ran").unlink(missing_ok=True)

    plain = baseline_of(root, "test_shop.py")
    data = baseline_of(root, "test_data.py")

    assert plain.tests["test_shop.py::test_price"] == "passes"
    assert set(data.tests.values()) == {"unknown"}
    assert data.reason == "data.bin is only right after a filter of git's, and none was run"
    assert not (tmp_path / "ran").exists()


_READS_DATA = "def test_data():\n    assert open('data.bin').read() == 'content'\n"


def test_a_commit_with_submodules_cannot_be_told(shop: Path, tmp_path: Path) -> None:
    new_repository(tmp_path / "part", {"a.txt": ""})
    git(shop, "submodule", "--quiet", "add", str(tmp_path / "part"), "part")
    commit(shop, {})

    found = baseline_of(shop, "--baseline=HEAD")

    assert set(found.tests.values()) == {"unknown"}
    assert "submodules (part)" in found.reason


def test_a_report_that_arguments_name_is_not_written_again(shop: Path) -> None:
    report = shop / "build" / "junit.xml"

    baseline_run(shop, "--", f"--junitxml={report}")

    assert 'tests="4"' in report.read_text()  # and not those that failed alone


def test_a_linked_worktree_is_compared_like_any_other(shop: Path, tmp_path: Path) -> None:
    git(shop, "worktree", "add", "--quiet", "--detach", str(tmp_path / "linked"), "feature")
    root = tmp_path / "linked"

    found = baseline_of(root)

    assert found.tests["test_shop.py::test_price"] == "passes"
    assert os.listdir(shop / ".git" / "worktrees") == ["linked"]


def test_a_plain_run_publishes_no_comparison(shop: Path) -> None:
    ran = proctor("run", "--format", "json", "--python", project_python(), cwd=shop)

    assert outcomes(ran.document)["test_shop.py::test_price"] == "failed"
    assert ran.document.get("baseline") is None
