"""What a worker and its coordinator have in common, and the worker's own side. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, the standard library and nothing else. Knows no
test framework: a test is a number.
"""

import marshal
import mmap
import os
import struct
from collections import deque
from time import monotonic, sleep  # taken at the start: a test may replace the clock

LENGTH = struct.Struct("<II")  # and what every message begins with
HIT_SECONDS = 0.2  # for a signal to arrive
_COUNT = struct.Struct("<I")
SIGN = 0x70726F63
_exit, _getpid = os._exit, os.getpid
_dumps, _loads = marshal.dumps, marshal.loads


def frame(message):
    try:
        data = _dumps(message)
    except ValueError:
        data = _dumps(_marshallable(message))
    return LENGTH.pack(SIGN, len(data)) + data


def messages(sign, data):
    """None if these are not ours."""
    try:
        return _loads(bytes(data)) if sign == SIGN else None
    except (EOFError, ValueError, TypeError):
        return None


def _marshallable(value):
    """The same value, with the text of everything that is no plain value."""
    if value is None or type(value) in (bool, int, float, str, bytes):
        return value
    if isinstance(value, (bool, int, float, str)):  # of a class that has more to it
        return next(kind(value) for kind in (int, float, str) if isinstance(value, kind))
    if isinstance(value, dict):
        return {_marshallable(key): _marshallable(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple([_marshallable(item) for item in value])
    if isinstance(value, (list, set, frozenset)):
        return [_marshallable(item) for item in value]
    try:
        return str(value)
    except Exception:
        return "<unprintable: %s>" % type(value).__name__


class Board:
    """What all processes see at once: whether all are to stop, which worker is late, who saw failures."""

    def __init__(self, size):
        self.memory = mmap.mmap(-1, 1 + size + (size + 1) * _COUNT.size)
        self.size = size

    @property
    def stopped(self):
        return self.memory[0] != 0

    def stop(self):
        self.memory[0] = 1

    def is_late(self, worker):
        return self.memory[1 + worker] != 0

    def set_late(self, worker, late):
        self.memory[1 + worker] = late

    def add_failure(self, worker):
        """Each counts its own; the number of all."""
        first = 1 + self.size
        at = first + worker * _COUNT.size
        _COUNT.pack_into(self.memory, at, _COUNT.unpack_from(self.memory, at)[0] + 1)
        return sum(_COUNT.unpack_from(self.memory, first + n * _COUNT.size)[0] for n in range(self.size + 1))


class Job:
    """In a worker: the tests that come, and the way back."""

    def __init__(self, name, number, end, dump, groups, board, first, only):
        """`dump` is a file for what faulthandler writes; `only` the `first` group is to run."""
        self.name, self.number, self.dump = name, number, dump
        self._socket, self._groups, self.board, self._pid = end, groups, board, _getpid()
        self.coming: "deque[int]" = deque(groups[first[0]][first[1] :])  # not begun
        self._one_each = self._last = only  # nobody hands out more
        self._held = []

    @property
    def stopped(self):
        """Whether no more tests are to begin."""
        return self.board.stopped

    @property
    def is_late(self):
        """Whether the coordinator has interrupted this test, or is about to."""
        return self.board.is_late(self.number)

    def settle(self):
        """A test that has ended in the moment in which it was interrupted: the next one is not to be hit."""
        if self.is_late:
            until = monotonic() + HIT_SECONDS
            while monotonic() < until:
                sleep(0.01)

    def tests(self):
        """Each test with the one that follows it, or None."""
        while True:
            test = self._next()
            if test is None:
                return
            self.coming.popleft()
            following = self._next()
            self.board.set_late(self.number, False)
            self._held.append(("begun", test))
            self.flush()
            if self._one_each:  # the fork costs so much more that it can wait until this is known
                self._read(1)
            yield test, following
            if self.stopped:
                return

    def _next(self):
        """Asks for more only when it has to: others may need it sooner."""
        while not self.coming and not self._last:
            self._held.append(("wants",))
            self.flush()
            handed = self._receive()
            if handed is None:
                self._last = True
            else:
                group, start = handed
                self.coming.extend(self._groups[group][start:])
        return self.coming[0] if self.coming else None

    def _receive(self):
        _, length = LENGTH.unpack(self._read(LENGTH.size))
        return _loads(self._read(length))

    def _read(self, size):
        data = b""
        while len(data) < size:
            try:
                piece = self._socket.recv(size - len(data))
            except OSError:
                piece = b""
            if not piece:
                _exit(1)  # the coordinator is gone
            data += piece
        return data

    def tell(self, *message):
        """Reaches the coordinator with the beginning of the next test, or with `flush`."""
        self._held.append(message)

    def flush(self):
        if _getpid() != self._pid:
            _exit(0)  # a process that a test has forked, and that has left the test: it runs no others
        if not self._held:
            return
        held, self._held = self._held, []
        try:
            self._socket.sendall(frame(held))
        except OSError:
            _exit(1)  # the coordinator is gone, or a test has closed what was not its own
