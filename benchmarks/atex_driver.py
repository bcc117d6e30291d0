"""Let atex run one program as a test, in atex's own environment.

    python atex_driver.py PROGRAM HOME

Everything is atex's: its Executor prepares the scripts, opens the control pipe, reads it, and stores results
and files in HOME/out. Only the connection is ours: it runs commands on this machine instead of a distant one.
"""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from atex import util  # type: ignore[import-not-found]
from atex.connection import Connection  # type: ignore[import-not-found]
from atex.executor import Executor  # type: ignore[import-not-found]
from atex.fmf import FMFTests  # type: ignore[import-not-found]


class Here(Connection):  # type: ignore[misc]
    def connect(self, block: bool = True) -> None:
        pass

    def disconnect(self) -> None:
        pass

    def cmd(
        self, command: Sequence[str], *, func: Callable[..., Any] = util.subprocess_run, **options: Any
    ) -> Any:
        return func(command, **options)


def main(program: Path, home: Path) -> int:
    tests = home / "tests"  # where the Executor looks for them: there is nothing to upload
    (tests / ".fmf").mkdir(parents=True)
    (tests / ".fmf" / "version").write_text("1\n")
    (tests / "send.fmf").write_text(f"test: exec '{program}'\nduration: 1d\n")
    out = home / "out"
    out.mkdir()
    with Here() as here, Executor(FMFTests(tests), here, state_dir=home) as executor:
        return int(executor.run_test("/send", out))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()))
