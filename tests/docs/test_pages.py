"""The pages as a whole: every link leads somewhere, every page can be found, every option is explained."""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from pathlib import Path

import pytest
from support.console import ROOT, blocks
from support.projects import proctor

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.md"), *(ROOT / "docs").rglob("*.md")])
LINK = re.compile(
    r"(?<!!)\[(?:[^\[\]]|\[[^\[\]]*\])*\]\(([^()\s]+)\)|(?:src|srcset)=\"([^\"]+)\"|!\[[^\]]*\]\(([^()\s]+)\)"
)
ELSEWHERE = ("https://", "http://", "mailto:")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_a_heading_of_it(page: Path) -> None:
    for link in links(page):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}, which is not there"
        assert target.is_relative_to(ROOT), f"{page.name} links to {link}, outside of the repository"
        if anchor:
            assert anchor in headings(target), f"{link} in {page.name}; {name} has {sorted(headings(target))}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_session_with_a_shell_is_a_console_block_and_nothing_else(page: Path) -> None:
    """So that none escapes the test that runs them."""
    text = page.read_text(encoding="utf-8")
    found = blocks(text)
    for block in reversed(found):
        text = text[: block.start] + text[block.end :]

    assert len(re.findall(r"(?i)(?:```|~~~) *(?:console|shell-?session|terminal)", text)) == len(found)
    assert re.findall(r"^[ >]*\$ .*", text, re.MULTILINE) == []


def test_every_page_of_the_docs_is_reached_from_the_index() -> None:
    waiting, reached = [ROOT / "docs" / "index.md"], set[Path]()
    while waiting:
        page = waiting.pop()
        if page not in reached and page.suffix == ".md":
            reached.add(page)
            waiting += [
                (page.parent / link.partition("#")[0]).resolve() for link in links(page) if link[0] != "#"
            ]

    assert {page for page in PAGES if page.is_relative_to(ROOT / "docs")} - reached == set()
    assert (ROOT / "README.md") in reached


def test_the_readme_is_short_and_leads_to_the_index() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
    assert "docs/index.md" in links(ROOT / "README.md")


def test_the_command_line_page_has_every_option_of_run(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    section = page.partition("\n## `proctor run")[2].partition("\n## ")[0]
    # A line of the help that begins with options; what they do comes after two blanks.
    heads = re.findall(r"^ {2,8}(-.+?)(?: {2}|$)", proctor("run", "--help", cwd=tmp_path).out, re.MULTILINE)
    options = {name for head in heads for name in re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", head)}

    assert {"-C", "-k", "--timeout", "--last-failed", "--lf", "-o"} <= options
    missing = {name for name in options if not re.search(rf"(?<![\w-]){name}(?![\w-])", section)}
    assert missing <= {"-h", "--help"}


def test_pictures_are_shown_and_need_nothing_from_elsewhere_and_name_no_machine() -> None:
    pictures = sorted((ROOT / "docs" / "pictures").glob("*.svg"))
    assert pictures
    shown = {(page.parent / link).resolve() for page in PAGES for link in links(page)}
    assert set(pictures) <= shown
    for picture in pictures:
        text = picture.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|@font-face|url\((?!#)|<script|<image", text), picture.name
        assert not re.search(r"/(root|tmp|work|home|Users)\b", text), picture.name


@cache
def links(page: Path) -> list[str]:
    text = re.sub(
        r"^```.*?^```$|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL
    )
    found = [next(filter(None, groups)) for groups in LINK.findall(text)]
    return [link for link in found if not link.startswith(ELSEWHERE)]


@cache
def headings(page: Path) -> set[str]:
    """The anchors that GitHub gives to the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    seen: dict[str, int] = {}
    anchors = set()
    for title in re.findall(r"^#{1,6} +(.+?)\s*$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        slug = "".join(c for c in plain if c in " -_" or unicodedata.category(c)[0] in "LN").replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        anchors.add(f"{slug}-{count}" if count else slug)
    return anchors
