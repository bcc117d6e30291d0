"""argparse as every verb wants it; apart from the options, which know more than some verbs need."""

from __future__ import annotations

import argparse
from functools import partial

from proctor.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """argparse with our exit code and one line instead of a page."""

    def __init__(self, prog: str, description: str) -> None:
        # A width of our own: asking for the terminal's costs an import, and even parsing asks.
        super().__init__(
            prog, description=description, formatter_class=partial(argparse.HelpFormatter, width=100)
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` says what there is")
