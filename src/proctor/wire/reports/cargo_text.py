"""cargo's own lines around the suites of a report: which begin, which failed, what does not compile."""

from __future__ import annotations

import re

from proctor import events as e
from proctor.result import Excerpt
from proctor.text import first_line

_STARTS = re.compile(r" +(?:Running|Doc-tests) (.+)")
_COMMAND = "`"  # with -v, cargo shows what it starts as a command: compilers as well as tests
_NOT_BUILT = re.compile(r"error: could not compile `(.+?)` ?(?:\((.+?)\))?.*")
_FAILED = re.compile(r"error: [a-z]+ failed, to rerun pass [`'](.+)[`']")
_COUNTED = re.compile(r"error: ([0-9]{1,9}) targets? failed:")
_ERROR = re.compile(r"error(?:\[E[0-9]+\])?: .+")


class CargoText:
    """Takes the lines outside of suites."""

    def __init__(self) -> None:
        self._started = 0  # suites that cargo announced
        self._newest = ""  # announced, with nothing after it yet
        self._failed: set[str] = set()
        self._counted = 0  # targets that failed, by cargo's own count
        self._error = ""  # the first that cargo reports
        self._errors = Excerpt()  # the compiler's output since its first error
        self._erring = False
        self.not_built = 0

    def suite_began(self) -> None:
        self._newest = ""

    def line(self, text: str) -> list[e.Event]:
        """What could not be compiled, if this is the line about it."""
        if text.strip():
            self._newest = ""
        if starts := _STARTS.fullmatch(text):
            self._newest = starts[1]
            self._started += not starts[1].startswith(_COMMAND)
        if broken := _NOT_BUILT.fullmatch(text):
            return [self._broken(broken, text)]
        if _ERROR.fullmatch(text):
            self._error, self._erring = self._error or text, True
            self._blame(text)
        if self._erring:
            self._errors.add(text + "\n")
        return []

    def _broken(self, broken: re.Match[str], text: str) -> e.CollectionFailed:
        words = self._errors.text() + text
        self._errors, self._erring = Excerpt(), False
        self.not_built += 1
        target = f"{broken[1]} ({broken[2]})" if broken[2] else broken[1]
        return e.CollectionFailed(target, e.Failure("", first_line(words)), words)

    def _blame(self, text: str) -> None:
        if failed := _FAILED.fullmatch(text):
            self._failed.add(failed[1])
        elif counted := _COUNTED.fullmatch(text):
            self._counted = int(counted[1])

    def gap(self, suites: int, failed: int) -> str:
        """What does not agree with as many suites, and as many of them that failed or have no end."""
        if self._newest or self._started > suites:
            newest = f", the last of them {self._newest}" if self._newest else ""
            return f"cargo started {max(self._started, suites + 1)} suites{newest}; {suites} began"
        blamed = max(self._counted, len(self._failed))
        if blamed > failed:
            named = f" ({', '.join(sorted(self._failed))})" if self._failed else ""
            return f"cargo says that {blamed} suites failed{named}; {failed} did"
        return f"cargo reported {self._error!r}" if self._error and not (failed or self.not_built) else ""
