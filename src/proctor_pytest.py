"""The failure index after a plain pytest run: `-p proctor_pytest`, or by itself where proctor is installed.

While no agent reads, only this file and `agent_mode` are loaded: an option and a look at the environment. All
other code is loaded by path, because pytest's import hook would parse it anew each time. PYTEST_DONT_REWRITE

The fixture `proctor_report` is registered only if a test uses it, because `pytest --fixtures` lists fixtures.
"""

import os
import sys
from importlib.machinery import SourceFileLoader
from types import ModuleType

import pytest

INJECTED = "_proctor_injected_pytest"  # the copy that proctor brings to its own runs, and reads
SETTINGS = {"failure_rows": (5000, 1), "failure_length": (200, 20)}  # usual value, least value

_indexed: "list[pytest.Config]" = []  # in this process: a test may run a pytest inside the one that runs it


def pytest_addoption(parser):
    parser.getgroup("proctor").addoption(
        "--failure-summary",
        choices=("auto", "on", "off"),
        default="auto",
        help="list the failures at the end, each in one line: auto (if a coding agent reads), on, off",
    )
    parser.addini("failure_rows", "failures that --failure-summary lists (5000)", default="")
    parser.addini("failure_length", "characters of an error that --failure-summary lists (200)", default="")


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config):
    outcome = yield
    if outcome.excinfo is None or early_config.pluginmanager.hasplugin(INJECTED):
        return
    _try(_conftest_failed, early_config, outcome.excinfo[1])


def pytest_configure(config):
    if config.pluginmanager.hasplugin(INJECTED):
        return
    if hasattr(config, "workerinput"):
        wanted = config.workerinput.get("proctor_failures")
    else:
        settings = [_number(config, name) for name in SETTINGS]
        wanted = settings if _is_on(config.getoption("failure_summary")) else None
    if wanted:
        _try(_start, config, *wanted)


def pytest_collection_finish(session):
    plugins = session.config.pluginmanager
    if not plugins.hasplugin(INJECTED) and any(
        "proctor_report" in getattr(item, "fixturenames", ()) for item in session.items
    ):
        reports = ModuleType("_proctor_unheard")
        setattr(reports, "proctor_report", _load("proctor_pytest").proctor_report)  # noqa: B010
        plugins.register(reports)


def pytest_unconfigure(config):
    if _indexed and _indexed[-1] is config:
        _indexed.pop()


def _try(action, *args):
    try:
        action(*args)
    except Exception as error:  # the run goes before the index
        sys.stderr.write("proctor: no failure index: %s: %s\n" % (type(error).__name__, error))


def _is_on(asked):
    if asked == "auto" and _indexed:
        return False  # a test runs us, and reads what we print
    terminal = sys.stdout is not None and sys.stdout.isatty()
    return _by_path("agent_mode").agent_mode(os.environ, terminal, asked).on


def _number(config, name):
    usual, least = SETTINGS[name]
    text = str(config.getini(name)).strip()
    if not text:
        return usual
    if not text.isdigit() or int(text) < least:
        raise pytest.UsageError("%s is %r; it must be a number of at least %d" % (name, text, least))
    return int(text)


def _conftest_failed(config, error):
    options = config.known_args_namespace
    if not options.help and not options.version and _is_on(options.failure_summary):
        _load("failure_index").conftest_failed(config, error, _number(config, "failure_length"))


def _start(config, most, length):
    index = _load("failure_index").FailureIndex(config, most, length)
    config.pluginmanager.register(index, "_proctor_failure_index")
    if index.is_worker:
        config.pluginmanager.register(_load("pytest_carrier").Carrier(), "_proctor_carrier")
    _indexed.append(config)


def _load(name):
    return _by_path("inject", "path", "_proctor_injected_load").load(name)


def _by_path(*path):
    name = "_proctor_installed_" + path[-1]
    if name not in sys.modules:
        home = os.path.dirname(os.path.abspath(__file__))
        loader, module = (
            SourceFileLoader(name, os.path.join(home, "proctor", *path) + ".py"),
            ModuleType(name),
        )
        module.__file__ = loader.path
        exec(loader.get_code(name), module.__dict__)  # type: ignore[arg-type]
        sys.modules[name] = module
    return sys.modules[name]
