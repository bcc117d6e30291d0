"""Listens to processes that print their results instead of reporting them on the control channel."""

from __future__ import annotations

from proctor import events as e
from proctor.launch import Artifact, Launch, Lines
from proctor.listener import SessionListener
from proctor.outcome import RunOutcome
from proctor.running import Running
from proctor.wire import exit_status
from proctor.wire.control.ledger import Limits


class TextListener(SessionListener):
    """The process prints its results for people, as pytest does."""

    def __init__(self, run: Running, suite: int, launch: Launch, limits: Limits) -> None:
        from proctor.wire.reports.pytest_text import TextReader  # for old pytests only: no start waits for it

        self._text = TextReader(launch.name)
        super().__init__(run, suite, launch, limits)

    def _read_text(self, stream: str, text: str) -> None:
        super()._read_text(stream, text)
        if stream == "stdout":
            self._publish(self._text.feed(text))

    def _end(self, exit_code: int | None, signal: str | None) -> None:
        self._publish(self._text.close())
        super()._end(exit_code, signal)


class LinesListener(SessionListener):
    """The process prints its results on stdout, in a format that has a reader."""

    heeds_maxfail = False  # it only prints its results

    def __init__(self, run: Running, suite: int, launch: Launch, lines: Lines, limits: Limits) -> None:
        from proctor.wire.reports.lines import LineReader  # likewise

        self._wanted = lines.wanted
        self._lines = LineReader(launch.name, launch.cwd, lines)
        super().__init__(run, suite, launch, limits)

    @property
    def artifacts(self) -> tuple[Artifact, ...]:
        return self._lines.artifacts

    def _read(self, stream: str, data: bytes, final: bool = False) -> None:
        if stream != "stdout":
            super()._read(stream, data, final)
            return
        if data:
            self._output.write(data)
        self._lines.stopped = self.stopped is not None
        self._tell(self._lines.feed(data))

    def _tell(self, events: list[e.Event]) -> None:
        """Publishes what was read from stdout; what is no result there is output."""
        for event in events:
            if isinstance(event, e.OutputReceived):
                SessionListener._read_text(self, "stdout", event.text)
        self._publish(events)

    def _read_text(self, stream: str, text: str) -> None:
        super()._read_text(stream, text)
        self._lines.hear(text)

    def _end(self, exit_code: int | None, signal: str | None) -> None:
        self._tell(self._lines.close(exit_code, self._run.result.suites[self._suite]))
        super()._end(exit_code, signal)

    def _explain_status(self, exit_code: int) -> e.StatusExplained | None:
        """Exit statuses have no special meaning here, but a requested test may not exist."""
        if not self._wanted:
            return None
        from proctor.failure_row import unescaped  # few ask for what only the run can tell

        suite = self._run.result.suites[self._suite]
        if exit_code or self.stopped is not None or suite.errors or suite.session.channel_error is not None:
            return None
        known = suite.tests.keys() | set(suite.selected)
        absent = [name for name in self._wanted if known.isdisjoint((name, unescaped(name)))]
        return (
            e.StatusExplained(RunOutcome.USAGE_ERROR, f"not found: {', '.join(absent)}") if absent else None
        )


class BuildListener(LinesListener):
    """The process prints what it builds."""

    heeds_maxfail = True

    def _explain_status(self, exit_code: int) -> e.StatusExplained | None:
        why = exit_status.complaint(self._stderr.text()) if exit_code else ""
        return e.StatusExplained(RunOutcome.COLLECTION_ERROR, why) if why else None
