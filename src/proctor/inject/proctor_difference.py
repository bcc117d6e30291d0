"""Where two values differ, in a few short lines. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. The values
are the project's: their methods may raise, hang or return nonsense. So nothing here runs a `__repr__`
of the project's own classes, nor an `__eq__` that the comparison under test had not to run as well: of such
objects the state is read. Work is counted in steps, not in time, for a test may have replaced the clock.
"""

import sys

MOST_STEPS = 20000  # pairs of values looked at
MOST_DIFFERENCES = 5  # shown one by one; further ones are counted
MOST_LINES = 8  # of a difference between two texts
MOST_COMPARED = 1000  # lines of a text that are aligned, after what is equal at both ends
MOST_WHOLE = 1 << 20  # characters of all that differs
LONGEST = 200  # characters of a line
SHOWN = 80  # characters of a value
DEEPEST = 20
LEAD = 42  # equal characters at an end that are left out, all but CONTEXT of them: as pytest does it
CONTEXT = 10

SCALARS = (int, float, complex, bool, type(None))
KEYS = (str, bytes, tuple, *SCALARS)
CONTAINERS = (dict, list, tuple, set, frozenset)
OWN_WORDS = ("datetime", "decimal", "fractions", "ipaddress", "pathlib", "uuid", "re", "numpy", "pandas")


def difference(left, right):
    """A few lines, and all of it as a text if that is more; nothing where no difference can be shown.

    `left` is what came first in the comparison.
    """
    search = Search()
    try:
        search.compare(left, right, "", 0)
    except TooMuch:
        search.exhausted = True
    return search.lines(), search.whole()


class TooMuch(Exception):
    """More to look at than we may."""


