"""What a target or a `-k` word that matches nothing was probably meant to be."""

from __future__ import annotations

import venv
from pathlib import Path

import pytest
from support.mcp_client import talk
from support.projects import clean_environment, proctor, run_suite, write_project

from proctor.errors import UsageError
from proctor.runners.nearest_tests import check_path, nearest, suggestion, unmatched

SHOP = {
    "tests/test_shop.py": """
        import pytest

        def test_total(): pass
        def test_discount(): pass

        class TestCart:
            def test_add(self): pass

        @pytest.mark.parametrize("n", [1, 2])
        def test_many(n): pass
    """,
    "tests/test_auth.py": "def test_login(): pass\n",
    "pkg/deep/test_deep.py": "def test_down(): pass\n",
    "shop.py": "",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_project(tmp_path, SHOP)


@pytest.mark.parametrize(
    "target, expected",
    [
        ("tests/test_shpo.py", ["tests/test_shop.py"]),
        ("test/test_shop.py", ["tests/test_shop.py"]),
        ("tset", ["tests"]),
        ("tset/", ["tests"]),
        ("tests/test_dep.py", ["pkg/deep/test_deep.py"]),
        ("test_atuh.py", ["tests/test_auth.py"]),
        ("tests/test_shpo.py:3", ["tests/test_shop.py"]),
        ("tests/test_shpo.py::test_total", ["tests/test_shop.py::test_total"]),
        ("tests/test_shpo.py::test_totl", ["tests/test_shop.py::test_total"]),
        ("tests/test_shop.py::test_totl", ["tests/test_shop.py::test_total"]),
        ("tests/test_shop.py::test_totl[a]", ["tests/test_shop.py::test_total"]),
        ("tests/test_shop.py::TestCrat::test_add", ["tests/test_shop.py::TestCart::test_add"]),
        ("tests/test_shop.py::TestCart::test_ad", ["tests/test_shop.py::TestCart::test_add"]),
        ("tests/test_shop.py::TestCrat", ["tests/test_shop.py::TestCart"]),
        ("tests/test_shop.py::test_lgoin", ["tests/test_auth.py::test_login"]),
        ("test_totl", ["tests/test_shop.py::test_total"]),
        ("TestCrat", ["tests/test_shop.py::TestCart"]),
        ("zzz", []),
        ("zzz.py", []),
        ("tests/test_shop.py", []),  # it is there
    ],
)
def test_the_nearest_target(root: Path, target: str, expected: list[str]) -> None:
    assert nearest(target, root) == expected


def test_an_absolute_id_gets_a_relative_one(root: Path) -> None:
    assert nearest(f"{root}/tests/test_shop.py::test_totl", root) == ["tests/test_shop.py::test_total"]
    assert nearest(f"{root}/tests/test_shpo.py", root) == ["tests/test_shop.py"]


def test_other_parameters_of_a_test_are_said_to_be_that(root: Path) -> None:
    assert "`proctor discover tests/test_shop.py`" in suggestion("tests/test_shop.py::test_many[3]", root)


def test_no_name_outside_of_the_project_is_told(tmp_path: Path) -> None:
    outside = write_project(tmp_path / "outside", {"test_secret.py": ""})
    root = write_project(tmp_path / "root", {"test_a.py": ""})
    (root / "link").symlink_to(outside)

    for target in ("../outside/test_secrte.py", f"{outside}/test_secrte.py", "link/test_secrte.py"):
        assert nearest(target, root) == []


@pytest.mark.parametrize("target", ["x\0y", "a" * 5000 + ".py", "a" * 5000 + "/b", "", "\udc80.py"])
def test_any_text_may_be_a_target(root: Path, target: str) -> None:
    assert suggestion(target, root) == ""


@pytest.mark.parametrize(
    "target", ["tests/test_shpo.py", "tests/test_shpo.py::test_total", "tests/test_shpo.py:3"]
)
def test_a_python_file_that_is_not_there_is_refused(root: Path, target: str) -> None:
    with pytest.raises(
        UsageError, match=r"^no such file: tests/test_shpo\.py; did you mean tests/test_shop\.py"
    ):
        check_path(target, root)


@pytest.mark.parametrize(
    "target", ["pkg.tests", "crate::tests::it", "./pkg/TestX", "tests/test_shop.py::test_x"]
)
def test_what_may_be_something_else_is_left_to_the_runner(root: Path, target: str) -> None:
    check_path(target, root)


TESTS = [
    "tests/test_shop.py::test_total",
    "tests/test_shop.py::TestCart::test_add",
    "tests/test_shop.py::test_many[one-two]",
    "tests/api/test_get.py::test_get_user_by_name",
]


@pytest.mark.parametrize(
    "keywords, said",
    [
        ("totl", "did you mean total, as in tests/test_shop.py::test_total?"),
        ("test_totl", "did you mean test_total, as in tests/test_shop.py::test_total?"),
        ("crat", "did you mean Cart, as in tests/test_shop.py::TestCart::test_add?"),
        ("TestCrat", "did you mean TestCart, as in tests/test_shop.py::TestCart::test_add?"),
        ("usre_by", "did you mean user_by, as in tests/api/test_get.py::test_get_user_by_name?"),
        ("total and crat", "did you mean Cart, as in tests/test_shop.py::TestCart::test_add?"),
        ("(totl or zzz) and not add", "did you mean total, as in tests/test_shop.py::test_total?"),
    ],
)
def test_a_keyword_that_matches_nothing_gets_the_nearest(keywords: str, said: str) -> None:
    assert unmatched(keywords, TESTS) == f"no test matches -k {keywords!r}; {said}"


@pytest.mark.parametrize("keywords", ["zzzzz", "total and add", "not test", "total and (", "'"])
def test_an_expression_without_a_misspelt_word_gets_no_suggestion(keywords: str) -> None:
    assert unmatched(keywords, TESTS) == f"no test matches -k {keywords!r}"


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["tests/test_shpo.py"], 4, "did you mean tests/test_shop.py? [usage]"),
        (["tests/test_shop.py::test_totl"], 4, "did you mean tests/test_shop.py::test_total? [usage]"),
        (["-k", "totl"], 5, "did you mean total, as in tests/test_shop.py::test_total?"),
        (["-m", "slwo"], 5, "no test matches -m 'slwo': 7 deselected"),
    ],
)
def test_the_command_line_explains_on_stderr_why_nothing_ran(
    root: Path, arguments: list[str], code: int, said: str
) -> None:
    ran = run_suite(root, *arguments)

    assert ran.code == code
    assert ran.err.endswith(f"{said}\n")
    assert ran.err.count("\n") == 1


