"""Suites of pytest that are made up: fixtures of all scopes, tests that do one thing each, and the truth."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from hypothesis import strategies as st

from support.projects import write_project

NOTES = """
import os

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

def note(*words):
    file = os.open(HERE + "/notes", os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(file, (" ".join([str(os.getpid()), *words]) + "\\n").encode())
    os.close(file)

def is_first_time(name):
    try:
        os.close(os.open(HERE + "/" + name.replace("/", "-"), os.O_CREAT | os.O_EXCL))
        return True
    except FileExistsError:
        return False
"""
HEAD = "import ctypes, os, signal, sys, time\nimport pytest\nfrom notes import is_first_time, note\n"
FIXTURE = """
@pytest.fixture(scope="{scope}", autouse=True)
def in_{scope}(request):
    note("up", "{shown}")
    yield
    note("down", "{shown}")
"""
BROKEN = """
@pytest.fixture
def breaks_setup():
    raise OSError

@pytest.fixture
def breaks_teardown():
    yield
    raise OSError
"""
#: What a test does, and how it ends when it is not run again.
DEEDS = {
    "pass": "passed",
    "assert 0": "failed",
    "pytest.skip('not here')": "skipped",
    "pytest.xfail('known')": "xfailed",
    "sys.exit(0)": "failed",
    "assert not is_first_time(name)": "failed",
    "ctypes.string_at(0)": "crash",
    "os._exit(0)": "crash",
    "os.kill(os.getpid(), signal.SIGKILL)": "crash",
    "if is_first_time(name): os._exit(5)": "crash",
    "time.sleep(1000)": "timeout",
}
DEADLY = tuple(deed for deed, outcome in DEEDS.items() if outcome in ("crash", "timeout"))
PLAIN = tuple(deed for deed in DEEDS if deed not in DEADLY)
BAD = ("failed", "error", "crash", "timeout")
MOST_DEADLY = 2  # of three sessions that die in their first test, none follows


@dataclass(frozen=True)
class Test:
    deed: str
    broken: str = ""  # setup or teardown raises
    params: int = 0
    group: str = ""

    @property
    def mends(self) -> bool:
        """It is bad the first time only."""
        return "is_first_time" in self.deed

    def outcome(self, retries: int = 0) -> str:
        end = "passed" if retries and self.mends else DEEDS[self.deed]
        if self.broken == "setup" or (self.broken and end not in BAD):
            return "error"
        return end

    def bodies(self, retries: int) -> int:
        """How often its body runs."""
        if self.broken == "setup":
            return 0
        return 1 + (retries if self.outcome() in BAD else 0)


@dataclass(frozen=True)
class Module:
    path: str
    functions: tuple[Test, ...]
    methods: tuple[Test, ...]  # of a class

    def named(self) -> Iterator[tuple[str, Test]]:
        """The ids of all tests."""
        for prefix, tests in (("", self.functions), ("TestIt::", self.methods)):
            for number, test in enumerate(tests):
                for param in [f"[{each}]" for each in range(test.params)] or [""]:
                    yield f"{self.path}::{prefix}test_{number}{param}", test

    @property
    def source(self) -> str:
        functions, methods = (
            "".join(self._test(f"{prefix}test_{number}", test) for number, test in enumerate(tests))
            for prefix, tests in (("", self.functions), ("TestIt::", self.methods))
        )
        fixtures = _fixture("module", self.path) + _fixture("function", "function")
        inside = indent(_fixture("class", "class").replace("(request)", "(self, request)") + methods, "    ")
        return HEAD + fixtures + functions + (f"\nclass TestIt:{inside}" if methods else "")

    def _test(self, short: str, test: Test) -> str:
        marks = f"@pytest.mark.xdist_group('{test.group}')\n" if test.group else ""
        marks += f"@pytest.mark.parametrize('param', range({test.params}))\n" if test.params else ""
        taken = ["self"] if "::" in short else []
        taken += ["param"] if test.params else []
        taken += [f"breaks_{test.broken}"] if test.broken else []
        name = f"'{self.path}::{short}" + ("[%d]' % param" if test.params else "'")
        body = f"    name = {name}\n    note('body', name)\n    {test.deed}\n"
        return f"\n{marks}def {short.rpartition('::')[2]}({', '.join(taken)}):\n{body}"


def _fixture(scope: str, shown: str) -> str:
    return FIXTURE.format(scope=scope, shown=shown)


@dataclass(frozen=True)
class Suite:
    modules: tuple[Module, ...]

    def named(self) -> dict[str, Test]:
        return {name: test for module in self.modules for name, test in module.named()}

    @property
    def hangs(self) -> bool:
        return any("sleep" in test.deed for test in self.named().values())

    def write(self, root: Path) -> Path:
        files = {"notes.py": NOTES, "pytest.ini": "[pytest]\npythonpath = .\n"}
        files["conftest.py"] = HEAD + _fixture("session", "session") + BROKEN
        files["sub/__init__.py"] = ""
        files["sub/conftest.py"] = HEAD + _fixture("package", "package")
        return write_project(root, files | {module.path: module.source for module in self.modules})


def _tests() -> st.SearchStrategy[tuple[Test, ...]]:
    test = st.builds(
        Test,
        st.sampled_from(PLAIN) | st.just("pass"),
        st.sampled_from(("", "", "", "setup", "teardown")),
        st.sampled_from((0, 0, 1, 3)),
        st.sampled_from(("", "", "", "one", "two")),
    )
    return st.lists(test, max_size=4).map(tuple)


@st.composite
def suites(draw: st.DrawFn) -> Suite:
    """With at least one test that passes, and at most so many that are the end of their process."""
    paths = draw(st.sets(st.sampled_from(("sub/test_b.py", "sub/test_c.py", "test_a.py")), min_size=1))
    modules = [Module(path, draw(_tests()), draw(_tests())) for path in sorted(paths)]
    for _ in range(draw(st.integers(0, MOST_DEADLY))):
        at = draw(st.integers(0, len(modules) - 1))
        deed, group = draw(st.sampled_from(DEADLY)), draw(st.sampled_from(("", "one")))
        chosen, inside = modules[at], draw(st.booleans())
        tests = list(chosen.methods if inside else chosen.functions)
        tests.insert(draw(st.integers(0, len(tests))), Test(deed, group=group))
        functions, methods = (chosen.functions, tuple(tests)) if inside else (tuple(tests), chosen.methods)
        modules[at] = Module(chosen.path, functions, methods)
    first = modules[0]
    modules[0] = Module(first.path, (*first.functions, Test("pass")), first.methods)
    return Suite(tuple(modules))


def nesting_faults(notes: list[str], suite: Suite) -> list[str]:
    """What was not set up and torn down around its tests, one within the other, in a process."""
    ends, faults = {name: DEEDS[test.deed] for name, test in suite.named().items()}, []
    open_in: dict[str, list[str]] = {}
    sessions: Counter[str] = Counter()
    last: dict[str, str] = {}
    for line in notes:
        pid, what, name = line.split(" ", 2)
        stack = open_in.setdefault(pid, [])
        last[pid] = name
        if what == "up":
            sessions[pid] += name == "session"
            stack.append(name)
        elif what == "down":
            if not stack or stack.pop() != name:
                faults.append(f"{name} is torn down out of its turn in {pid}")
        elif stack != _around(name):
            faults.append(f"{name} runs within {stack}")
    faults += [f"{pid} has {times} sessions" for pid, times in sessions.items() if times > 1]
    faults += [
        f"{pid} leaves {stack}"
        for pid, stack in open_in.items()
        if stack and ends.get(last[pid]) not in ("crash", "timeout")
    ]
    return faults


def _around(test: str) -> list[str]:
    path, _, rest = test.partition("::")
    package = ["package"] if path.startswith("sub/") else []
    return ["session", *package, path, *(["class"] if rest.startswith("TestIt") else []), "function"]