class Search:
    """Walks two values side by side and collects the places where they part."""

    def __init__(self):
        self.found = []
        self.all, self.size, self.cut = [], 0, False  # `cut`: a difference is shown in part
        self.count = 0
        self.steps = 0
        self.exhausted = False

    def lines(self):
        lines = [line for found in self.found for line in found]
        more = self.count - len(self.found)
        if more > 0:
            lines.append("%d%s more differences" % (more, "+" if self.exhausted else ""))
        return lines

    def whole(self):
        """Empty if the lines have it all."""
        if not self.cut and self.count <= MOST_DIFFERENCES:
            return ""
        more = ["... more than this is not looked at"] if self.exhausted or self.size > MOST_WHOLE else []
        return "\n".join(self.all + more)

    def add(self, path, text="", lines=(), all_lines=None):
        """A difference; `all_lines` are given if `lines` are only a part of them."""
        self.count += 1
        head = ("at %s: %s" % (path, text) if path else text).rstrip()
        if len(self.found) < MOST_DIFFERENCES:
            self.found.append([head, *lines])
            self.cut = self.cut or all_lines is not None
        for line in [head, *(lines if all_lines is None else all_lines)]:
            if self.size <= MOST_WHOLE:
                self.all.append(line)
                self.size += len(line) + 1

    def compare(self, left, right, path, depth):
        self.steps += 1
        if self.steps > MOST_STEPS or depth > DEEPEST:
            raise TooMuch
        if left is right:
            return
        if isinstance(left, str) and isinstance(right, str):
            self.texts(str.__str__(left), str.__str__(right), path)
        elif isinstance(left, SCALARS) and isinstance(right, SCALARS):
            if not _plainly_equal(left, right):
                self.unequal(left, right, path)
        elif isinstance(left, (bytes, bytearray)) and isinstance(right, (bytes, bytearray)):
            self.binary(bytes(left), bytes(right), path)
        elif _is_a(left, dict) and _is_a(right, dict):
            self.mappings(left, right, path, depth)
        elif _is_a(left, (set, frozenset)) and _is_a(right, (set, frozenset)):
            self.sets(left, right, path)
        elif _same_sequence(left, right):
            self.sequences(left, right, path, depth)
        else:
            self.objects(left, right, path, depth)

    def unequal(self, left, right, path):
        mine, other = show(left), show(right)
        if mine == other and type(left) is not type(right):
            mine, other = "%s %s" % (type(left).__name__, mine), "%s %s" % (type(right).__name__, other)
        self.add(path, "%s != %s" % (mine, other))

    def texts(self, left, right, path):
        if left == right:
            return
        if len(left) + len(right) <= SHOWN and "\n" not in left + right:
            self.add(path, "%r != %r" % (left, right))
            return
        start = common_start(left, right)
        if "\n" not in left and "\n" not in right:
            place = ("%s character %d" % (path, start)).strip()
            self.add(place, lines=_pair(*_around(right, left, start)))
            return
        where = "line %d" % (left.count("\n", 0, start) + 1)
        pairs, note = differing_lines(left, right)
        if len(pairs) > 1:
            where += ", %s lines differ" % format(len(pairs), ",")
        short = pairs[: MOST_LINES // 2] if len(pairs) * 2 > MOST_LINES else pairs
        lines = [line for pair in short for line in _pair(*pair)] + note
        every = [line for pair in pairs for line in _pair(*pair)] + note if short is not pairs else None
        self.add(("%s %s" % (path, where)).strip(), lines=lines, all_lines=every)

    def binary(self, left, right, path):
        if left == right:
            return
        start = common_start(left, right)
        begin = max(0, start - CONTEXT)
        pieces = tuple(repr(value[begin : start + 3 * CONTEXT]) for value in (left, right))
        self.add(("%s byte %d" % (path, start)).strip(), "%s != %s" % pieces)

    def mappings(self, left, right, path, depth):
        for key, value in dict.items(left):
            if not isinstance(key, KEYS) and self.count:
                continue  # looking it up would run code of its class that the test did not run
            if dict.__contains__(right, key):
                self.compare(value, dict.__getitem__(right, key), "%s[%s]" % (path, show(key)), depth + 1)
            else:
                self.add("%s[%s]" % (path, show(key)), "only on the left: %s" % show(value))
        for key, value in dict.items(right):
            if not dict.__contains__(left, key):
                self.add("%s[%s]" % (path, show(key)), "only on the right: %s" % show(value))

    def sets(self, left, right, path):
        texts = []
        for name, mine, other in (("left", left, right), ("right", right, left)):
            alone = sorted([show(value) for value in set.difference(set(mine), other)])
            if alone:
                texts.append("only on the %s: %s" % (name, listed(alone)))
        if texts:
            self.add(path, "; ".join(texts))

    def sequences(self, left, right, path, depth):
        kind = next((plain for plain in (list, tuple) if isinstance(left, plain)), type(left))
        names = getattr(type(left), "_fields", None) if kind is tuple else None
        ours, theirs = kind.__len__(left), kind.__len__(right)
        for at, (mine, other) in enumerate(zip(kind.__iter__(left), kind.__iter__(right))):
            place = ".%s" % names[at] if names else "[%d]" % at
            self.compare(mine, other, path + place, depth + 1)
        if ours != theirs:
            longer, name = (left, "left") if ours > theirs else (right, "right")
            rest = [show(value) for value in list(kind.__iter__(longer))[min(ours, theirs) :]]
            self.add("%s[%d]" % (path, min(ours, theirs)), "only on the %s: %s" % (name, listed(rest)))

    def objects(self, left, right, path, depth):
        if "_pytest" in (_library(left), _library(right)):
            return  # an approximation explains itself
        if type(left) is not type(right):
            self.unequal(left, right, path)
        elif _library(left) == "numpy" and getattr(left, "shape", ()):
            self.arrays(left, right, path)
        elif _library(left) == "pandas" and hasattr(left, "columns"):
            self.frames(left, right, path)
        elif _speaks_for_itself(left):
            if not _asked(left, right):
                self.unequal(left, right, path)
        else:
            self.states(left, right, path, depth)

    def states(self, left, right, path, depth):
        """Objects of the project. Their own idea of equality is asked for only as far as the test did."""
        generated = _compared_fields(left)
        if path and generated is None and (self.count or _asked(left, right)):
            return
        before = self.count
        mine, other = state(left, generated), state(right, generated)
        for name in mine:
            if name in other:
                self.compare(mine[name], other[name], "%s.%s" % (path, name), depth + 1)
        if self.count > before:
            return
        kind = type(left)
        if kind.__eq__ is object.__eq__:  # type: ignore[comparison-overlap]
            self.add(path, "%s has no __eq__: two objects, compared by identity" % kind.__name__)
        elif path:
            self.unequal(left, right, path)

    def arrays(self, left, right, path):
        if left.shape != right.shape:
            self.add(path, "shape %s != %s" % (left.shape, right.shape))
            return
        if left.dtype == object or right.dtype == object:
            return
        unequal = ~((left == right) | ((left != left) & (right != right)))
        total = int(unequal.sum())
        if not total:
            return
        first = tuple(int(part[0]) for part in unequal.nonzero())
        place = "%s[%s]" % (path, ", ".join([str(part) for part in first]))
        mine, other = show(left[first].item()), show(right[first].item())
        self.add(place, "%s != %s (%d of %d elements differ)" % (mine, other, total, unequal.size))

    def frames(self, left, right, path):
        for what in ("columns", "index"):
            mine, other = (list(getattr(table, what)[:MOST_COMPARED]) for table in (left, right))
            if mine != other:
                self.compare(mine, other, "%s.%s" % (path, what), DEEPEST - 1)
                return
        for name in list(left.columns)[:MOST_COMPARED]:
            place = "%s[%s]" % (path, show(name))
            mine, other = left[name], right[name]
            if str(mine.dtype) != str(other.dtype):
                self.add(place, "dtype %s != %s" % (mine.dtype, other.dtype))
            elif mine.to_numpy().dtype != object:
                self.arrays(mine.to_numpy(), other.to_numpy(), place)
            else:
                self.compare(
                    mine.tolist()[:MOST_COMPARED], other.tolist()[:MOST_COMPARED], place, DEEPEST - 1
                )


# What may be asked of a value ---------------------------------------------------------------------------


def _library(value):
    return str(type(value).__module__).partition(".")[0]


def _speaks_for_itself(value):
    """Its words and comparisons are known code, not the project's."""
    return _library(value) in OWN_WORDS or _library(value) == "builtins" or _is_enum(value)


def _is_enum(value):
    enum = sys.modules.get("enum")
    return enum is not None and isinstance(value, enum.Enum) and type(value).__repr__ is enum.Enum.__repr__


def _plainly_equal(left, right):
    """Numbers and their like, whatever a subclass of them may say."""
    kinds = [[kind for kind in SCALARS if isinstance(value, kind)][0] for value in (left, right)]
    return kinds[0].__eq__(left, right) is True or kinds[1].__eq__(right, left) is True  # type: ignore[call-arg]


def _is_a(value, kinds):
    """One of these, or a subclass that has the same idea of equality."""
    if not isinstance(value, kinds):
        return False
    bases = kinds if isinstance(kinds, tuple) else (kinds,)
    same = [base.__eq__ for base in bases]
    return type(value).__eq__ in same or _library(value) == "collections"


def _same_sequence(left, right):
    for kind in (list, tuple):
        if isinstance(left, kind) and isinstance(right, kind):
            return _is_a(left, kind) and _is_a(right, kind)
    return type(left) is type(right) and type(left).__name__ == "deque" and _library(left) == "collections"


def _asked(left, right):
    try:
        return bool(left == right)
    except Exception:
        return False


def _compared_fields(value):
    """Names of the fields that a generated `__eq__` compares; None where it was not generated."""
    kind = type(value)
    fields = kind.__dict__.get("__dataclass_fields__")
    if isinstance(fields, dict) and getattr(kind.__eq__, "__qualname__", "").endswith(".__eq__"):
        parameters = kind.__dict__.get("__dataclass_params__")
        code = getattr(kind.__eq__, "__code__", None)
        if getattr(parameters, "eq", False) and code is not None and code.co_filename == "<string>":
            return [name for name, field in fields.items() if getattr(field, "compare", True)]
    attributes = kind.__dict__.get("__attrs_attrs__")
    code = getattr(kind.__eq__, "__code__", None)
    if attributes is not None and code is not None and "attrs" in code.co_filename:
        return [attribute.name for attribute in attributes if getattr(attribute, "eq", True)]
    return None


def state(value, names=None):
    """The attributes of an object as they are kept; no property, no `__getattr__` is run."""
    try:
        found = dict(object.__getattribute__(value, "__dict__"))
    except (AttributeError, TypeError):
        found = {}
    for kind in type(value).__mro__:
        slots = kind.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            slot = kind.__dict__.get(name)
            if type(slot).__name__ == "member_descriptor":
                try:
                    found.setdefault(name, slot.__get__(value))  # type: ignore[union-attr]
                except AttributeError:
                    pass  # never set
    return {name: found[name] for name in (found if names is None else names) if name in found}


# What a value looks like --------------------------------------------------------------------------------


def show(value, room=SHOWN, depth=0):
    """A value in at most about `room` characters."""
    try:
        text = _shown(value, room, depth)
    except Exception as error:
        text = "<%s: %s>" % (type(value).__name__, type(error).__name__)
    return text if len(text) <= room else "%s...%s" % (text[: room - 23], text[-20:])


def _shown(value, room, depth):
    kind = type(value)
    if isinstance(value, str):
        text = str.__str__(value)
        return repr(text if len(text) <= 2 * room else text[:room] + text[-room:])
    if isinstance(value, (bytes, bytearray)):
        return repr(bytes(value[: 2 * room]))
    if kind in SCALARS or (_speaks_for_itself(value) and not isinstance(value, CONTAINERS)):
        if _library(value) == "numpy" and getattr(value, "shape", ()):
            return "<array of shape %s>" % (value.shape,)
        return repr(value)
    if depth > 3:
        return "..."
    if isinstance(value, dict):
        pairs = _some(dict.items(value))
        items = ["%s: %s" % (show(key, 30, depth + 1), show(item, 30, depth + 1)) for key, item in pairs]
        return "{%s}" % listed(items, dict.__len__(value))
    for plain, brackets in zip(CONTAINERS[1:], ("[]", "()", "{}", "{}")):
        if isinstance(value, plain):
            items = [show(item, 30, depth + 1) for item in _some(plain.__iter__(value))]
            return brackets[0] + listed(items, plain.__len__(value)) + brackets[1]
    if isinstance(value, type):
        return type.__getattribute__(value, "__name__")
    names = _compared_fields(value)
    parts = ["%s=%s" % (name, show(v, 30, depth + 1)) for name, v in _some(state(value, names).items())]
    return "%s(%s)" % (kind.__name__, listed(parts)) if parts else "<%s>" % kind.__name__


def _some(values):
    return [value for value, _ in zip(values, range(6))]


def listed(texts, total=None):
    total = len(texts) if total is None else total
    more = total - len(texts[:6])
    return ", ".join(texts[:6]) + (", and %d more" % more if more > 0 else "")


# Texts --------------------------------------------------------------------------------------------------


def common_start(left, right):
    """How much is equal at the beginning."""
    low, high = 0, min(len(left), len(right))
    while low < high:
        middle = (low + high + 1) // 2
        if left[low:middle] == right[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _around(wanted, got, start):
    """Both without what is equal at their ends, all but a little of it."""
    if start > LEAD:
        wanted, got = wanted[start - CONTEXT :], got[start - CONTEXT :]
    if len(wanted) == len(got):
        end = common_start(wanted[::-1], got[::-1])
        if end > LEAD:
            wanted, got = wanted[: CONTEXT - end], got[: CONTEXT - end]
    return wanted, got


def differing_lines(left, right):
    """(line of the right, line of the left) for each that differs, and what is to be said of the last one.

    A line break at the end is no line: whether there is one is said in words.
    """
    note = []
    if left.endswith("\n") != right.endswith("\n"):
        note = ["only the %s ends with a newline" % ("left" if left.endswith("\n") else "right")]
        left, right = (text[:-1] if text.endswith("\n") else text for text in (left, right))
    return _aligned(right.split("\n"), left.split("\n")), note


def _aligned(wanted, got):
    """Pairs of lines that differ; None stands for a line that the other side does not have."""
    start = common_start(wanted, got)
    wanted, got = wanted[start:], got[start:]
    end = common_start(wanted[::-1], got[::-1])
    if end:
        wanted, got = wanted[:-end], got[:-end]
    if len(wanted) == len(got) or max(len(wanted), len(got)) > MOST_COMPARED:
        return [pair for pair in _zipped(wanted, got) if pair[0] != pair[1]]
    import difflib

    pairs = []
    matcher = difflib.SequenceMatcher(None, wanted, got, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag != "equal":
            pairs += _zipped(wanted[a:b], got[c:d])
    return pairs


def _zipped(wanted, got):
    size = max(len(wanted), len(got))
    return list(zip(wanted + [None] * (size - len(wanted)), got + [None] * (size - len(got))))


def _pair(wanted, got):
    """`-` is the right, `+` the left, as in pytest's own differences."""
    if wanted is not None and got is not None:
        if wanted.split() == got.split():
            return ["- %r" % wanted[:LONGEST], "+ %r" % got[:LONGEST]]  # the whitespace is the difference
        if max(len(wanted), len(got)) > LONGEST:
            start = max(0, common_start(wanted, got) - CONTEXT)
            wanted, got = wanted[start:], got[start:]
    return [
        "%s %s" % (sign, line[:LONGEST] if line.strip() else repr(line[:LONGEST]))
        for sign, line in (("-", wanted), ("+", got))
        if line is not None
    ]
