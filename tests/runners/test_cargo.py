"""Rust tests as suites of a run: real projects, the real cargo, and its own text to be held against."""

from __future__ import annotations

import fcntl
import json
import re
import subprocess
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from support import projects
from support.projects import GUARD, cargo_works, clean_environment, outcomes, proctor, with_enough_time
from support.streams import objects, violations

CACHE = projects.CACHE / "cargo"

MANIFEST = '[package]\nname = "NAME"\nversion = "1.2.3"\nedition = "2021"\n'

SHOP = {
    "Cargo.toml": '[workspace]\nmembers = ["core", "till"]\nresolver = "2"\n',
    "core/Cargo.toml": MANIFEST.replace("NAME", "shop-core"),
    "core/src/lib.rs": """
        /// ```
        /// assert_eq!(shop_core::add(1, 2), 3);
        /// ```
        ///
        /// ```compile_fail
        /// let price: i32 = "free";
        /// ```
        ///
        /// ```no_run
        /// loop {}
        /// ```
        ///
        /// ```ignore
        /// nobody reads this
        /// ```
        ///
        /// ```
        /// println!("told");
        /// assert_eq!(shop_core::add(1, 2), 4);
        /// ```
        pub fn add(a: i32, b: i32) -> i32 {
            a + b
        }

        #[cfg(test)]
        mod tests {
            use super::add;

            #[test]
            fn adds() {
                println!("what it printed");
                assert_eq!(add(1, 2), 3);
            }

            #[test]
            fn adds_wrongly() {
                println!("before");
                assert_eq!(add(1, 2), 4, "sum of {}", 1);
            }

            #[test]
            fn prints_no_end() {
                print!("no end of the line");
                panic!("several\\nlines");
            }

            #[test]
            #[ignore = "no time"]
            fn later() {}

            #[test]
            #[should_panic(expected = "boom")]
            fn panics() {
                panic!("boom");
            }

            macro_rules! panicking {
                ($name:ident) => {
                    #[test]
                    #[should_panic(expected = "boom")]
                    fn $name() {
                        panic!("bang");
                    }
                };
            }
            panicking!(panics_otherwise);

            #[test]
            #[should_panic]
            fn stays_calm() {
                println!("calm");
            }

            #[test]
            fn returns_an_error() -> Result<(), String> {
                println!("trying");
                Err("out of stock".into())
            }

            mod größen {
                #[test]
                fn überall() {}
            }
        }
    """,
    "core/src/main.rs": """
        fn main() {}

        #[test]
        fn adds() {}
    """,
    "core/tests/sales.rs": """
        #[test]
        fn sells() {
            assert_eq!(shop_core::add(2, 2), 4);
        }
    """,
    "till/Cargo.toml": MANIFEST.replace("NAME", "till"),
    "till/src/lib.rs": """
        //! ```
        //! assert!(till::open());
        //! ```
        pub fn open() -> bool {
            true
        }
    """,
    "till/tests/opens.rs": """
        #[test]
        fn opens() {
            assert!(till::open());
        }
    """,
}
SHOP_OUTCOMES = {
    "shop_core::tests::adds": "passed",
    "shop_core::tests::adds_wrongly": "failed",
    "shop_core::tests::größen::überall": "passed",
    "shop_core::tests::later": "skipped",
    "shop_core::tests::panics": "passed",
    "shop_core::tests::panics_otherwise": "failed",
    "shop_core::tests::prints_no_end": "failed",
    "shop_core::tests::returns_an_error": "failed",
    "shop_core::tests::stays_calm": "failed",
    "shop_core::bin/shop-core::adds": "passed",
    "shop_core::test/sales::sells": "passed",
    "till::test/opens::opens": "passed",
    "shop_core::doc-tests::core/src/lib.rs - add (line 1)": "passed",
    "shop_core::doc-tests::core/src/lib.rs - add (line 13)": "skipped",
    "shop_core::doc-tests::core/src/lib.rs - add (line 17)": "failed",
    "shop_core::doc-tests::core/src/lib.rs - add (line 5)": "passed",
    "shop_core::doc-tests::core/src/lib.rs - add (line 9)": "passed",
    "till::doc-tests::till/src/lib.rs - (line 1)": "passed",
}
WILD = {
    "Cargo.toml": MANIFEST.replace("NAME", "wild"),
    "src/lib.rs": "",
    "tests/aborts.rs": """
        #[test]
        fn a_first() {}
        #[test]
        fn b_aborts() { std::process::abort() }
        #[test]
        fn c_never() {}
    """,
    "tests/exits.rs": """
        #[test]
        fn a_first() {}
        #[test]
        fn b_exits() { std::process::exit(0) }
        #[test]
        fn c_never() {}
    """,
    "tests/loops.rs": """
        #[test]
        fn a_first() {}
        #[test]
        fn b_loops() {
            std::fs::write("reached", "").unwrap();
            loop { std::thread::sleep(std::time::Duration::from_secs(1)) }
        }
        #[test]
        fn c_never() {}
    """,
    "tests/floods.rs": r"""
        #[test]
        fn fails() { for n in 0..400_000 { println!("{n} \\\" {}", "ü".repeat(20)) } panic!("after it") }
        #[test]
        fn passes() { for n in 0..400_000 { println!("{n} \\\" {}", "ü".repeat(20)) } }
    """,
    "tests/fails.rs": """
        #[test]
        fn a_fails() { panic!("enough") }
        #[test]
        fn b_waits() { std::thread::sleep(std::time::Duration::from_secs(600)) }
    """,
    "tests/late.rs": """
        #[test]
        fn late() {}
    """,
}
BROKEN = {
    "Cargo.toml": MANIFEST.replace("NAME", "broken"),
    "src/lib.rs": "pub fn one() -> i32 { 1 }\n",
    "tests/good.rs": "#[test]\nfn one() { let unused = 1; assert_eq!(broken::one(), 1); }\n",
    "tests/wrong.rs": """
        #[test]
        fn two() {
            let price: i32 = "free";
        }
        #[test]
        fn three() { four() }
    """,
}
AROUND = {
    "Cargo.toml": MANIFEST.replace("NAME", "around").replace("1.2.3", "0.4.5-rc.1")
    + 'authors = ["A. Uthor <a@example.org>", "B"]\ndescription = "Looks around."\n'
    + '[[test]]\nname = "alone"\nharness = false\n[[test]]\nname = "looks"\n',
    "README.md": "# around\n",
    ".cargo/config.toml": """
        [env]
        SET_BY_CONFIG = "yes"
        SET_BY_ALL = "weakly"
        SET_BY_FORCE = { value = "strongly", force = true }
        SET_BY_PLACE = { value = "data", relative = true }
    """,
    "build.rs": 'fn main() { println!("cargo::rustc-env=SET_BY_SCRIPT=yes"); }\n',
    "src/main.rs": "fn main() {}\n",
    "tests/alone.rs": """
        fn main() {
            std::process::exit(if std::env::var("SPOIL").is_ok() { 3 } else { 0 });
        }
    """,
    "tests/looks.rs": """
        #[test]
        fn looks() {
            let mut all: Vec<_> = std::env::vars().collect();
            all.sort();
            for (name, value) in all { println!("{name}={value}") }
            println!("HERE={}", std::env::current_dir().unwrap().display());
        }
    """,
}
BENCH = {
    "Cargo.toml": MANIFEST.replace("NAME", "speed"),
    "src/lib.rs": "",
    "benches/sums.rs": """
        #![feature(test)]
        extern crate test;

        #[bench]
        fn copies(bencher: &mut test::Bencher) {
            let bytes = vec![1u8; 4096];
            bencher.bytes = 4096;
            bencher.iter(|| test::black_box(bytes.clone()));
        }
    """,
}


