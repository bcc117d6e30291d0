"""What the import of a package must leave as it is. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Modules that
only this file needs do not stay in `sys.modules`.
"""

import gc
import os
import signal
import sys
from importlib import import_module

load = globals()["load"]  # the loader gives it to each file
_functions = load("proctor_inputs").functions

DESCRIPTORS = ("/proc/self/fd", "/dev/fd")
STATUS = "/proc/self/status"
HANDLED = (b"SigBlk:", b"SigIgn:", b"SigCgt:")  # lines of it: also what no Python code has set
OF_THREADS = 1 << 31 | 1 << 32  # signals with which the C library tends its own threads
USUAL_CONTEXT = "prec=28, rounding=ROUND_HALF_EVEN, Emin=-999999, Emax=999999, capitals=1, clamp=0"
USUAL_TRAPS = ("DivisionByZero", "InvalidOperation", "Overflow")


def difference(before, after):
    """In words, the first thing that is no longer as it was; empty: there is none."""
    for words, value in before.items():
        now = after[words]
        if value is _UNREAD or value == now:
            continue
        if isinstance(value, dict):
            names = value if isinstance(value, _AtLeast) else {**value, **now}
            changed = sorted(str(name) for name in names if value.get(name) != now.get(name))
            words = "%s %s" % (words, ", ".join(changed[:3]))
        return words
    return ""


def state():
    """Values by words: a package whose import changes the value does what the words say."""
    return {
        "starts a process": _children(),
        "starts a thread": (len(sys._current_frames()), _thread_count()),
        "leaves open or closes the files": _descriptors(),
        "changes the environment variables": dict(os.environ),
        "changes the working directory": _working_directory(),
        "changes the umask": _umask(),
        "changes signal handlers": _signals(),
        "changes the limits of the process": _limits(),
        "changes logging": _logging(),
        "changes sys.path": list(sys.path),
        "changes import hooks": _import_hooks(),
        "replaces the modules": _modules(),
        "changes the builtins": _builtins(),
        "replaces functions of the standard library": _AtLeast(
            {"%s.%s" % place: _Is(value) for place, value in _functions().items()}
        ),
        "replaces stdin, stdout or stderr": [_Is(getattr(sys, name, None)) for name in _STREAMS],
        "changes hooks for exceptions or output": _hooks(),
        "traces or profiles": _tracing(),
        "changes how processes or event loops are made": (
            _of("multiprocessing.context", lambda of: _kind(of._default_context, "_actual_context"), None),
            _of("asyncio.events", lambda of: _kind(of, "_event_loop_policy"), None),
        ),
        "changes settings of the interpreter": _interpreter(),
        "changes the locale": _locale(),
        "changes the state of random": _of("random", lambda random: random.getstate(), _UNREAD),
        "changes settings of the garbage collector": (
            (gc.isenabled(), gc.get_threshold(), gc.get_debug(), [_Is(call) for call in gc.callbacks])
        ),
        "changes the context of decimal": _decimal(),
        "changes the timeout of sockets": _of("_socket", lambda socket: socket.getdefaulttimeout(), None),
    }


_UNREAD = object()  # nobody knows what it was
_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")


def stream_references():
    """How often each is referred to: pytest has others in their place when a run imports something."""
    return [sys.getrefcount(getattr(sys, name, None)) for name in _STREAMS]


class _Is:
    """Equal if it is the same object, whatever that thinks of itself."""

    def __init__(self, value):
        self._value = value

    def __eq__(self, other):
        return isinstance(other, _Is) and self._value is other._value


def _of(name, read, usual):
    """`usual` as long as nobody has imported the module."""
    module = sys.modules.get(name)
    return usual if module is None else read(module)


def _kind(holder, name):
    value = getattr(holder, name, None)
    return value and type(value).__name__


def _borrowed(name):
    """A module that is not there for others if they have not imported it."""
    known = name in sys.modules
    try:
        return import_module(name)
    except ImportError:
        return None
    finally:
        if not known:
            sys.modules.pop(name, None)


_resource, _c_locale = _borrowed("resource"), _borrowed("_locale")


def _children():
    """Those that have ended are in the account of their resources."""
    ended = _resource and tuple(_resource.getrusage(_resource.RUSAGE_CHILDREN))
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except (ChildProcessError, AttributeError):
        return ended, False
    return ended, True


def _thread_count():
    threading = sys.modules.get("threading")
    return threading and len(threading.enumerate())


def _descriptors():
    for place in DESCRIPTORS:
        try:
            numbers = [int(name) for name in os.listdir(place)]
        except OSError:
            continue
        return {number: about for number, about in ((n, _file(n)) for n in numbers) if about}
    return {}


def _file(descriptor):
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None  # the list of them was read through it
    return found.st_dev, found.st_ino


def _working_directory():
    try:
        found = os.stat(".")
        return os.getcwd(), found.st_dev, found.st_ino
    except OSError as error:
        return error.errno


