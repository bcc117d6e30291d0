"""Chooses the listener for a process, by the way in which the process reports (`launch.Speech`)."""

from __future__ import annotations

from typing import assert_never

from proctor.launch import Build, Launch, Lines, Program, Session, Text
from proctor.listener import Listener, ProgramListener, SessionListener
from proctor.running import Running
from proctor.wire.control.ledger import Limits


def listen(run: Running, suite: int, launch: Launch, limits: Limits, test_timeout: float = 0.0) -> Listener:
    """The listener for a process of the suite with this number, by the way in which the process reports.

    `test_timeout`: seconds for each test of a session that has no limit of its own; 0: no limit.
    """
    match launch.speech:
        case Program():
            return ProgramListener(run, suite, launch, launch.speech, limits)
        case Session():
            return SessionListener(run, suite, launch, limits, test_timeout)
        case Text() | Lines():
            return _to_output(run, suite, launch, limits, launch.speech)
        case _:
            assert_never(launch.speech)


def _to_output(run: Running, suite: int, launch: Launch, limits: Limits, speech: Text | Lines) -> Listener:
    from proctor import output_listener  # most runs need no other than pytest's

    match speech:
        case Text():
            return output_listener.TextListener(run, suite, launch, limits)
        case Build():
            return output_listener.BuildListener(run, suite, launch, speech, limits)
        case _:
            return output_listener.LinesListener(run, suite, launch, speech, limits)