pytestmark = pytest.mark.skipif(not cargo_works(), reason="needs cargo")


def environ(**more: str) -> dict[str, str]:
    return clean_environment(
        CARGO_TARGET_DIR=str(CACHE / "target"),
        CARGO_NET_OFFLINE="true",
        CARGO_TERM_COLOR="never",
        RUST_BACKTRACE="0",
        **more,
    )


def project(name: str, files: Mapping[str, str]) -> Path:
    """At a place that stays, so that cargo need not build it each time; only what has changed is written."""
    root = CACHE / "projects" / name
    root.mkdir(parents=True, exist_ok=True)
    with open(CACHE / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for path, text in files.items():
            file, wanted = root / path, textwrap.dedent(text).lstrip("\n")
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists() or file.read_text(encoding="utf-8") != wanted:
                file.write_text(wanted, encoding="utf-8")
    return root


def run(root: Path, *arguments: str, archive: bool = False, **more: str) -> dict[str, Any]:
    kept = () if archive else ("--no-archive",)
    ran = proctor(
        "run", "--runner", "cargo", "--format", "json", *kept, *arguments, cwd=root, environ=environ(**more)
    )
    assert ran.out, ran.err
    return ran.document


def stream_of(root: Path, path: Path, *arguments: str, **more: str) -> bytes:
    written = ("-o", f"stream={path}", "--no-archive")
    proctor("run", "--runner", "cargo", *written, *arguments, cwd=root, environ=environ(**more))
    return path.read_bytes()


def cargo(root: Path, *arguments: str, **more: str) -> str:
    done = subprocess.run(
        ["cargo", "test", "--no-fail-fast", *arguments],
        cwd=root,
        env=environ(**more),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    return done.stdout.decode()


def masked(text: str) -> str:
    """Without what is different each time: durations, and the numbers of threads."""
    return re.sub(r"(finished in )\d+\.\d\d|(' \()\d+(\) panicked)", r"\1\2\3", text)


def line_of(text: str, after: int = 0) -> int:
    """The line of the shop's library that holds this, `after` lines further."""
    lines = textwrap.dedent(SHOP["core/src/lib.rs"]).lstrip("\n").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line) + after


def found(document: dict[str, Any], test: str) -> dict[str, Any]:
    return next(one for one in document["tests"] if one["node_id"] == test)


def printed(document: dict[str, Any], test: str) -> str:
    reports = {report["nodeid"]: report for report in document["json_report"]["tests"]}
    return reports[test]["call"]["stdout"]


@pytest.fixture(scope="module")
def shop() -> Path:
    return project("shop", SHOP)


@pytest.fixture(scope="module")
def shopping(shop: Path) -> dict[str, Any]:
    return run(shop)


@pytest.fixture(scope="module")
def wild() -> Path:
    return project("wild", WILD)


# What is told


def test_every_binary_of_a_workspace_and_its_documentation_are_told_truly(shopping: dict[str, Any]) -> None:
    assert outcomes(shopping) == SHOP_OUTCOMES
    assert shopping["outcome"] == "failed"
    assert [suite["name"] for suite in shopping["suites"]] == [
        "cargo test --no-run",
        "cargo test -- --list",
        "shop-core unittests src/lib.rs",
        "shop-core unittests src/main.rs",
        "shop-core tests/sales.rs",
        "till unittests src/lib.rs",
        "till tests/opens.rs",
        "Doc-tests shop_core",
        "Doc-tests till",
    ]


def test_tests_and_failures_have_their_places_and_both_values(shopping: dict[str, Any]) -> None:
    failed = found(shopping, "shop_core::tests::adds_wrongly")
    line = line_of("fn adds_wrongly")
    place = {"file": "core/src/lib.rs", "line": line}
    assert failed["place"] == place
    assert failed["failure"]["place"] == {**place, "line": line + 2}
    assert (failed["failure"]["expected"], failed["failure"]["actual"]) == ("4", "3")
    assert failed["message"].startswith("assertion `left == right` failed: sum of 1")
    assert printed(shopping, "shop_core::tests::adds_wrongly") == "before\n\n"
    assert found(shopping, "shop_core::tests::later")["message"] == "no time"
    calm = found(shopping, "shop_core::tests::stays_calm")
    assert (calm["failure"]["place"]["line"], printed(shopping, "shop_core::tests::stays_calm")) == (
        line_of("fn stays_calm"),
        "calm\n",
    )
    returned = found(shopping, "shop_core::tests::returns_an_error")
    assert (returned["message"], printed(shopping, "shop_core::tests::returns_an_error")) == (
        'Error: "out of stock"',
        "trying\n",
    )
    documented = found(shopping, "shop_core::doc-tests::core/src/lib.rs - add (line 17)")
    assert documented["place"] == documented["failure"]["place"] == {"file": "core/src/lib.rs", "line": 17}


def test_a_member_of_a_workspace_sees_its_files_from_where_it_is(shop: Path) -> None:
    document = run(shop / "core", "shop_core::tests::adds_wrongly")

    (failed,) = document["tests"]
    assert failed["place"] == {"file": "src/lib.rs", "line": line_of("fn adds_wrongly")}
    assert failed["failure"]["place"] == {"file": "src/lib.rs", "line": line_of("fn adds_wrongly", 2)}


def test_the_stream_keeps_every_rule_and_names_the_compiler(shop: Path, tmp_path: Path) -> None:
    data = stream_of(shop, tmp_path / "s.jsonl")
    lines = objects(data.splitlines(keepends=True))
    rustc = subprocess.run(["rustc", "-V"], capture_output=True, text=True, check=True).stdout.strip()

    assert violations(data) == []
    suites = [line for line in lines if line["type"] == "suite"]
    assert {suite["rustc"] for suite in suites} == {rustc}
    assert {suite["extra"]["toolchain"]["rustc"] for suite in suites} == {rustc}
    tests = {line["label"]: line for line in lines if line["type"] == "test"}
    assert set(tests) == set(SHOP_OUTCOMES)
    panicking = {label for label, test in tests.items() if test.get("subtype") == "should_panic"}
    names = ("panics", "panics_otherwise", "stays_calm")
    assert panicking == {f"shop_core::tests::{name}" for name in names}
    assert tests["shop_core::tests::adds"]["stdout"] == "what it printed\n"
    assert all(test["duration"] > 0 for test in tests.values() if test["status"] != "ignore")


@pytest.mark.parametrize("passing", [False, True], ids=["failing", "passing"])
def test_the_old_text_is_what_cargo_prints(shop: Path, tmp_path: Path, passing: bool) -> None:
    root = shop / "till" if passing else shop
    data = stream_of(root, tmp_path / "s.jsonl", "-n", "1")
    shown = proctor("show", str(tmp_path / "s.jsonl"), "--format", "libtest", cwd=tmp_path)

    assert shown.code == int(not passing)
    assert masked(shown.out) == masked(cargo(root, "--", "--test-threads=1"))
    assert violations(data) == []


def test_a_run_that_was_kept_is_told_in_the_same_text(tmp_path: Path) -> None:
    root = project("kept", {"Cargo.toml": MANIFEST.replace("NAME", "kept"), **_two_binaries()})
    run(root, "-n", "1", archive=True)
    shown = proctor("show", "last", "--format", "libtest", cwd=root, environ=environ())

    assert masked(shown.out) == masked(cargo(root, "--", "--test-threads=1"))


def _two_binaries() -> dict[str, str]:
    return {
        "src/lib.rs": '#[test]\nfn fails() { panic!("no") }\n',
        "tests/more.rs": "#[test]\nfn passes() {}\n",
    }


# What can go wrong


@pytest.mark.parametrize(
    "target, broken, reason",
    [("aborts", "b_aborts", "SIGABRT"), ("exits", "b_exits", "the process exited with 0 during the test")],
)
def test_a_test_that_takes_its_process_along_is_a_crash_and_the_rest_is_named(
    wild: Path, target: str, broken: str, reason: str
) -> None:
    document = run(wild, f"wild::test/{target}", "-n", "1")

    prefix = f"wild::test/{target}::"
    assert outcomes(document) == {f"{prefix}a_first": "passed", f"{prefix}{broken}": "crash"}
    assert document["outcome"] == "crashed"
    assert found(document, f"{prefix}{broken}")["failure"]["message"] == reason
    assert document["not_run"] == [f"{prefix}c_never"]


def test_of_several_tests_that_were_running_all_are_named(wild: Path) -> None:
    document = run(wild, "wild::test/aborts", "-n", "3")

    crashed = [test for test in document["tests"] if test["outcome"] == "crash"]
    assert "wild::test/aborts::b_aborts" in {test["node_id"] for test in crashed}
    several = f"SIGABRT during one of {len(crashed)} tests that were running"
    assert all(test["failure"]["message"] == (several if crashed[1:] else "SIGABRT") for test in crashed)


def test_an_endless_test_is_a_timeout(wild: Path) -> None:
    run(wild, "wild::test/loops::a_first")  # so that the build takes none of the time
    document = with_enough_time(
        lambda limit: run(wild, "wild::test/loops", "-n", "1", "--timeout", limit), wild / "reached"
    )

    assert document["outcome"] == "timeout"
    assert outcomes(document) == {
        "wild::test/loops::a_first": "passed",
        "wild::test/loops::b_loops": "timeout",
    }
    assert document["not_run"] == ["wild::test/loops::c_never"]


def test_time_that_runs_out_before_any_test_is_told_to_be_the_builds(wild: Path) -> None:
    document = run(wild, "--timeout", "0.01")

    assert (document["outcome"], document["reason"]) == ("timeout", "during cargo test --no-run")
    assert document["tests"] == []


def test_a_flood_of_output_hides_nothing(wild: Path) -> None:
    document = run(wild, "wild::test/floods")

    assert outcomes(document) == {
        "wild::test/floods::fails": "failed",
        "wild::test/floods::passes": "passed",
    }
    failed = found(document, "wild::test/floods::fails")
    assert failed["message"] == "after it"
    text = printed(document, "wild::test/floods::fails")
    assert text.startswith('0 \\" ü')
    assert text.endswith(f'399999 \\" {"ü" * 20}\n\n')
    assert "bytes left out ...]\n" in text


def test_what_does_not_compile_is_a_collection_error_and_the_rest_runs() -> None:
    document = run(project("broken", BROKEN))

    assert document["outcome"] == "collection_error"
    assert outcomes(document) == {"broken::test/good::one": "passed"}
    (error,) = document["collection_errors"]
    assert error["file"] == "tests/wrong.rs"
    assert error["failure"]["type"] == "E0308"
    assert error["failure"]["place"] == {"file": "tests/wrong.rs", "line": 3}
    assert error["message"] == "mismatched types: expected `i32`, found `&str`"
    assert "error[E0425]: cannot find function `four`" in error["traceback"]
    (warning,) = document["warnings"]
    assert (warning["category"], warning["file"], warning["line"]) == ("unused_variables", "tests/good.rs", 2)


def test_a_stream_of_a_build_that_failed_keeps_every_rule(tmp_path: Path) -> None:
    data = stream_of(project("broken", BROKEN), tmp_path / "s.jsonl")

    assert violations(data) == []
    (broken,) = [line for line in objects(data.splitlines(keepends=True)) if line.get("status") == "fail"]
    assert (broken["label"], broken["file"]) == ("tests/wrong.rs", "tests/wrong.rs")


def test_a_manifest_that_cargo_cannot_read_is_a_collection_error() -> None:
    document = run(project("unreadable", {"Cargo.toml": '[package\nname = "x"\n'}))

    assert document["outcome"] == "collection_error"
    (error,) = document["collection_errors"]
    assert error["failure"]["place"] == {"file": "Cargo.toml", "line": 1}
    assert error["message"].startswith("error: ")


# What is chosen


def test_each_printed_id_runs_that_test_alone(shop: Path, shopping: dict[str, Any]) -> None:
    for test, outcome in outcomes(shopping).items():
        assert outcomes(run(shop, test)) == {test: outcome}


@pytest.mark.parametrize(
    "target, chosen",
    [
        ("shop_core::tests::größen", ["shop_core::tests::größen::überall"]),
        ("shop_core::test/sales", ["shop_core::test/sales::sells"]),
        ("core/tests", ["shop_core::test/sales::sells"]),
        ("core/src/main.rs", ["shop_core::bin/shop-core::adds"]),
        ("till", ["till::test/opens::opens", "till::doc-tests::till/src/lib.rs - (line 1)"]),
        ("till::doc-tests", ["till::doc-tests::till/src/lib.rs - (line 1)"]),
    ],
)
def test_modules_targets_files_and_directories_choose_tests(
    shop: Path, target: str, chosen: list[str]
) -> None:
    assert list(outcomes(run(shop, target))) == chosen


def test_words_choose_tests_and_the_others_are_counted(shop: Path) -> None:
    document = run(shop, "-k", "ADDS and not wrongly")

    assert list(outcomes(document)) == ["shop_core::tests::adds", "shop_core::bin/shop-core::adds"]
    assert document["summary"]["deselected"] == len(SHOP_OUTCOMES) - 2


def test_the_last_failures_are_run_again() -> None:
    root = project("again", {"Cargo.toml": MANIFEST.replace("NAME", "again"), **_two_binaries()})
    run(root, archive=True)

    assert outcomes(run(root, "--last-failed", archive=True)) == {"again::fails": "failed"}


def test_the_first_failure_ends_the_run_if_that_is_asked_for(wild: Path) -> None:
    document = run(wild, "wild::test/fails", "wild::test/late", "-x", "-n", "1")

    assert document["outcome"] == "failed"
    assert outcomes(document)["wild::test/fails::a_fails"] == "failed"
    assert "stopped after 1 failure" in document["reason"]
    assert document["notices"] == ["suites that were not run: wild tests/late.rs"]


def test_tests_are_found_without_running_them(shop: Path) -> None:
    ran = proctor("discover", "--format", "json", cwd=shop, environ=environ())

    page = json.loads(ran.out)
    assert [test["node_id"] for test in page["tests"]] == list(SHOP_OUTCOMES)
    assert page["tests"][0]["line"] == line_of("fn adds()")
    assert ran.code == 0


@pytest.mark.parametrize(
    "arguments, said",
    [
        (("-m", "slow"), "cargo has no markers"),
        (("-k", "and"), "invalid expression"),
        (("no-where.rs",), "not a target: 'no-where.rs'"),
        (("--", "--doc"), "name `crate::doc-tests` as a target"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anything_runs(
    shop: Path, arguments: tuple[str, ...], said: str
) -> None:
    ran = proctor("run", "--runner", "cargo", *arguments, cwd=shop, environ=environ())

    assert (ran.code, said in ran.err) == (4, True), ran.err


def test_without_cargo_the_run_says_what_would_do(shop: Path) -> None:
    ran = proctor("run", "--runner", "cargo", cwd=shop, environ={**environ(), "PATH": "/nonexistent"})

    assert (ran.code, "no cargo on PATH" in ran.err) == (4, True)


def test_an_id_that_is_no_test_is_told_with_those_that_are_like_it(shop: Path) -> None:
    document = run(shop, "shop_core::adds")

    assert document["outcome"] == "usage_error"
    assert document["reason"] == "cargo: no test 'shop_core::adds'; did you mean shop_core::tests::adds?"


# What is passed on


def test_tests_find_the_environment_that_cargo_gives_them() -> None:
    root = project("around", AROUND)
    set_before: dict[str, Any] = {"SET_BY_ALL": "before", "SET_BY_FORCE": "before"}
    document = run(root, "around::test/looks", **set_before)

    seen = _variables(printed(document, "around::test/looks::looks"))
    given = _variables(cargo(root, "--test", "looks", "--", "--nocapture", **set_before))
    own = {name for name in given if name.startswith(("CARGO", "OUT_DIR", "LD_", "SET_BY", "HERE"))}
    assert {
        "CARGO_BIN_EXE_around",
        "CARGO_PKG_VERSION_PRE",
        "OUT_DIR",
        "SET_BY_SCRIPT",
        "SET_BY_PLACE",
    } <= own
    by_rustup = {"CARGO_HOME"}
    assert {name: seen.get(name) for name in own - by_rustup} == {
        name: given[name] for name in own - by_rustup
    }


def _variables(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.splitlines() if re.match(r"\w+=", line))


def test_a_target_without_a_harness_is_one_test() -> None:
    root = project("around", AROUND)

    assert outcomes(run(root, "around::test/alone")) == {"around::test/alone": "passed"}
    assert outcomes(run(root, "around::test/alone", SPOIL="1")) == {"around::test/alone": "failed"}


def test_a_compiler_that_a_test_starts_is_as_stable_as_before() -> None:
    source = """
        use std::io::Write;
        use std::process::{Command, Stdio};

        #[test]
        fn stays_stable() {
            let mut rustc = Command::new("rustc")
                .args(["--crate-type=lib", "--emit=metadata", "-o", "/dev/null", "-"])
                .stdin(Stdio::piped())
                .spawn()
                .unwrap();
            rustc.stdin.take().unwrap().write_all(b"#![feature(test)]").unwrap();
            assert!(!rustc.wait().unwrap().success());
        }
    """
    root = project("stable", {"Cargo.toml": MANIFEST.replace("NAME", "stable"), "src/lib.rs": source})
    verbose = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    if not re.search(r"^release: [0-9.]+$", verbose, re.MULTILINE):
        pytest.skip("this compiler is not a stable one")

    assert outcomes(run(root, "stable::stays_stable")) == {"stable::stays_stable": "passed"}


def test_arguments_reach_cargo_and_those_behind_another_mark_the_tests(shop: Path) -> None:
    document = run(shop, "shop_core::tests::later", "--", "--release", "--", "--include-ignored")

    assert outcomes(document) == {"shop_core::tests::later": "passed"}
    assert "/release/" in document["suites"][-1]["command"][0]


def test_a_benchmark_has_its_time_and_throughput(tmp_path: Path) -> None:
    root = project("speed", BENCH)
    passed_on = ("--", "--bench=sums", "--", "--bench")
    data = stream_of(root, tmp_path / "s.jsonl", *passed_on, RUSTC_BOOTSTRAP="1")

    assert violations(data) == []
    (bench,) = [line for line in objects(data.splitlines(keepends=True)) if line["type"] == "test"]
    assert (bench["label"], bench["subtype"]) == ("speed::bench/sums::copies", "bench")
    assert (bench["duration"] > 0, bench["throughput"] > 0) == (True, True)
    shown = proctor("show", str(tmp_path / "s.jsonl"), "--format", "libtest", cwd=tmp_path)
    assert re.search(r"^test copies \.\.\. bench: +[\d,.]+ ns/iter .* MB/s$", shown.out, re.MULTILINE)
