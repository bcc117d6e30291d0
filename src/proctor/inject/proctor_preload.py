"""Import packages that a project wants to be preloaded, if that leaves no trace. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Each import
is watched. A package that does more than define things ends the process, which says why: another one is then
started without it.
"""

import gc
import os
import sys
import warnings
from importlib import import_module
from os import _exit  # whatever a package makes of the module

load = globals()["load"]  # the loader gives it to each file
_effects = load("proctor_effects")
_hidden = load("proctor_hidden")
_exits, _inputs, _loggers = load("proctor_exits"), load("proctor_inputs"), load("proctor_loggers")

LONGEST = 200  # characters of what a package says


def preload(names, socket):
    """Returns the packages, to be hidden when the run begins. Stops early if the run is asked for already."""
    packages = _hidden.Packages()
    for name in names:
        if socket.launched():
            break
        socket.write("importing " + name)
        why = _import(name, packages)
        if why:
            socket.end("dropped %s %s" % (name, why))
            _exit(0)
    packages.show()
    socket.write("importing ")  # what fails from now on is no fault of theirs
    return packages


def _import(name, packages):
    """Why it must not be imported before the run; empty: it is imported now."""
    process = os.getpid()
    packages.hide()  # so that it is seen which of the earlier ones this one needs
    there = dict(sys.modules), sys.meta_path[:], _loggers.known()
    inputs, exits = _inputs.Inputs(), _exits.Exits()
    with _Output() as output:
        references, before = _effects.stream_references(), _effects.state()
        error, warned = _imported(name, inputs, exits)
        if os.getpid() != process:
            _exit(0)  # a child that the package has forked, and that knows no better than to come here
        why = _effects.difference(before, _effects.state())
        del before  # it refers to them
        if references != _effects.stream_references():
            why = why or "keeps stdin, stdout or stderr"
        printed = output.read()
    if error is not None:
        return "raises " + _named(error)
    if printed:
        return "prints " + repr(printed.decode("utf-8", "replace")[:LONGEST])
    if warned:
        return "warns: " + _named(warned[0].message)
    return why or packages.add(name, there, inputs, exits)


def _imported(name, inputs, exits):
    """What it raises, and what it warns of. Filters that it sets are undone, as pytest does."""
    error = None
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            with inputs, exits:
                import_module(name)
        except BaseException as raised:
            error = raised
        gc.collect()  # what is garbage may have something to say
    return error, warned


def _named(error):
    kind = type(error).__name__
    try:
        text = str(error).strip().splitlines()[:1]
    except BaseException:
        text = []
    return ": ".join([kind, *text])[:LONGEST]


class _Output:
    """Catches what is written to stdout and stderr, however it is written."""

    def __enter__(self):
        self._streams = [stream for stream in (sys.stdout, sys.stderr) if stream is not None]
        self._flush()
        self._caught = _nameless_file()
        self._kept = [os.dup(number) for number in (1, 2)]
        for number in (1, 2):
            os.dup2(self._caught, number)
        return self

    def read(self):
        self._flush()
        os.lseek(self._caught, 0, os.SEEK_SET)
        return os.read(self._caught, 4 * LONGEST)

    def __exit__(self, *_):
        for number, kept in zip((1, 2), self._kept):
            os.dup2(kept, number)
            os.close(kept)
        os.close(self._caught)

    def _flush(self):
        for stream in self._streams:
            try:
                stream.flush()
            except (OSError, ValueError):
                pass


def _nameless_file():
    if hasattr(os, "memfd_create"):
        return os.memfd_create("output")
    import tempfile  # pytest has imported it

    descriptor, path = tempfile.mkstemp()
    os.unlink(path)
    return descriptor
