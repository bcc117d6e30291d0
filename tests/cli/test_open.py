"""`proctor open`, with a browser that writes down what it was given."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from support.parsed_html import parsed, shown
from support.projects import Ran, clean_environment, proctor, run_suite, write_project


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = write_project(tmp_path_factory.mktemp("a shop"), {"test_a.py": "def test_a(): assert 0"})
    run_suite(root)
    return root


def opened(project: Path, *arguments: str, **environ: str) -> Ran:
    known = dict.fromkeys(("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"), "")
    return proctor("open", *arguments, cwd=project, environ=clean_environment(**known | environ))


def run_of(project: Path) -> Path:
    return next((project / ".proctor/runs").iterdir())


def test_the_page_is_written_beside_the_run_and_opened(project: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\n')
    browser.chmod(0o755)
    ran = opened(project, BROWSER=str(browser))
    page = run_of(project) / "report.html"

    assert (ran.code, ran.out, ran.err) == (0, f"{page}\n", "")
    assert unquote(urlsplit((tmp_path / "asked").read_text().strip()).path) == str(page)
    assert shown(next(parsed(page.read_bytes()).iter("h1"))) == "1 failed"


def test_where_there_is_no_browser_the_path_is_printed(project: Path) -> None:
    ran = opened(project, run_of(project).name)

    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"{run_of(project)}/report.html\n"


def test_a_browser_that_fails_is_reported(project: Path) -> None:
    ran = opened(project, BROWSER="false")

    assert ran.code == 0
    assert ran.err == "proctor: no browser could be opened\n"


def test_an_agent_gets_no_browser(project: Path) -> None:
    ran = opened(project, DISPLAY=":0", PROCTOR_AGENT="1", PATH=os.defpath)

    assert (ran.code, ran.err) == (0, "")


def test_a_link_in_the_place_of_the_page_is_replaced_and_not_followed(project: Path, tmp_path: Path) -> None:
    page, other = run_of(project) / "report.html", tmp_path / "other"
    page.unlink(missing_ok=True)
    other.write_text("mine")
    page.symlink_to(other)
    opened(project)

    assert other.read_text() == "mine"
    assert not page.is_symlink()


def test_a_run_that_does_not_exist_is_named(project: Path) -> None:
    ran = opened(project, "nothing")

    assert ran.code == 4
    assert "no run begins with 'nothing'" in ran.err
