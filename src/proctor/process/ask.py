"""Ask a program one question. Knows nothing of what is asked, or of what an answer means."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

import msgspec

from proctor.text import text_of


class Answer(msgspec.Struct, frozen=True):
    """What a program said on stdout; or, in `fault`, why that is not an answer (to follow its name)."""

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
        words = _last_words(err) or _last_words(out) or "without a word"
        return Answer(fault=f"ended with {process.returncode}: {words}")
    return Answer(text=os.fsdecode(out))


def _last_words(output: bytes) -> str:
    lines = text_of(output).splitlines()
    return "; ".join([line.strip() for line in lines if line.strip()][-3:])
