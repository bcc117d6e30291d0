"""What Python lets a test do to the objects, the modules and the interpreter that it shares with pytest."""

from __future__ import annotations

import resource
from typing import Any

from torture.kind import REFUSED, UNCAPTURED, Kind, crowd, culprit, ini, instead

OBJECTS = """
class Nameless(Exception):
    def __str__(self): raise RuntimeError("no words")
    __repr__ = __str__

class Numeric(Exception):
    def __str__(self): return 1
    __repr__ = __str__

class Leaving(Exception):
    def __str__(self): raise SystemExit(0)
    __repr__ = __str__

class Deep:
    def __repr__(self): return "<%r>" % Deep()
    def __eq__(self, other): return False

class Odd(BaseException):
    pass

class Unkeepable(Exception):
    def __init__(self, one, two): self.lock = threading.Lock()
    def __reduce__(self): raise TypeError("never")

def nested(depth):
    group = ExceptionGroup("innermost", [ValueError(1)])
    for number in range(depth):
        group = ExceptionGroup(str(number), [group, KeyError(number)])
    return group

def endless():
    return endless()
"""


def fails(name: str, body: str, files: dict[str, str] | None = None, **more: Any) -> Kind:
    return culprit(name, body, "failed", "failed", head=OBJECTS, files=files, **more)


def limited(name: str, limit: int, body: str) -> str:
    return f"import resource\nresource.setrlimit(resource.RLIMIT_{name}, ({limit}, {limit}))\n{body}"


def replaced(name: str, with_: str, *what: str, **more: Any) -> Kind:
    """For all, and never put back."""
    lines = [f"import {each.rpartition('.')[0]}\n{each} = {with_}" for each in what]
    return culprit(name, "\n".join(lines), **more)


