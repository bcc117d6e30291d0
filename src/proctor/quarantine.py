"""Which tests are in quarantine: by their IDs, or by patterns in which only * and ? are special."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate

from proctor import events as e
from proctor.spec import Quarantined


class Quarantine:
    """Remembers which of its entries have matched a test."""

    def __init__(self, entries: Iterable[Quarantined]) -> None:
        self._reasons: dict[str, str] = {}
        for entry in entries:
            self._reasons[entry.test] = self._reasons.get(entry.test) or entry.reason
        self._patterns = {test: _compiled(test) for test in self._reasons if "*" in test or "?" in test}
        self._matched: set[str] = set()

    def matching(self, tests: Iterable[str]) -> dict[str, str]:
        """Those that are in quarantine, each with the first reason that an entry gives, or an empty one."""
        found: dict[str, str] = {}
        for test in tests:
            entries = [test] if test in self._reasons else []
            entries += [text for text, pattern in self._patterns.items() if pattern.match(test)]
            if entries:
                self._matched.update(entries)
                found[test] = next(filter(None, map(self._reasons.__getitem__, entries)), "")
        return found

    def marked(self, events: Iterable[e.Event], known: Mapping[str, str]) -> list[e.Event]:
        """The events, with one before the first that is about tests in quarantine; `known` are such tests.

        What a test reports beside its own result is in quarantine with it.
        """
        marked: list[e.Event] = []
        known = dict(known)
        for event in events:
            if found := self._new(event, known):
                known |= found
                marked.append(e.TestsQuarantined(found))
            marked.append(event)
        return marked

    def _new(self, event: e.Event, known: Mapping[str, str]) -> dict[str, str]:
        match event:
            case e.TestsSelected():
                return self.matching(event.tests)
            case e.TestStarted() if event.test not in known:
                return self.matching((event.test,))
            case e.TestFinished() if event.test not in known:
                if event.part_of in known:
                    return {event.test: known[event.part_of]}
                return self.matching((event.test,))
        return {}

    def unmatched(self, everything: bool) -> list[str]:
        """A notice about each entry that has matched no test; none unless `everything` ran."""
        tests = [test for test in self._reasons if test not in self._matched] if everything else []
        return [f"quarantine: {test!r} matches no test" for test in tests]


def _compiled(pattern: str) -> re.Pattern[str]:
    """What is between two * is looked for once: a long pattern does not take longer and longer."""
    return re.compile(translate(pattern.replace("[", "[[]")))
