"""Which files below a project never start a run: what git ignores, what tools write, what proctor writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

from proctor.places import user_cache, user_state
from proctor.process.git import Git

_DIRECTORIES = frozenset(
    (
        *(".git", ".hg", ".svn", ".jj", ".proctor", "__pycache__", ".pytest_cache", ".hypothesis"),
        *(".mypy_cache", ".ruff_cache", ".tox", ".nox", ".venv", "node_modules", ".idea"),
    )
)
_FILES = (
    *("*.py[co]", ".coverage", ".coverage.*", ".DS_Store", "*~", "*.sw[a-p]", "*.swpx", ".#*", "#*#"),
    *("4913", "*.kate-swp", "*___jb_tmp___", "*___jb_old___"),  # which editors write beside the file
)
#: In what tests may be written, or what decides how they run: see `written`.
_SOURCES = (
    *(".py", ".pyi", ".pyx", ".pxd", ".c", ".h", ".cc", ".cpp", ".hpp", ".rs", ".go", ".java", ".kt"),
    *(".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte", ".sh", ".bats"),
    *(".so", ".toml", ".cfg", ".ini"),
)


class Ignored:
    """To be closed. For one thread."""

    def __init__(self, root: Path, own: Iterable[str], environ: Mapping[str, str]) -> None:
        """`own`: absolute paths of files that proctor writes."""
        homes = filter(None, (user_cache(environ), user_state(environ)))
        self._own = {relative for path in (*own, *map(str, homes)) if (relative := below(path, root))}
        self._git = Git(str(root), environ)
        self._empty: TemporaryDirectory[str] | None = None
        self._variables: dict[str, str] = {}
        if not self._is_in_repository():
            self._empty = TemporaryDirectory(prefix="proctor-git-")
            _make_repository(Path(self._empty.name))
            self._variables = {"GIT_DIR": self._empty.name, "GIT_WORK_TREE": str(root)}

    def close(self) -> None:
        if self._empty is not None:
            self._empty.cleanup()

    def without(self, paths: Iterable[str]) -> set[str]:
        """Those of the relative paths that count."""
        left = {path for path in paths if not self.is_known(path)}
        return left - self._by_git(left)

    def files(self) -> Iterable[str]:
        """All that count, as far as somebody knows them: without git, nobody does."""
        listed = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        answer = self._git.ask(*listed, **self._variables)
        found = dict.fromkeys(os.fsdecode(answer or b"").split("\0"))
        return [path for path in found if path and not self.is_known(path)]

    def is_known(self, path: str) -> bool:
        """Whether it is ignored whatever git says."""
        *directories, name = path.split("/")
        if not _DIRECTORIES.isdisjoint((*directories, name)) or any(
            fnmatchcase(name, glob) for glob in _FILES
        ):
            return True
        return any(path == own or path.startswith(f"{own}/") for own in self._own)

    def _by_git(self, paths: set[str]) -> set[str]:
        if not paths:
            return set()
        asked = b"".join(os.fsencode(path) + b"\0" for path in sorted(paths))
        answer = self._git.ask_about(asked, "check-ignore", "--stdin", "-z", **self._variables)
        return set(os.fsdecode(answer or b"").split("\0"))  # no answer: it ignores none of them

    def _is_in_repository(self) -> bool:
        """One that does not itself ignore the project."""
        return (
            self._git.line("rev-parse", "--is-inside-work-tree") == "true"
            and self._git.ask("check-ignore", "-q", "--no-index", ".") is None
        )


def below(path: str, root: Path) -> str:
    """The relative path; empty if it is not below the root."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(root))
    return "" if relative == os.curdir or relative.startswith(os.pardir) else relative


def is_source(path: str) -> bool:
    return path.endswith(_SOURCES)


def _make_repository(directory: Path) -> None:
    """An empty one, so that git reads the .gitignore files of a project that is in none."""
    for name in ("objects", "refs"):
        (directory / name).mkdir()
    (directory / "HEAD").write_text("ref: refs/heads/main\n", encoding="ascii")
