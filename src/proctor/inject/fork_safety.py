"""Whether a session may go on in forked processes. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded when
workers were asked for.
"""

import os
import sys
import sysconfig
import threading
import warnings
from time import sleep

VARIABLES = ("PYTEST_XDIST_WORKER", "PYTEST_XDIST_WORKER_COUNT", "PYTEST_XDIST_TESTRUNUID")
TASKS = "/proc/self/task"
LOOKS = 50  # at a thread that may be on its way out
MOST_NAMED = 3  # threads
HERE = os.path.dirname(os.path.abspath(__file__))
_LIBRARIES = ("/site-packages/", "/dist-packages/")
_MACHINERY = ("_pytest", "pluggy", "importlib", "_frozen_importlib")  # that runs code of others

#: Plugins that keep what they learn from tests in the process of the tests, and how they do.
UNSERVED = {
    "syrupy": "syrupy counts the snapshots that tests use, in the process of the tests",
    "inline_snapshot": "inline-snapshot collects changes of snapshots in the process of the tests",
    "testmon": "pytest-testmon records what tests execute in the process of the tests",
    "pytest_memray": "pytest-memray measures the process of the tests",
    "pytest_monitor": "pytest-monitor measures the process of the tests",
    "pytest_profiling": "pytest-profiling profiles the process of the tests",
    "pytest_codspeed": "pytest-codspeed measures the process of the tests",
}
#: Of these, plugins that do so only for tests with this fixture.
FIXTURES = {"syrupy": "snapshot"}
#: Plugins that talk to the workers of xdist and need nothing of ours, or are served.
SERVED = {
    "xdist",
    "pytest_cov",
    "pytest_randomly",
    "pytest_rerunfailures",
    "pytest_benchmark",
    "pytest_timeout",
    "pytest_metadata",
    "pytest_html",
    "pytest_django",
    "_proctor_injected_pytest",
}
#: Threads that wait for something that does not come, and hold nothing.
HARMLESS = {"pytest_rerunfailures.ServerStatusDB.run_server"}  # for workers of xdist
_NODE_HOOKS = ("pytest_testnodedown", "pytest_configure_node")


class Watch:
    """Notes which file of the project asks for the worker before there is one: it would see none."""

    def __init__(self):
        self.reads = []
        self.config_class = sys.modules["_pytest.config"].Config
        self.config_class.workerinput = _NoInput(self._notice)
        self.before = vars(os.environ)["_data"]
        self.ours = _Data(self.before, self._notice)
        _replace_data(self.before, self.ours)

    def stop(self):
        """Everything is as it was."""
        if self.ours is not None:
            after = dict(self.ours)
            self.before.clear()
            self.before.update(after)
            _replace_data(self.ours, self.before)
            self.ours = None  # type: ignore[assignment]
        if self.config_class is not None:
            del self.config_class.workerinput
            self.config_class = None

    def _notice(self, name):
        place = _asker(sys._getframe(2))
        if place and len(self.reads) < MOST_NAMED:
            self.reads.append("%s reads %s before the workers start" % (place, name))


def _replace_data(before, after):
    for environ in (os.environ, getattr(os, "environb", None)):
        if environ is not None and vars(environ)["_data"] is before:
            vars(environ)["_data"] = after


class _Data(dict):  # type: ignore[type-arg]  # which Python 3.7 does not know
    """The data of `os.environ`."""

    def __init__(self, data, notice):
        dict.__init__(self, data)
        self.notice = notice
        self.names = {os.fsencode(name): name for name in VARIABLES}

    def __getitem__(self, key):
        if key in self.names and key not in self:  # one that is there is of workers around this process
            self.notice(self.names[key])
        return dict.__getitem__(self, key)


class _NoInput:
    """Stands for an attribute that is not there."""

    def __init__(self, notice):
        self.notice = notice

    def __get__(self, config, owner=None):
        self.notice("config.workerinput")
        raise AttributeError("workerinput")


