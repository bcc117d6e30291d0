"""Text of others, made harmless."""

from __future__ import annotations

import pytest

from proctor.render.neutral import neutral, neutral_block


@pytest.mark.parametrize(
    "text, block, line",
    [
        ("a\r\nb\tc\n", "a\nb\tc\n", "a\\nb\\tc\\n"),
        ("a\rb\x00\x7f", "a\\x0db\\x00\\x7f", "a\\x0db\\x00\\x7f"),
        ("\x1b[31mred\x1b[0m \x1b", "red \\x1b", "red \\x1b"),
        ("\u202eabc\u2028", "\\x202eabc\\x2028", "\\x202eabc\\x2028"),
        ("ä ナ", "ä ナ", "ä ナ"),
    ],
)
def test_nothing_can_move_a_cursor_and_one_line_stays_one(text: str, block: str, line: str) -> None:
    assert neutral_block(text) == block
    assert neutral(text) == line
