"""TAP programs as suites: bats, perl and a shell, each with its real self."""

from __future__ import annotations

import fcntl
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import projects
from support.projects import clean_environment, outcomes, proctor, with_enough_time, write_project

CACHE = projects.CACHE / "bats"

SHOP = """
    setup() { echo "in setup"; }
    @test "adds up" {
      [ $((1 + 1)) -eq 2 ]
    }
    @test "fails: wrong ünï (1+1)" {
      echo "what it printed"
      [ "hi" = "ho" ]
    }
    @test "not now" { skip "no time"; }
    @test "leaves early" { exit 0; }
    @test "dies" { kill -9 $BASHPID; }
    @test "after # it" { true; }
"""
NUMBERS = """
    use Test::More tests => 4;
    ok(1, "fine");
    is(1 + 1, 3, "sum");
    SKIP: { skip "no network", 1; }
    TODO: { local $TODO = "some day"; ok(0, "later"); }
"""


@pytest.fixture(scope="session")
def bats() -> Path:
    """The directory of a real bats; from npm, once, where the machine has none."""
    if found := shutil.which("bats"):
        return Path(found).parent
    if shutil.which("npm") is None:
        pytest.skip("neither bats nor npm on this machine")
    CACHE.mkdir(parents=True, exist_ok=True)
    place = CACHE / "node_modules" / "bats" / "bin"
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.is_dir():
            install = [
                "npm",
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--prefix",
                str(CACHE),
                "bats@1.13.0",
            ]
            if subprocess.run(install, stdin=subprocess.DEVNULL, timeout=600, check=False).returncode:
                pytest.skip("npm does not give bats")
    return place


@pytest.fixture
def shop(tmp_path: Path, bats: Path) -> Path:
    return write_project(tmp_path, {"test/shop.bats": SHOP})


def environ(bats: Path) -> dict[str, str]:
    found = clean_environment()
    return found | {"PATH": f"{bats}:{found['PATH']}"}


def run(root: Path, bats: Path | None, *arguments: str) -> dict[str, Any]:
    around = environ(bats) if bats else clean_environment()
    ran = proctor("run", "--runner", "tap", "--format", "json", *arguments, cwd=root, environ=around)
    assert ran.out, ran.err
    return ran.document


def found(document: dict[str, Any], test: str) -> dict[str, Any]:
    return next(one for one in document["tests"] if one["node_id"] == test)


def needs_perl() -> None:
    if shutil.which("perl") is None:
        pytest.skip("no perl on this machine")


def test_bats_files_are_found_and_told_truly(shop: Path, bats: Path) -> None:
    document = run(shop, bats)

    assert outcomes(document) == {
        "test/shop.bats::adds up": "passed",
        "test/shop.bats::fails: wrong ünï (1+1)": "failed",
        "test/shop.bats::not now": "skipped",
        "test/shop.bats::leaves early": "failed",
        "test/shop.bats::dies": "crash",
        "test/shop.bats::after # it": "passed",
    }
    assert document["outcome"] == "crashed"
    failed = found(document, "test/shop.bats::fails: wrong ünï (1+1)")
    assert failed["place"] == {"file": "test/shop.bats", "line": 5}
    assert failed["failure"]["place"] == {"file": "test/shop.bats", "line": 7}
    assert failed["message"] == '`[ "hi" = "ho" ]\' failed'
    assert found(document, "test/shop.bats::not now")["message"] == "no time"


def test_each_printed_id_runs_that_test_alone(shop: Path, bats: Path) -> None:
    for test, outcome in outcomes(run(shop, bats)).items():
        assert outcomes(run(shop, bats, test)) == {test: outcome}


def test_words_choose_tests_and_the_others_are_counted(shop: Path, bats: Path) -> None:
    document = run(shop, bats, "-k", "adds or after")

    assert list(outcomes(document).values()) == ["passed", "passed"]
    assert document["summary"]["deselected"] == 4


