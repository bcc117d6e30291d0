"""Every console block of the docs is run in a shell, and prints what the page says.

`PROCTOR_WRITE_DOCS=1` writes what was printed into the pages; read it before it is believed.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from support.console import ROOT, Block, Command, Shell, blocks, rewritten, without_what_varies, written

PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
WITH_BLOCKS = {
    str(page.relative_to(ROOT)): page for page in PAGES if blocks(page.read_text(encoding="utf-8"))
}


@pytest.mark.parametrize("name", WITH_BLOCKS)
def test_every_console_block_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    page = WITH_BLOCKS[name].read_text(encoding="utf-8")
    for tool in sorted({tool for block in blocks(page) for tool in block.needs}):
        if shutil.which(tool) is None:
            pytest.skip(f"no {tool} here")
    shell = Shell(tmp_path)
    ran = [(block, shell.run(block)) for block in blocks(page)]

    if os.environ.get("PROCTOR_WRITE_DOCS"):
        WITH_BLOCKS[name].write_text(rewritten(page, [_newest(*one) for one in ran]), encoding="utf-8")
    for block, printed in ran:
        where, text = f"{name}:{block.line}", written([command for _, command in printed])
        statuses = [block.status(number) for number in range(len(block.commands))]
        assert [status for status, _ in printed] == statuses, f"{where}: exit statuses of\n{text}"
        if not os.environ.get("PROCTOR_WRITE_DOCS"):
            assert without_what_varies(text) == without_what_varies(written(block.commands)), where


def _newest(block: Block, printed: list[tuple[int, Command]]) -> list[Command]:
    """What was printed; what the page says already, where only times and the like differ."""
    return [
        said if without_what_varies(said.output) == without_what_varies(command.output) else command
        for said, (_, command) in zip(block.commands, printed, strict=True)
    ]
