"""Local variables of the user's frames that an exception passed through, as texts. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded at
the first failure. Unless `--locals` was given, no `__repr__` of the project is run: that of a query could
access the database.
"""

load = globals()["load"]  # the loader gives it to each file
_channel, _difference = load("proctor_channel"), load("proctor_difference")
MOST_FRAMES = 10  # the innermost
MOST_NAMES = 50  # of one frame
LONGEST = 300  # characters of a value
MOST = 64 * 1024  # characters of all


def of_frames(frames, relative, real=False):
    """[{file, line, function, locals: {name: text}}] of (frame, line), outermost first; innermost first."""
    found, room = [], MOST
    for frame, line in frames[::-1][:MOST_FRAMES]:
        shown = {}
        for name, value in list(frame.f_locals.items())[:MOST_NAMES]:
            if not name.startswith(("@", "__")) and not _is_code(value) and room > 0:
                shown[name] = _real(value) if real else _difference.show(value, LONGEST)
                room -= len(name) + len(shown[name])
        code = frame.f_code
        place = {"file": relative(code.co_filename), "line": line, "function": code.co_name}
        found.append(dict(place, locals=shown))
    return found


def _is_code(value):
    """A module, a class or a function says nothing about a failure."""
    return isinstance(value, (type, type(load), type(_channel.os)))


def _real(value):
    try:
        text = repr(value)
    except Exception as error:
        text = "<%s: %s>" % (type(value).__name__, type(error).__name__)
    return text if len(text) <= LONGEST else "%s...%s" % (text[: LONGEST - 53], text[-50:])
