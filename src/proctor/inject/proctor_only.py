"""Which tests are meant: by a list of ids, or by patterns. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded in
later sessions of a suite, and where some tests are in quarantine.
"""

import re

_channel = globals()["load"]("proctor_channel")  # the loader gives `load` to each file


class Only:
    """The tests of a session: by id, in the order of the file that names them.

    An id may be that of several tests. `skip` is how many of them have run before.
    """

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            asked = _channel.loads(file.read())
        self.tests, self.skip = asked["tests"], asked.get("skip", {})

    def of(self, items, name):
        """Those of the items that are asked for; `name` gives the id of one."""
        by_id: "dict[str, list[object]]" = {}
        for item in items:
            by_id.setdefault(_channel.literal(name(item)), []).append(item)
        left = {test: iter(found[self.skip.get(test, 0) :]) for test, found in by_id.items()}
        chosen = (next(left.get(test, iter(())), None) for test in self.tests)
        return [item for item in chosen if item is not None]


class Patterns:
    """Ids, in which `*` stands for any text and `?` for any character; everything else is literal."""

    def __init__(self, patterns):
        self.exact = {pattern for pattern in patterns if "*" not in pattern and "?" not in pattern}
        globs = [_expression(pattern, at) for at, pattern in enumerate(patterns) if pattern not in self.exact]
        self.globs = re.compile("|".join(globs), re.DOTALL) if globs else None
        self.known: "dict[str, bool]" = {}

    def match(self, test):
        """Whether one of them is this id, as the channel carries it."""
        found = self.known.get(test)
        if found is None:
            name = _channel.literal(test)
            found = name in self.exact or bool(self.globs and self.globs.fullmatch(name))
            self.known[test] = found
        return found


def _expression(pattern, number):
    """What is between two * is looked for once, without a way back: a long pattern does not take longer and
    longer. `number` tells its groups from those of other patterns."""
    first, *rest = [re.escape(part).replace(r"\?", ".") for part in re.split(r"\*+", pattern)]
    for place, part in enumerate(rest[:-1]):
        group = "p%d_%d" % (number, place)
        first += "(?=(?P<%s>.*?%s))(?P=%s)" % (group, part, group)
    return "(?:%s)" % (first + ".*" + rest[-1] if rest else first)
