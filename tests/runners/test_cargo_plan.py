"""What is read from a Cargo.toml, and which tests are meant: values from values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.projects import write_project

from proctor.errors import UsageError
from proctor.runners import cargo, cargo_package
from proctor.runners.cargo_selection import Wanted, doc_filters, package_free, wanted
from proctor.spec import RunSpec

TESTS = {
    "a::tests::adds": (Path("/p/src/lib.rs"),),
    "a::tests::adds::more": (Path("/p/src/lib.rs"),),
    "a::test/sales::sells": (Path("/p/tests/common/mod.rs"), Path("/p/tests/sales.rs")),
}


def test_a_package_takes_from_its_workspace_what_it_does_not_say_itself(tmp_path: Path) -> None:
    write_project(
        tmp_path,
        {
            "Cargo.toml": """
                [workspace]
                members = ["crates/*"]
                [workspace.package]
                version = "3.1.4"
                authors = ["A", "B"]
            """,
            "crates/a/Cargo.toml": """
                [package]
                name = "a-b"
                version.workspace = true
                authors = { workspace = true }
                license = "MIT"
                [[test]]
                name = "alone"
                harness = false
            """,
        },
    )
    package = cargo_package.load(tmp_path / "crates" / "a")
    environment = package.environment()

    assert package.workspace == tmp_path
    assert environment["CARGO_PKG_VERSION_MINOR"] == "1"
    assert environment["CARGO_PKG_AUTHORS"] == "A:B"
    assert environment["CARGO_PKG_LICENSE"] == "MIT"
    assert environment["CARGO_MANIFEST_DIR"] == str(tmp_path / "crates" / "a")
    assert not package.has_harness("test", "alone")
    assert package.has_harness("test", "other")
    assert cargo_package.crates(tmp_path) == {"a_b"}


@pytest.mark.parametrize("pattern", ["crates/*", "{root}/crates/*", "./crates/a"])
def test_members_are_named_from_the_workspace_or_from_the_top(tmp_path: Path, pattern: str) -> None:
    workspace = f'[workspace]\nmembers = ["", "**x", "{pattern.format(root=tmp_path)}"]\n'
    member = '[package]\nname = "a"\n'
    write_project(tmp_path, {"Cargo.toml": workspace, "crates/a/Cargo.toml": member})

    assert cargo_package.crates(tmp_path) == {"a"}


def test_a_package_found_by_its_path_belongs_to_the_project(tmp_path: Path) -> None:
    manifest = '[package]\nname = "{}"\n[dependencies]\n{} = {{ path = "{}" }}\n'
    write_project(
        tmp_path,
        {"Cargo.toml": manifest.format("a", "b", "b"), "b/Cargo.toml": manifest.format("b", "a", "..")},
    )

    assert cargo_package.crates(tmp_path) == {"a", "b"}


@pytest.mark.parametrize(
    "target, owned",
    [
        ("src/lib.rs", True),
        ("gone.rs", True),
        ("src", True),
        (".", True),
        ("a_b", True),
        ("a_b::tests::adds", True),
        ("shop::TestAdds", False),
        ("other", False),
        ("tests/test_a.py::test_b", False),
        ("tests/a.bats", False),
        ("/programs/x", False),
    ],
)
def test_targets_are_owned_by_what_they_look_like(tmp_path: Path, target: str, owned: bool) -> None:
    write_project(tmp_path, {"Cargo.toml": '[package]\nname = "a-b"\n', "src/lib.rs": ""})

    assert cargo.owns(target, tmp_path) is owned


def test_a_build_makes_no_more_than_the_ids_need() -> None:
    def narrowed(*ids: str) -> tuple[str, ...]:
        return Wanted(ids).narrowed()

    assert narrowed("a_b::tests::x", "a_b::doc-tests::y") == ("--package=a[_-]b", "--lib")
    assert narrowed("a::test/sales::sells", "a::bin/till") == ("--package=a", "--test=sales", "--bin=till")
    assert narrowed("a", "b::tests") == ("--package=a", "--package=b")
    assert Wanted(("a::b",), (Path("/p"),)).narrowed() == ()


@pytest.mark.parametrize(
    "target, chosen",
    [
        ("a::tests::adds", {"a::tests::adds"}),
        ("a::tests::adds#2", {"a::tests::adds"}),
        ("a::tests", {"a::tests::adds", "a::tests::adds::more"}),
        ("a::test/sales", {"a::test/sales::sells"}),
    ],
)
def test_an_id_is_a_test_or_all_tests_below_it(target: str, chosen: set[str]) -> None:
    assert Wanted((target,)).among(TESTS, "", strict=True) == chosen


@pytest.mark.parametrize("path", ["/p/tests", "/p/tests/sales.rs", "/p/tests/common/mod.rs"])
def test_a_path_means_the_tests_that_are_written_there_and_the_target_that_begins_there(path: str) -> None:
    assert Wanted(paths=(Path(path),)).among(TESTS, "", strict=True) == {"a::test/sales::sells"}


def test_a_target_that_means_nothing_is_an_error_unless_something_is_missing() -> None:
    with pytest.raises(UsageError, match=r"no test 'a::adds'; did you mean a::tests::adds\?"):
        Wanted(("a::adds",)).among(TESTS, "", strict=True)
    assert Wanted(("a::adds",)).among(TESTS, "", strict=False) == set()


@pytest.mark.parametrize("target", ["", "-x", "--lib", "no-where.rs", "a\0b", "1::x"])
def test_what_is_no_target_is_refused(tmp_path: Path, target: str) -> None:
    with pytest.raises(UsageError, match="not a target"):
        wanted((target,), tmp_path)


def test_packages_are_taken_out_of_the_arguments() -> None:
    arguments = ("--release", "-p", "a", "--package=b", "--workspace", "--exclude", "c", "--features=d")

    assert list(package_free(arguments)) == ["--release", "--features=d"]


NAMES = st.builds(
    "{} - {} (line {})".format,
    st.sampled_from(["src/lib.rs", "src/a.rs"]),
    st.sampled_from(["add", "A::add"]),
    st.integers(1, 30),
)


@given(st.lists(NAMES, min_size=1, max_size=12, unique=True), st.data())
def test_tests_in_documentation_are_chosen_by_words_that_have_no_spaces(
    every: list[str], data: st.DataObject
) -> None:
    asked = data.draw(st.lists(st.sampled_from(every), min_size=1, unique=True))
    options, running = doc_filters(asked, every)

    skipped = [option.removeprefix("--skip=") for option in options if option.startswith("--skip=")]
    filters = [option for option in options if not option.startswith("--skip=")]
    assert not any(" " in option for option in options)
    assert set(asked) <= running
    assert running == {
        name
        for name in every
        if any(word in name for word in filters) and not any(word in name for word in skipped)
    }


def test_arguments_of_the_run_cannot_be_taken_for_targets(tmp_path: Path) -> None:
    write_project(tmp_path, {"Cargo.toml": '[package]\nname = "a"\n', "bin/cargo": "", "bin/rustc": ""})
    for tool in ("cargo", "rustc"):
        (tmp_path / "bin" / tool).chmod(0o755)
    spec = RunSpec(str(tmp_path), "cargo", arguments=("--release", "--", "--ignored"))
    (launch,) = cargo.plan(spec, {"PATH": str(tmp_path / "bin")}).launches

    assert launch.argv[-6:] == (
        str(tmp_path / "bin" / "cargo"),
        "test",
        "--no-run",
        "--no-fail-fast",
        "--message-format=json",
        "--release",
    )
