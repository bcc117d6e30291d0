"""Which unittest tests there are, and by which ids. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. unittest
itself loads the tests, with `load_tests`: this module observes it, assigns IDs, and leaves out tests that
were not selected.

A test is `FILE::Class::method`, FILE being the one that it was loaded from; `FILE::name` if it has no class.
"""

import os
import re
import sys
import unittest
from copy import copy

_relative = globals()["load"]("proctor_channel").relative  # the loader gives `load` to each file
MOST_NAMED = 20  # tests in a message
HERE = os.getcwd()  # a test may leave it
USUAL_PLACES = ("tests", "test")  # looked into even if they are no packages
# Kept on the tests: unittest lets go of each test that has run, and so must we.
ORIGIN, NAME = "_proctor_file", "_proctor_name"
PLACE = "_proctor_place"  # of a module's skip
#: What unittest calls around the tests of a class or a module, by the phase that it is.
AROUND = {
    "setUpClass": "setup",
    "setUpModule": "setup",
    "tearDownClass": "teardown",
    "tearDownModule": "teardown",
}


class NoSuchTest(Exception):
    """A target that names none."""


def relative(path):
    return _relative(path, HERE)


class Loader(unittest.TestLoader):
    """Remembers which file each test was loaded from, and what kept a module from being imported."""

    def __init__(self):
        unittest.TestLoader.__init__(self)
        self.broken = {}  # module name -> exception

    def loadTestsFromModule(self, module, *args, **kwargs):
        suite = unittest.TestLoader.loadTestsFromModule(self, module, *args, **kwargs)
        file = relative(getattr(module, "__file__", None) or module.__name__)
        for test in leaves(suite):
            if not hasattr(test, ORIGIN):  # the innermost of several knows best
                setattr(test, ORIGIN, file)
        return suite

    def _get_module_from_name(self, name):
        """unittest keeps the words of an exception only."""
        try:
            __import__(name)
            return sys.modules[name]
        except BaseException as error:
            self.broken[name] = error
            raise


def leaves(suite):
    try:
        inside = iter(suite)
    except TypeError:
        yield suite
        return
    for part in inside:
        for test in leaves(part):
            yield test


def prune(suite, keep):
    """Leave the tests that `keep` wants in the suites they are in, whatever kinds of suites those are."""
    kept = []
    for part in suite:
        if isinstance(part, unittest.BaseTestSuite):
            prune(part, keep)
            kept.append(part)
        elif keep(part):
            kept.append(part)
    suite._tests = kept


def duplicate(suite):
    """Suites of the same kinds with the same tests."""
    same = copy(suite)
    same._tests = [duplicate(part) if isinstance(part, unittest.BaseTestSuite) else part for part in suite]
    return same


def top_of(directory):
    """Where the packages begin that the directory is in."""
    while os.path.isfile(os.path.join(directory, "__init__.py")):
        directory = os.path.dirname(directory)
    return directory


class Known:
    """What stays of a test."""

    __slots__ = ("file", "kind", "line", "module", "owner")

    def __init__(self, test):
        self.file, self.line = place_of(test)
        kind = type(test)
        self.kind, self.module = kind.__name__, kind.__module__
        self.owner = kind.__module__ + "." + kind.__qualname__


