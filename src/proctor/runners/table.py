"""Every runner by its name. Its module is imported only if the project has such tests or names the runner."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from typing import cast

import msgspec

from proctor.errors import UsageError
from proctor.runners.plan import PythonRunner, Runner
from proctor.spec import TestProgram


class Row(msgspec.Struct, frozen=True):
    module: str
    signs: tuple[str, ...] = ()  # without one of these, `path` or `directory/*ending`, it is not asked
    package: str | None = None  # what its interpreter must have (nothing: ""); None: it needs no interpreter
    instead: str = ""  # who runs its tests, if they are that one's too, where the package is missing


#: In the order in which their suites run.
RUNNERS = {
    "pytest": Row("pytest_suite", package="pytest", instead="unittest"),
    "unittest": Row("unittest_suite", package=""),
    "command": Row("command"),
    "go": Row("go", ("go.mod", "go.work")),
    "cargo": Row("cargo", ("Cargo.toml",)),
    "tap": Row("tap", ("*.bats", "test/*.bats", "tests/*.bats", "t/*.t")),
    "node": Row("node", ("package.json",)),
    "vitest": Row("vitest", ("package.json",)),
    "jest": Row("jest", ("package.json",)),
}
USUAL = "pytest"  # what a project without a sign of anything gets
NPM = "npm"  # stands for tests of package.json that no runner knows


def names(asked: str) -> tuple[str, ...]:
    """The runners that a text such as `pytest,tap` names, in the order of the table."""
    wanted = [name.strip() for name in asked.split(",")]
    for name in wanted:
        if name not in RUNNERS:
            from proctor.nearest import or_known  # only on the way out

            raise UsageError(f"runner: no runner {name!r}{or_known(name, RUNNERS)}")
    return tuple(name for name in RUNNERS if name in wanted)


def load(name: str) -> Runner | PythonRunner:
    return cast(Runner | PythonRunner, import_module(f"proctor.runners.{RUNNERS[name].module}"))


def signed(root: Path) -> list[str]:
    """Runners other than the usual one that the project's files call for."""
    found = [name for name, row in RUNNERS.items() if any(_is_there(root, sign) for sign in row.signs)]
    return [name for name in found if load(name).detect(root)]


def named(target: str) -> list[str]:
    """Runners that a target calls for by the kind of its file, wherever that is."""
    ending = f"*{Path(target.partition('::')[0]).suffix}"
    rows = RUNNERS.items() if ending != "*" else ()
    return [name for name, row in rows if any(sign.endswith(ending) for sign in row.signs)]


def left_out(root: Path, chosen: Collection[str]) -> list[str]:
    """Notices about tests in the project that none of the chosen runners runs."""
    if not (root / "package.json").exists():
        return []
    from proctor.runners import package_scripts

    return package_scripts.left_out(root, chosen)


def runs_other_tests(root: Path, programs: Collection[TestProgram]) -> bool:
    """Whether package.json has tests that no runner knows, and the settings do not list it as a program."""
    if not (root / "package.json").exists():
        return False
    from proctor.runners import package_scripts

    listed = any(test.command[0] in package_scripts.MANAGERS for test in programs)
    return not listed and package_scripts.runs_other_tests(root)


def _is_there(root: Path, sign: str) -> bool:
    """Without real globs, which are slow: every run without --runner waits for this."""
    directory, star, ending = sign.partition("*")
    if not star:
        return (root / sign).exists()
    try:
        return any(path.name.endswith(ending) for path in (root / directory).iterdir())
    except OSError:
        return False