def test_the_last_failures_are_run_again(shop: Path, bats: Path) -> None:
    bad = {test for test, outcome in outcomes(run(shop, bats)).items() if outcome in ("failed", "crash")}

    assert set(outcomes(run(shop, bats, "--last-failed"))) == bad


def test_tests_are_found_without_running_them(shop: Path, bats: Path) -> None:
    write_project(shop, {"t/numbers.t": NUMBERS, "test/mark.bats": '@test "x" { touch ran; }\n'})
    ran = proctor("discover", "--format", "json", cwd=shop, environ=environ(bats))

    page = json.loads(ran.out)
    assert [test["node_id"] for test in page["tests"]][:2] == ["test/mark.bats::x", "test/shop.bats::adds up"]
    assert page["tests"][-1]["node_id"] == "t/numbers.t"
    assert page["tests"][1]["line"] == 2
    assert not (shop / "ran").exists()


def test_a_bats_file_that_cannot_be_read_is_a_collection_error(tmp_path: Path, bats: Path) -> None:
    write_project(tmp_path, {"a.bats": '@test "a" {\n  if then\n}\n'})
    document = run(tmp_path, bats)

    assert document["outcome"] == "collection_error"
    (error,) = document["collection_errors"]
    assert (error["file"], error["failure"]["place"]) == ("a.bats", {"file": "a.bats", "line": 2})
    assert "syntax error" in error["message"]


def test_an_endless_test_is_a_timeout_and_the_rest_was_not_run(tmp_path: Path, bats: Path) -> None:
    write_project(
        tmp_path,
        {"a.bats": '@test "ends" { true; }\n@test "never" { :>reached; sleep 600; }\n@test "z" { true; }\n'},
    )
    document = with_enough_time(lambda limit: run(tmp_path, bats, "--timeout", limit), tmp_path / "reached")

    assert document["outcome"] == "timeout"
    assert outcomes(document)["a.bats::ends"] == "passed"
    assert document["not_run"] == ["a.bats::z"]


def test_bats_that_is_killed_leaves_a_crash_and_names_what_never_ran(tmp_path: Path, bats: Path) -> None:
    killer = """
        @test "a" { true; }
        @test "kills" {
          until grep -q "begin 2" .proctor/runs/*/output.txt; do sleep 0.05; done  # bats passes it on
          kill -9 0
        }
        @test "z" { true; }
    """
    write_project(tmp_path, {"a.bats": killer})
    document = run(tmp_path, bats, "--timeout", "60")

    assert outcomes(document) == {"a.bats::a": "passed", "a.bats::kills": "crash"}
    assert (document["outcome"], document["signal"]) == ("crashed", "SIGKILL")
    assert document["not_run"] == ["a.bats::z"]


def test_the_first_failure_ends_the_run_if_that_is_asked_for(tmp_path: Path, bats: Path) -> None:
    first = '@test "fails" { false; }\n@test "waits" { sleep 600; }\n'
    write_project(tmp_path, {"a.bats": first, "b.bats": '@test "b" { true; }\n'})
    document = run(tmp_path, bats, "-x")

    assert document["outcome"] == "failed"
    assert outcomes(document)["a.bats::fails"] == "failed"
    assert "a.bats: stopped after 1 failure" in document["reason"]
    assert document["notices"] == ["suites that were not run: b.bats"]


def test_without_bats_the_run_says_what_would_do(tmp_path: Path) -> None:
    write_project(tmp_path, {"a.bats": '@test "a" { true; }\n'})
    ran = proctor("run", cwd=tmp_path, environ={**clean_environment(), "PATH": "/nonexistent"})

    assert ran.code == 4
    assert "npm install --save-dev bats" in ran.err


def test_perl_tells_where_a_test_failed_and_what_it_compared(tmp_path: Path) -> None:
    needs_perl()
    write_project(tmp_path, {"t/numbers.t": NUMBERS})
    document = run(tmp_path, None)

    assert outcomes(document) == {
        "t/numbers.t::fine": "passed",
        "t/numbers.t::sum": "failed",
        "t/numbers.t::test 3": "skipped",
        "t/numbers.t::later": "xfailed",
    }
    failed = found(document, "t/numbers.t::sum")
    assert failed["message"] == "got '2', expected '3'"
    assert failed["failure"]["place"] == {"file": "t/numbers.t", "line": 3}
    assert (failed["failure"]["expected"], failed["failure"]["actual"]) == ("'3'", "'2'")


