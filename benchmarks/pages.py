"""The page of a run beside those of other tools: its size, how soon a browser shows it, what it takes up."""

from __future__ import annotations

import os
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

from measure import REPOSITORY, Spent, proctor_environment, spend, table
from page_loads import Load, browser_version, loads
from page_peers import (
    HOME,
    LIMIT,
    PACKAGES,
    PEERS,
    PROCTOR,
    PYTEST_HTML,
    Peer,
    TooLong,
    log_of,
    page_of,
    size_of,
)

SIZES = (100, 1_000, 10_000, 100_000)
ROUNDS = 3
LOADING = 120  # seconds after which a browser is not waited for any longer
MOST_BYTES = {10_000: 1.0e6, 100_000: 3.0e6}
MOST_SECONDS = {100_000: 1.0}
MOST_OF_PYTEST_HTML = 0.1  # of its time to load 10,000 tests
MOST_CPU = 0.3  # seconds for 10,000 tests, beside reading the log
WRITE = """
import sys
from proctor.replay import Replay
from proctor.wire.stream.reader import StreamReader
log, page = sys.argv[1], sys.argv[2:]
sinks, results = [], []
if page:
    from proctor.render.masking import masked_failures
    from proctor.render.page.run_page import run_page
    from proctor.render.page.timeline import Timeline
    sinks.append(Timeline())
reader, replay = StreamReader(), Replay(lambda: sinks, results.append)
with open(log, "rb") as file:
    while piece := file.read(1 << 16):
        replay.take(reader.feed(piece))
replay.take(reader.close())
replay.close()
if page:
    with open(page[0], "wb") as out:
        out.writelines(run_page(masked_failures(results[0]), sinks[0]))
"""
HEAD = [
    "page",
    "MB",
    "shown after, s",
    "read after, s",
    "heap, MB",
    "memory, MB",
    "requests",
    "to the net",
]


def bench_pages(quick: bool) -> str:
    """One suite, of which each 50th test fails, as a page: proctor's, and from the same run pytest-html's
    (self-contained) and Allure 3's (one file). vitest's UI has the same tests in JavaScript, and needs a web
    server. All are opened in the same Chromium: medians from the start of the navigation until tests are laid
    out and drawn, and until the document is read (DOMContentLoaded). Memory is what the browser's processes
    for pages have more than with an empty page. Requests are those for anything but the page itself; here
    none of them leaves the machine. proctor's page of 100,000 tests is not that of a run: it is written from
    the log of 10,000, told ten times under other names. The run of 100,000 is the same for proctor,
    pytest-html and Allure, so where it takes too long, that says nothing about their pages."""
    proctor = proctor_environment("html")
    before = os.getloadavg()[0]
    parts = []
    sizes = SIZES[:2] if quick else SIZES
    for tests in sizes:
        measured = {peer: _measured(peer, tests, proctor, 1 if quick else ROUNDS) for peer in PEERS}
        rows = [_row(peer, tests, *found) for peer, found in measured.items()]
        parts.append(f"### {tests:,} tests\n\n{table(HEAD, rows)}")
        parts.append(_compared(measured[PROCTOR][1], measured[PYTEST_HTML][1], tests))
    parts.append(_making(proctor, sizes, 1 if quick else ROUNDS))
    parts.append(f"Beside proctor, from npm: {', '.join(PACKAGES)}. Browser: {browser_version()}.\n")
    parts.append(f"Load of the machine before and after: {before:.1f}, {os.getloadavg()[0]:.1f}.\n")
    return "\n".join(filter(None, parts))


def _measured(peer: Peer, tests: int, proctor: Path, rounds: int) -> tuple[int, list[Load]]:
    """The bytes of a page and its loads; no bytes, where it was not made."""
    print(f"pages, {tests} tests: {peer.name}", file=sys.stderr, flush=True)
    try:
        page = page_of(peer, tests, proctor)
    except TooLong:
        return 0, []
    return size_of(peer, page), loads(page, peer.shown, rounds, peer.served, LOADING)


def _row(peer: Peer, tests: int, size: int, found: Sequence[Load]) -> list[str]:
    if not size:
        return [peer.name, f"no page: the run took longer than {LIMIT} s", *[""] * (len(HEAD) - 2)]
    ours = peer is PROCTOR
    start = [peer.name, f"{size / 1e6:.2f}{_limit(ours, MOST_BYTES.get(tests), 1e6)}"]
    if not found:
        return [*start, f"not shown in {LOADING} s", *[""] * (len(HEAD) - 3)]
    return [
        *start,
        f"{_median(found):.3f}{_limit(ours, MOST_SECONDS.get(tests), 1)}",
        f"{statistics.median(load.ready for load in found):.3f}",
        f"{max(load.heap for load in found) / 1e6:.1f}",
        f"{max(load.memory for load in found) / 1e6:.0f}",
        str(max(len(load.requests) for load in found)),
        str(max(len(load.elsewhere) for load in found)),
    ]


def _limit(ours: bool, most: float | None, unit: float) -> str:
    return f" (limit: {most / unit:.1f})" if ours and most else ""


def _median(found: Sequence[Load]) -> float:
    return statistics.median(load.seconds for load in found)


def _compared(ours: Sequence[Load], theirs: Sequence[Load], tests: int) -> str:
    if not ours or not theirs:
        return ""
    limit = f" (limit: {MOST_OF_PYTEST_HTML})" if tests == 10_000 else ""
    return f"proctor's page is shown in {_median(ours) / _median(theirs):.3f} of pytest-html's time{limit}.\n"


def _making(proctor: Path, sizes: Sequence[int], rounds: int) -> str:
    """What a page costs beside reading the log: of all, and without what a small page costs too."""
    costs = {tests: [_cost(tests, proctor) for _ in range(rounds)] for tests in sizes}
    least = {tests: min(made.cpu - read.cpu for read, made in found) for tests, found in costs.items()}
    rows = []
    for tests, found in costs.items():
        read = min(read.cpu for read, _ in found)
        peaks = [f"{max(one.peak for one in column) / 1e6:.0f}" for column in zip(*found, strict=True)]
        more = (least[tests] - least[sizes[0]]) / (tests - sizes[0]) * 10_000 if tests >= 10_000 else None
        each = "" if more is None else f"{more:.2f}"
        rows.append([f"{tests:,}", f"{read:.2f}", f"{least[tests]:.2f}", each, *peaks])
    head = [
        "tests",
        "reading the log, CPU s",
        "writing the page, CPU s",
        f"more for each 10,000 tests (limit: {MOST_CPU})",
        "peak MB, reading",
        "peak MB, both",
    ]
    return f"### Writing proctor's page\n\n{table(head, rows)}"


def _cost(tests: int, proctor: Path) -> tuple[Spent, Spent]:
    """Of reading a run, and of reading it and writing its page."""
    command = [str(proctor / "python"), "-c", WRITE, str(log_of(tests, proctor))]
    return spend(command, REPOSITORY), spend([*command, str(HOME / "made.html")], REPOSITORY)
