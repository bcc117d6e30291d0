"""Puts the files of a project into an archive, and takes them out again: files and links, nothing else."""

from __future__ import annotations

import gzip
import io
import os
import stat
import tarfile
import zlib
from collections.abc import Iterator, Mapping
from typing import IO, Any

from proctor.engines.project_files import Files
from proctor.errors import LaunchError

MOST = 256 << 20  # bytes of all files together
_NAMED = 3  # large files that an error names
_FAST = 1  # of gzip: to compress better takes longer than to send
_NAMES: Mapping[str, Any] = {"encoding": "utf-8", "errors": "surrogateescape"}  # names may be any bytes


def pack(files: Files, most: int = MOST) -> bytes:
    """Equal for equal files: no times, no owners. Raises LaunchError if they are too large or unreadable."""
    found = list(files.found())
    total = sum(about.st_size for _, about in found)
    if total > most:
        raise LaunchError(_too_large(found, total, most))
    packed = io.BytesIO()
    with (
        gzip.GzipFile("", "wb", _FAST, packed, mtime=0) as compressed,
        tarfile.open(fileobj=compressed, mode="w|", format=tarfile.GNU_FORMAT, **_NAMES) as tar,
    ):
        for path, about in found:
            _add(tar, files.top, path, about)
    return packed.getvalue()


def _too_large(found: list[tuple[str, os.stat_result]], total: int, most: int) -> str:
    largest = sorted(found, key=lambda one: -one[1].st_size)[:_NAMED]
    named = ", ".join(f"{path} ({_size(about.st_size)})" for path, about in largest)
    return (
        f"the project has {_size(total)} in {len(found)} files; at most {_size(most)} are sent to workers;"
        f" the largest: {named}; have git ignore large files, or put the project at the same path on workers"
    )


def _size(number: int) -> str:
    return f"{number / (1 << 20):.1f} MB" if number >= 1 << 20 else f"{number} bytes"


def _add(tar: tarfile.TarFile, top: str, path: str, about: os.stat_result) -> None:
    member = tarfile.TarInfo(path)
    member.mode = stat.S_IMODE(about.st_mode) & 0o777
    full = os.path.join(top, path)
    try:
        if stat.S_ISLNK(about.st_mode):
            member.type, member.linkname, member.mode = tarfile.SYMTYPE, os.readlink(full), 0o777
            tar.addfile(member)
            return
        with open(os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            member.size = os.fstat(file.fileno()).st_size
            tar.addfile(member, file)
    except OSError as error:
        raise LaunchError(f"{full} cannot be read: {error.strerror or error}") from None


def unpack(archive: bytes, folder: str) -> list[str]:
    """Into a directory that is empty and nobody else's; returns the paths.

    Raises LaunchError for an archive that is broken, or has anything but files and links below the directory,
    and OSError if it cannot be written.
    """
    paths: list[str] = []
    links: set[str] = set()
    data = gzip.GzipFile(fileobj=io.BytesIO(archive))
    try:
        with tarfile.open(fileobj=data, mode="r|", **_NAMES) as tar:
            for member in tar:
                _check(member, links)
                _write(tar, member, os.path.join(folder, member.name))
                links |= {member.name} if member.issym() else set()
                paths.append(member.name)
        while data.read(1 << 16):
            pass  # up to its own checksum
    except (tarfile.TarError, zlib.error, gzip.BadGzipFile, EOFError) as error:
        raise LaunchError(f"the project arrived broken: {error}") from None
    return paths


def _check(member: tarfile.TarInfo, links: set[str]) -> None:
    """Whether it is a file or a link, and lies below the directory."""
    if not (member.isreg() or member.issym()):
        raise LaunchError(f"the project has {member.name!r}, which is no file and no link")
    parts = member.name.split("/")
    if any(part in ("", ".", "..") for part in parts) or "\0" in member.name:
        raise LaunchError(f"the project has {member.name!r}: expected a path below it")
    if any(above in links for above in _above(parts)):
        raise LaunchError(f"the project has {member.name!r}, which is behind a link")


def _above(parts: list[str]) -> Iterator[str]:
    return ("/".join(parts[:count]) for count in range(1, len(parts)))


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if member.issym():
        os.symlink(member.linkname, path)
        return
    content: IO[bytes] | None = tar.extractfile(member)
    assert content is not None  # it is a regular file
    new = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    with os.fdopen(new, "wb") as file:
        while piece := content.read(1 << 20):
            file.write(piece)
        os.fchmod(new, member.mode & 0o777)
