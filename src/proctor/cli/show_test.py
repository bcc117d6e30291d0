"""`proctor show --test`: one test of a run that is kept, or one file of that test."""

from __future__ import annotations

import codecs
import os
import shutil
import sys

import msgspec

from proctor.archive.inside import open_inside
from proctor.archive.lookup import KeptRun, kept_locals, whole_difference
from proctor.errors import UsageError
from proctor.render.kept_test import kept_test_text, locals_text
from proctor.render.masking import masked_values
from proctor.render.neutral import neutral_block
from proctor.wire.document.schema import Test
from proctor.wire.literal import encode_line

# 1: first published form.
SCHEMA = "proctor.test/1"

_LOOKED_AT = 1 << 13  # bytes by which a file is judged to be text
_PIECE = 1 << 18  # bytes


def show_test(run: KeptRun, name: str, file: str | None, form: str, mask: bool) -> None:
    """Writes one test of a run, or one file of that test. Files and JSON are never masked."""
    if form not in ("auto", "human", "json"):
        raise UsageError(f"invalid --format {form!r} for one test: expected human or json")
    test = run.test(name)
    if file is not None:
        _show_file(run, test, file)
    else:
        _show_test(run, test, form, mask)


def show_difference(run: KeptRun, name: str, mask: bool) -> None:
    """Writes all that differs between the values that a test compared."""
    text = whole_difference(run, run.test(name))
    _write(neutral_block(masked_values(text) if mask else text))


def show_locals(run: KeptRun, name: str, mask: bool) -> None:
    """Writes the local variables of a test that failed."""
    frames = kept_locals(run, run.test(name))
    _write(locals_text(masked_values(frames) if mask else frames))


def _show_test(run: KeptRun, test: Test, form: str, mask: bool) -> None:
    captured, below = run.document.captured(test.node_id), run.below(test.node_id)
    if form != "json":
        if mask:
            test, captured, below = masked_values((test, captured, below))
        _write(kept_test_text(test, captured, below, str(run.folder), run.notes))
        return
    answer = {
        "schema": SCHEMA,
        "run_id": run.document.run_id,
        "run_outcome": run.document.outcome,
        "directory": str(run.folder),
        "notes": run.notes,
        "test": msgspec.to_builtins(test) | ({"captured": captured} if captured else {}),
        "results_below": below,
    }
    sys.stdout.buffer.write(encode_line(answer))


def _show_file(run: KeptRun, test: Test, name: str) -> None:
    paths = {file.name: file.path for file in test.files}
    if test.testout is not None:
        paths.setdefault(test.testout.name, test.testout.path)
    if name not in paths:
        hint = f"it has {', '.join(paths)}" if paths else "it has none"
        raise UsageError(f"{test.node_id} has no file {name!r}; {hint}")
    try:
        descriptor = open_inside(run.folder, paths[name])
    except OSError as error:
        raise UsageError(f"file {name!r} cannot be read: {error.strerror}: {paths[name]}") from None
    with os.fdopen(descriptor, "rb") as file:
        if not sys.stdout.isatty():
            shutil.copyfileobj(file, sys.stdout.buffer, _PIECE)
            return
        head = file.peek(_LOOKED_AT)[:_LOOKED_AT]
        try:
            codecs.getincrementaldecoder("utf-8")().decode(head)
        except UnicodeDecodeError:
            head = b"\0"
        if b"\0" in head:
            raise UsageError(f"file {name!r} is not text: redirect it (`> FILE`, `| less`)")
        decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        while piece := file.read(_PIECE):
            _write(neutral_block(decoder.decode(piece)))


def _write(text: str) -> None:
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
