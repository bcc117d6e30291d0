"""Conftests and plugins that misbehave: in hooks, at import, and at the end."""

from __future__ import annotations

from typing import Any

from torture.kind import FIRST, Kind, culprit, plain


def early(name: str, outcome: str, conftest: str, **more: Any) -> Kind:
    """No test comes to its turn."""
    return plain(name, outcome, conftest, tests={}, **more)


def hidden(name: str, conftest: str, outcome: str = "failed", **more: Any) -> Kind:
    """A test fails, and the conftest does what it can that nobody hears of it."""
    return culprit(name, "assert 0", outcome, "failed", files={"conftest.py": conftest}, **more)


KINDS = [
    early("its conftest exits with sys.exit(0)", "crashed", "sys.exit(0)"),
    early("its conftest exits with os._exit(0)", "crashed", "os._exit(0)"),
    early(
        "its conftest asks pytest to exit with 0", "collection_error", "pytest.exit('enough', returncode=0)"
    ),
    early("its conftest raises", "collection_error", "raise RuntimeError('no')"),
    early(
        "its conftest raises no Exception",
        "internal_error",
        "class Odd(BaseException): pass\nraise Odd('no')",
    ),
    early("its conftest is interrupted", "interrupted", "raise KeyboardInterrupt"),
    early("its conftest exits with the code for a wrong request", "crashed", "sys.exit(4)"),
    Kind("its module exits with 0", {"test_a.py": "import os\nos._exit(0)"}, "crashed", {}),
    Kind(
        "its module exits with the code for a wrong request",
        {"test_a.py": "import os\nos._exit(4)"},
        "crashed",
        {},
    ),
    early("its conftest is killed", "crashed", "os.kill(os.getpid(), signal.SIGKILL)"),
    early(
        "its plugin raises while collecting",
        "internal_error",
        "def pytest_collection_modifyitems(): raise ValueError('no')",
        not_run=(FIRST,),
        reason="ValueError: no",
        ways={"--isolate": {}},
    ),
    plain(
        "its plugin raises at the end",
        "internal_error",
        "def pytest_sessionfinish(): raise ValueError('no')",
        ways={"--isolate": {}},
    ),
    plain("its plugin exits with 0 after the session", "passed", "def pytest_unconfigure(): os._exit(0)"),
    plain("its plugin exits with 7 after the session", "incomplete", "def pytest_unconfigure(): os._exit(7)"),
    plain(
        "its plugin exits with 0 before the end of the session",
        "crashed",
        "@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish(): os._exit(0)",
        ways={"--isolate": {}},
    ),
    plain("its exit handler exits with 0", "passed", "import atexit; atexit.register(os._exit, 0)"),
    plain("its exit handler exits with 1", "incomplete", "import atexit; atexit.register(os._exit, 1)"),
    *(
        plain(
            f"its plugin says that tests took {seconds}",
            "passed",
            "@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport():\n"
            f"    (yield).get_result().duration = {value}",
        )
        for seconds, value in (("forever", "1e308"), ("nothing known", "float('nan')"), ("a word", "'x'"))
    ),
    plain(
        "its exit handler exits with the code for a wrong request",
        "incomplete",
        "import atexit; atexit.register(os._exit, 4)",
    ),
    plain(
        "it reads address 0 at its very end",
        "crashed",
        "import atexit; atexit.register(ctypes.string_at, 0)",
        reason="SIGSEGV after the session",
    ),
    plain(
        "a __del__ raises at the end of all",
        "passed",
        """
        class Last:
            def __del__(self): raise RuntimeError("too late")
        sys.last_of_all = Last()
        """,
    ),
    hidden(
        "its plugin changes the exit status to 0",
        "def pytest_sessionfinish(session): session.exitstatus = 0",
        ways={"-n 2": {}},
    ),
    hidden("its exit handler hides a failure", "import atexit, os; atexit.register(os._exit, 0)"),
    hidden(
        "its plugin raises when it hears of a failure",
        "def pytest_runtest_logreport(report): assert not report.failed",
        "internal_error",
        later=None,
    ),
    plain(
        "its plugin ends our plugin",
        "crashed",
        """
        def pytest_collection_finish(session):
            plugins = session.config.pluginmanager
            for name, plugin in plugins.list_name_plugin():
                if "proctor" in name:
                    plugins.unregister(plugin)
        """,
        tests={},
        not_run=(FIRST,),
        ways={"--isolate": {}},
    ),
    plain(
        "its plugin pretends to have run a test",
        "incomplete",
        "def pytest_runtest_protocol(): return True",
        tests={},
        not_run=(FIRST,),
        ways={"--isolate": {"tests": {FIRST: "error"}, "not_run": ()}},  # the worker said that it began
    ),
    plain(
        "its plugin reports under another name",
        "incomplete",
        """
        @pytest.hookimpl(hookwrapper=True)
        def pytest_runtest_makereport():
            outcome = yield
            outcome.get_result().nodeid = "elsewhere.py::test_other"
        """,
        tests={FIRST: "error"},
        # What travels from a worker is how long each phase of a test took, and nothing under another name.
        ways={"--isolate": {"outcome": "passed", "tests": {FIRST: "passed"}}},
    ),
]
