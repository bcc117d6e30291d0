"""The schema that CTRF's own package brings."""

from __future__ import annotations

import json
import subprocess
import tarfile
from typing import Any

import pytest

from support.projects import CACHE, GUARD


@pytest.fixture(scope="module")
def ctrf_schema() -> dict[str, Any]:
    """The schema that CTRF's own package brings."""
    home = CACHE / "ctrf"
    archive = home / "ctrf-0.3.0.tgz"
    if not archive.exists():
        home.mkdir(parents=True, exist_ok=True)
        try:
            pack = ["npm", "pack", "--silent", "ctrf@0.3.0"]
            subprocess.run(pack, cwd=home, check=True, capture_output=True, timeout=GUARD)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("npm does not give the schema of CTRF")
    with tarfile.open(archive) as tar:
        file = tar.extractfile("package/dist/ctrf-schema-0.0.json")
        assert file is not None
        return json.load(file)
