"""What a pytest test reports by itself: the value of the fixture `proctor_report`. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, and nothing else. Loaded when a test asks for it.
"""

import io
import os
import threading

load = globals()["load"]  # the loader gives it to each file
_channel = load("proctor_channel")
clean, dumps = _channel.clean, _channel.dumps
STATUSES = ("pass", "fail", "info", "warn", "skip", "error")
TAKEN = ("name", "status", "files", "partial", "testout", "proctor", "file", "line")


class Report:
    """The value of the fixture `proctor_report`: call it to report on a part of the running test.

    `proctor_report("pass", "login/first", files=["trace.log"])` is a result of its own under the test;
    without a name, files and further facts belong to the test itself, whose outcome is pytest's to say.
    """

    def __init__(self, nodeid, send):
        self._nodeid, self._send = nodeid, send
        self._lock = threading.Lock()

    def __call__(self, status=None, name=None, files=(), partial=False, note=None, **facts):
        if name is not None and (not isinstance(name, str) or not name):
            raise ValueError("invalid name %r: expected a string that is not empty" % (name,))
        if status is not None and status not in STATUSES:
            raise ValueError("invalid status %r; known: %s" % (status, ", ".join(STATUSES)))
        if status is not None and name is None:
            raise ValueError("a status needs a name: the status of the test itself comes from pytest")
        for key in facts:
            if key in TAKEN:
                raise ValueError("the key %r is reserved: choose another" % key)
        body = {"name": self._nodeid if name is None else "%s/%s" % (self._nodeid, name)}
        if status is not None:
            body["status"] = status
        if partial or name is None:
            body["partial"] = True
        if note is not None:
            body["note"] = str(note)
        body.update(facts)
        body = clean(body)
        sources = _sources(files)
        try:
            if sources:
                body["files"] = [{"name": clean(name), "length": size} for name, _, size in sources]
            with self._lock:
                self._send(dumps(body), [(source, size) for _, source, size in sources])
        finally:
            for _, source, _ in sources:
                source.close()


def _sources(files):
    """(name, file object, size) of paths, or of a mapping from names to paths or bytes."""
    named = (
        files.items() if hasattr(files, "items") else [(os.path.basename(str(path)), path) for path in files]
    )
    sources: "list[tuple[str, io.BufferedIOBase, int]]" = []
    for name, content in named:
        if isinstance(content, (bytes, bytearray)):
            sources.append((name, io.BytesIO(content), len(content)))
        else:
            source = open(content, "rb")  # noqa: SIM115  closed when all have been sent
            sources.append((name, source, os.fstat(source.fileno()).st_size))
    return sources
