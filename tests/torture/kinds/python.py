"""What Python lets a test do to the objects, the modules and the interpreter that it shares with pytest."""

from __future__ import annotations

import resource

from torture.kind import REFUSED, UNCAPTURED, Kind, culprit, ini

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


def fails(name: str, body: str, files: dict[str, str] | None = None) -> Kind:
    return culprit(name, body, "failed", "failed", head=OBJECTS, files=files)


def limited(name: str, limit: int, body: str) -> str:
    return f"import resource\nresource.setrlimit(resource.RLIMIT_{name}, ({limit}, {limit}))\n{body}"


def patched(what: str, with_: str, **more: object) -> Kind:
    """Replaced for all, and never put back."""
    return culprit(f"it replaces {what}", f"import {what.rpartition('.')[0]}\n{what} = {with_}", **more)


FAILURES = [
    fails("its exception has no words", "raise Nameless"),
    fails("its exception's words are a number", "raise Numeric"),
    fails("its exception's words are an exit", "raise Leaving"),
    fails("its exception cannot be kept", "raise Unkeepable(1, 2)"),
    fails("its exception is none", "raise Odd"),
    fails("it exits with sys.exit(0)", "sys.exit(0)"),
    fails("its exceptions are nested a hundred deep", "raise nested(100)"),
    fails(
        "its exceptions follow each other in a circle",
        "a, b = ValueError(1), ValueError(2); a.__cause__, b.__cause__ = b, a\nraise a",
    ),
    fails("it never comes back", "endless()"),
    fails("a repr never comes back", "assert Deep() == Deep()"),
    fails("it runs out of memory", limited("AS", 1 << 30, "bytearray(2 << 30)")),
    culprit(
        "it uses up all descriptors",
        limited("NOFILE", 64, "[os.dup(1) for _ in range(99)]"),
        "failed",
        "failed",
        "failed",
    ),
]
REPLACED = [
    patched("os.write", "lambda *_: 0"),
    patched("os.open", "None"),
    patched("json.dumps", "lambda *_, **__: '{}'"),
    patched("json.encoder.encode_basestring_ascii", "None", outcome="incomplete"),
    patched("time.time", "lambda: -1e9"),
    patched("time.perf_counter", "lambda: -1e9"),
    patched("time.monotonic", "lambda: -1e9"),
    patched("threading.Thread", "None"),
    patched("signal.pthread_sigmask", "None"),
    patched("builtins.open", "None"),
    patched("builtins.print", "None"),
    patched("builtins.len", "lambda _: 0", outcome="incomplete", itself="error", later=None),
]
STORM = """
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
"""
CALM = """
import signal
def pytest_unconfigure(): signal.setitimer(signal.ITIMER_REAL, 0)
"""
INTERPRETER = [
    culprit("it forgets all modules", "sys.modules.clear()", "internal_error", later=None),
    culprit("it forgets where modules are", "sys.path.clear(); sys.meta_path.clear()"),
    culprit("its garbage raises", "gc.callbacks.append(None); gc.collect()"),
    fails("its trace function raises", "sys.settrace(lambda *_: 1 / 0)"),
    fails("its profile function raises", "sys.setprofile(lambda *_: 1 / 0)"),
    culprit("signals interrupt it all the time", STORM, files={"conftest.py": CALM}),
    culprit("it hides files from others", "os.umask(0o777)"),
    culprit("it goes elsewhere", "os.chdir('/')"),
    culprit("it is in no hurry", "os.nice(19)"),
    culprit("it empties its environment", "os.environ.clear()"),
    fails(
        "a file that is left open is an error", "open(__file__); gc.collect()", ini("filterwarnings = error")
    ),
    fails("it calls breakpoint()", "breakpoint()"),
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
    ),
]
KINDS = [*FAILURES, *REPLACED, *INTERPRETER, *AROUND]
