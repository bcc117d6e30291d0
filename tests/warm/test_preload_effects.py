"""What a package does when it is imported, and whether it can be preloaded."""

from __future__ import annotations

import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from support.mcp_client import until
from support.packages import not_preloaded, preloading, python_with
from support.projects import clean_environment, environment

from proctor.process import warm_start
from proctor.process.preloads import Preloads
from proctor.process.standby import key_of
from proctor.process.warm_start import Standbys

#: Modules, and why they are dropped.
DROPPED = {
    "raises": ("raise ValueError('no such thing')", "raises ValueError: no such thing"),
    "is_missing": ("import not_there", "raises ModuleNotFoundError: No module named 'not_there'"),
    "is_no_python": ("def", "raises SyntaxError: invalid syntax (is_no_python.py, line 1)"),
    "leaves": ("import sys; sys.exit(0)", "raises SystemExit: 0"),
    "interrupts": ("raise KeyboardInterrupt", "raises KeyboardInterrupt"),
    "raises_what_has_no_text": (
        """
        class Odd(BaseException):
            def __str__(self):
                raise self
        raise Odd()
        """,
        "raises Odd",
    ),
    "recurses": ("def again(): again()\nagain()", "raises RecursionError: maximum recursion depth exceeded"),
    "prints": ("print('hello')", r"prints 'hello\n'"),
    "prints_below": ("import os; os.write(2, b'hello')", "prints 'hello'"),
    "prints_when_it_is_garbage": (
        """
        class Said:
            def __del__(self):
                print("gone")
        said = Said()
        said.itself = said
        del said
        """,
        r"prints 'gone\n'",
    ),
    "warns": ("import warnings; warnings.warn('old', DeprecationWarning)", "warns: DeprecationWarning: old"),
    "sets_variables": (
        "import os; os.environ['A_B'] = '1'; os.environ.pop('HOME', None)",
        "changes the environment variables A_B, HOME",
    ),
    "goes_elsewhere": ("import os; os.chdir('/')", "changes the working directory"),
    "masks": ("import os; os.umask(0o007)", "changes the umask"),
    "handles_signals": (
        "import signal; signal.signal(signal.SIGUSR1, print)",
        "changes signal handlers",
    ),
    "blocks_signals": (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])",
        "changes signal handlers",
    ),
    "sets_a_timer": ("import signal; signal.setitimer(signal.ITIMER_REAL, 1000)", "changes signal handlers"),
    "limits": (
        "import resource as r; r.setrlimit(r.RLIMIT_CORE, (0, 0)); r.setrlimit(r.RLIMIT_NOFILE, (100, 100))",
        "changes the limits of the process",
    ),
    "logs": ("import logging; logging.basicConfig()", "changes logging"),
    "sets_a_level": ("import logging; logging.getLogger().setLevel(10)", "changes logging"),
    "disables_logging": ("import logging; logging.disable(50)", "changes logging"),
    "captures_warnings": ("import logging; logging.captureWarnings(True)", "changes logging"),
    "adds_to_the_path": ("import sys; sys.path.append('/somewhere')", "changes sys.path"),
    "finds_first": ("import sys; sys.meta_path.insert(0, object())", "changes import hooks"),
    "hooks_paths": ("import sys; sys.path_hooks.append(print)", "changes import hooks"),
    "imports_its_own_way": (
        "import builtins; real = builtins.__import__; builtins.__import__ = lambda *a, **k: real(*a, **k)",
        "changes the builtins __import__",
    ),
    "replaces_modules": (
        "import sys, types; sys.modules['json'] = types.ModuleType('json')",
        "replaces the modules json",
    ),
    "replaces_streams": (
        "import io, sys; sys.stdout = io.StringIO()",
        "replaces stdin, stdout or stderr",
    ),
    "replaces_a_function": (
        "import time; time.sleep = lambda seconds: None",
        "replaces functions of the standard library time.sleep",
    ),
    "is_nice": ("import os; os.nice(1)", "changes the limits of the process priority"),
    "traces_memory": ("import tracemalloc; tracemalloc.start()", "traces or profiles"),
    "spawns": (
        "import multiprocessing; multiprocessing.set_start_method('spawn')",
        "changes how processes or event loops are made",
    ),
    "makes_loops": (
        "import asyncio; asyncio.set_event_loop_policy(asyncio.DefaultEventLoopPolicy())",
        "changes how processes or event loops are made",
    ),
    "keeps_a_stream": (
        "import sys\ndef say(text, file=sys.stdout): ...",
        "keeps stdin, stdout or stderr",
    ),
    "excepts": ("import sys; sys.excepthook = print", "changes hooks for exceptions or output"),
    "traces": ("import sys; sys.settrace(lambda *_: None)", "traces or profiles"),
    "profiles_threads": ("import threading; threading.setprofile(lambda *_: None)", "traces or profiles"),
    "recurses_deeper": (
        "import sys; sys.setrecursionlimit(5000)",
        "changes settings of the interpreter recursion limit",
    ),
    "speaks_another_language": (
        "import locale as l; l.setlocale(l.LC_ALL, 'C.UTF-8' if l.setlocale(l.LC_ALL) == 'C' else 'C')",
        "changes the locale",
    ),
    "seeds": ("import random; random.seed(1)", "changes the state of random"),
    "collects_no_garbage": ("import gc; gc.disable()", "changes settings of the garbage collector"),
    "counts_otherwise": (
        "import decimal; decimal.getcontext().prec = 5",
        "changes the context of decimal",
    ),
    "loses_patience": ("import socket; socket.setdefaulttimeout(3)", "changes the timeout of sockets"),
    "starts_a_thread": (
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "starts a thread",
    ),
    "starts_a_process": (
        "import subprocess, sys; p = subprocess.Popen(['sleep', '1000'])",
        "starts a process",
    ),
    "started_a_process": ("import os; os.system('true')", "starts a process"),
    "forks": ("import os; os.fork()", "starts a process"),
    "keeps_a_file_open": ("import os; f = os.open('/dev/null', 0)", "leaves open or closes the files"),
    "closes_stdin": ("import os; os.close(0)", "leaves open or closes the files 0"),
    "takes_stdout": (
        "import os; os.dup2(os.open('/dev/null', 1), 1)",
        "leaves open or closes the files 1",
    ),
    "takes_the_exit": ("import os; os._exit = print; print()", r"prints '\n'"),
    "brings_a_plugin": (
        "import a_plugin",
        "imports a_plugin, a plugin of pytest, which pytest has to import itself",
    ),
    "a_plugin": ("", "is a plugin of pytest, which pytest has to import itself"),
}

