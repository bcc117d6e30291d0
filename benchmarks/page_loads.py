"""How long a real browser takes to show a page, and what the page takes up there."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

from measure import REPOSITORY

sys.path.append(str(REPOSITORY / "tests"))

from support.browser import Browser
from support.devtools import DevToolsError
from support.page import Page

SHOWN = """(() => {
    const look = () => {
        if (document.readyState !== "complete" || !(%s)) return requestAnimationFrame(look);
        document.documentElement.getBoundingClientRect();
        const drawn = new MessageChannel();
        drawn.port1.onmessage = () => { window.shownAfter = performance.now(); };
        requestAnimationFrame(() => drawn.port2.postMessage(0));
    };
    requestAnimationFrame(look);
})()"""


@dataclass(frozen=True)
class Load:
    seconds: float  # from the start of the navigation until tests are laid out and drawn
    ready: float  # until the document was read and its scripts had run: DOMContentLoaded
    heap: int  # bytes that scripts hold
    memory: int  # bytes that the browser's processes for pages have more than with an empty page
    requests: tuple[str, ...]  # for anything but the page itself

    @property
    def elsewhere(self) -> list[str]:
        """Requests that leave the machine."""
        return [one for one in self.requests if urlsplit(one).hostname not in (None, "127.0.0.1")]


def browser_version() -> str:
    with Browser() as browser:
        return browser.version


def loads(page: Path, shown: str, rounds: int, served: bool, limit: float) -> list[Load]:
    """Fewer than asked for, where one took longer than the limit."""
    found: list[Load] = []
    with Browser() as browser, _address(page, served) as address:
        try:
            for _ in range(rounds):
                with browser.page() as opened:
                    found.append(_load(browser, opened, address, shown, limit))
        except DevToolsError:
            pass  # the browser still works on the page and answers nobody: it is ended with it
    return found


def _load(browser: Browser, page: Page, address: str, shown: str, limit: float) -> Load:
    page.before_each_load(SHOWN % shown)
    page.guard = limit
    before = browser.memory()
    page.go_to(address)
    page.wait_until("window.shownAfter")
    ready = "performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd"
    asked = tuple(one for one in page.requests if urlsplit(one).scheme not in ("data", "blob"))
    return Load(
        page.evaluate("shownAfter") / 1000,
        page.evaluate(ready) / 1000,
        page.heap(),
        browser.memory() - before,
        asked,
    )


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def _address(page: Path, served: bool) -> Iterator[str]:
    if not served:
        yield page.as_uri()
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(page.parent))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/{page.name}"
        finally:
            server.shutdown()
