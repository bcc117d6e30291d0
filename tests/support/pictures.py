"""Pictures of a report for the docs: of a real run, with nothing in it of the machine that took them."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from support.browser import Browser
from support.page import Page
from support.pages import copy_of_example
from support.projects import GUARD

EXAMPLE, SHOWN_HOME, SHOWN_MACHINE = "accounts", "/home/ada", "laptop"


class Shot(NamedTuple):
    scheme: str
    width: int
    height: int


SHOTS = {
    "report-light": Shot("light", 1280, 960),
    "report-dark": Shot("dark", 1280, 960),
    "report-narrow": Shot("light", 360, 780),
}
#: Two pictures as small ones of the same size, whose points are averages of 20 x 20 points.
COMPARE = """(async () => {
    const small = async data => {
        const answer = await fetch("data:image/png;base64," + data);
        const image = await createImageBitmap(await answer.blob());
        const width = Math.round(image.width / 20), height = Math.round(image.height / 20);
        const canvas = new OffscreenCanvas(width, height).getContext("2d");
        canvas.imageSmoothingQuality = "high";
        canvas.drawImage(image, 0, 0, width, height);
        return [width, height, ...canvas.getImageData(0, 0, width, height).data];
    };
    return [await small("%s"), await small("%s")];
})()"""
#: How wide texts are in the fonts of the page: other fonts give other pictures.
FONTS = """["body", "code"].map(of => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    const style = getComputedStyle(document.querySelector(of));
    canvas.font = `16px ${style.fontFamily}`;
    return Math.round(canvas.measureText("The quick brown fox, 0123456789").width);
})"""


def sample_page(home: Path) -> Path:
    """The report of a run of an example, as somebody else would have it."""
    root = copy_of_example(EXAMPLE, home)
    log, page = home / "events.jsonl", home / "report.html"
    _proctor(root, "run", "-o", f"events={log}")
    text = log.read_text(encoding="utf-8")
    for ours, theirs in (
        (sys.prefix, f"{SHOWN_HOME}/{EXAMPLE}/.venv"),
        (str(home), SHOWN_HOME),
        (f'"{socket.gethostname()}"', f'"{SHOWN_MACHINE}"'),
    ):
        text = text.replace(ours, theirs)
    log.write_text(text, encoding="utf-8")
    _proctor(root, "convert", str(log), "--to", "html", "-o", str(page))
    return page


def photograph(browser: Browser, page: Path, shot: Shot) -> tuple[bytes, list[int]]:
    """The picture, and the fonts in it."""
    with browser.page(shot.width, shot.height) as opened:
        opened.prefer(shot.scheme)
        opened.open(page)
        fonts: list[int] = opened.evaluate(FONTS)
        return opened.screenshot(), fonts


def difference(page: Page, first: bytes, second: bytes) -> float:
    """Which part of two pictures differs: 0 to 1. Small differences in a letter or a shade do not count."""
    one, other = page.evaluate(
        COMPARE % tuple(base64.b64encode(picture).decode() for picture in (first, second))
    )
    if one[:2] != other[:2]:
        return 1.0
    points = list(zip(_points(one[2:]), _points(other[2:]), strict=True))
    return sum(_differ(*pair) for pair in points) / len(points)


def _points(values: list[int]) -> list[list[int]]:
    return [values[at : at + 3] for at in range(0, len(values), 4)]


def _differ(one: list[int], other: list[int], most: int = 12) -> bool:
    return any(abs(a - b) > most for a, b in zip(one, other, strict=True))


def _proctor(root: Path, *arguments: str) -> None:
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    environment: dict[str, Any] = {"PATH": path, "HOME": str(root.parent), "LANG": "C.UTF-8"}
    done = subprocess.run(
        [sys.executable, "-m", "proctor", *arguments],
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=GUARD,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr.decode()
