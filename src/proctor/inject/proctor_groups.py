"""Which tests stay together when workers run them. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else.
"""

PIECES = 4  # of a fair share: into so many a file is divided that would keep the other workers waiting


class Group:
    """Numbers of tests, in the order of their collection."""

    def __init__(self, by_mark):
        self.by_mark, self.tests = by_mark, []


def groups(items, workers):
    """Lists of tests, the longest first: files, or what marks say. What is longer than a fair share is
    divided by class, then by test, unless a mark made it. None: there is nothing to divide among workers."""
    found: "dict[tuple[bool, str], Group]" = {}
    for number, item in enumerate(items):
        mark = _marked(item)
        key = (mark is not None, mark or item.nodeid.partition("::")[0])
        found.setdefault(key, Group(mark is not None)).tests.append(number)
    if len(items) < 2 or (len(found) == 1 and next(iter(found.values())).by_mark):
        return None
    share = len(items) / workers
    divided = [part for group in found.values() for part in _parts(group, items, share)]
    return sorted(divided, key=len, reverse=True)


def _marked(item):
    """The name of its `xdist_group`; of several, all together, as in xdist."""
    names = {_name(mark) for mark in item.iter_markers("xdist_group")}
    return "_".join(sorted(names)) if names else None


def _name(mark):
    return str(mark.args[0] if mark.args else mark.kwargs.get("name", "default"))


def _parts(group, items, share):
    tests = group.tests
    if group.by_mark or len(tests) <= share:
        return [tests]
    if len({items[test].nodeid for test in tests}) < len(tests):
        return [tests]  # tests of the same name could not be told apart if they ran at the same time
    most = max(1, int(share) // PIECES)
    return [part for members in _classes(tests, items) for part in _pieces(members, share, most)]


def _classes(tests, items):
    """Neighbours of the same class."""
    found: "list[list[int]]" = []
    last = None
    for test in tests:
        owner = items[test].nodeid.partition("[")[0].rpartition("::")[0]
        if owner != last:
            found.append([])
            last = owner
        found[-1].append(test)
    return found


def _pieces(tests, share, most):
    if len(tests) <= share:
        return [tests]
    return [tests[at : at + most] for at in range(0, len(tests), most)]