def _umask():
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _signals():
    handlers = []
    for number in range(1, signal.NSIG):
        try:
            handlers.append(_Is(signal.getsignal(number)))
        except ValueError:
            handlers.append(_Is(None))
    timers = [any(signal.getitimer(which)) for which in (signal.ITIMER_REAL, signal.ITIMER_PROF)]
    wakeup = signal.set_wakeup_fd(-1)
    if wakeup != -1:
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
    on_faults = _of("faulthandler", lambda faulthandler: faulthandler.is_enabled(), False)
    return handlers, timers, wakeup, on_faults, _kernel_signals()


def _kernel_signals():
    try:
        with open(STATUS, "rb") as file:
            return [int(line.split()[1], 16) & ~OF_THREADS for line in file if line.startswith(HANDLED)]
    except OSError:
        return []


def _limits():
    if _resource is None:
        return {}
    names = [name for name in dir(_resource) if name.startswith("RLIMIT_")]
    found = {name: _resource.getrlimit(getattr(_resource, name)) for name in names}
    found["priority"] = os.getpriority(os.PRIO_PROCESS, 0)
    found["processors"] = getattr(os, "sched_getaffinity", lambda _: None)(0)
    return found


def _logging():
    """Of the root: loggers of a package's own are its own business."""
    logging = sys.modules.get("logging")
    if logging is None:
        return None
    root, manager = logging.root, logging.root.manager
    return (
        [_Is(handler) for handler in root.handlers],
        [_Is(one) for one in root.filters],
        (root.level, root.disabled, manager.disable, logging.raiseExceptions),
        [_Is(one) for one in (root, manager, manager.loggerClass, manager.logRecordFactory)],
        [_Is(one) for one in (logging.getLoggerClass(), logging.getLogRecordFactory(), logging.lastResort)],
        _Is(getattr(logging, "_warnings_showwarning", None)),
    )


def _import_hooks():
    """Finders that are added at the end are hidden with the package."""
    return (
        _Beginning(sys.meta_path),
        [_Is(hook) for hook in sys.path_hooks],
        _Is(sys.path),
        _Is(sys.meta_path),
    )


class _Beginning:
    """Equal to one that has more of them at its end."""

    def __init__(self, finders):
        self._finders = [_Is(finder) for finder in finders]

    def __eq__(self, other):
        return isinstance(other, _Beginning) and other._finders[: len(self._finders)] == self._finders


def _modules():
    return _AtLeast(
        {name: _Is(module) for name, module in list(sys.modules.items())}, modules=_Is(sys.modules)
    )


class _AtLeast(dict):  # type: ignore[type-arg]
    """Equal to one that has more."""

    def __eq__(self, other):
        return all(other.get(name) == value for name, value in self.items())

    def __ne__(self, other):
        return not self == other


def _builtins():
    return {name: _Is(value) for name, value in vars(sys.modules["builtins"]).items() if name != "_"}


def _hooks():
    names = ("excepthook", "unraisablehook", "displayhook", "breakpointhook")
    threading = sys.modules.get("threading")
    return [_Is(getattr(sys, name, None)) for name in names] + [_Is(getattr(threading, "excepthook", None))]


def _tracing():
    threading = sys.modules.get("threading")
    of_threads = [_Is(getattr(threading, name, None)) for name in ("_trace_hook", "_profile_hook")]
    monitoring = getattr(sys, "monitoring", None)  # Python 3.12
    tools = monitoring and [monitoring.get_tool(number) for number in range(6)]
    return (
        _Is(sys.gettrace()),
        _Is(sys.getprofile()),
        of_threads,
        tools,
        _of("tracemalloc", lambda tracemalloc: tracemalloc.is_tracing(), False),
        tuple(map(_Is, sys.get_asyncgen_hooks())),
    )


def _interpreter():
    found = {
        "recursion limit": sys.getrecursionlimit(),
        "switch interval": sys.getswitchinterval(),
        "arguments": list(sys.argv),
        "dont_write_bytecode": sys.dont_write_bytecode,
        "pycache_prefix": getattr(sys, "pycache_prefix", None),
        "tracebacklimit": getattr(sys, "tracebacklimit", None),
        "warnoptions": list(sys.warnoptions),
    }
    for name in ("getdlopenflags", "get_int_max_str_digits", "get_coroutine_origin_tracking_depth"):
        if hasattr(sys, name):
            found[name] = getattr(sys, name)()
    return found


def _locale():
    return _c_locale and _c_locale.setlocale(_c_locale.LC_ALL, None)


def _decimal():
    """Also of one that the package was the first to import; None: as usual."""
    decimal = sys.modules.get("decimal")
    if decimal is None:
        return None
    found = []
    for context in (decimal.getcontext(), decimal.DefaultContext):
        traps = sorted(kind.__name__ for kind, is_set in context.traps.items() if is_set)
        if USUAL_CONTEXT not in repr(context) or tuple(traps) != USUAL_TRAPS:
            found.append((repr(context).partition(", flags=")[0], traps))
    return found or None
