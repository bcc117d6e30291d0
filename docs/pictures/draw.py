"""Draws the pictures of the docs: `make pictures`.

Runs proctor on examples in a terminal of its own, and writes what that shows at the end as SVG, for dark and
for light pages. The pictures need nothing from elsewhere: readers have a monospaced font.
"""

from __future__ import annotations

import fcntl
import io
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from itertools import groupby
from pathlib import Path
from typing import Any

import pyte
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import TerminalTheme
from rich.text import Text

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
COLUMNS, LINES = 100, 200  # high enough that nothing scrolls away
FONT = "ui-monospace, 'SFMono-Regular', Menlo, Consolas, 'DejaVu Sans Mono', monospace"

# Background, text, and the eight colours of a terminal, such that all of them can be read there.
THEMES = {
    "dark": TerminalTheme(
        (13, 17, 23),
        (201, 209, 217),
        [
            *((72, 79, 88), (255, 123, 114), (63, 185, 80), (210, 153, 34)),
            *((88, 166, 255), (188, 140, 255), (57, 197, 207), (177, 186, 196)),
        ],
    ),
    "light": TerminalTheme(
        (255, 255, 255),
        (36, 41, 47),
        [
            *((36, 41, 47), (190, 25, 40), (20, 115, 45), (130, 90, 0)),
            *((10, 85, 185), (120, 60, 175), (15, 110, 120), (87, 96, 106)),
        ],
    ),
}


class Screen(pyte.Screen):
    """Keeps faint text, which pyte does not know, as blinking text, which nobody prints."""

    def select_graphic_rendition(self, *attrs: int, **kwargs: Any) -> None:
        kept: list[int] = []
        for attr in attrs:
            kept += {2: [5], 22: [22, 25]}.get(attr, [attr])
        super().select_graphic_rendition(*kept, **kwargs)


def main() -> None:
    for name, example, command, then in (
        ("failed", "accounts", ["proctor", "run"], None),
        ("passed", "shop", ["proctor", "run"], _mend),
    ):
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory, "home", example)
            shutil.copytree(
                EXAMPLES / example, place, ignore=shutil.ignore_patterns(".proctor", "__pycache__")
            )
            if then:
                then(place)
            shown = screen_of(command, place)
        lines = [Text.assemble(("$ ", "dim"), " ".join(command)), *text_of(shown)]
        for theme in THEMES:
            (HERE / f"{name}-{theme}.svg").write_text(
                picture(lines, " ".join(command), theme), encoding="utf-8"
            )
            print(f"{name}-{theme}.svg: {len(lines)} lines")


def _mend(place: Path) -> None:
    path = place / "shop.py"
    text = path.read_text(encoding="utf-8").replace(
        "price for _, price, _quantity", "price * q for _, price, q"
    )
    path.write_text(text, encoding="utf-8")


def screen_of(command: list[str], place: Path) -> Screen:
    """What a terminal shows when the command has ended."""
    screen = Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    process = subprocess.Popen(
        command, cwd=place, env=_environment(place.parent), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    while data := _read(ours):
        stream.feed(data)
    process.wait()
    os.close(ours)
    return screen


def _environment(home: Path) -> dict[str, str]:
    """That of a person on a terminal with colours; nothing of whoever draws the pictures."""
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
    return {
        "PATH": path,
        "HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
    }


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says it so when the last writer has closed its end
        return b""


def text_of(screen: Screen) -> list[Text]:
    """The lines of a screen, without the empty ones at its end."""
    lines = []
    for row in range(screen.lines):
        cells = [screen.buffer[row][column] for column in range(screen.columns)]
        line = Text(no_wrap=True, end="")
        for style, run in groupby(cells, key=_style):
            line.append("".join(cell.data for cell in run), style)
        line.rstrip()
        lines.append(line)
    while lines and not lines[-1].plain:
        lines.pop()
    return lines


def _style(char: pyte.screens.Char) -> Style:
    return Style(
        color=_colour(char.fg),
        bgcolor=_colour(char.bg),
        bold=char.bold,
        italic=char.italics,
        underline=char.underscore,
        strike=char.strikethrough,
        reverse=char.reverse,
        dim=char.blink,
    )


def _colour(name: str) -> str | None:
    """rich's word for pyte's."""
    if name == "default":
        return None
    if re.fullmatch("[0-9a-f]{6}", name):
        return f"#{name}"
    plain = {"brown": "yellow", "brightbrown": "brightyellow"}.get(name, name)
    return re.sub("^bright(?=[a-z])", "bright_", plain)


def picture(lines: list[Text], title: str, theme: str) -> str:
    """SVG without fonts from elsewhere."""
    console = Console(
        record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor"
    )
    for line in lines:
        console.print(line, soft_wrap=True, highlight=False)
    svg = console.export_svg(title=title, theme=THEMES[theme], unique_id=f"proctor-{theme}")
    svg = re.sub(r"\s*(@font-face \{.*?\}|<!--.*?-->)", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: ?[^;]+;", f"font-family: {FONT};", svg)
    svg = svg.replace('stroke="rgba(255,255,255,0.35)"', 'stroke="#8b949e"')  # a frame on white paper, too
    return "".join(f"{line.rstrip()}\n" for line in svg.splitlines())


if __name__ == "__main__":
    main()
