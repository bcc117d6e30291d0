"""The browser that tests use sees what a page does wrong: without that, its silence would prove nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import Browser, NoBrowser, find_chromium, living
from support.page import Page

POLICY = (
    "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; script-src 'unsafe-inline'\">"
)


def shown(page: Page, directory: Path, body: str, head: str = "") -> None:
    path = directory / "page.html"
    path.write_text(f"<!doctype html><html lang=en><title>A page</title>{head}<body>{body}", encoding="utf-8")
    page.open(path)


def test_a_quiet_page_is_quiet(page: Page, tmp_path: Path) -> None:
    shown(page, tmp_path, "<p>Nothing</p><img alt='' src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>")

    assert (page.complaints, page.requests) == ([], [])
    assert page.evaluate("document.title") == "A page"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>console.log('hello', 3)</script>", "console.log: hello 3"),
        ("<script>throw new Error('broken')</script>", "exception: Error: broken"),
        ("<script>Promise.reject(new Error('later'))</script>", "exception: Error: later"),
    ],
)
def test_what_a_script_says_and_throws_is_heard(
    page: Page, tmp_path: Path, body: str, complaint: str
) -> None:
    shown(page, tmp_path, body)

    assert any(complaint in one for one in page.complaints)


@pytest.mark.parametrize("body", ["<p style='color: red'>", "<p onclick=1>", "<img alt='' src=x.png>"])
def test_what_the_policy_forbids_is_heard(page: Page, tmp_path: Path, body: str) -> None:
    policy = POLICY.replace("'unsafe-inline'", "'sha256-AAAA'")
    shown(page, tmp_path, body, policy)

    assert any(one.startswith("CSP ") for one in page.complaints), page.complaints


def test_requests_are_noted_though_nothing_leaves(page: Page, tmp_path: Path) -> None:
    shown(page, tmp_path, "<img alt='' src='http://example.invalid/a.png'><script src='near.js'></script>")

    near = (tmp_path / "near.js").as_uri()
    assert page.requests == ["http://example.invalid/a.png", near]


def test_the_reader_s_settings_reach_the_page(page: Page, tmp_path: Path) -> None:
    style = "<style>p{width:10px} @media print{p{width:20px}}"
    style += "@media (prefers-color-scheme: dark){p{width:30px}}</style>"
    shown(page, tmp_path, "<p>", style)
    width = "document.querySelector('p').offsetWidth"

    assert page.evaluate(width) == 10
    page.prefer("dark")
    assert page.evaluate(width) == 30
    page.prefer("light", media="print")
    assert page.evaluate(width) == 20
    page.resize(360, 640)
    assert page.evaluate("innerWidth") == 360


def test_scripts_can_be_turned_off(page: Page, tmp_path: Path) -> None:
    page.turn_scripts_off()
    shown(page, tmp_path, "<noscript>off</noscript><script>document.title = 'on'</script>")

    assert page.evaluate("document.title + document.body.innerText") == "A pageoff"


def test_keys_and_clicks_reach_the_page(page: Page, tmp_path: Path) -> None:
    shown(page, tmp_path, "<input id=a><button id=b onclick=\"title = 'clicked'\">B</button>")
    page.press("Tab")
    page.type("word")
    page.press("s")

    assert page.evaluate("document.querySelector('#a').value") == "words"
    page.press("Tab")
    assert page.evaluate("document.activeElement.id") == "b"
    page.press("Enter")
    page.click("#b")


def test_nothing_of_a_browser_outlives_it(tmp_path: Path) -> None:
    try:
        find_chromium()
    except NoBrowser as error:
        pytest.skip(str(error))
    browser = Browser()
    with browser.page() as page:
        shown(page, tmp_path, "<p>Nothing")
        assert browser.memory() > page.heap() > 0
    assert len(living(browser.process)) > 1
    browser.close()

    assert living(browser.process) == []
    assert not browser.profile.exists()


def test_a_machine_without_chromium_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PROCTOR_CHROMIUM", "no-such-browser")

    with pytest.raises(NoBrowser, match=r"no Chromium on this machine.*apt-get install chromium"):
        find_chromium()
