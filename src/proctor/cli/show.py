"""`proctor show`: what was written down, shown again."""

from __future__ import annotations

from proctor.cli import show_stream


def main(arguments: list[str]) -> int:
    return show_stream.main(arguments)
