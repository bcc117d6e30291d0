"""Which tests begin first, by what earlier runs say. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded where
tests that failed last are to run first, and where workers are to begin with the longest.
"""

import os

_channel = globals()["load"]("proctor_channel")  # the loader gives `load` to each file
SHORTEST = 0.001  # seconds: what a test costs beside itself


class Order:
    """`base` is what the names of tests are relative to, `here` what the order has them relative to."""

    def __init__(self, path, base, here):
        with open(path, encoding="utf-8") as file:
            asked = _channel.loads(file.read())
        self.failed = set(asked.get("failed", ()))
        self.seconds, self.usual = asked.get("seconds", {}), asked.get("usual", 0.0)
        self.base, self.here = str(base), str(here)
        self.files = {}  # of the framework -> of the order

    def _name(self, test):
        test = _channel.literal(test)
        if self.base == self.here:
            return test
        file, mark, rest = test.partition("::")
        if file not in self.files:
            self.files[file] = os.path.relpath(os.path.join(self.base, file), self.here)
        return self.files[file] + mark + rest

    def is_failed(self, test):
        """Whether it failed when it last ran, or its file could not be collected."""
        name = self._name(test)
        return name in self.failed or name.partition("::")[0] in self.failed

    def failed_first(self, tests, name):
        """Each part as it was; `name` gives the id of a test."""
        if not self.failed:
            return list(tests)
        return sorted(tests, key=lambda test: not self.is_failed(name(test)))

    def weights(self, names):
        """What each test costs. Where no time is known, all cost the same."""
        if not self.seconds:
            return [1] * len(names)
        return [max(SHORTEST, self.seconds.get(self._name(name), self.usual)) for name in names]

    def sorted(self, groups, names, weights):
        """Lists of numbers of tests: those with one that failed last, then the longest."""
        failed = [self.is_failed(name) for name in names] if self.failed else [False] * len(names)

        def rank(group):
            return not any(failed[test] for test in group), -sum(weights[test] for test in group)

        return sorted(groups, key=rank)
