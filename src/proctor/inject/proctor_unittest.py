"""Run a project's unittest tests and report them on proctor's control channel. PYTEST_DONT_REWRITE

Runs as a script in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else.
Loading, fixtures and outcomes are unittest's own; only the reporter differs from `python -m unittest`.
"""

import os
import sys
from time import time

CHUNK = 500  # tests in one message
STOPPED, USAGE, NOTHING = 2, 4, 5  # exit statuses, as proctor reads them
ASKED_VARIABLE = "PROCTOR_ASKED"


def _loader():
    home = os.path.join(os.path.dirname(os.path.abspath(__file__)), "path")
    sys.path.insert(0, home)
    try:
        from _proctor_injected_load import load  # type: ignore[import-not-found]
    finally:
        sys.path.remove(home)
    return load


load = _loader()
_channel, _loading = load("proctor_channel"), load("unittest_loading")


class Session:
    """One run: load the tests, run them, report them, and give the exit status."""

    def __init__(self, options, asked):
        self.options, self.asked, self.here = options, asked, os.getcwd()
        self.order = None  # by what earlier runs say
        self.explain = _channel.Explain("unittest_failures", self.here, options.pattern)
        self.channel = _channel.take()
        if self.channel is None:
            stop("this is started by `proctor run --runner unittest`")
        self.channel.session({"python": sys.version.split()[0]})
        suite = {"root": self.here, "cwd": self.here}
        if self.maxfail:
            suite["maxfail"] = self.maxfail
        self.channel.session({"suite": suite})

    @property
    def maxfail(self):
        """Failures after which it stops; 0: it does not."""
        return self.asked.get("maxfail", self.options.maxfail)

    def failure(self, error, shown=None):
        plain = {"type": type(error).__name__, "message": shown or type(error).__name__}
        return self.explain("plainly", error, shown) or plain

    def perform(self):
        """The exit status."""
        began = time()
        try:
            status = by_tests = self._run()
        except KeyboardInterrupt as error:
            facts = self.failure(error, str(error) or "KeyboardInterrupt")
            self.channel.session({"interrupted": facts})
            status, by_tests = STOPPED, None
        now = time()
        finished = {
            "exit_status": status,
            "duration": _channel.took(now - began),
            "created": _channel.took(now),
            "by_tests": None if by_tests == USAGE else by_tests,
        }
        self.channel.session({"finished": finished}, status="fail" if status else "pass", partial=False)
        return status

    def _run(self):
        import warnings

        try:
            loaded = _loading.Loaded(self.options)
        except _loading.NoSuchTest as error:
            return refused(str(error))
        if "order" in self.asked:
            self.order = load("proctor_order").Order(self.asked["order"], self.here, self.here)
            loaded.put_first(self.order)
        if "part" in self.asked:
            loaded.keep_part(load("proctor_part").Part(self.asked["part"]))
        if "only" in self.asked:
            loaded.keep(load("proctor_only").Only(self.asked["only"]))
        self._report(loaded)
        if self.options.list:
            return 1 if loaded.errors else 0 if loaded.tests else NOTHING
        imports = None
        if "imports" in self.asked:
            imports = load("proctor_imports").Imports(self.asked["imports"], _channel.dumps)
        with warnings.catch_warnings():
            if not sys.warnoptions:
                warnings.simplefilter("default")
            bad = self._run_tests(loaded)
        if imports is not None:
            imports.write(
                [file for file, _, _ in loaded.errors] + [t.partition("::")[0] for t in loaded.tests]
            )
        if loaded.errors or bad:
            return 1
        return 0 if loaded.tests else NOTHING

    def _run_tests(self, loaded):
        """Whether something failed."""
        if self.asked.get("workers") or self.asked.get("isolate"):
            workers = load("unittest_workers").Workers(self, loaded)
            if workers.run():
                return workers.bad
        result, output = self.result(loaded)
        try:
            loaded.suite.run(result)
        finally:
            output.close()
        return not result.wasSuccessful()

    def result(self, loaded):
        """What unittest reports to, and the output that it captures."""
        results = load("unittest_result")
        output = results.NotCaptured() if self.options.no_capture else results.Output()
        return results.Result(self, loaded, output), output

    def _report(self, loaded):
        for file, error, text in loaded.errors:
            failure = self.failure(error)
            self.channel.session({"collection_errors": [{"id": file, "longrepr": text, "failure": failure}]})
        if loaded.deselected:
            self.channel.session({"deselected": loaded.deselected})
        names = list(loaded.tests)
        for start in range(0, len(names), CHUNK):
            part = names[start : start + CHUNK]
            found = [self._child(name, loaded.tests[name]) for name in part]
            collector = {"id": "", "outcome": "passed", "children": [child for child in found if child]}
            self.channel.session({"selected": part, "collectors": [collector]})
        self.channel.session({"collection_ended": time()})

    @staticmethod
    def _child(name, known):
        """Where a test is, if it is in the file that it is named after."""
        if not known.line or known.file != name.partition("::")[0]:
            return None
        return {"id": name, "type": known.kind, "line": known.line - 1, "tested": True}


def refused(message):
    """The exit status."""
    sys.stderr.write("proctor: error: %s\n" % message)
    sys.stderr.flush()
    return USAGE


def stop(message):
    sys.exit(refused(message))


def parsed(arguments):
    import argparse

    parser = argparse.ArgumentParser("proctor unittest")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--keywords", default="")
    parser.add_argument("--maxfail", type=int, default=0)
    parser.add_argument("--no-capture", action="store_true", help="let tests write to stdout and stderr")
    parser.add_argument("--locals", action="store_true", help="show local variables in tracebacks")
    parser.add_argument("-s", "--start-directory", default=".", help="where to look for tests")
    parser.add_argument("-p", "--pattern", default="test*.py", help="pattern of the names of test files")
    parser.add_argument("-t", "--top-level-directory", help="top-level directory of the project")
    parser.add_argument("targets", nargs="*")
    parser.error = stop  # type: ignore[method-assign]
    return parser.parse_args(arguments)


def main():
    import faulthandler

    home = os.path.dirname(os.path.abspath(__file__))
    if sys.path and os.path.abspath(sys.path[0]) == home:
        sys.path[0] = os.getcwd()  # as `python -m unittest` has it
    options, asked = parsed(sys.argv[1:]), os.environ.pop(ASKED_VARIABLE, "")
    sys.argv = [os.path.basename(sys.executable) + " -m unittest", *options.targets]
    if not faulthandler.is_enabled():
        faulthandler.enable(os.dup(2))  # not what a test makes of it
    request = _channel.loads(asked or "{}")
    if "files" in request:  # before any code of the project is loaded
        load("proctor_files").watch(request["files"])
    sys.exit(Session(options, request).perform())


if __name__ == "__main__":
    main()
