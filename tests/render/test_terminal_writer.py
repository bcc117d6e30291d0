"""The report on a terminal: styles, links, source in colours, lines that wrap at words."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from proctor.render.terminal_writer import TerminalWriter, highlighted
from proctor.text import without_escapes


def written(width: int, *pieces: tuple[str, ...], colours: bool = False, links: bool = True) -> str:
    console = Console(
        width=width,
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard" if colours else None,
        _environ={},
        legacy_windows=False,
    )
    write = TerminalWriter(console, links=links)
    for piece in pieces:
        write(*piece)  # type: ignore[arg-type]  # tones as texts
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_a_long_line_wraps_at_words_with_a_hanging_indent() -> None:
    text = written(60, ("  " + "word " * 20 + "\n",))

    lines = text.splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 60 for line in lines)
    assert all(line.startswith("    word") for line in lines[1:])
    assert text.split() == ["word"] * 20


def test_wide_characters_count_twice() -> None:
    lines = written(60, ("漢字" * 40 + "\n",)).splitlines()

    assert "".join(line.strip() for line in lines) == "漢字" * 40
    assert all(len(line.strip()) <= 30 for line in lines)


def test_a_command_is_never_broken_and_a_row_of_a_list_is_cut() -> None:
    command = "proctor run " + "tests/test_a.py::test_name " * 5

    assert written(60, ("rerun: ", "quiet"), (f"{command}\n", "command")) == f"rerun: {command}\n"
    row = written(60, ("FAILED ", "loud"), ("x" * 100 + "\n", "rest"))
    assert len(row) == 61
    assert row.endswith("x…\n")


def test_below_sixty_columns_the_terminal_breaks_the_lines() -> None:
    assert written(40, ("word " * 20 + "\n",)).count("\n") == 1


def test_a_style_ends_with_its_piece() -> None:
    text = written(80, ("red\n", "bad"), ("plain\n",), colours=True)

    assert text == "\x1b[31mred\x1b[0m\nplain\n"


def test_ids_and_places_are_links_where_the_terminal_can() -> None:
    text = written(80, ("a.py:3", "place", "file:///p/a.py"), ("\n",), colours=True)

    assert "file:///p/a.py" in text
    assert without_escapes(text) == "a.py:3\n"
    assert "file:" not in written(
        80, ("a.py:3", "place", "file:///p/a.py"), ("\n",), colours=True, links=False
    )


@pytest.mark.parametrize(
    "code",
    [
        "",
        "x = 1",
        "def f():\n    '''a\n\n    b'''\n    return 1\n",
        "\n\nx\n",
        "not ( python",
        "x = '\n",
        "é = '漢'",
    ],
)
def test_source_keeps_every_character(code: str) -> None:
    assert [line.plain for line in highlighted(code)] == code.split("\n")


def test_source_has_its_margin_in_red_and_a_string_of_several_lines_its_colour() -> None:
    text = written(80, ("    x = '''a\n    b'''\n>   f(x)\n", "source"), colours=True)

    assert without_escapes(text) == "    x = '''a\n    b'''\n>   f(x)\n"
    assert "\x1b[1;31m>" in text
    assert text.count("\x1b[36m") >= 2
