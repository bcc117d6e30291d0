"""Which tests stay together when workers run them. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else.
"""

PIECES = 4  # of a fair share: into so many a file is divided that would keep the other workers waiting
WORTH_SECONDS = 0.05  # a file that takes less is not divided: what its tests share would be set up again


class Group:
    """Numbers of tests, in the order of their collection."""

    def __init__(self, by_mark):
        self.by_mark, self.tests = by_mark, []


def groups(items, workers, order=None, one_each=False):
    """Lists of tests, the longest first: files, or what marks say. What is longer than a fair share is
    divided by class, then by test, unless a mark made it. None: there is nothing to divide among workers.

    `order` is what earlier runs say: how long tests take, and which ones come first. Without it, all tests
    take the same time. `one_each`: each test is a list of its own.
    """
    names = [item.nodeid for item in items]
    weights = order.weights(names) if order is not None else [1] * len(items)
    if one_each:
        divided = [[number] for number in range(len(items))]
    else:
        found: "dict[tuple[bool, str], Group]" = {}
        for number, item in enumerate(items):
            mark = group_name(item)
            key = (mark is not None, mark or item.nodeid.partition("::")[0])
            found.setdefault(key, Group(mark is not None)).tests.append(number)
        if len(items) < 2 or (len(found) == 1 and next(iter(found.values())).by_mark):
            return None
        share = Share(weights, workers, order is not None and order.seconds)
        divided = [part for group in found.values() for part in _parts(group, items, share)]
    if order is not None:
        return order.sorted(divided, names, weights)
    return sorted(divided, key=len, reverse=True)


class Share:
    """What is fair for each worker."""

    def __init__(self, weights, workers, is_time):
        self.weights = weights
        self.fair = sum(weights) / workers
        self.most = max(self.fair, WORTH_SECONDS) if is_time else self.fair

    def weight(self, tests):
        return sum(self.weights[test] for test in tests)

    def exceeds(self, tests):
        return self.weight(tests) > self.most

    def pieces(self, tests):
        """Neighbours, up to a part of a fair share."""
        found: "list[list[int]]" = []
        left = 0.0
        for test in tests:
            if not found or self.weights[test] > left:
                found.append([])
                left = self.fair / PIECES
            found[-1].append(test)
            left -= self.weights[test]
        return found


def group_name(item):
    """The name of its `xdist_group`; of several, all together, as in xdist."""
    names = {_name(mark) for mark in item.iter_markers("xdist_group")}
    return "_".join(sorted(names)) if names else None


def _name(mark):
    return str(mark.args[0] if mark.args else mark.kwargs.get("name", "default"))


def _parts(group, items, share):
    tests = group.tests
    if group.by_mark or not share.exceeds(tests):
        return [tests]
    if len({items[test].nodeid for test in tests}) < len(tests):
        return [tests]  # tests of the same name could not be told apart if they ran at the same time
    return [part for members in _classes(tests, items) for part in _pieces(members, share)]


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


def _pieces(tests, share):
    return share.pieces(tests) if share.exceeds(tests) else [tests]
