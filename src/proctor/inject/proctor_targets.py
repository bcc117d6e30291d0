"""Tests that are named as a row of the failure index writes them. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer. Whether an id stands for
itself is known when its file has been collected, and a file cannot be collected twice: so pytest is given the
file, and the tests that were not asked for are deselected.
"""

import os
import re

import pytest

load = globals()["load"]  # the loader gives it to each file
_SUBTEST = re.compile(r" [\[(]")  # what describes a subtest begins so; pytest selects whole tests


class Targets:
    """Takes the place of those among pytest's arguments that are about the files of such ids."""

    def __init__(self, config):
        self.here, self.unescaped = str(config.invocation_params.dir), load("../failure_row").unescaped
        files = {self._file(arg) for arg in config.args if len(set(self._meanings(arg))) > 1}
        named = [arg for arg in config.args if "::" in arg and self._file(arg) in files]
        whole = [self._file(arg) for arg in config.args if "::" not in arg]
        self.named = [arg for arg in named if not any(_is_below(self._file(arg), path) for path in whole)]
        args = [arg.partition("::")[0] if arg in named else arg for arg in config.args]
        config.args[:] = list(dict.fromkeys(args))

    def _file(self, arg):
        return os.path.abspath(os.path.join(self.here, arg.partition("::")[0]))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        # file -> names -> items
        found: "dict[str, dict[str, list[pytest.Item]]]" = {self._file(arg): {} for arg in self.named}
        for item in items:
            of_file = found.get(str(getattr(item, "path", None) or item.fspath))
            if of_file is not None:
                of_file.setdefault(item.nodeid.partition("::")[2], []).append(item)
        wanted = set()
        for arg in self.named:
            chosen = self._chosen(arg, found[self._file(arg)])
            if not chosen:
                raise pytest.UsageError("not found: %s" % arg)
            wanted.update(chosen)
        narrowed = {item for of_file in found.values() for same in of_file.values() for item in same}
        items[:] = [item for item in items if item in wanted or item not in narrowed]

    def _chosen(self, arg, of_file):
        """The items of the first meaning that has any."""
        for meant in self._meanings(arg):
            starts = (meant + "::", meant + "[")
            chosen = [same for name, same in of_file.items() if name == meant or name.startswith(starts)]
            if chosen:
                return [item for same in chosen for item in same]
        return []

    def _meanings(self, arg):
        """As it is, without its escapes, then without the description of a subtest."""
        names = arg.partition("::")[2]
        plain = self.unescaped(names)
        ends = [found.start() for found in _SUBTEST.finditer(plain)]
        return [names, plain] + [plain[:end] for end in reversed(ends)]


def _is_below(path, place):
    return path == place or path.startswith(os.path.join(place, ""))
