"""Run each test several times and report the worst try. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded for
`--repeat`. To pytest a test is still one test, with the reports of one try: the first that failed,
or the last.
"""

import pytest

load = globals()["load"]  # the loader gives it to each file
PHASES = ("setup", "call", "teardown")


class Repeat:
    def __init__(self, times, observer):
        self.times, self.observer = times, observer
        self.runner = observer.config.pluginmanager.get_plugin("runner")  # pytest's own

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item, nextitem):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        chosen, messages, failed = None, [], 0
        for number in range(1, self.times + 1):
            last = number == self.times
            if number > 1 and hasattr(item, "_initrequest"):
                item._initrequest()  # its fixtures are made anew; those that the next test shares stay
            reports = self.runner.runtestprotocol(item, nextitem=nextitem, log=False)
            facts = {phase: self.observer.pinned.pop((item.nodeid, phase), None) for phase in PHASES}
            if any(report.failed for report in reports):
                failed += 1
                messages += [message for message in self._messages(facts) if message not in messages]
                if failed == 1:
                    chosen = reports, facts
            elif last and chosen is None:
                chosen = reports, facts
            if item.session.shouldstop or item.session.shouldfail:
                break
        self._log(item, chosen or (reports, facts), messages, failed, number)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        return True

    def _messages(self, facts):
        failures = [known["failure"] for known in facts.values() if known and known.get("failure")]
        return [failure["message"] for failure in failures]

    def _log(self, item, chosen, messages, failed, tries):
        reports, facts = chosen
        notes = ["failed in %d of %d tries" % (failed, tries)]
        notes += ["another try: %s" % message for message in messages[1:3]]
        noted = False
        for report in reports:
            known = facts.get(report.when)
            if report.failed and known and known.get("failure") and not noted:
                noted = True
                known["failure"]["notes"] = known["failure"].get("notes", []) + notes
            if known:
                self.observer.pinned[item.nodeid, report.when] = known
            item.ihook.pytest_runtest_logreport(report=report)
