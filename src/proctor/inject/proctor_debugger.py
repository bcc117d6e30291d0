"""How to debug a test that stopped at a breakpoint when no terminal was there. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded at a
failure that a debugger may have caused.
"""

from shlex import quote

load = globals()["load"]  # the loader gives it to each file
_channel = load("proctor_channel")
os, sys = _channel.os, _channel.sys  # those of the start: a test may have replaced them by now
DEBUGGERS = ("pdb", "bdb")  # modules


def add_note(facts, value, arguments, here):
    """Adds the command that runs the test with a debugger to the facts of its failure, if it is about one."""
    is_debugged, frame = _debugged(value)
    if not is_debugged:
        return
    note = "debug: %s%s -m %s" % (_change(here), _python(here), " ".join(map(quote, arguments)))
    facts["notes"] = [*facts.get("notes", ()), note]
    if frame is not None and "place" not in facts:
        facts["place"] = {"file": _channel.relative(frame.f_code.co_filename, here), "line": frame.f_lineno}


def pytest_arguments(nodeid, root, here, in_worker):
    """`nodeid` begins at pytest's root, and a target where pytest is started."""
    file, colons, rest = nodeid.partition("::")
    target = _channel.relative(os.path.join(root, file), here) + colons + rest
    return ["pytest", *(["-n0"] if in_worker else []), "--pdb", target]


def _debugged(value):
    """Whether a debugger raised this, because it could not read a command, and the frame that it was in."""
    traceback, is_debugged, found = value.__traceback__, False, None
    while traceback is not None:
        frame = traceback.tb_frame
        if frame.f_globals.get("__name__") in DEBUGGERS:
            is_debugged = True
            inner = frame.f_locals.get("frame")
            found = inner if hasattr(inner, "f_code") else found
        traceback = traceback.tb_next
    return is_debugged, found


def _change(here):
    """The command that leads from the user's directory to that of the tests; nothing if they are the same."""
    at = os.environ.get("PWD", "")
    return "" if at and os.path.realpath(at) == os.path.realpath(here) else "cd %s && " % quote(here)


def _python(here):
    """This interpreter as one would type its name."""
    for name in ("python", "python3"):
        for folder in os.environ.get("PATH", "").split(os.pathsep):
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                if os.path.abspath(path) == os.path.abspath(sys.executable):
                    return name
                break
    below = os.path.relpath(sys.executable, here)
    return quote(sys.executable if below.startswith(os.pardir) else below)
