"""Write down which files a session reads, and what it looks for in vain. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded when
tests run with the code of another commit, to prove that it was. A line of JSON for each fact, in the
file that was asked for; forks write to the same file. Python 3.7 has no audit hooks: nothing is written.
"""

import os
import sys
from json import dumps
from threading import get_ident

MOST = 100_000  # facts: a session with more of them proves nothing
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT
_READING = ("open", "ctypes.dlopen", "sqlite3.connect")
_LISTING = ("os.listdir", "os.scandir", "os.chdir")
_STARTING = {"subprocess.Popen": 3, "os.posix_spawn": 2, "os.exec": 2}  # where each has the environment
_SHELLS = ("sh", "bash", "dash", "zsh")


def watch(asked):
    """`asked`: {"log": the file, "path": entries that PYTHONPATH must keep}."""
    if not hasattr(sys, "addaudithook"):
        return
    write = _writer(asked["log"])
    write(["session", {"prefixes": [sys.prefix, sys.base_prefix], "path": list(sys.path)}])
    for module in list(sys.modules.values()):
        file = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(file, str):
            write(["read", os.path.abspath(file)])
    sys.addaudithook(_hook(write, frozenset(asked.get("path", ()))))
    sys.meta_path.append(_Last(write))


def _writer(log):
    """Opens the file for each fact: a test may close every descriptor and use the number for its own."""
    opened, written, closed = os.open, os.write, os.close
    seen: "set[str]" = set()
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT

    def write(fact):
        line = dumps(fact)
        if line in seen or len(seen) > MOST:
            return
        seen.add(line)
        if len(seen) > MOST:
            line = '["full"]'
        descriptor = opened(log, flags, 0o600)
        try:
            written(descriptor, (line + "\n").encode("ascii"))
        finally:
            closed(descriptor)

    return write


def _hook(write, path):
    busy, here, exists, join, fsdecode = set(), os.getcwd, os.path.lexists, os.path.join, os.fsdecode

    def absolute(name):
        return join(here(), fsdecode(name))

    def look(event, args):
        if event in _READING:
            if not isinstance(args[0], (str, bytes)) or (
                event == "ctypes.dlopen" and "/" not in fsdecode(args[0])
            ):
                return
            name = absolute(args[0])
            if event == "open" and (_is_write(args[1]) or (args[2] or 0) & _WRITES):
                write(["wrote", name])
            else:
                write(["read" if exists(name) else "sought", name])
        elif event in _LISTING:
            if isinstance(args[0], (str, bytes)) and not exists(absolute(args[0])):
                write(["sought", absolute(args[0])])
        elif event == "import":
            if args[1]:  # of an extension
                write(["read", absolute(args[1])])
        elif event in _STARTING:
            program = fsdecode(args[0]) if args[0] else ""
            if "/" in program and not exists(absolute(program)):
                write(["sought", absolute(program)])
            if path and not _keeps(program, args[1], args[_STARTING[event]], path):
                write(["escaped", program])

    def hook(event, args):
        if event not in _KNOWN or get_ident() in busy:
            return
        busy.add(get_ident())
        try:
            look(event, args)
        except Exception:  # what cannot be written down is missed by whoever reads it, not by the test
            pass
        finally:
            busy.discard(get_ident())

    return hook


_KNOWN = frozenset((*_READING, *_LISTING, *_STARTING, "import"))


def _is_write(mode):
    return isinstance(mode, str) and any(letter in mode for letter in "wax+")


def _keeps(program, args, environ, path):
    """Whether a program that may be Python looks for modules where this session does."""
    name = os.path.basename(program)
    is_python = name.startswith(("python", "pypy"))
    if not (is_python or name in _SHELLS or os.path.dirname(program) == os.path.dirname(sys.executable)):
        return True
    if is_python:
        for word in list(args)[1:]:
            word = os.fsdecode(word)
            if not word.startswith("-") or word in ("-c", "-m"):
                break
            if not word.startswith("--") and ("I" in word or "E" in word):
                return False
    variables = dict(os.environ if environ is None else environ)
    value = variables.get("PYTHONPATH") or variables.get(b"PYTHONPATH") or b""
    return path <= set(os.fsdecode(value).split(os.pathsep))


class _Last:
    """Is asked for a module that no other finder has."""

    def __init__(self, write):
        self.write = write

    def find_spec(self, name, path=None, target=None):
        try:
            self.write(["missing", name.rpartition(".")[2], [str(place) for place in path or sys.path]])
        except Exception:
            pass
        return None
