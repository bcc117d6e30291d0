"""Run a project's unittest tests in forked workers. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Loaded when
workers were asked for. This process has loaded the tests; it forks workers, hands out modules, and passes on
what they report. Classes and modules are set up and torn down by unittest itself, in each worker.
"""

import os
import sys
import unittest

load = globals()["load"]  # the loader gives it to each file
_pool, _safety, _loading = load("proctor_pool"), load("fork_safety"), load("unittest_loading")
_channel = load("proctor_channel")


class Feed(unittest.TestSuite):
    """The tests of one worker, in the order in which they come."""

    _cleanup = False  # there is no list from which tests could be taken

    def __init__(self, job, tests, result, maxfail):
        unittest.TestSuite.__init__(self)
        self.job, self.tests, self.report, self.maxfail = job, tests, result, maxfail
        self.current = None
        self.report.pending = self.pending

    def pending(self):
        """Names of tests that this worker, and no other, is to run."""
        return {getattr(self.tests[number], _loading.NAME) for number in (self.current, *self.job.coming)}

    def __iter__(self):
        for number, _ in self.job.tests():
            failed = self.report.failed
            self.current = number
            yield self.tests[number]
            failures = self.report.failed - failed
            for _ in range(failures):
                if 0 < self.maxfail <= self.job.board.add_failure(self.job.number):
                    self.job.board.stop()  # at once, not when the coordinator hears of it
            self.job.tell("ended", number, failures)
            self.job.flush()


class Voice:
    """The channel of a worker: what it sends reaches the coordinator, which passes it on."""

    def __init__(self, job):
        self.job = job

    def send(self, text, blobs=b""):
        self.job.tell("sent", text, blobs)
        self.job.flush()  # a crash may come next


class Workers:
    """The client of the pool."""

    def __init__(self, session, loaded):
        self.session, self.loaded, self.asked = session, loaded, session.asked
        self.channel = session.channel
        self.channel_fd = self.channel.fd
        self.names = list(loaded.tests)
        by_name = {getattr(test, _loading.NAME): test for test in _loading.leaves(loaded.suite)}
        self.tests = [by_name[name] for name in self.names]
        self.failed, self.bad = 0, False

    def run(self):
        """Whether there were workers."""
        isolate, count = self.asked.get("isolate", False), self.asked.get("workers", 0)
        groups = self._groups(count, isolate)
        if not groups:
            return False
        why = _safety.living_threads() if os.path.isdir(_safety.TASKS) else "this system does not say enough"
        if why:
            option = "-n %d" % count if count else "--isolate"
            words = "%s is not used, the tests run in one process: %s" % (option, why)
            self.channel.session({"notices": [words]})
            return False
        self.channel.session({"timed": True})
        _pool.Pool(self, groups, min(count or 1, len(groups)), isolate).work()
        return True

    def _groups(self, count, isolate):
        """Those with a test that failed last come first, then the longest."""
        order = self.session.order
        weights = order.weights(self.names) if order is not None else [1] * len(self.names)
        every = [[number] for number in range(len(self.names))]
        groups = every if isolate else _groups(self.tests, count, weights)
        if not groups or (isolate and (order is None or count < 2)):
            return groups
        if order is not None:
            return order.sorted(groups, self.names, weights)
        return sorted(groups, key=len, reverse=True)

    # In a worker

    def run_job(self, job):
        import faulthandler

        faulthandler.enable(file=job.dump)
        self.session.channel = Voice(job)
        report, output = self.session.result(self.loaded)
        report.more = {"worker": job.name}
        try:
            Feed(job, self.tests, report, self.session.maxfail).run(report)
        except KeyboardInterrupt as error:
            job.tell("interrupted", self.session.failure(error, str(error) or "KeyboardInterrupt"))
        finally:
            output.close()
        if report.bad:
            job.tell("bad")

    # Of the pool

    def prepare(self, number):
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        self.channel.flush()

    def idle(self):
        pass

    def limit(self, test):
        return self.asked.get("test_timeout") or 0.0

    def stopping(self):
        return bool(self.session.maxfail) and self.failed >= self.session.maxfail

    def begun(self, worker, test):
        pass  # its own report says so

    def ended(self, worker, test, failures):
        self.failed += failures

    def died(self, worker, test, death):
        self.bad = True
        name = self.names[test]
        self.failed += not load("unittest_result").excused(self.session)(name)
        facts = {"worker": worker.name, "death": death}
        body = {"name": name, "status": "error", "proctor": facts}
        self.channel.send(_channel.dumps(_channel.clean(body)))

    def lost(self, worker, death):
        raise RuntimeError("worker %s ended after its last test: %s" % (worker.name, _pool.how(death)))

    def said(self, worker, kind, *message):
        if kind == "sent":
            self.channel.send(*message)
        elif kind == "bad":
            self.bad = True
        else:  # interrupted
            raise KeyboardInterrupt

    def ending(self, error):
        if isinstance(error, KeyboardInterrupt):
            self.channel.session({"interrupted": {"type": "KeyboardInterrupt"}})

    def parted(self, error, interrupted):
        pass


def _groups(tests, workers, weights):
    """Modules; one that is longer than a fair share is divided by class, unless it has something to set up
    for all of them. None: there is nothing to divide among workers."""
    modules: "dict[str, list[int]]" = {}
    for number, test in enumerate(tests):
        modules.setdefault(type(test).__module__, []).append(number)
    share = sum(weights) / workers
    groups = []
    for module, members in modules.items():
        if sum(weights[number] for number in members) <= share or _has_fixtures(module):
            groups.append(members)
            continue
        classes: "dict[type, list[int]]" = {}
        for number in members:
            classes.setdefault(type(tests[number]), []).append(number)
        groups += classes.values()
    return groups if len(groups) > 1 else None


def _has_fixtures(module):
    known = vars(sys.modules.get(module, object))
    return "setUpModule" in known or "tearDownModule" in known
