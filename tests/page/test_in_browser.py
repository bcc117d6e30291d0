"""Pages of all kinds of runs open in a real browser without a message, a request or a broken policy."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from support.full_runs import RECORDS
from support.page import Page
from support.pages import assert_quiet, copy_of_example, page_of_events, page_of_example, page_of_run
from support.projects import proctor, run_suite, write_project

EXAMPLES = {
    "accounts": (),
    "crash": (),
    "depot": ("-n", "2"),
    "flaky": ("--retries", "2"),
    "mixed": (),
    "parametrised": ("--locals",),
    "programs": (),
    "shop": ("--isolate",),
    "weather": ("--timeout", "3"),  # a test of it hangs
}


@pytest.mark.parametrize(("name", "options"), EXAMPLES.items(), ids=EXAMPLES)
def test_the_page_of_an_example_is_quiet(
    name: str, options: Sequence[str], page: Page, tmp_path: Path
) -> None:
    if name == "mixed" and shutil.which("node") is None:
        pytest.skip("no node on this machine")
    page.open(page_of_example(name, tmp_path, *options))

    assert_quiet(page)


@pytest.mark.parametrize("name", RECORDS)
def test_whatever_a_run_can_tell_is_shown_quietly(name: str, page: Page, tmp_path: Path) -> None:
    page.open(page_of_events(RECORDS[name], tmp_path))

    assert_quiet(page)


def test_the_page_of_a_kept_run_is_that_of_the_run(page: Page, tmp_path: Path) -> None:
    first = page_of_example("accounts", tmp_path)
    later = tmp_path / "later.html"
    assert proctor("show", "last", "--format", "html", "-o", str(later), cwd=first.parent).code in (0, 1)
    texts = []
    for path in (first, later):
        page.open(path)
        assert_quiet(page)
        texts.append(page.evaluate("document.querySelector('#failures').innerText"))

    assert texts[0] == texts[1]


def test_the_page_of_merged_shards_has_all_tests(page: Page, tmp_path: Path) -> None:
    root = copy_of_example("accounts", tmp_path)
    for shard in ("1/2", "2/2"):
        log = f"events={tmp_path / shard[0]}.jsonl"
        assert run_suite(root, "--shard", shard, "-o", log, "--format", "agent").code in (0, 1, 5)
    target = tmp_path / "merged.html"
    logs = [str(tmp_path / f"{number}.jsonl") for number in (1, 2)]
    merged = proctor("merge", *logs, "-o", f"html={target}", cwd=root)
    assert target.exists(), merged.err
    page.open(target)

    assert page.evaluate("document.querySelectorAll('#tests [data-id]').length") == 8
    assert_quiet(page)


def test_much_output_is_cut_and_all_of_it_is_linked(page: Page, tmp_path: Path) -> None:
    lines = "'the first line', *['x' * 99] * 100_000, 'the last line'"
    body = f"def test_talks():\n    print({lines}, sep='\\n')\n    assert 0\n"
    path = page_of_run(write_project(tmp_path, {"test_a.py": body}))
    page.open(path)

    assert path.stat().st_size < 1_000_000
    text = page.evaluate("document.querySelector('#failures').textContent")
    assert "the first line\nxxx" in text and "xxx\nthe last line" in text
    links = page.evaluate("[...document.querySelectorAll('#failures a')].map(one => one.href)")
    linked = [Path(unquote(urlsplit(link).path)) for link in links if "#" not in link]
    assert any(len(file.read_bytes()) > 10_000_000 for file in linked)
    assert_quiet(page)


def test_the_page_of_a_history_is_quiet(page: Page, tmp_path: Path) -> None:
    root = page_of_example("shop", tmp_path).parent
    target = tmp_path / "history.html"
    asked = proctor("history", "--format", "html", "-o", str(target), cwd=root)
    assert asked.code == 0, asked.err
    page.open(target)

    assert_quiet(page)
