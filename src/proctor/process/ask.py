"""Runs a program for what it writes to stdout."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from proctor.text import text_of


class Answer(msgspec.Struct, frozen=True):
    """What a program wrote to stdout; or, in `fault`, what went wrong, to follow its name in a message."""

    text: str = ""
    fault: str = ""


def ask(argv: Sequence[str], cwd: str, environ: Mapping[str, str], seconds: float) -> Answer:
    """Run a program without input until it ends; if that takes too long, kill it and its children."""
    import signal
    import subprocess

    try:
        process = subprocess.Popen(
            argv,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        return Answer(fault=f"cannot be started: {error.strerror}{where}")
    with process:
        try:
            out, err = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            return Answer(fault=f"did not answer within {seconds:g} s")
        finally:
            if process.returncode is None:  # too late, or the user interrupted us
                os.killpg(process.pid, signal.SIGKILL)
    if process.returncode:
        lines = [line.strip() for line in text_of(err if err.strip() else out).splitlines() if line.strip()]
        output = "; ".join(lines[-3:]) or "no output"
        return Answer(fault=f"ended with {process.returncode}: {output}")
    return Answer(text=os.fsdecode(out))
