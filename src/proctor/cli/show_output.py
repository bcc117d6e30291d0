"""`proctor show --output`: what the processes of a kept run wrote to stdout and stderr, as it came."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import IO

from proctor.archive.inside import Folder, open_inside
from proctor.archive.lookup import read_run
from proctor.archive.store import OUTPUT_FILE
from proctor.render.neutral import neutral
from proctor.render.secrets import masked_part
from proctor.text import text_of, utf8

_PIECE = 1 << 18  # bytes
_LONGEST = 1 << 16  # bytes of a line that is still read to its end
_AROUND = 4096  # bytes before and behind a piece in which a secret may begin or end


def show_output(run: Folder, mask: bool) -> None:
    """Writes it to stdout. Processes that are a test each come one after the other, under their names."""
    found = False
    for title, path in _outputs(run):
        try:
            file = os.fdopen(open_inside(run, path), "rb")
        except OSError as error:
            if title:
                print(f"proctor: {path} cannot be read: {error.strerror}", file=sys.stderr)
            continue
        with file:
            if title:
                sys.stdout.buffer.write(utf8(f"--- {neutral(title)}\n"))
            for piece in _masked(file) if mask else _pieces(file):
                found = True
                sys.stdout.buffer.write(piece)
    if not found:
        print(f"proctor: run {run.name} has no output", file=sys.stderr)


def _outputs(run: Folder) -> Iterator[tuple[str, str]]:
    """(test or nothing, path) of each output: that of all sessions, then those of programs."""
    yield "", OUTPUT_FILE
    known = {OUTPUT_FILE}
    for test in read_run(run).document.tests:
        if test.testout is not None and test.testout.path not in known:
            known.add(test.testout.path)
            yield test.part_of or test.node_id, test.testout.path


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(_PIECE):
        yield piece


def _masked(file: IO[bytes]) -> Iterator[bytes]:
    """The bytes of a file; where one of its pieces has secrets, its text with the secrets masked."""
    before, piece = "", _whole_lines(file)
    while piece:
        following = _whole_lines(file)
        text = text_of(piece)
        around = before + text + text_of(following[:_AROUND])
        shown = masked_part(around, len(before), len(before) + len(text))
        yield piece if shown == text else utf8(shown)
        before, piece = text[-_AROUND:], following


def _whole_lines(file: IO[bytes]) -> bytes:
    return file.read(_PIECE) + file.readline(_LONGEST)
