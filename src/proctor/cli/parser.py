"""argparse for every verb. The options that verbs share are in `options`, which takes longer to import."""

from __future__ import annotations

import argparse
from functools import partial

from proctor.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """Reports a wrong option in one line, and exits as for every other usage error."""

    def __init__(self, prog: str, description: str) -> None:
        # A fixed width: finding out the terminal's takes an import, even if nothing is printed.
        super().__init__(
            prog, description=description, formatter_class=partial(argparse.HelpFormatter, width=100)
        )

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; `{self.prog} --help` lists the options")

    def add_repeatable(self, option: str, dest: str, metavar: str, help: str) -> None:
        """An option that adds one value to a list each time it is given."""
        self.add_argument(option, dest=dest, action="append", default=[], metavar=metavar, help=help)
