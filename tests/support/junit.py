"""The schema that pytest checks its own JUnit XML with; pytest's source archive brings it."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import pytest
from lxml import etree

from support.projects import CACHE, GUARD

VERSION = "9.2.0"  # of pytest
SCHEMA = "testing/example_scripts/junit-10.xsd"


@pytest.fixture(scope="session")
def junit_schema() -> etree.XMLSchema:
    kept = CACHE / "junit" / f"{VERSION}.xsd"
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent) as folder:
            _download(Path(folder)).replace(kept)
    return etree.XMLSchema(etree.parse(kept))


def _download(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "-qq", "--no-deps", "--no-binary", "pytest"]
    command += [f"pytest=={VERSION}", "-d", str(folder)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=GUARD)
    except subprocess.CalledProcessError as error:
        pytest.skip(f"pip does not give the source of pytest, which has the schema: {error.stderr[-300:]!r}")
    with tarfile.open(folder / f"pytest-{VERSION}.tar.gz") as archive:
        file = archive.extractfile(f"pytest-{VERSION}/{SCHEMA}")
        assert file is not None
        (folder / "schema").write_bytes(file.read())
    return folder / "schema"


def assert_valid(schema: etree.XMLSchema, data: bytes) -> etree._Element:
    """The root of a report that keeps to the schema."""
    root = etree.fromstring(data)
    assert schema.validate(root), schema.error_log
    return root