def _asker(frame):
    """The file and line of the project that asks, itself or through a library; nothing if a plugin does."""
    while frame is not None:
        name, file = str(frame.f_globals.get("__name__", "")), frame.f_code.co_filename
        if name.partition(".")[0] in _MACHINERY:
            return ""
        if is_of_project(file):
            return "%s:%d" % (os.path.relpath(file), frame.f_lineno)
        frame = frame.f_back
    return ""


def is_of_project(file):
    """Whether it is no library, and nothing of ours."""
    if file.startswith("<") or not os.path.isabs(file):
        return not file.startswith("<") and os.path.exists(file)
    if file.startswith(HERE + os.sep) or any(part in file.replace(os.sep, "/") for part in _LIBRARIES):
        return False
    return not file.startswith(tuple(path + os.sep for path in _library_paths()))


def _library_paths():
    return {path for path in map(sysconfig.get_path, ("stdlib", "platstdlib")) if path}


def living_threads():
    """What keeps this process from being forked: its other threads. Some libraries end theirs when a process
    forks, as numpy's does, so they are counted after a trial."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.12 warns of threads, which is what we want to know
        pid = os.fork()
        if pid == 0:
            os._exit(0)
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        pass
    for _ in range(LOOKS):
        harmless = sum(_function(thread) in HARMLESS for thread in threading.enumerate())
        if len(os.listdir(TASKS)) == 1 + harmless:
            return ""
        sleep(0.005)
    return _named()


def _named():
    main, others = threading.main_thread(), threading.enumerate()
    functions = [(thread.name, _function(thread)) for thread in others if thread is not main]
    native = max(0, len(os.listdir(TASKS)) - len(others))
    names = ["%s (%s)" % pair for pair in functions if pair[1] not in HARMLESS]
    count = len(names) + native
    if native:
        names.append("%d of a library" % native)
    shown = ", ".join(names[:MOST_NAMED]) + (", ..." if len(names) > MOST_NAMED else "")
    return "%d other thread%s alive: %s" % (count, " is" if count == 1 else "s are", shown)


def _function(thread):
    target = getattr(thread, "_target", None)
    kind = type(thread)
    owner = target if target is not None else kind
    return "%s.%s" % (getattr(owner, "__module__", "?"), getattr(owner, "__qualname__", kind.__name__))


def unserved(config, items):
    """Why a plugin of this session would lose what it learns in a worker; nothing if none would, as far as
    the tests are known."""
    roots = {package(plugin) for _, plugin in config.pluginmanager.list_name_plugin() if plugin is not None}
    for root in sorted(roots & set(UNSERVED)):
        if _is_active(root, config, items):
            return UNSERVED[root]
    for hook in _NODE_HOOKS:
        for known in getattr(getattr(config.hook, hook, None), "get_hookimpls", list)():
            if package(known.plugin) not in (*SERVED, *UNSERVED) and not _is_ours(known.plugin):
                return "%s has the hook %s, for workers of pytest-xdist" % (_title(known), hook)
    return ""


def package(plugin):
    module = getattr(plugin, "__name__", None) if isinstance(plugin, type(os)) else type(plugin).__module__
    return str(module).partition(".")[0]


def _is_ours(plugin):
    return str(getattr(plugin, "__module__", type(plugin).__module__)).startswith(("_proctor_", "proctor_"))


def _title(known):
    file = getattr(known.plugin, "__file__", None)
    return os.path.relpath(file) if file and is_of_project(file) else str(known.plugin_name)


def _is_active(root, config, items):
    """Whether a plugin does anything in this session."""
    if root in FIXTURES:
        return any(FIXTURES[root] in getattr(item, "fixturenames", ()) for item in items)
    options = {
        "testmon": ("testmon", "testmon_noselect", "testmon_forceselect", "testmon_nocollect"),
        "pytest_memray": ("memray",),
        "pytest_profiling": ("prof", "prof_svg"),
        "pytest_codspeed": ("codspeed",),
    }.get(root)
    return options is None or any(getattr(config.option, option, None) for option in options)
