"""A request: one run of a project's tests, or a list of them."""

from __future__ import annotations

import msgspec

TARGET_BYTES = 1 << 20  # of all targets of a run; Linux takes twice that on a command line


class Selection(msgspec.Struct, frozen=True, omit_defaults=True):
    """Which tests, in words that every runner understands as far as it can."""

    targets: tuple[str, ...] = ()
    keywords: str = ""
    markers: str = ""

    @property
    def everything(self) -> bool:
        return not (self.targets or self.keywords or self.markers)

    @property
    def words(self) -> list[str]:
        """As somebody would type it."""
        options = [("-k", self.keywords), ("-m", self.markers)]
        return [*self.targets, *(word for option, value in options if value for word in (option, value))]


class TestProgram(msgspec.Struct, frozen=True):
    """A program that is a test, as a project lists it or as it was found on disk."""

    name: str  # with a leading `/`
    command: tuple[str, ...]
    duration: float | None = None  # seconds
    cwd: str = ""  # relative to the project
    environment: dict[str, str] = {}
    tags: tuple[str, ...] = ()


class Python(msgspec.Struct, frozen=True):
    """The interpreter of the project's tests."""

    path: str
    version: tuple[int, ...]
    packages: dict[str, str]  # pytest and its companions, by name: their versions
    installed: tuple[str, ...] = ()  # names and versions of everything


class Quarantined(msgspec.Struct, frozen=True):
    """Tests whose failures do not count: one by its ID, or all that a pattern with * and ? matches."""

    test: str
    reason: str = ""


class RunSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """A request, checked for shape but not yet for whether it can be met."""

    root: str
    runner: str = ""  # one name, or several with commas between them; none: every suite that is found
    selection: Selection = Selection()
    maxfail: int = 0  # 0: no limit
    workers: str = ""  # a number, or "auto"
    collect_only: bool = False
    timeout: float = 0.0  # seconds; 0: no limit
    memory: int = 0  # bytes for each process; 0: no limit
    repeat: int = 1  # times that each test runs
    seed: int | None = None  # of hashes, and of the order where a plugin shuffles
    verbosity: int | None = None  # as pytest counts `-v`; None: as the project says
    full_differences: bool = False  # of compared values, where the runner shortens them otherwise
    locals: bool = False  # show local variables with each failure, as their own `__repr__` has them
    arguments: tuple[str, ...] = ()  # handed to the runner as they are
    programs: tuple[TestProgram, ...] = ()  # that the project's settings list
    strict_suites: bool | None = None  # incomplete without a suite that cannot start; None: in CI
    no_capture: bool = False  # output of tests is not kept apart but written as it comes
    test_timeout: float = 0.0  # seconds for each test; 0: no limit
    parallel: str = ""  # with workers: fork, xdist or off; empty: what is safe
    isolate: bool = False  # a process for each test
    retries: int = 0  # how often a test that ended badly runs again
    max_retried: int = 50  # if more tests than these ended badly, none runs again
    max_restarts: int = 20  # sessions that may follow one that died; 0: none
    flaky_fails: bool = False
    quarantine: tuple[Quarantined, ...] = ()
    exitfirst_new: bool = False  # stop at the first failure that earlier runs did not have
    preload: tuple[str, ...] = ()  # packages that a process may import before it knows what it will run
    failed_first: bool = False  # tests that failed when they last ran come before the others
