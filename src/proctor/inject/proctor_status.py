"""Whether the reports of a session explain its exit status. PYTEST_DONT_REWRITE

Runs in the interpreter of the tests: Python 3.7 or newer, pytest 6.2 or newer, and nothing else. Loaded at
the end of a session that has an exit status other than 0.
"""

INTERRUPTED, NOTHING = 2, 5  # exit statuses of pytest


class Marked(int):
    """An exit status that is recognised until somebody sets another, even an equal one."""

    def __or__(self, other):
        """syrupy adds its own status by this, always, and that can be asked for."""
        return self if int(self) | int(other) == int(self) else int(self) | int(other)


class Explained:
    """The exit status from before other plugins finish the session until they have."""

    def __init__(self, session, failed, broken):
        """`failed` reports were seen, of which `broken` are collection errors."""
        self.snapshots = 0  # the status that syrupy adds
        self.original = session.exitstatus
        self.status = None
        if not failed:
            expected = [0 if session.testscollected else NOTHING]
        else:
            expected = [1, INTERRUPTED] if broken else [1]
        if self.original in expected:
            self.status = session.exitstatus = Marked(self.original)
            self._watch(getattr(session.config, "_syrupy", None))

    def _watch(self, syrupy):
        finish = getattr(syrupy, "finish", None)
        if finish is None:
            return

        def noted():
            self.snapshots = finish()
            return self.snapshots

        syrupy.finish = noted

    def end(self, session):
        """The status, if nobody but the tests had a part in it; None if somebody had, or may have had."""
        if self.status is None or session.exitstatus is not self.status:
            return None
        session.exitstatus = self.original
        return None if self.snapshots else int(self.status)
