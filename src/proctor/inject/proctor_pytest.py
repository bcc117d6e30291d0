"""Report a pytest session on proctor's control channel: the hooks that pytest finds. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. It must
never change what a test does, prints or exits with: a channel that breaks makes it fall silent.

The session is one result without a name, open (a partial `error`) until the session ends. Each test is a
result of its own: a partial `error` when it starts, closed with the facts of its phases when it ends.
What proctor concludes from the facts is proctor's business. The facts are under the key `proctor`.
"""

import os
import sys

import pytest

TYPE_CHECKING = False
if TYPE_CHECKING:  # this file does without the cost of `typing`
    from typing import Any

    load: Any = None  # loads another injected file; its loader gives each file this function

INJECTED = "_proctor_injected_pytest"  # the name under which proctor has this loaded
PATH_VARIABLE = "PROCTOR_PYTHONPATH"  # the user's own PYTHONPATH, to be put back


def _take_channel():
    channel = load("proctor_channel").take()
    home = os.path.join(os.path.dirname(os.path.abspath(__file__)), "path")
    if PATH_VARIABLE in os.environ:
        before = os.environ.pop(PATH_VARIABLE)
        if before:
            os.environ["PYTHONPATH"] = before
        else:
            os.environ.pop("PYTHONPATH", None)
        if home in sys.path:  # last, so that it hides nothing; there at all for the workers of xdist
            sys.path.remove(home)
            sys.path.append(home)
    if channel is not None:
        channel.session({"python": sys.version.split()[0], "pytest": pytest.__version__})
    return channel


CHANNEL = _take_channel() if __name__ == INJECTED else None  # elsewhere this file is a library


@pytest.fixture
def proctor_report(request):
    """Report results and files of parts of this test; does nothing when nobody listens."""
    observer = request.config.pluginmanager.get_plugin("_proctor_reporter")
    observer = observer or request.config.pluginmanager.get_plugin("_proctor_observer")
    send = observer.report if observer else lambda text, sources: None
    return load("proctor_fixture").Report(request.node.nodeid, send)


@pytest.hookimpl(hookwrapper=True)
def pytest_load_initial_conftests(early_config):
    outcome = yield
    if CHANNEL is None or outcome.excinfo is None:
        return
    try:
        found = load("pytest_failures").conftest_error(outcome.excinfo[1], early_config)
        if found is not None:
            import traceback

            cause, file, facts = found
            text = "".join(traceback.format_exception(type(cause), cause, cause.__traceback__))
            CHANNEL.session({"collection_errors": [{"id": file, "longrepr": text, "failure": facts}]})
    except Exception as error:
        CHANNEL.give_up(error)


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(load("pytest_reporter").Observer(config), "_proctor_observer")
        config.pluginmanager.register(load("pytest_worker").Carrier(), "_proctor_carrier")
    elif CHANNEL is not None:
        config.pluginmanager.register(load("pytest_reporter").Reporter(config, CHANNEL), "_proctor_reporter")


def pytest_unconfigure(config):
    reporter = config.pluginmanager.get_plugin("_proctor_reporter")
    if reporter is not None and not reporter.in_session and CHANNEL is not None:
        # --version, --fixtures and their like: pytest had no session, and that is not a crash.
        CHANNEL.session({"finished": {"exit_status": None}}, status="info", partial=False)
