"""A pytest plugin for the benchmark: how long proctor's own hooks take inside a real session.

Loaded before proctor's plugin, in its process. Each of its hooks for a test is wrapped in two looks at the
clock; medians count, so that a neighbour on the machine does not. Says on stderr, when the process ends, how
many ns a test costs: the median of each hook as often as a test has it, without what two looks cost.
"""

import atexit
import statistics
import sys
import time

import _proctor_injected_pytest as plugin  # type: ignore[import-not-found]

HOOKS = {"logstart": 1, "makereport": 3, "logreport": 3, "logfinish": 1}  # calls for a test

clock = time.perf_counter_ns


def timed(method, times):
    """The same hook; pytest goes by its arguments, so they are spelt out."""
    names = method.__code__.co_varnames[1 : method.__code__.co_argcount]
    passed = ", ".join(("self", *names))
    scope = {"method": method, "note": times.append, "clock": clock}
    exec(f"def hook({passed}):\n    begun = clock()\n    method({passed})\n    note(clock() - begun)", scope)
    hook = scope["hook"]
    hook.__dict__.update(method.__dict__)
    return hook


taken: "dict[str, list[int]]" = {}
for name in HOOKS:
    hook = f"pytest_runtest_{name}"
    setattr(plugin.Reporter, hook, timed(getattr(plugin.Reporter, hook), taken.setdefault(name, [])))


def nothing(self):
    pass


@atexit.register
def tell():
    looks: list[int] = []
    empty = timed(nothing, looks)
    for _ in range(10_000):
        empty(None)
    look = statistics.median(looks)
    each = {name: statistics.median(times) - look for name, times in taken.items()}
    print(sum(HOOKS[name] * each[name] for name in HOOKS), file=sys.stderr)