class Loaded:
    """Every test by its id, in the order in which they will run."""

    def __init__(self, options):
        self.options = options
        self.loader = Loader()
        self.suite = unittest.TestSuite()
        self.errors = []  # (file, exception, traceback as text)
        self.tests = {}  # id -> Known
        self.deselected = []
        self._load()
        prune(self.suite, self._is_test)
        self._select()

    def _load(self):
        options = self.options
        paths = [os.path.abspath(target.partition("::")[0]) for target in options.targets]
        for path in dict.fromkeys(paths):
            if os.path.isdir(path):
                self._discover(path, top_of(path))
            else:
                self._load_file(path)
        if options.targets:
            return
        if options.start_directory != "." or options.top_level_directory:
            start = os.path.abspath(options.start_directory)
            self._discover(start, os.path.abspath(options.top_level_directory or top_of(start)))
            return
        self._discover(HERE, HERE)
        for name in USUAL_PLACES:
            place = os.path.join(HERE, name)
            if os.path.isdir(place) and top_of(place) == place:
                self._discover(place, place)

    def _discover(self, start, top):
        try:
            self.suite.addTest(self.loader.discover(start, self.options.pattern, top))
        except Exception as error:  # of two modules with one name, or of a load_tests that gives no suite
            self._failed(relative(start), error)

    def _load_file(self, path):
        top = top_of(os.path.dirname(path))
        if top not in sys.path:
            sys.path.insert(0, top)
        name = os.path.splitext(os.path.relpath(path, top))[0].replace(os.sep, ".")
        name = name[: -len(".__init__")] if name.endswith(".__init__") else name
        try:
            module = self.loader._get_module_from_name(name)
        except unittest.SkipTest as skip:
            self.suite.addTest(skipped_module(name, skip))
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self._failed(relative(path), error)
        else:
            self.suite.addTest(self.loader.loadTestsFromModule(module))

    def _failed(self, file, error, text=""):
        import traceback

        text = text or "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.errors.append((file, error, text))

    def _is_test(self, test):
        """unittest makes a test of what it could not load."""
        if type(test).__name__ != "_FailedTest":
            self._name(test)
            return True
        name = test._testMethodName
        error = self.loader.broken.get(name) or test._exception
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None) or self._file_of(name)
        text = str(test._exception) if error is not test._exception else ""
        self._failed(relative(file), error, text.partition("\n")[2])
        return False

    def _file_of(self, name):
        """Of a module that could not be imported."""
        base = name.replace(".", os.sep)
        for place in sys.path:
            for file in (base + ".py", os.path.join(base, "__init__.py")):
                if os.path.isfile(os.path.join(place, file)):
                    return os.path.join(place, file)
        return name

    def _name(self, test):
        if hasattr(test, NAME):
            return  # the same object once more
        if type(test).__name__ == "ModuleSkipped":
            setattr(test, PLACE, self._place_of_skip(test._testMethodName))
        label = self._label(test)
        number, name = 1, label
        while name in self.tests:
            number += 1
            name = "%s#%d" % (label, number)
        setattr(test, NAME, name)
        self.tests[name] = Known(test)

    def _place_of_skip(self, name):
        """Where a module skipped itself; unittest's own code has the test that stands for it."""
        traceback = getattr(self.loader.broken.get(name), "__traceback__", None)
        while traceback is not None and traceback.tb_next is not None:
            traceback = traceback.tb_next
        if traceback is None:
            return relative(self._file_of(name)), 0
        return relative(traceback.tb_frame.f_code.co_filename), traceback.tb_lineno

    def _label(self, test):
        kind, method = type(test), getattr(test, "_testMethodName", None)
        file = getattr(test, ORIGIN, "")
        if kind.__name__ == "ModuleSkipped":
            return relative(self._file_of(method))
        if not file:
            module = sys.modules.get(kind.__module__)
            file = relative(getattr(module, "__file__", None) or kind.__module__)
        if method is None or kind.__module__.partition(".")[0] in ("unittest", "doctest"):
            return "%s::%s" % (file, test.id())
        return "%s::%s::%s" % (file, kind.__qualname__, method)

    def _select(self):
        targets = [self._as_test(target) for target in self.options.targets]
        named = [target for target in targets if "::" in target]
        files = {target.partition("::")[0] for target in named}
        whole = {target for target in targets if "::" not in target}
        broken = {file for file, _, _ in self.errors}
        for target in named:
            file = target.partition("::")[0]
            if not any(is_in(name, target) for name in self.tests) and file not in broken:
                known = [name for name in self.tests if is_in(name, file)]
                found = ", ".join(known[:MOST_NAMED]) or "none"
                raise NoSuchTest("no test %r; %s has %s" % (target, file, found))
        for name in list(self.tests):
            asked = not any(is_in(name, file) for file in files) or any(is_in(name, t) for t in named)
            asked = asked or name.partition("::")[0] in whole
            if not asked:
                del self.tests[name]
            elif not matches(self.options.keywords, name):
                del self.tests[name]
                self.deselected.append(name)
        prune(self.suite, lambda test: getattr(test, NAME) in self.tests)

    def put_first(self, order):
        """The tests that failed last, in suites like those they are in."""
        failed = [name for name in self.tests if order.is_failed(name)]
        if not failed or len(failed) == len(self.tests):
            return
        self.tests = {name: self.tests[name] for name in order.failed_first(self.tests, str)}
        first, wanted = duplicate(self.suite), set(failed)
        prune(first, lambda test: getattr(test, NAME) in wanted)
        prune(self.suite, lambda test: getattr(test, NAME) not in wanted)
        self.suite = unittest.TestSuite([first, self.suite])

    def keep_part(self, part):
        """Leave the tests of a shard; what cannot be loaded of another one is not its fault."""
        self.errors = [error for error in self.errors if not part.leaves_out(error[0])]
        self.deselected = [test for test in self.deselected if not part.leaves_out(test.partition("::")[0])]
        self._keep({test for test in self.tests if part.has(test)})

    def keep(self, only):
        """Leave the tests that a later session runs, in the order in which they are."""
        self._keep(set(only.of(self.tests, str)))

    def _keep(self, kept):
        self.tests = {name: known for name, known in self.tests.items() if name in kept}
        prune(self.suite, lambda test: getattr(test, NAME) in kept)

    @staticmethod
    def _as_test(target):
        """A target that names `setUpClass` or the like stands for the class or the module around it."""
        file, separator, rest = target.partition("::")
        outer, _, last = rest.rpartition("::")
        if last in AROUND:
            separator, rest = ("::", outer) if outer else ("", "")
        return relative(file) + separator + rest


def is_in(name, target):
    return name == target or name.startswith(target + "::")


def skipped_module(name, skip):
    """As discovery has it for a module that does not want to be run."""

    @unittest.skip(str(skip))
    def skipped(self):
        pass

    return type("ModuleSkipped", (unittest.TestCase,), {name: skipped})(name)


def matches(expression, name):
    """`expression` is words joined by and, or, not and brackets: proctor has looked at it."""
    if not expression:
        return True
    words = re.findall(r"[()]|[^\s()]+", expression)
    own = ("(", ")", "and", "or", "not")
    parts = [word if word in own else str(word.lower() in name.lower()) for word in words]
    return bool(eval(" ".join(parts), {}))


def place_of(test):
    """(file, line) of the code of a test."""
    skipped = getattr(test, PLACE, None)
    if skipped is not None:
        return skipped
    doctest = getattr(test, "_dt_test", None)
    if doctest is not None:
        return relative(doctest.filename or ""), (doctest.lineno or 0) + 1
    function = getattr(test, getattr(test, "_testMethodName", None) or "_testFunc", None)
    for _ in range(100):
        function = getattr(function, "__func__", function)
        inner = getattr(function, "__wrapped__", None)
        if inner is None:
            break
        function = inner
    code = getattr(function, "__code__", None)
    return (relative(code.co_filename), code.co_firstlineno) if code is not None else ("", 0)