CIRCLE = """
one, two = ValueError(1), ValueError(2)
one.__cause__, two.__cause__ = two, one
raise one
"""
ODD_FAILURES = {
    "no_words": "raise Nameless",
    "words_that_are_a_number": "raise Numeric",
    "words_that_are_an_exit": "raise Leaving",
    "that_cannot_be_kept": "raise Unkeepable(1, 2)",
    "that_is_no_exception": "raise Odd",
    "that_is_an_exit": "sys.exit(0)",
    "nested_a_hundred_deep": "raise nested(100)",
    "in_a_circle": CIRCLE,
    "that_never_comes_back": "endless()",
    "in_a_repr_that_never_comes_back": "assert Deep() == Deep()",
    "of_a_trace_function": "sys.settrace(lambda *_: 1 / 0)",
    "of_a_profile_function": "sys.setprofile(lambda *_: 1 / 0)",
    "of_a_megabyte": "raise ValueError('x' * (1 << 20))",
    "with_a_difference_of_a_million": "assert 'y' * 1_000_000 == 'z' * 1_000_000",
    "of_control_characters": "raise ValueError(''.join(map(chr, range(0x250))) + chr(0xD800))",
    "at_a_breakpoint": "breakpoint()",
}
TRAVELLING = {name: ODD_FAILURES[name] for name in ("no_words", "that_cannot_be_kept", "in_a_circle")}
FAILURES = [
    crowd("failures are hard to tell", ODD_FAILURES, "failed", "failed", OBJECTS, ways={"--isolate": {}}),
    crowd(
        "failures are hard to tell, and have to travel",
        TRAVELLING,
        "failed",
        "failed",
        OBJECTS,
        ini("addopts = -p xdist -n 1"),
        writes=("tmp/pytest-of-*",),
    ),
    fails("it runs out of memory", limited("AS", 1 << 30, "bytearray(2 << 30)"), ways={"-n 2": {}}),
    culprit(
        "it uses up all descriptors",
        limited("NOFILE", 64, "[os.dup(1) for _ in range(99)]"),
        "failed",
        "failed",
        "failed",
        ways={"--isolate": instead("failed", "failed")},
    ),
]
OPENS = ("os.open", "builtins.open", "builtins.print", "threading.Thread", "socket.socket")
CLOCKS = ("time.time", "time.monotonic", "time.perf_counter")
ENCODER = "json.encoder.encode_basestring_ascii"
REPLACED = [
    replaced("it sets all clocks back", "lambda: -1e9", *CLOCKS, ways={"-n 2": {}, "--test-timeout 30": {}}),
    replaced("nothing is written", "lambda *_: 0", "os.write", ways={"-n 2": {}}),
    replaced("nothing can be opened", "None", *OPENS, ways={"-n 2": {}}),
    replaced("no signal can be masked", "None", "signal.pthread_sigmask"),
    replaced("all JSON is empty", "lambda *_, **__: '{}'", "json.dumps", ways={"-n 2": {}}),
    replaced(
        "JSON knows no text",
        "None",
        ENCODER,
        outcome="incomplete",
        reason="reporter",
        ways={"-n 2": instead("passed", "passed")},
    ),
    replaced(
        "nothing has a length",
        "lambda _: 0",
        "builtins.len",
        outcome="incomplete",
        itself="error",
        later=None,
        ways={"--isolate": instead("crashed", "crash")},
    ),
]
STORM = """
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
"""
CALM = """
import signal
def pytest_unconfigure(): signal.setitimer(signal.ITIMER_REAL, 0)
"""
DISORDER = {
    "garbage_that_raises": "gc.callbacks.append(None); gc.collect()",
    "files_nobody_may_read": "os.umask(0o777)",
    "another_directory": "os.chdir('/')",
    "no_hurry": "os.nice(19)",
    "no_environment": "os.environ.clear()",
    "a_loop_that_is_open": "import asyncio; loop = asyncio.new_event_loop(); loop.call_later(99, print)",
    "threads": "for _ in range(50): threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
}
INTERPRETER = [
    crowd("tests leave disorder", DISORDER, ways={"-n 2": {}}),
    culprit(
        "it forgets all modules",
        "sys.modules.clear()",
        "internal_error",
        later=None,
        ways={"--isolate": instead("passed", "passed")},
    ),
    culprit("it forgets where modules are", "sys.path.clear(); sys.meta_path.clear()"),
    culprit("signals interrupt it all the time", STORM, files={"conftest.py": CALM}, ways={"-n 2": {}}),
    fails(
        "a file that is left open is an error", "open(__file__); gc.collect()", ini("filterwarnings = error")
    ),
    fails("it calls breakpoint(), uncaptured", "breakpoint()", UNCAPTURED),
]
ODD = {
    "LC_ALL": "C",
    "LANG": "xx_XX.bogus",
    "PYTHONUTF8": "0",
    "PYTHONIOENCODING": "ascii:strict",
    "PYTHONHASHSEED": "0",
    "PYTHONWARNINGS": "always",
    "TERM": "bogus",
    "COLUMNS": "1",
}
AROUND = [
    culprit(
        "it speaks ASCII only, and has an umlaut", "assert 'ü' == 'ö\\ud800'", "failed", "failed", environ=ODD
    ),
    culprit("its environment is huge", "pass", environ={f"HUGE{n}": "x" * 100_000 for n in range(8)}),
    culprit(
        "proctor may write no file to its end",
        "pass",
        limits={resource.RLIMIT_FSIZE: 2000},
        kept="in part",
    ),
    *(
        Kind(
            f"proctor may have {count} descriptors",
            {"test_a.py": "def test_a(): pass"},
            REFUSED,
            {},
            limits={resource.RLIMIT_NOFILE: count},
        )
        for count in (8, 10, 12)
    ),
    culprit(
        "it may have a gigabyte and takes two",
        "bytearray(2 << 30)",
        "failed",
        "failed",
        files={"proctor.toml": 'memory = "1G"'},
        ways={"-n 2": {}},
    ),
]
KINDS = [*FAILURES, *REPLACED, *INTERPRETER, *AROUND]
