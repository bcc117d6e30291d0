"""The words for tests in real repositories: the right one, or none. No file of the user's is written."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from support.git import ENVIRON, Repository, fingerprint, git
from support.projects import run_suite

Made = Callable[[], Repository]


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path / "project", tmp_path / "state")


def test_a_test_that_passed_is_new_then_still_then_fixed(repository: Repository) -> None:
    assert repository.run("failed").word == "unknown"
    repository.commit("2")
    repository.run("passed")
    repository.commit("3")
    failed = repository.run("failed")
    repository.commit("4")
    again = repository.run("failed")
    repository.commit("5")
    fixed = repository.run("passed")

    assert failed.word == "new"
    assert (again.word, again.since) == ("still", failed.name)
    assert fixed.word == "fixed" and fixed.compared_with == again.name


def test_without_a_change_both_ends_are_flaky(repository: Repository) -> None:
    repository.run("passed")

    assert repository.run("failed").word == "flaky"
    assert repository.run("passed").word == ""
    assert repository.run("failed", selection="x").word != "new"
    assert repository.run("failed", environment="other").word == "unknown"


def test_the_same_files_under_another_commit_are_no_change(repository: Repository) -> None:
    repository.run("passed")
    repository.git("commit", "-q", "--amend", "-m", "other words")

    assert repository.run("failed").word == "flaky"


def test_a_change_that_is_undone_by_hand_is_no_change(repository: Repository) -> None:
    repository.write({"a.py": "2\n"})
    repository.run("failed")
    repository.git("commit", "-qam", "the same, committed")

    assert repository.run("passed").word == ""
    assert repository.run("failed").word == "flaky"


def test_a_change_in_the_second_of_a_commit_is_a_change(repository: Repository) -> None:
    """Size and time of the file are those that git knows of the version before."""
    file, index, then = repository.root / "a.py", repository.root / ".git" / "index", (10**9, 10**9)
    repository.git("config", "core.trustctime", "false")  # that time cannot be set
    file.write_text("2\n")
    os.utime(file, then)
    repository.git("commit", "-qam", "second")
    os.utime(index, then)
    repository.run("passed")
    file.write_text("3\n")
    os.utime(file, then)

    assert repository.run("failed").word == "new"


STARTS: dict[str, list[tuple[str, ...]]] = {
    "switch -c": [("switch", "-q", "-c", "child")],
    "checkout -b": [("checkout", "-q", "-b", "child")],
    "switch -c with a start": [("switch", "-q", "main"), ("switch", "-q", "-c", "child", "parent")],
    "branch": [("branch", "child"), ("switch", "-q", "child")],
    "branch with a start": [
        ("switch", "-q", "main"),
        ("branch", "child", "parent"),
        ("switch", "-q", "child"),
    ],
    "renamed afterwards": [("switch", "-q", "-c", "other"), ("branch", "-m", "other", "child")],
    "packed references": [("switch", "-q", "-c", "child"), ("pack-refs", "--all")],
    "switch -C of an old branch": [("branch", "child", "main"), ("switch", "-q", "-C", "child", "parent")],
}


@pytest.mark.parametrize("way", STARTS)
def test_a_branch_knows_the_one_that_it_was_created_from(way: str, repository: Repository) -> None:
    """The test passes on the default branch and fails on the one that is really the parent."""
    repository.run("passed")
    repository.git("switch", "-q", "-c", "parent")
    repository.commit("on parent")
    repository.run("failed")
    for command in STARTS[way]:
        repository.git(*command)
    repository.commit("on child")

    assert repository.run("failed").word == "still"


def test_a_branch_of_a_remote_one_is_compared_with_the_local_one_of_its_name(
    repository: Repository, tmp_path: Path
) -> None:
    git(tmp_path, "clone", "-q", str(repository.root), "clone")
    clone = repository.at(tmp_path / "clone")
    clone.run("passed")
    clone.git("switch", "-q", "-c", "child", "origin/main")
    clone.commit("on child")

    assert clone.run("failed").word == "new"


@pytest.mark.parametrize("start", [(), ("parent",)])
def test_a_worktree_with_a_new_branch_comes_from_where_it_was_made(
    start: tuple[str, ...], repository: Repository, tmp_path: Path
) -> None:
    repository.run("passed")
    repository.git("switch", "-q", "-c", "parent")
    repository.commit("on parent")
    failed = repository.run("failed")
    repository.git("worktree", "add", "-q", "-b", "child", str(tmp_path / "tree"), *start)
    tree = repository.at(tmp_path / "tree")
    tree.commit("on child")
    said = tree.run("failed", watched=(repository.root / ".git",))

    assert (said.word, said.since) == ("still", failed.name)


def test_where_nobody_knows_from_which_branch_only_commits_of_this_one_count(
    repository: Repository,
) -> None:
    """The logs are gone; the default branch passed at a commit that the branch has, and later failed."""
    repository.run("passed")
    repository.git("branch", "child")
    repository.commit("later")
    repository.run("failed")
    repository.git("switch", "-q", "child")
    shutil.rmtree(repository.root / ".git" / "logs")
    repository.commit("on child")

    assert repository.run("failed").word == "new"


def test_a_branch_that_is_created_anew_has_no_results_of_the_old_one(repository: Repository) -> None:
    repository.git("switch", "-q", "-c", "work")
    repository.commit("on work")
    repository.run("passed")
    repository.git("switch", "-q", "main")
    repository.commit("on main")
    broken = repository.run("failed")
    repository.git("branch", "-D", "work")
    repository.git("switch", "-q", "-c", "work")
    repository.commit("on the new one")
    said = repository.run("failed")

    assert (said.word, said.since) == ("still", broken.name)


def test_a_renamed_branch_keeps_its_results(repository: Repository) -> None:
    repository.run("passed")
    repository.git("switch", "-q", "-c", "old")
    repository.commit("on old")
    failed = repository.run("failed")
    repository.git("branch", "-m", "new")
    repository.commit("on new")
    said = repository.run("failed")

    assert (said.word, said.since) == ("still", failed.name)


def test_a_branch_from_a_fresh_clone_has_the_results_of_its_name(
    repository: Repository, tmp_path: Path
) -> None:
    """As in CI, where the store is kept and the clone is not."""
    repository.git("switch", "-q", "-c", "topic")
    repository.commit("on topic")
    repository.git("switch", "-q", "main")
    clone = repository.at(tmp_path / "clone")
    words: list[str] = []
    for outcome in ("passed", "failed", "failed"):
        shutil.rmtree(clone.root, ignore_errors=True)
        git(tmp_path, "clone", "-q", str(repository.root), "clone", at=clone.tick())
        clone.git("checkout", "-q", "-B", "topic", "origin/topic")
        clone.write({"more.py": f"{len(words)}\n"})
        words.append(clone.run(outcome).word)

    assert words == ["", "new", "still"]


def test_without_a_branch_only_runs_at_earlier_commits_count(repository: Repository) -> None:
    first = repository.git("rev-parse", "HEAD")
    repository.commit("broken")
    repository.run("failed")
    repository.commit("mended")
    repository.run("passed")
    repository.git("checkout", "-q", "--detach", "HEAD~1")
    later = repository.run("failed")
    repository.git("checkout", "-q", first)

    assert later.word == "still"
    assert repository.run("failed").word == "unknown"
    assert repository.run("failed").word == "still"


def test_during_a_rebase_no_branch_is_checked_out(repository: Repository) -> None:
    repository.git("switch", "-q", "-c", "topic")
    repository.commit("one", {"b.py": "1\n"})
    repository.run("passed")
    repository.commit("two", {"b.py": "2\n"})
    repository.git("-c", "sequence.editor=sed -i s/pick/edit/", "rebase", "-q", "-i", "main")
    said = repository.run("failed")

    assert said.branch == ""
    assert said.word == "unknown"


def test_before_the_first_commit_time_and_files_count(tmp_path: Path) -> None:
    repository = Repository(tmp_path / "project", tmp_path / "state", make=False)
    repository.root.mkdir()
    repository.git("init", "-q", "-b", "main")
    repository.write({"a.py": "1\n"})
    repository.run("passed")
    flaky = repository.run("failed")
    repository.write({"a.py": "22\n", "b.py": "1\n"})

    assert flaky.word == "flaky"
    assert repository.run("failed").word == "flaky"


def test_without_git_time_counts_and_nothing_is_flaky(tmp_path: Path) -> None:
    project = Repository(tmp_path / "project", tmp_path / "state", make=False)
    project.write({"a.py": "1\n"})
    project.run("passed")

    assert project.run("failed").word == "new"
    assert project.run("failed").word == "still"
    assert project.run("passed").word == "fixed"


@pytest.mark.parametrize("absent", ["program", "owner"])
def test_where_git_does_not_answer_the_branch_is_still_known(absent: str, repository: Repository) -> None:
    repository.run("passed")
    repository.git("switch", "-q", "-c", "topic")
    repository.commit("on topic")
    if absent == "program":
        repository.environ = {"PATH": "/nowhere"}
    else:
        repository.environ = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    said = repository.run("failed")
    again = repository.run("passed")

    assert (said.branch, said.state, said.word) == ("topic", "", "new")
    assert again.word == "fixed"


def test_a_directory_that_claims_a_repository_has_a_store_of_its_own(
    repository: Repository, tmp_path: Path
) -> None:
    repository.run("passed")
    stranger = repository.at(tmp_path / "stranger")
    stranger.write({"a.py": "other\n", ".git": f"gitdir: {repository.root}/.git\n"})

    assert stranger.run("failed", watched=(repository.root,)).word == "unknown"
    assert repository.run("passed").word == ""
    assert len(list((tmp_path / "state" / "proctor").glob("*.sqlite"))) == 2


def test_worktrees_of_a_bare_repository_share_their_results(repository: Repository, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repository.root), str(bare))
    git(bare, "worktree", "add", "-q", str(tmp_path / "one"), "main")
    git(bare, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "two"), "main")
    one, two = repository.at(tmp_path / "one"), repository.at(tmp_path / "two")
    one.run("passed", watched=(bare,))
    two.commit("on topic")
    said = two.run("failed", watched=(bare,))

    assert said.word == "new"


def test_a_submodule_is_a_project_of_its_own(repository: Repository, tmp_path: Path) -> None:
    above = Repository(tmp_path / "above", tmp_path / "state")
    above.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository.root), "sub")
    above.git("commit", "-qm", "with a submodule")
    inside = above.at(above.root / "sub")
    above.run("passed")
    first = inside.run("failed", watched=(above.root,))

    assert first.word == "unknown" and first.branch == "main"
    assert above.run("failed").word == "flaky"


def test_what_is_changed_in_a_submodule_nobody_knows(repository: Repository, tmp_path: Path) -> None:
    above = Repository(tmp_path / "above", tmp_path / "state")
    above.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(repository.root), "sub")
    above.git("commit", "-qm", "with a submodule")
    above.git("config", "diff.ignoreSubmodules", "all")
    above.write({"sub/a.py": "changed\n"})
    above.run("passed")
    above.write({"sub/a.py": "changed again\n"})

    assert above.run("failed").word == "new"


def test_another_repository_inside_is_not_looked_into(repository: Repository) -> None:
    repository.git("worktree", "add", "-q", "-b", "other", "trees/other")
    repository.run("passed")
    repository.write({"trees/other/a.py": "changed\n"})

    assert repository.run("failed").word == "new"
    inside = repository.at(repository.root / "trees" / "other")
    assert inside.run("failed", watched=(repository.root,)).word == "still"


def test_a_shallow_clone_has_the_words_of_its_runs(repository: Repository, tmp_path: Path) -> None:
    repository.commit("2")
    repository.commit("3")
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repository.root}", "clone")
    clone = repository.at(tmp_path / "clone")
    clone.run("passed")
    clone.git("switch", "-q", "-c", "topic")
    clone.commit("on topic")
    new = clone.run("failed")
    clone.git("checkout", "-q", "--detach")
    clone.commit("without a branch")

    assert new.word == "new"
    assert clone.run("failed").word == "new"


def test_variables_that_git_sets_for_hooks_name_no_other_repository(
    repository: Repository, tmp_path: Path
) -> None:
    other = Repository(tmp_path / "other", tmp_path / "state")
    repository.run("passed")
    repository.environ = {
        "GIT_DIR": str(other.root / ".git"),
        "GIT_INDEX_FILE": str(other.root / ".git" / "index"),
        "GIT_WORK_TREE": str(other.root),
        "GIT_LITERAL_PATHSPECS": "1",
    }
    repository.commit("2")
    repository.write({"b.py": "not yet committed\n"})

    assert repository.run("failed", watched=(other.root,)).word == "new"
    assert repository.run("passed", watched=(other.root,)).word == ""


def test_in_a_sparse_checkout_files_that_are_not_there_are_no_change(repository: Repository) -> None:
    repository.commit("more", {"one/a.py": "1\n", "two/b.py": "1\n"})
    repository.git("sparse-checkout", "set", "one")
    repository.run("passed")

    assert not (repository.root / "two").exists()
    assert repository.run("failed").word == "flaky"
    repository.write({"one/a.py": "2\n"})
    assert repository.run("passed").word == ""


def test_no_daemon_of_git_is_started(repository: Repository) -> None:
    called = repository.state / "called"
    repository.state.mkdir()
    monitor = repository.state / "monitor"
    monitor.write_text(f"#!/bin/sh\ntouch {called}\n")
    monitor.chmod(0o755)
    repository.git("config", "core.fsmonitor", str(monitor))
    called.unlink(missing_ok=True)
    repository.write({"b.py": "1\n"})
    repository.run("passed")

    assert repository.run("failed").word == "flaky"
    assert not called.exists()


def test_of_a_huge_number_of_changed_files_the_state_is_not_looked_up(repository: Repository) -> None:
    for number in range(5100):
        (repository.root / f"file-{number}").touch()
    said = repository.run("passed")
    failed = repository.run("failed")

    assert (said.state, failed.word) == ("", "new")


def test_names_that_are_no_text_and_links_count_like_others(repository: Repository) -> None:
    odd = os.path.join(os.fsencode(repository.root), b"odd \xff\n-name")
    with open(odd, "wb") as file:
        file.write(b"1")
    (repository.root / "link").symlink_to("nowhere")
    (repository.root / "-rf").write_text("1")
    repository.run("passed")
    flaky = repository.run("failed")
    (repository.root / "link").unlink()
    (repository.root / "link").symlink_to("elsewhere")
    repository.run("passed")
    repository.git("add", "-A")
    repository.git("commit", "-qm", "odd")

    assert flaky.word == "flaky"
    assert repository.run("failed").word == "flaky"


def test_files_that_change_during_the_run_belong_to_no_state(repository: Repository) -> None:
    repository.run("passed", meanwhile=lambda: repository.write({"a.py": "mended\n"}))
    repository.git("checkout", "-q", "a.py")

    assert repository.run("failed").word == "new"


def test_a_changed_file_that_changes_again_during_the_run_belongs_to_no_state(
    repository: Repository,
) -> None:
    repository.write({"a.py": "2\n"})
    repository.run("passed")
    said = repository.run("failed", meanwhile=lambda: repository.write({"a.py": "3\n"}))

    assert (said.word, said.state) == ("new", "")


def test_files_that_tests_write_make_the_state_unknown_and_nothing_else(repository: Repository) -> None:
    words = []
    for number, outcome in enumerate(("passed", "failed", "failed")):
        said = repository.run(outcome, meanwhile=lambda: repository.write({"out.txt": f"{number}\n"}))  # noqa: B023
        words.append((said.word, said.state))

    assert words == [("", ""), ("new", ""), ("still", "")]


def test_a_commit_during_the_run_keeps_the_branch(repository: Repository) -> None:
    repository.run("passed")
    repository.write({"b.py": "1\n"})
    said = repository.run("failed", meanwhile=lambda: repository.commit("meanwhile"))

    assert (said.word, said.branch, said.state) == ("new", "main", "")


@pytest.mark.parametrize("outcome", ["passed", "failed"])
def test_a_run_during_which_the_branch_was_left_counts_nowhere(outcome: str, repository: Repository) -> None:
    repository.git("branch", "topic")
    repository.run("passed")
    repository.commit("2")
    said = repository.run(outcome, meanwhile=lambda: repository.git("switch", "-q", "topic"))
    here = repository.run("failed")

    assert said.word == ("unknown" if outcome == "failed" else "")
    assert here.compared_with != said.name
    repository.git("switch", "-q", "main")
    repository.commit("3")
    assert repository.run("failed").word == "new"


def test_a_file_that_was_only_touched_is_no_change(repository: Repository) -> None:
    first = repository.run("passed")
    os.utime(repository.root / "a.py", (2_000_000_000, 2_000_000_000))
    said = repository.run("failed")

    assert said.state == first.state
    assert said.word == "flaky"


def test_what_is_staged_is_no_other_state_than_what_is_not(repository: Repository) -> None:
    repository.write({"a.py": "2\n", "new.py": "1\n"})
    repository.run("passed")
    repository.git("add", "a.py")
    repository.git("add", "--intent-to-add", "new.py")

    assert repository.run("failed").word == "flaky"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_changes_that_git_is_told_not_to_see_make_nothing_flaky(flag: str, repository: Repository) -> None:
    repository.git("update-index", flag, "a.py")
    repository.run("passed")
    repository.write({"a.py": "changed\n"})

    assert repository.run("failed").word == "new"


def test_conflicts_renames_and_removed_files_are_changes(repository: Repository) -> None:
    repository.commit("more", {"b.py": "1\n", "c/d.py": "1\n", "e": "1\n"})
    repository.git("switch", "-q", "-c", "topic")
    repository.commit("theirs", {"a.py": "theirs\n"})
    repository.git("switch", "-q", "main")
    repository.commit("ours", {"a.py": "ours\n"})
    repository.run("passed")
    with pytest.raises(AssertionError):
        repository.git("merge", "-q", "topic")
    repository.git("mv", "b.py", "moved.py")
    repository.git("rm", "-q", "--cached", "c/d.py")
    (repository.root / "e").unlink()
    (repository.root / "e").mkdir()
    repository.write({"e/inside": "1\n"})

    assert repository.run("failed").word == "new"
    assert repository.run("passed").word == ""
    assert repository.run("failed").word == "flaky"


def test_a_filter_of_the_project_is_not_run_on_changed_files(repository: Repository) -> None:
    """As LFS has one, which may write files and ask a server."""
    called = repository.root.parent / "called"
    repository.write({".gitattributes": "*.bin filter=big\n", "x.bin": "1\n"})
    os.utime(repository.root / "x.bin", (1_000_000_000, 1_000_000_000))  # or git itself would look into it
    repository.git("add", "-A")
    repository.git("commit", "-qm", "attributes")
    repository.git("config", "filter.big.clean", f"sh -c 'echo clean >> {called}; cat'")
    repository.git("config", "filter.big.required", "true")
    repository.git("config", "filter.with.dots.process", "false")
    repository.write({"new.bin": "1\n", "a.py": "2\n"})
    repository.run("passed")

    assert repository.run("failed").word == "flaky"
    assert not called.exists()


def test_tests_of_a_folder_are_the_same_in_every_worktree(repository: Repository, tmp_path: Path) -> None:
    repository.commit("folders", {"one/a.py": "1\n", "two/a.py": "1\n"})
    repository.run("passed", folder="one")
    repository.git("worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    tree = repository.at(tmp_path / "tree")
    tree.commit("on topic")

    assert tree.run("failed", folder="two").word == "unknown"
    assert tree.run("failed", folder="one").word == "new"


def test_a_project_behind_a_link_is_the_same_project(repository: Repository, tmp_path: Path) -> None:
    repository.run("passed")
    repository.commit("2")
    (tmp_path / "link").symlink_to(repository.root)

    assert repository.at(tmp_path / "link").run("failed").word == "new"


def test_a_git_that_hangs_costs_only_its_answer_and_is_ended(repository: Repository, tmp_path: Path) -> None:
    repository.run("passed")
    repository.commit("2")
    folder = tmp_path / "bin"
    folder.mkdir()
    pid = tmp_path / "pid"
    (folder / "git").write_text(f"#!/bin/sh\nsleep 1000 &\necho $$ $! > {pid}\nwait\n")
    (folder / "git").chmod(0o755)
    repository.environ = {"PATH": f"{folder}:{os.environ['PATH']}"}
    began = time.monotonic()
    said = repository.run("failed")

    assert said.word == "new"
    assert time.monotonic() - began < 30  # and not the 1000 seconds that it would take
    for number in map(int, pid.read_text().split()):
        assert not is_alive(number)


def is_alive(number: int) -> bool:
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_real_runs_have_words_and_change_no_file_of_the_project(tmp_path: Path) -> None:
    """All parts are real: proctor, pytest, git. A green run, an edit, a commit, a mended test."""
    repository = Repository(tmp_path / "project", tmp_path / "state")
    repository.commit("tests", {"test_a.py": "def test_a(): pass\n", ".gitignore": ".proctor\n__pycache__\n"})
    assert words(repository) == {}
    repository.write({"test_a.py": "def test_a(): assert 0\n"})
    assert words(repository) == {"tests": {"test_a.py::test_a": "new"}}
    repository.git("commit", "-qam", "broken")
    assert words(repository) == {"tests": {"test_a.py::test_a": "still"}}
    repository.write({"test_a.py": "def test_a(): assert 111\n"})
    assert words(repository) == {"fixed": ["test_a.py::test_a"]}


def words(repository: Repository) -> dict[str, object]:
    """What the log of a real run says of its history."""
    before = fingerprint(repository.root / ".git")
    more = {**ENVIRON, "XDG_STATE_HOME": str(repository.state), "PYTHONDONTWRITEBYTECODE": "1"}
    run_suite(repository.root, **more)
    assert fingerprint(repository.root / ".git") == before
    newest = max((repository.root / ".proctor" / "runs").glob("2*"))
    lines = map(json.loads, (newest / "events.jsonl").read_text().splitlines())
    (said,) = (line["extra"] for line in lines if line.get("kind") == "history")
    found: dict[str, object] = {}
    if "tests" in said:
        found["tests"] = {test: about["word"] for test, about in said["tests"].items()}
    if "fixed" in said:
        found["fixed"] = said["fixed"]
    return found
