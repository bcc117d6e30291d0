"""What a package that was imported early wants to be done at the exit. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. A run that
never imports the package must not do it, and any other in its order.
"""

import atexit


class Exits:
    """Notes, while it is entered, what is registered."""

    def __init__(self):
        self._noted = []

    def __enter__(self):
        self._register = atexit.register
        atexit.register = self._note  # type: ignore[assignment]

    def __exit__(self, *_):
        atexit.register = self._register

    def _note(self, function, *args, **kwargs):
        self._noted.append((function, args, kwargs))
        return self._register(function, *args, **kwargs)

    def keep(self, tops):
        """Only those of the modules below these names; others are seen by everybody."""
        self._noted = [one for one in self._noted if _module(one[0]).partition(".")[0] in tops]

    def hide(self):
        for function, _, _ in self._noted:
            atexit.unregister(function)

    def show(self):
        for function, args, kwargs in self._noted:
            atexit.register(function, *args, **kwargs)


def _module(function):
    name = getattr(function, "__module__", None)
    return name if isinstance(name, str) else ""