@pytest.mark.parametrize(
    "text, outcome, reason",
    [
        ("print qq(1..3\\nok 1\\n); exit 0;", "incomplete", "tap: 1 of 3 planned tests were reported"),
        ("print qq(ok 1\\n); exit 0;", "incomplete", "tap: there is no plan"),
        ("print qq(1..1\\nok 1\\n); exit 7;", "failed", "exit status 7, though no test failed"),
        ("print qq(1..2\\nok 1\\n); kill 9, $$;", "crashed", "SIGKILL"),
        ("print qq(1..1\\nok 1\\nok 2\\n);", "incomplete", "tap: 2 of 1 planned tests were reported"),
        ("print qq(Bail out! no database\\n); exit 255;", "incomplete", "no database"),
    ],
)
def test_what_does_not_add_up_is_never_green(tmp_path: Path, text: str, outcome: str, reason: str) -> None:
    needs_perl()
    write_project(tmp_path, {"t/a.t": f"$| = 1; {text}\n"})
    document = run(tmp_path, None)

    assert (document["outcome"], document["reason"].startswith(reason)) == (outcome, True), document["reason"]


def test_a_program_that_cannot_be_compiled_is_a_collection_error(tmp_path: Path) -> None:
    needs_perl()
    write_project(tmp_path, {"t/a.t": 'use Test::More;\nok(1, "fine";\n'})
    document = run(tmp_path, None)

    assert document["outcome"] == "collection_error"
    (error,) = document["collection_errors"]
    assert (error["file"], error["failure"]["place"]) == ("t/a.t", {"file": "t/a.t", "line": 2})


def test_any_program_that_prints_tap_can_be_named(tmp_path: Path) -> None:
    write_project(
        tmp_path,
        {"check": "#!/bin/sh\nprintf 'TAP version 14\\n1..2\\nok 1 - a\\nnot ok 2 - b\\n'; exit 1\n"},
    )
    document = run(tmp_path, None, "check")

    assert outcomes(document) == {"check::a": "passed", "check::b": "failed"}
    assert document["outcome"] == "failed"


def test_output_beside_the_tests_is_kept_and_never_taken_for_them(tmp_path: Path) -> None:
    write_project(
        tmp_path, {"flood": "#!/bin/sh\necho 1..1\nyes 'some words' | head -n 300000\necho ok 1 - a\n"}
    )
    document = run(tmp_path, None, "flood")

    assert outcomes(document) == {"flood::a": "passed"}
    assert document["outcome"] == "passed"
    assert "some words" in document["text_output"]


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("-n", "2"), "runs files one by one"),
        (("-m", "slow"), "no markers"),
        (("nowhere.bats",), "not a target"),
        (("test/shop.bats::nothing",), "no test 'nothing' in test/shop.bats"),
        (("-k", "and"), "invalid expression"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_runs(
    shop: Path, bats: Path, arguments: tuple[str, ...], said: str
) -> None:
    ran = proctor("run", "--runner", "tap", *arguments, cwd=shop, environ=environ(bats))

    assert (ran.code, said in ran.err) == (4, True), ran.err


def test_an_id_that_a_program_does_not_report_is_an_error_that_names_it(tmp_path: Path) -> None:
    write_project(tmp_path, {"t/a.t": "#!/bin/sh\necho 1..1\necho 'ok 1 - a | b'\n"})
    absent = proctor("run", "--format", "json", "t/a.t::nothing", cwd=tmp_path)

    assert (absent.code, absent.document["outcome"]) == (4, "usage_error")
    assert absent.document["reason"] == "not found: t/a.t::nothing"
    for written in ("t/a.t::a | b", r"t/a.t::a \| b"):
        assert proctor("run", written, cwd=tmp_path).code == 0
