"""Pages of the same suite, as proctor and three other tools write them.

One run of pytest serves three of them, and vitest runs the same tests in JavaScript. Runs take long, so they
are made once and kept; proctor's page is written anew from the run that it keeps. That of more than 10,000
tests is written from the log of such a run, told several times.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import CACHE, clean_environment, environment, many, project
from page_logs import write_repeated

HOME = CACHE / "pages"
PACKAGES = ("allure@3.18.0", "vitest@4.1.12", "@vitest/ui@4.1.12")
FAILING = "def test_total_of_order_{n}_includes_tax():\n    assert {n} % 50 != 7\n\n\n"
IN_JAVASCRIPT = "test('total of order {n} includes tax', () => { expect({n} % 50).not.toBe(7); });\n"
PER_FILE = 100
LIMIT = 600  # seconds for a run, and for a page
REAL = 10_000  # tests


class TooLong(Exception):
    """A tool has not written its page within the limit."""


@dataclass(frozen=True)
class Peer:
    """`shown` is an expression in the page that is true once tests can be seen."""

    name: str
    shown: str
    served: bool = False  # it does not work as a file: a web server has to give it out


PROCTOR = Peer("proctor", "document.querySelector('#tests')")
PYTEST_HTML = Peer("pytest-html", "document.querySelector('#results-table tbody')")
ALLURE = Peer("Allure", "document.querySelector('[data-testid^=\"tree-\"]')")
VITEST = Peer("vitest UI", "document.body && document.body.textContent.includes('.test.js')", served=True)
PEERS = (PROCTOR, PYTEST_HTML, ALLURE, VITEST)


def page_of(peer: Peer, tests: int, proctor: Path) -> Path:
    """The page of a run of so many tests."""
    if peer is VITEST:
        return _once(_vitest, tests) / "report" / "index.html"
    if peer is PROCTOR:
        page = HOME / f"proctor-{tests}.html"
        run = log_of(tests, proctor).parent if tests <= REAL else log_of(tests, proctor)
        _within([str(proctor / "proctor"), "show", str(run), "--format", "html", "-o", str(page)], HOME)
        return page
    run = _once(_pytest, tests, proctor)
    return run / "page.html" if peer is PYTEST_HTML else _once(_allure, tests, run) / "report" / "index.html"


def size_of(peer: Peer, page: Path) -> int:
    """Bytes of all that a reader needs."""
    files = page.parent.rglob("*") if peer.served else [page]
    return sum(path.stat().st_size for path in files if path.is_file())


def log_of(tests: int, proctor: Path) -> Path:
    """All events of a run of so many tests."""
    home = _once(_log, tests, proctor) if tests > REAL else _kept(tests, proctor)
    return home / "events.jsonl"


def _kept(tests: int, proctor: Path) -> Path:
    (run,) = _once(_pytest, tests, proctor).glob(".proctor/runs/*")
    return run


def _log(home: Path, tests: int, proctor: Path) -> None:
    write_repeated(_kept(REAL, proctor) / "events.jsonl", tests // REAL, home / "events.jsonl")


def _once(make: Callable[..., None], tests: int, *more: Path) -> Path:
    """The directory in which something is made, unless that was done or tried before."""
    home = HOME / f"{make.__name__.strip('_')}-{tests}"
    outcome = home / "outcome"
    if not outcome.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        try:
            make(home, tests, *more)
            outcome.write_text("made")
        except TooLong:
            outcome.write_text("too long")
    if outcome.read_text() != "made":
        raise TooLong
    return home


def _pytest(home: Path, tests: int, proctor: Path) -> None:
    """One run: proctor keeps it, pytest-html writes its page, and Allure's plugin its results."""
    project(home.name, many(tests, FAILING, PER_FILE), home.parent)
    python = environment("page-peers", "pytest", "pytest-html", "allure-pytest") / "python"
    run = [str(proctor / "proctor"), "run", "--python", str(python), "--format", "agent", "--no-history"]
    theirs = [f"--html={home}/page.html", "--self-contained-html", f"--alluredir={home}/results"]
    _within([*run, "--", *theirs], home)


def _allure(home: Path, tests: int, run: Path) -> None:
    del tests
    allure = str(_node_modules() / ".bin" / "allure")
    _within([allure, "awesome", str(run / "results"), "--single-file", "-o", str(home / "report")], home)


def _vitest(home: Path, tests: int) -> None:
    (home / "package.json").write_text('{"type": "module"}')
    (home / "node_modules").symlink_to(_node_modules())
    for name, text in many(tests, IN_JAVASCRIPT, PER_FILE).items():
        path = home / name.replace(".py", ".test.js")
        path.write_text("import {test, expect} from 'vitest';\n" + text)
    vitest = str(_node_modules() / ".bin" / "vitest")
    _within([vitest, "run", "--reporter=html", f"--outputFile={home}/report/index.html"], home)


def _within(command: Sequence[str], cwd: Path) -> None:
    """A run that has failures ends with 1. What a command has started ends with it."""
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        code = process.wait(LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)  # proctor then ends what it has started
        process.wait()
        raise TooLong from None
    if code not in (0, 1):
        raise SystemExit(f"{' '.join(command)} exited with {code}")


def _node_modules() -> Path:
    home = HOME / "npm"
    if not (home / ".ready").exists():
        home.mkdir(parents=True, exist_ok=True)
        (home / "package.json").write_text("{}")
        install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(home)]
        subprocess.run([*install, *PACKAGES], check=True)
        (home / ".ready").touch()
    return home / "node_modules"