def test_targets_of_other_runners_get_the_nearest_path_too(tmp_path: Path) -> None:
    write_project(
        tmp_path, {"package.json": "{}", "test/cart.test.js": "require('node:test')", "t/cart.t": "#!perl\n"}
    )

    for runner, target, near in (
        ("node", "test/crat.test.js", "test/cart.test.js"),
        ("tap", "t/crat.t", "t/cart.t"),
        ("unittest", "tset", "test"),
    ):
        ran = run_suite(tmp_path, "--runner", runner, target)
        assert (ran.code, ran.out) == (4, "")
        assert ran.err == f"proctor: not a target: {target!r}; did you mean {near}? [usage]\n"


def test_a_server_gives_the_same_hints(root: Path) -> None:
    with talk(root) as client:
        assert "did you mean tests/test_shop.py?" in client.refusal(
            "execute_tests", targets=["tests/test_shpo.py"]
        )
        nothing = client.document("execute_tests", keywords="totl")
        assert nothing["outcome"] == "no_tests"
        assert "did you mean total, as in tests/test_shop.py::test_total?" in nothing["text"]


def test_a_directory_without_tests_needs_no_pytest(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    venv.create(bare, with_pip=False)
    empty = write_project(
        tmp_path / "empty", {"README.md": "Nothing here.\n", "app.py": "print('imported')\n"}
    )

    for verb in ("run", "discover"):
        ran = proctor(verb, "--python", str(bare), cwd=empty, environ=clean_environment())
        assert (ran.code, ran.err) == (5, f"proctor: no tests found in {empty}\n")
    wrong = proctor("run", "--python", "nowhere/python", cwd=empty)
    assert wrong.code == 4

    (empty / "test_app.py").write_text("def test_one(): pass\n")
    needed = proctor("run", "--python", str(bare), cwd=empty, environ=clean_environment())
    assert needed.code == 4
    assert "no pytest in" in needed.err


def test_a_directory_without_tests_is_named(tmp_path: Path) -> None:
    (tmp_path / "unit").mkdir()

    assert run_suite(tmp_path).err == f"proctor: no tests found in {tmp_path}\n"
    assert run_suite(tmp_path, "unit").err == "proctor: no tests found in unit\n"
    assert run_suite(tmp_path, "unit").code == 5
