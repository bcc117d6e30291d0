from __future__ import annotations

import pytest

from proctor.render.page.ansi import coloured


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain <b>", "plain &lt;b&gt;"),
        ("\x1b[31mred\x1b[0m no", '<span class="f1">red</span> no'),
        ("\x1b[1;32mboth\x1b[22mless", '<span class="bold f2">both</span><span class="f2">less</span>'),
        ("\x1b[91;41mbright", '<span class="f9 b1">bright</span>'),
        ("\x1b[38;5;9mone", '<span class="f9">one</span>'),
        ("\x1b[38;2;250;10;10mtrue", '<span class="f9">true</span>'),
        ("\x1b[38;5;196mcube", '<span class="f9">cube</span>'),
        ("\x1b[48;5;240mgrey", '<span class="b8">grey</span>'),
        ("\x1b[31mred\x1b[39mplain", '<span class="f1">red</span>plain'),
        ("\x1b[4mline\x1b[mend", '<span class="under">line</span>end'),
        ("a\x1b[2Kb\x1b]8;;http://x\x07c", "abc"),
        ("\x1b[999999999999mx", "x"),
        ("\x1b[38mx", "x"),
    ],
)
def test_colours_become_classes(text: str, shown: str) -> None:
    assert coloured(text) == shown


def test_a_text_of_nothing_but_colours_stays_small() -> None:
    assert len(coloured("\x1b[31ma\x1b[32mb" * 100_000)) < 1_000_000
