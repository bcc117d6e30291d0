"""Links to files: where they lead, and where there are none."""

from __future__ import annotations

import pytest
from support.streams import STARTED

from proctor import events as e
from proctor.relay import Relay
from proctor.render.links import base_directory, file_url, has_links


@pytest.mark.parametrize(
    "file, cwd, url",
    [
        ("tests/test_a.py", "/p", "file:///p/tests/test_a.py"),
        ("/lib/a.py", "/p", "file:///lib/a.py"),
        ("../b.py", "/p/q", "file:///p/b.py"),
        ("a b#c?d%.py", "/p", "file:///p/a%20b%23c%3Fd%25.py"),
        ("ナ.py", "/p", "file:///p/%E3%83%8A.py"),
        ("a\udcff.py", "/p", "file:///p/a%FF.py"),
        ("a\x1b]8;;\x07.py", "/p", "file:///p/a%1B%5D8%3B%3B%07.py"),
        ("a.py", "", ""),
        ("", "/p", ""),
        ("a\0b", "/p", ""),
        ("a\ud800.py", "/p", ""),
    ],
)
def test_a_file_has_an_address_if_it_is_a_path(file: str, cwd: str, url: str) -> None:
    assert file_url(file, cwd) == url


@pytest.mark.parametrize(
    "term, links", [("xterm-256color", True), ("tmux", True), ("linux", False), ("", False)]
)
def test_a_terminal_that_would_show_the_codes_gets_no_links(term: str, links: bool) -> None:
    assert has_links({"TERM": term}) is links


def test_places_are_relative_to_the_root_that_the_runner_named_or_else_to_the_project() -> None:
    relay = Relay(STARTED, [])
    (suite,) = relay.result.suites
    assert base_directory(suite) == "/p"
    relay.publish(e.SuiteDescribed("", {}), 0.0)
    assert base_directory(suite) == "/p"
    relay.publish(e.SuiteDescribed("/above", {}), 0.0)
    assert base_directory(suite) == "/above"


def test_without_a_terminal_there_are_no_links() -> None:
    assert has_links({}) is False