#: What a package may do.
KEPT = {
    "defines": "import json, sqlite3, decimal, ctypes\nclass A: ...",
    "filters_warnings": "import warnings; warnings.filterwarnings('ignore'); warnings.simplefilter('error')",
    "has_a_logger": (
        "import logging; l = logging.getLogger(__name__); l.setLevel(10); l.addHandler(logging.NullHandler())"
    ),
    "adds_a_finder": (
        "import sys, types; sys.meta_path.append(types.SimpleNamespace(find_spec=lambda *_: None))"
    ),
    "replaces_itself": "import sys, types; sys.modules[__name__] = types.SimpleNamespace(a=1)",
    "reads_a_file": "open(__file__).close()",
    "waits_for_a_thread": "import threading; t = threading.Thread(target=int); t.start(); t.join(); del t",
}

PLUGIN = {
    "a_plugin-1.dist-info/METADATA": "Metadata-Version: 2.1\nName: a-plugin\nVersion: 1\n",
    "a_plugin-1.dist-info/RECORD": "a_plugin.py,,\n",
    "a_plugin-1.dist-info/entry_points.txt": "[pytest11]\na_plugin = a_plugin\n",
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    modules = {f"{name}.py": text for name, (text, _) in DROPPED.items()}
    modules |= {f"{name}.py": text for name, text in KEPT.items()}
    return python_with(tmp_path_factory.mktemp("environment"), PLUGIN | modules)


@pytest.mark.parametrize("name", DROPPED)
def test_a_package_that_does_more_than_define_things_is_dropped(
    name: str, python: str, tmp_path: Path
) -> None:
    assert not_preloaded(python, tmp_path, name).startswith(f"{name} {DROPPED[name][1]}")


def test_packages_that_define_things_are_preloaded(python: str, tmp_path: Path) -> None:
    assert not_preloaded(python, tmp_path, *KEPT) == ""


def test_a_package_that_ends_the_process_was_about_to_be_imported(tmp_path: Path) -> None:
    python = python_with(tmp_path / "environment", {"ends.py": "import os; os._exit(0)"})

    assert not_preloaded(python, tmp_path, "ends") == "ends its import ended the process"


def test_a_package_that_needs_more_memory_than_there_is_is_dropped(tmp_path: Path) -> None:
    python = python_with(tmp_path / "environment", {"large.py": "large = bytearray(1 << 40)"})

    assert not_preloaded(python, tmp_path, "large", memory=1 << 30) == "large raises MemoryError"


def test_a_package_that_is_not_installed_is_dropped(tmp_path: Path) -> None:
    python = python_with(tmp_path / "environment", {})
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "shop.py").touch()
    (tmp_path / "shelf.py").touch()

    why = not_preloaded(python, tmp_path, "books")
    assert why == "books raises ModuleNotFoundError: No module named 'books'"

    (site,) = (tmp_path / "environment").glob("lib/*/site-packages")
    (site / "shop.pth").write_text(f"{tmp_path / 'elsewhere'}\n")
    why = not_preloaded(python, tmp_path, "shop")
    assert why == f"shop imports {tmp_path}/elsewhere/shop.py, which is not an installed package"


def test_a_package_whose_import_does_not_end_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = tmp_path / "begun"
    hangs = f"open({str(begun)!r}, 'w').close()\nimport threading\nthreading.Event().wait()\n"
    python = python_with(tmp_path / "environment", {"hangs.py": hangs})
    environ = clean_environment()
    launch = preloading(python, tmp_path, "hangs")
    key, other = key_of(launch, environ), preloading(python, tmp_path / "environment")
    assert key is not None
    log: list[str] = []
    preloads = Preloads(tmp_path / "cache")
    standbys = Standbys(preloads, log.append)
    try:
        assert standbys.take(launch, environ, "first") is None
        standbys.refill()
        until(begun.exists)
        monkeypatch.setattr(warm_start, "READY_SECONDS", 0.0)  # that is long ago
        assert standbys.take(other, environ, "second") is None
        standbys.refill()  # so that somebody looks
        until(lambda: preloads.dropped(key) == {"hangs"})
    finally:
        standbys.close()

    assert any("hangs is not preloaded" in line and "took more than" in line for line in log)


def test_numpy_and_sqlalchemy_are_preloaded(tmp_path: Path) -> None:
    needed = [f"pytest=={version('pytest')}", "numpy", "sqlalchemy"]
    python = environment(sys.executable, needed)

    assert not_preloaded(python, tmp_path, "numpy", "sqlalchemy") == ""
