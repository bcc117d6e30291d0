"""Writes down what the process is like: when this is imported, when the session starts, and at its end."""

import json
import os
import sys

MAIN = os.getpid()  # not that of a worker
IN_XDIST = sys.argv[0] == "-c"  # in one of its workers: who asks for their names cannot be forked


def write(name, **more):
    """The modules first: what looks at the rest imports some."""
    modules = sorted(sys.modules)
    from state import state

    with open(os.path.join("..", "seen", name), "w") as file:
        json.dump({"modules": modules, **state(), **more}, file)


LOADED = sorted(sys.modules)


def pytest_sessionstart():
    if not IN_XDIST:
        write("start", loaded=LOADED)


def pytest_unconfigure():
    if os.getpid() == MAIN and not IN_XDIST:
        write("end")
