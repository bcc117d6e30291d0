"""The page of a run, as people ask for it on the command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

import pytest
from support.cli import converted
from support.parsed_html import by_class, parsed, rows, shown
from support.projects import proctor, run_suite, write_project
from support.reports import REPORTS

SECRET = "ghp_" + "A1b2C3d4" * 5
SHOP = {
    "tests/test_shop.py": f"""
        def test_fine(): pass
        def test_long():
            for n in range(30_000): print("line", n, "of a long output")
            assert False, "the token is {SECRET}"
        """,
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with one run, whose page is page/report.html."""
    root = write_project(tmp_path_factory.mktemp("a shop"), SHOP)
    (root / "page").mkdir()
    ran = run_suite(root, "-o", "html=page/report.html", "--format", "agent")
    assert ran.code == 1
    return root


def test_a_run_writes_its_page_beside_what_it_says(shop: Path) -> None:
    root = parsed((shop / "page/report.html").read_bytes())

    assert shown(next(root.iter("h1"))) == "1 failed"
    assert list(rows(root)) == ["tests/test_shop.py::test_fine", "tests/test_shop.py::test_long"]
    assert [element for element in root.iter() if element.get("id") == "timeline"]


def test_the_whole_of_a_long_output_is_linked_from_wherever_the_page_is(shop: Path) -> None:
    text = by_class(parsed((shop / "page/report.html").read_bytes()), "text")[0]
    link = next(text.iter("a")).get("href", "")
    there = (shop / "page" / unquote(link)).resolve()

    assert there.is_relative_to(shop / ".proctor" / "runs")
    assert "line 29999 of a long output" in there.read_text()
    assert shown(next(text.iter("pre"))).startswith("line 0 of a long output")


def test_secrets_are_masked(shop: Path) -> None:
    page = (shop / "page/report.html").read_text()

    assert SECRET not in page
    assert "the token is ***" in page


def test_a_kept_run_is_shown_as_the_same_page(shop: Path) -> None:
    ran = proctor("show", "last", "--format", "html", "-o", "page/again.html", cwd=shop)
    again, first = ((shop / "page" / name).read_bytes() for name in ("again.html", "report.html"))

    assert (ran.code, ran.out) == (1, "")
    assert list(rows(parsed(again))) == list(rows(parsed(first)))
    assert [shown(one) for one in by_class(parsed(again), "failure")] == [
        shown(one) for one in by_class(parsed(first), "failure")
    ]


def test_the_name_of_the_file_says_which_format_it_is(shop: Path) -> None:
    proctor("show", "last", "-o", "page/by_name.html", cwd=shop)

    assert (shop / "page/by_name.html").read_bytes().startswith(b"<!DOCTYPE html>")


def test_show_writes_any_format_to_a_file(shop: Path) -> None:
    ran = proctor("show", "last", "--format", "junit", "-o", "page/junit.xml", cwd=shop)

    assert ran.out == ""
    assert (shop / "page/junit.xml").read_bytes().startswith(b"<?xml")


def test_a_file_that_cannot_be_written_is_named(shop: Path) -> None:
    ran = proctor("show", "last", "-o", "nowhere/report.html", cwd=shop)

    assert ran.code == 3
    assert (
        ran.err
        == "proctor: -o nowhere/report.html could not be written: No such file or directory [output]\n"
    )


def test_one_test_is_not_written_to_a_file(shop: Path) -> None:
    ran = proctor("show", "last", "--test", "test_fine", "-o", "x.html", cwd=shop)

    assert ran.code == 4
    assert "-o FILE needs a run as a whole" in ran.err


@pytest.mark.parametrize("name", sorted(name for name, data in REPORTS.items() if data))
def test_a_report_of_another_tool_has_a_page(name: str) -> None:
    _, page, _ = converted(REPORTS[name], "html")
    assert shown(next(parsed(page).iter("h1")))


def test_a_merged_run_has_a_page_with_the_files_of_its_parts(shop: Path) -> None:
    proctor("show", "last", "--format", "events", "-o", "page/log.jsonl", cwd=shop)
    run = next((shop / ".proctor/runs").iterdir())
    ran = proctor("merge", str(run), "page/log.jsonl", "-o", "html=merged.html", cwd=shop)
    root = parsed((shop / "merged.html").read_bytes())
    links = [link.get("href", "") for text in by_class(root, "text") for link in text.iter("a")]

    assert ran.code == 1
    assert len(rows(root)) == 2
    assert links and (shop / unquote(links[0])).is_file()


WITHOUT = """
import importlib.util as u, sys; find = u.find_spec
u.find_spec = lambda name, *more: None if name == 'jinja2' else find(name, *more)
from proctor.cli.main import main; sys.exit(main({}))
"""


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "-o", "html=x.html"],
        ["run", "--format", "html"],
        ["show", "--format", "html"],
        ["convert", "in.xml", "--to", "html", "-o", "x.html"],
        ["history", "--format", "html"],
        ["open"],
    ],
)
def test_without_jinja2_there_is_one_clear_line_before_anything_begins(
    tmp_path: Path, arguments: list[str]
) -> None:
    files = {"test_a.py": "open('ran', 'w')\ndef test_a(): pass\n", "in.xml": "<testsuites/>"}
    root = write_project(tmp_path, files)
    if arguments[0] == "show":
        arguments = ["show", "in.xml", *arguments[1:]]
    script = WITHOUT.format(arguments)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=root)

    assert (done.returncode, done.stdout) == (4, "")
    assert done.stderr == (
        "proctor: HTML pages need jinja2: install it with `pip install 'proctor[html]'` [usage]\n"
    )
    assert not (root / "ran").exists()
    assert not (root / "x.html").exists()
