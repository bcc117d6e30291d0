"""Everything that a test could notice about its process, as JSON. Python 3.7 or newer."""

import atexit
import builtins
import contextvars
import faulthandler
import gc
import locale
import logging
import os
import re
import resource
import signal
import subprocess
import sys
import threading
import time
import traceback
import warnings

import __main__


def state():
    return {
        "interpreter": interpreter(),
        "main": {name: shown(value) for name, value in vars(__main__).items()},
        "builtins": sorted(vars(builtins)),
        "stack": [list(frame)[:3] for frame in traceback.extract_stack()],
        "environment": environment(),
        "descriptors": descriptors(),
        "signals": signals(),
        "process": process(),
        "limits": {name: resource.getrlimit(getattr(resource, name)) for name in LIMITS},
        "warnings": [shown(one) for one in warnings.filters],
        "logging": loggers(),
        "locale": [locale.setlocale(locale.LC_ALL), locale.getpreferredencoding(False)],
        "rest": rest(),
    }


LIMITS = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
SYS = (
    *("argv", "orig_argv", "path", "flags", "warnoptions", "_xoptions", "executable", "_base_executable"),
    *("prefix", "dont_write_bytecode", "pycache_prefix", "meta_path", "path_hooks", "stdin", "stdout"),
    *("excepthook", "displayhook", "unraisablehook", "breakpointhook", "__stderr__", "__stdout__"),
    *("implementation", "float_repr_style", "platlibdir", "last_value", "tracebacklimit"),
)
ASKED_OF_SYS = (
    *("getrecursionlimit", "getswitchinterval", "gettrace", "getprofile", "getfilesystemencoding"),
    *("getfilesystemencodeerrors", "getdefaultencoding", "getdlopenflags", "get_asyncgen_hooks"),
    *("get_coroutine_origin_tracking_depth", "get_int_max_str_digits", "is_stack_trampoline_active"),
)


def interpreter():
    found = {name: shown(getattr(sys, name)) for name in SYS if hasattr(sys, name)}
    found.update((name, shown(getattr(sys, name)())) for name in ASKED_OF_SYS if hasattr(sys, name))
    found["hash"] = hash("a") if os.environ.get("PYTHONHASHSEED") else None
    return found


def environment():
    """As Python has it, and as a child gets it."""
    inherited = subprocess.run(["env", "-0"], stdout=subprocess.PIPE, check=True).stdout
    of_child = dict(line.split("=", 1) for line in inherited.decode().split("\0") if line)
    return {"own": masked(dict(os.environ)), "of a child": masked(of_child)}


def masked(variables):
    """The names of variables that are the run's own; the values of others."""
    of_run = ("PROCTOR_", "PYTEST_XDIST_TESTRUNUID", "PYTEST_XDIST_WORKER", "_")  # which worker is chance
    return {name: "" if name.startswith(of_run) else value for name, value in variables.items()}


def descriptors():
    found = {}
    for name in os.listdir("/proc/self/fd"):
        try:
            target = re.sub(r"\d+|tmp\w+", "N", os.readlink("/proc/self/fd/" + name))
            found[name] = [target, os.get_inheritable(int(name)), os.get_blocking(int(name))]
        except OSError:
            pass  # the one that lists them
    return found


def signals():
    numbers = range(1, signal.NSIG)
    handlers = {int(number): handler(number) for number in numbers if number not in (32, 33)}
    with open("/proc/self/status") as file:
        kernel = [line.split() for line in file if line.startswith(("Sig", "Shd"))]
    return {
        "handlers": handlers,
        "kernel": [words for words in kernel if words[0] != "SigQ:"],
        "mask": sorted(map(int, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
        "timers": [signal.getitimer(which) for which in (0, 1, 2)],
        "wakeup": signal.set_wakeup_fd(-1),
    }


def handler(number):
    try:
        return shown(signal.getsignal(number))
    except ValueError:
        return None


def process():
    umask = os.umask(0)
    os.umask(umask)
    with open("/proc/self/status") as file:
        status = dict(line.rstrip("\n").split(":\t", 1) for line in file)
    with open("/proc/%d/cmdline" % os.getppid()) as file:
        parent = file.read().split("\0")[:5]
    kept = ("Name", "Umask", "Groups", "Seccomp", "NoNewPrivs", "CapEff", "Cpus_allowed", "Threads")
    return {
        "umask": umask,
        "cwd": os.getcwd(),
        "leads": [os.getpid() == os.getpgrp(), os.getpid() == os.getsid(0)],
        "group of parent": os.getpgid(os.getppid()) == os.getpgrp(),
        "parent": parent,
        "priority": os.getpriority(os.PRIO_PROCESS, 0),
        "status": {name: status.get(name) for name in kept},
        "threads": [(thread.name, thread.daemon) for thread in threading.enumerate()],
        "main thread": threading.current_thread() is threading.main_thread(),
    }


def loggers():
    root, manager = logging.getLogger(), logging.Logger.manager
    return {
        "root": [root.level, root.disabled, [shown(one) for one in root.handlers + root.filters]],
        "known": sorted(manager.loggerDict),
        "off": manager.disable,
        "classes": [shown(logging.getLoggerClass()), shown(logging.getLogRecordFactory())],
        "levels": logging._levelToName,
        "errors": logging.raiseExceptions,
    }


def rest():
    return {
        "garbage": [gc.isenabled(), gc.get_threshold(), gc.get_debug(), [shown(one) for one in gc.callbacks]],
        "at exit": atexit._ncallbacks(),
        "faulthandler": faulthandler.is_enabled(),
        "time zone": [time.tzname, time.timezone],
        "context": [shown(one) for one in contextvars.copy_context()],
        "stack size": threading.stack_size(),
        "sitecustomize": getattr(sys.modules.get("sitecustomize"), "__file__", None),
        "showwarning": shown(warnings.showwarning),
    }


def shown(value):
    """What can be compared of an object."""
    return re.sub(r"0x[0-9a-f]+", "0x", repr(value))
