"""What plugins print after the tests: a coverage table, benchmarks, snapshots. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded when
the tests have run, if anybody beside pytest itself prints a summary. All of it is printed as ever: this only
takes note of it.
"""

import re
import sys
from collections import deque

import pytest

load = globals()["load"]  # the loader gives it to each file
MOST = 256 * 1024  # characters that are kept: half at the head, half at the tail
PIECE = 32 * 1024  # characters in one message
_COLOURS = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_DURATIONS = "runner"  # the plugin of pytest that prints the slowest tests


class Text:
    """The head and the tail of a text of any length."""

    def __init__(self):
        self.head, self.head_size = [], 0
        self.tail: "deque[str]" = deque()
        self.tail_size = self.left_out = 0

    def add(self, text):
        room = MOST // 2 - self.head_size
        if room > 0:
            self.head.append(text[:room])
            self.head_size += len(self.head[-1])
            text = text[room:]
        if not text:
            return
        self.tail.append(text)
        self.tail_size += len(text)
        while self.tail_size - len(self.tail[0]) >= MOST // 2:
            self.left_out += len(self.tail[0])
            self.tail_size -= len(self.tail.popleft())

    def whole(self):
        tail = "".join(self.tail)
        left_out = self.left_out + max(0, len(tail) - MOST // 2)
        tail = tail[-(MOST // 2) :]
        mark = "\n[... %d characters left out ...]\n" % left_out if left_out else ""
        return _COLOURS.sub("", "".join(self.head) + mark + tail).lstrip("\n")


class Summary:
    """Notes what is written while the summary is made, but for the sections of pytest itself."""

    def __init__(self, config, send):
        self.config, self.send = config, send
        self.text = Text()
        self.muted = 0  # or how many sections of pytest are under way
        self.writing = False  # a stream may write to another that is watched as well
        self.undo = []

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_terminal_summary(self, terminalreporter):
        try:
            self._watch(terminalreporter)
        except Exception:
            pass  # the text is still in the output
        yield
        try:
            while self.undo:
                self.undo.pop()()
            text = self.text.whole()
            if text.strip():
                for start in range(0, len(text), PIECE):
                    self.send({"printed": text[start : start + PIECE]})
        except Exception:
            pass

    def _watch(self, reporter):
        for name in dir(type(reporter)):
            if name.startswith("summary_") or name == "short_test_summary":
                method = getattr(reporter, name)
                if callable(method):
                    self._put(reporter, name, self._muted(method))
        for known in self.config.hook.pytest_terminal_summary.get_hookimpls():
            if known.plugin_name == _DURATIONS:
                self._mute(known)
        streams: "list[object]" = []
        for stream in (getattr(getattr(reporter, "_tw", None), "_file", None), sys.stdout, sys.stderr):
            if stream is not None and all(stream is not other for other in streams):
                streams.append(stream)
                self._put(stream, "write", self._noted(stream.write))

    def _put(self, owner, name, function):
        """Shadows a method of one object until the summary is made."""
        try:
            before = vars(owner).get(name)
            setattr(owner, name, function)
        except (AttributeError, TypeError):
            return  # an object without attributes of its own
        self.undo.append(lambda: _put_back(owner, name, function, before))

    def _mute(self, implementation):
        before = implementation.function
        implementation.function = self._muted(before)
        self.undo.append(lambda: setattr(implementation, "function", before))

    def _muted(self, function):
        def muted(*args, **kwargs):
            self.muted += 1
            try:
                return function(*args, **kwargs)
            finally:
                self.muted -= 1

        return muted

    def _noted(self, write):
        def noted(text):
            if self.muted or self.writing or not self.undo or not isinstance(text, str):
                return write(text)
            self.writing = True
            try:
                return write(text)
            finally:
                self.writing = False
                self.text.add(text)

        return noted


def _put_back(owner, name, function, before):
    if vars(owner).get(name) is not function:
        return  # somebody else has put something there since
    if before is None:
        delattr(owner, name)
    else:
        setattr(owner, name, before)
