"""The verbs of the command line, called in this process."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from contextlib import redirect_stderr
from pathlib import Path
from unittest.mock import patch

from proctor.cli import convert, show


def converted(data: bytes, target: str, source: str = "auto") -> tuple[int, bytes, str]:
    """Exit code, output and stderr of `proctor convert`."""
    with tempfile.TemporaryDirectory() as directory:
        before, after = Path(directory, "in"), Path(directory, "out")
        before.write_bytes(data)
        said = io.StringIO()
        with redirect_stderr(said):
            code = convert.main([str(before), "--from", source, "--to", target, "-o", str(after)])
        return code, after.read_bytes(), said.getvalue()


def shown(path: Path, form: str = "human") -> tuple[int, str]:
    """Exit code and stdout of `proctor show`."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8")
    with patch.object(sys, "stdout", out), redirect_stderr(io.StringIO()), patch.dict(os.environ):
        os.environ.pop("GITHUB_STEP_SUMMARY", None)
        code = show.main([str(path), "--format", form])
        out.flush()
        return code, out.buffer.getvalue().decode()
