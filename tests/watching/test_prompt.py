"""What was typed, key by key."""

from __future__ import annotations

import pytest

from proctor.watching.prompt import Prompt, keys_of


def typed(text: str) -> tuple[str, bool]:
    prompt = Prompt()
    over = False
    for key in keys_of(text):
        assert not over
        over = prompt.press(key)
    return prompt.text, over


@pytest.mark.parametrize(
    ("keys", "text", "over"),
    [
        ("cart", "cart", False),
        ("cart\r", "cart", True),
        ("carx\x7ft and\b\n", "cart an", True),
        ("cart and tax\x17\n", "cart and", True),
        ("cart\x15tax\n", "tax", True),
        ("cart\x1b", "", True),
        ("cart\x04", "", True),
        ("\x7f\x7f", "", False),
        ("ca\x1b[A\x1b[1;5Cr\x1bOPt\t\x00", "cart", False),
        ("größe", "größe", False),
    ],
)
def test_a_line_is_edited(keys: str, text: str, over: bool) -> None:
    assert typed(keys) == (text, over)
