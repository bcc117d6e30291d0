"""Run one shard of a plan with pytest. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. pytest gets
the arguments of a run of all shards, so that its root, its settings and the ids are the same.
"""

import os

import pytest

load = globals()["load"]  # the loader gives it to each file
_channel = load("proctor_channel")
ALWAYS = ("__init__.py", "conftest.py")  # files that pytest needs for others


class OfPart:
    """Comes after every plugin that selects or sorts: their order stays, and so does what they leave out."""

    def __init__(self, config, path):
        self.part = load("proctor_part").Part(path)
        self.root = str(getattr(config, "rootpath", None) or config.rootdir)

    def _is_ignored(self, path):
        """True, or None: others may decide."""
        inside = path.startswith(self.root + os.sep)
        if not inside or os.path.basename(path) in ALWAYS or os.path.isdir(path):
            return None
        return True if self.part.leaves_out(_channel.relative(path, self.root)) else None

    def _keep(self, items):
        items[:] = [item for item in items if self.part.has(item.nodeid)]

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        yield
        self._keep(items)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session):
        """A conftest.py that was found during collection may have come after us."""
        if hasattr(session, "items"):  # a controller of xdist has none
            self._keep(session.items)


class Newer(OfPart):
    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, collection_path):
        return self._is_ignored(str(collection_path))


class Older(OfPart):
    """pytest 6."""

    @pytest.hookimpl(tryfirst=True)
    def pytest_ignore_collect(self, path):
        return self._is_ignored(str(path))


def of_part(config, path):
    kind = Older if pytest.__version__.startswith("6.") else Newer
    return kind(config, path)
