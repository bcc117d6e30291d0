"""Import early what every run needs, wait for a launch, become the process of one run. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Imports no
file of the project. Speaks with `process/standby` on a socket, in lines: `importing NAME`,
`dropped NAME WHY`, `ready`; when the launch has come, `go`, or `stale WHY`, after which the process ends.
"""

import _thread
import gc
import os
import sys
import time
from importlib import import_module
from json import loads

load = globals()["load"]  # the loader gives it to each file

VARIABLE = "PROCTOR_STANDBY"  # {"descriptor": of the socket, "pythonpath": of the tests, "preload": [...], …}
OURS = ("proctor_channel", "pytest_phases")  # files of the plugin that do nothing when they are loaded


def wait():
    """Returns when the run is to begin, with what is left to do: what the user's own `sitecustomize` did."""
    asked = loads(os.environ.pop(VARIABLE))
    os.environ["PYTHONPATH"] = asked["pythonpath"]
    socket = _Socket(asked["descriptor"])
    try:
        own = _own_sitecustomize()
        _check_nothing_runs()
        seen, packages = _prepare(asked, socket)
        socket.write("ready")
        _, cwd, argc, *fields = socket.read_launch()
        why = seen.stale(os.fsdecode(cwd))
        if why:
            socket.end("stale " + why)
        _become([os.fsdecode(word) for word in fields[: int(argc)]], fields[int(argc) :])
        if packages is not None:
            why = packages.refuses(sys.argv[1:])
            if why:
                socket.end("stale " + why)
            packages.begin()
    except BaseException as error:
        socket.end("failed %r" % error)
    socket.write("go")
    socket.close()
    return own


def _prepare(asked, socket):
    freshness = load("proctor_freshness")
    if freshness.can_import("usercustomize"):
        raise RuntimeError("usercustomize would be imported after pytest, not before it")
    places = freshness.Places()
    places.remember_missing()
    path = sys.path[:]
    sys.path[:] = [entry for entry in path if places.has(entry)]
    ours = _import_what_runs_need()
    places.early = frozenset(sys.modules) | places.missed.names
    sys.path[:] = path
    packages = None
    if asked["preload"]:
        packages = load("proctor_preload").preload(asked["preload"], socket)
    seen = freshness.Seen(places, ours, asked["started"])
    gc.collect()
    gc.freeze()  # pytest collects garbage several times before it ends, and nothing of this is garbage
    return seen, packages


def _own_sitecustomize():
    """Imports the user's own; returns what brings about its end once more."""
    sys.modules.pop("sitecustomize", None)
    try:
        module = import_module("sitecustomize")
    except ModuleNotFoundError as error:
        if error.name != "sitecustomize":
            raise
        missing = error.with_traceback(None)

        def end():
            raise missing

    else:

        def end():
            sys.modules["sitecustomize"] = module

    return end


def _check_nothing_runs():
    """What watches or works beside the tests would see them begin at another time."""
    if sys.gettrace() or sys.getprofile() or "coverage" in sys.modules:
        raise RuntimeError("a tracer is there before the tests are")
    if _thread._count():
        raise RuntimeError("a thread is there before the tests are")


def _import_what_runs_need():
    """Returns the files of ours that are among it."""
    config = import_module("_pytest.config")
    import_module("pytest")
    for name in config.default_plugins:
        import_module("_pytest." + name)
    for name in _late():
        try:
            import_module(name)
        except ImportError:
            pass  # Python can be built without it
    try:
        from importlib.metadata import distributions
    except ImportError:  # Python 3.7
        pass
    else:
        for distribution in distributions():  # remembered as long as no directory changes
            assert distribution.entry_points is not None
    return [load(name).__file__ for name in OURS]


def _late():
    """Modules that Python and pytest import in every run, and before any file of the project. Not pdb: pytest
    imports that when files beside the tests may hide a part of it, such as `code.py`."""
    yield from ("runpy", "_pytest._argcomplete", "faulthandler")
    modern = not sys.modules["pytest"].__version__.startswith("6.")  # where it is for Windows
    if modern and hasattr(sys.modules["_pytest.capture"], "_readline_workaround"):
        yield "readline"


def _become(argv, variables):
    """`variables`: those that differ from the environment of this process; one without a value is not set."""
    sys.argv = ["-m", *argv[3:]]  # as in any process of `python -m pytest`
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = argv
    logging = vars(sys.modules["logging"])  # which counts from its import
    logging["_startTime"] = time.time_ns() if isinstance(logging["_startTime"], int) else time.time()
    for field in variables:
        name, is_set, value = field.partition(b"=")
        if is_set:
            os.environb[name] = value
        else:
            os.environb.pop(name, None)


class _Socket:
    def __init__(self, descriptor):
        self._descriptor = descriptor
        os.set_inheritable(descriptor, False)

    def write(self, line):
        os.write(self._descriptor, line.replace("\n", " ").encode("utf-8", "backslashreplace") + b"\n")

    def end(self, line):
        self.write(line)
        os._exit(0)

    def launched(self):
        """Whether somebody has begun to write the launch."""
        from select import select

        return bool(select([self._descriptor], [], [], 0)[0])

    def read_launch(self):
        """As `supervisor.read_launch` does."""
        return self._read(int(self._read(10))).split(b"\0")[:-1]

    def _read(self, size):
        parts = []
        while size:
            part = os.read(self._descriptor, size)
            if not part:
                os._exit(0)  # proctor is gone, or has no use for us
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def close(self):
        os.close(self._descriptor)
