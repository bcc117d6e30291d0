"""The results of one test: checked, merged with their partials, and closed at the end of the test.

A result with files is admitted first and committed after their bytes: one that did not arrive whole changes
nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, count
from typing import Any

import msgspec

from proctor.wire.control.passing import Pairs

STATUSES = frozenset({"pass", "fail", "info", "warn", "skip", "error"})
OWN_OUTPUT = "output.txt"
_RESERVED = ("name", "status", "files", "partial", "testout")
_LOOKED_AT = frozenset({"files", "partial", "testout"})  # and more than at their type

Body = dict[str, Any]


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much one test may send; each has its own clear error."""

    json: int = 16 << 20  # bytes of one result's JSON
    results: int = 2_000_000
    partials: int = 400_000
    files: int = 1_000_000
    file_bytes: int = 8 << 30


class Refused(Exception):
    """A result breaks a rule; the decoder adds where."""

    def __init__(self, rule: str, message: str) -> None:
        self.rule = rule
        super().__init__(message)


class Partial(msgspec.Struct, frozen=True, gc=False):
    """An update of a result that is not closed yet; body and raw are those of this message."""

    name: str | None
    body: Body
    raw: bytes


class Finished(msgspec.Struct, frozen=True, gc=False):
    """A result in normal form: no `partial`, no reserved key that is null.

    `raw` is the message that closed it; empty where the end of the test did.
    """

    name: str | None
    body: Body
    raw: bytes = b""
    withdrawn: bool = False  # it had a status, which a null took back


class Parts(msgspec.Struct, frozen=True, gc=False):
    """Finished results that each have a name and a status, no files and no testout: some send very many.

    Who reads them may change the bodies.
    """

    names: list[str]
    bodies: list[Body]


class Merged(msgspec.Struct, frozen=True, gc=False):
    """What the partials of a result and the message that closes it add up to."""

    body: Body
    withdrawn: bool = False


class Admission(msgspec.Struct, frozen=True):
    """A checked result whose files are still to come; `merged` is the final form if it closes."""

    name: str | None
    raw: bytes
    body: Body
    merged: Merged | None
    files: tuple[tuple[str, int], ...]


class Ledger:
    def __init__(self, limits: Limits | None = None) -> None:
        self.limits = limits or Limits()
        self.exit_code: int | None = None  # the `exitcode` word, which overrides what was observed
        # Raw, because most partials are only ever closed, and dicts cost ten times the memory. But that of
        # the test itself is united as it comes: there is one, and it may have very many updates.
        self._open: dict[str | None, bytes | list[bytes] | Body] = {}
        self._own_had_status = False
        # But the newest is often the next to be closed: it is kept as it was decoded.
        self._newest: tuple[str | None, Body] | None = None
        self._taken: set[tuple[str | None, str]] = set()
        self._linked: set[tuple[str | None, str]] = set()
        self._results = 0
        self._file_bytes = 0
        self._own = False

    def receive(self, raw: bytes, body: Body) -> Partial | Finished | Admission:
        """Check one result against every rule that does not need its file bytes.

        Without files it counts at once; with files it is admitted, and counts after `commit`. The body is
        the ledger's from here on.
        """
        name, status = body.get("name"), body.get("status")
        if (
            type(name) is str
            and name
            and type(status) is str
            and status in STATUSES
            and "files" not in body
            and "testout" not in body
            and b"null" not in raw
            and self._results < self.limits.results
        ):  # nearly all: it is opened, or closes the newest, or never was open
            if "partial" not in body:
                united = self._united_with_newest(name, body) if name in self._open else body
                if united is not None and "testout" not in united:
                    self._open.pop(name, None)
                    self._results += 1
                    return Finished(name, united, raw)
            elif (
                body["partial"] is True and name not in self._open and len(self._open) < self.limits.partials
            ):
                del body["partial"]
                self._open[name] = raw
                self._newest = name, body
                return Partial(name, body, raw)
        return self._receive_any(name, status, raw, body)

    def _united_with_newest(self, name: str | None, last: Body) -> Body | None:
        """The union itself, where it replaces nothing but the name and the status. `last` has no null."""
        if self._newest is None or self._newest[0] != name:
            return None
        first = self._newest[1]
        united = first | last
        replaced = len(first) + len(last) - len(united)
        return united if replaced <= ("name" in last) + ("status" in first and "status" in last) else None

    def _receive_any(self, name: Any, status: Any, raw: bytes, body: Body) -> Partial | Finished | Admission:
        partial = body.pop("partial", None)
        if partial is not None and type(partial) is not bool:
            raise Refused("P1", f"`partial` is {partial!r}; it must be true or false")
        if name is not None and (not isinstance(name, str) or not name):
            rest = "it must be a string with at least one character, or absent"
            raise Refused("R5", f"`name` is {name!r}; {rest}")
        if status is not None and (not isinstance(status, str) or status not in STATUSES):
            raise Refused("R2", f"status is {status!r}; known: {', '.join(sorted(STATUSES))}")
        if body.get("testout") is not None:
            _check_file_name(body["testout"], "testout", "T1")
        files = self._files(name, body["files"]) if "files" in body else ()
        nulls = b"null" in raw
        if nulls and name not in self._open:
            _drop_nulls(body)
        if files or self._results >= self.limits.results or len(self._open) >= self.limits.partials:
            self._check_quota(name, bool(partial), files)
        merged = None if partial else self._merge(name, body, nulls)
        if merged is not None and "testout" in merged.body:
            self._check_testout(name, merged.body, files)
        if files:
            return Admission(name, raw, body, merged, files)
        return self._count(name, raw, body, merged)

    def receive_parts(self, bodies: list[Body]) -> Parts | None:
        """`receive` of all of them, in few steps, if each is nothing but the result of a part."""
        names = self._part_names(bodies)
        if names is None:
            return None
        self._results += len(names)
        return Parts(names, bodies)

    def _part_names(self, bodies: list[Body]) -> list[str] | None:
        """The names of the results, if each has a name and a status, and is not an update, and there is
        nothing else to look at; as of most that come in large numbers."""
        if not _LOOKED_AT.isdisjoint(set().union(*bodies)):
            return None
        try:
            names = [body["name"] for body in bodies]
            if not STATUSES.issuperset([body["status"] for body in bodies]):
                return None
        except (KeyError, TypeError):
            return None
        if set(map(type, names)) != {str} or "" in names or not self._open.keys().isdisjoint(names):
            return None
        return names if self._results + len(names) <= self.limits.results else None

    def receive_pairs(self, pairs: Pairs) -> bool:
        """`receive` of all of them, if none is an update of what is open already; else of none."""
        count, limits = len(pairs.begun), self.limits
        if self._results + count > limits.results or len(self._open) >= limits.partials:
            return False
        if not self._open.keys().isdisjoint([begun.name for begun in pairs.begun]):
            return False
        self._results += count
        return True

    def commit(self, admitted: Admission) -> Partial | Finished:
        """The files are there: the result counts."""
        name = admitted.name
        self._taken.update((name, file) for file, _ in admitted.files)
        self._file_bytes += sum(size for _, size in admitted.files)
        return self._count(name, admitted.raw, admitted.body, admitted.merged)

    def _count(self, name: str | None, raw: bytes, body: Body, merged: Merged | None) -> Partial | Finished:
        if merged is not None:
            self._open.pop(name, None)
            return self._finish(name, merged, raw)
        before = self._open.get(name)
        if name is None:
            own: Body = before if isinstance(before, dict) else {}
            union(own, body)
            self._own_had_status = "status" in own or (before is not None and self._own_had_status)
            self._open[None] = own
        elif before is None:
            self._open[name] = raw
            self._newest = None if b"null" in raw else (name, body)
        elif isinstance(before, list):
            before.append(raw)
        elif isinstance(before, bytes):
            self._open[name] = [before, raw]
            self._newest = None
        return Partial(name, body, raw)

    def close(self, observed: int, note: str = "", error: str | None = None) -> Iterator[Finished]:
        """End of the test: open partials in their order, then the test's own result if it has none.

        `note` is how the process ended, if that is more than the exit code `observed`.
        """
        own_partial: Body | None = None
        for name in list(self._open):
            merged = self._merge(name, {}, nulls=False)
            del self._open[name]
            body = merged.body
            try:
                self._check_testout(name, body, ())
            except Refused as refused:
                error = error or str(refused)
                del body["testout"]
            if name is None and "status" not in body and error is None:
                own_partial = body
            else:
                yield self._finish(name, merged)
        if error is not None:
            if own_partial is not None:
                yield self._finish(None, Merged(own_partial))
            yield self._finish(None, Merged(self._own_made({"status": "error"}, error)))
        elif own_partial is not None or not self._own:
            code = observed if self.exit_code is None else self.exit_code
            own = {**(own_partial or {}), "status": "pass" if code == 0 else "fail"}
            reason = note if note and self.exit_code is None else f"exit code {code}"
            yield self._finish(None, Merged(self._own_made(own, reason)))

    def _own_made(self, body: Body, note: str) -> Body:
        names = chain([OWN_OUTPUT], (f"output-{number}.txt" for number in count(2)))
        body.setdefault("testout", next(name for name in names if (None, name) not in self._taken))
        body.setdefault("note", note)
        return {**body, "by": "proctor"}

    def _finish(self, name: str | None, merged: Merged, raw: bytes = b"") -> Finished:
        self._results += 1
        body = merged.body
        if "testout" in body:
            self._linked.add((name, body["testout"]))
        if name is None:
            self._own = True
        return Finished(name, body, raw, merged.withdrawn)

    def _merge(self, name: str | None, last: Body, nulls: bool) -> Merged:
        """What the partials of that name and its last message add up to. Changes no body that is known."""
        if name not in self._open:
            return Merged(last)
        if not nulls and (united := self._united_with_newest(name, last)) is not None:
            return Merged(united)
        body, had_status = self._united(name)
        union(body, last)
        return Merged(body, withdrawn=had_status and "status" not in body)

    def _united(self, name: str | None) -> tuple[Body, bool]:
        """What the partials of that name add up to, and whether they ever had a status."""
        parts, body = self._open[name], Body()
        if isinstance(parts, dict):
            union(body, parts)
            return body, self._own_had_status
        had_status = False
        for raw in parts if isinstance(parts, list) else [parts]:
            part = msgspec.json.decode(raw)
            part.pop("partial", None)
            union(body, part)
            had_status = had_status or "status" in body
        return body, had_status

    def _files(self, name: str | None, files: Any) -> tuple[tuple[str, int], ...]:
        if files is None:
            return ()  # it takes back the files of the partials before
        if not isinstance(files, list):
            raise Refused("F1", f"`files` is {_kind(files)}; it must be an array of objects")
        found: dict[str, int] = {}
        for file in files:
            if not isinstance(file, dict):
                raise Refused("F1", f"an entry of `files` is {_kind(file)}; it must be an object")
            label, length = file.get("name"), file.get("length")
            _check_file_name(label, "file name", "F3")
            if not isinstance(length, int) or isinstance(length, bool) or length < 0:
                raise Refused("F1", f"the length of file {label!r} is {length!r}; it must be a whole number")
            if label in found:
                raise Refused("F4", f"file {label!r} is named twice in one result")
            if (name, label) in self._taken or (name, label) in self._linked:
                raise Refused("F5", f"file {label!r} exists already for {_shown(name)}")
            found[str(label)] = length
        return tuple(found.items())

    def _check_testout(self, name: str | None, merged: Body, files: Iterable[tuple[str, int]]) -> None:
        testout = merged.get("testout")
        if testout is None:
            return
        if (name, testout) in self._taken or any(testout == file for file, _ in files):
            raise Refused("T2", f"testout {testout!r} is also the name of a file of {_shown(name)}")

    def _check_quota(self, name: str | None, partial: bool, files: tuple[tuple[str, int], ...]) -> None:
        limits = self.limits
        if self._results >= limits.results:
            raise Refused("limits", f"more than {limits.results} results; raise the limit `results`")
        if partial and len(self._open) >= limits.partials and name not in self._open:
            raise Refused("limits", f"more than {limits.partials} open partials; raise the limit `partials`")
        if files:
            if len(self._taken) + len(files) > limits.files:
                raise Refused("limits", f"more than {limits.files} files; raise the limit `files`")
            if self._file_bytes + sum(size for _, size in files) > limits.file_bytes:
                raise Refused("limits", f"more than {limits.file_bytes} bytes of files; raise `file_bytes`")


def union(old: Body, new: Body) -> None:
    """The seed's union, in place: null deletes, arrays append, objects recurse, the rest replaces.

    `new` stays as it is, whatever is united with `old` later.
    """
    for key, value in new.items():
        if value is None:
            old.pop(key, None)
        elif isinstance(value, dict):
            before = old.get(key)
            if not isinstance(before, dict):
                before = old[key] = {}
            union(before, value)
        elif isinstance(value, list):
            before = old.get(key)
            if isinstance(before, list):
                before.extend(value)
            else:
                old[key] = value.copy()
        else:
            old[key] = value


def _drop_nulls(body: Body) -> None:
    """Null in a reserved key is absence where there is no partial from which it could take something back."""
    for key in _RESERVED:
        if key in body and body[key] is None:
            del body[key]


def _check_file_name(name: Any, what: str, rule: str) -> None:
    if not isinstance(name, str) or not name:
        raise Refused(rule, f"{what} is {name!r}; it must be a string with at least one character")
    if "\0" in name:
        raise Refused(rule, f"{what} {name!r} contains NUL")
    for part in name.split("/"):
        if part in ("", ".", ".."):
            raise Refused(rule, f"{what} {name!r} has the part {part!r}: expected a relative path without it")
        if len(part) > 255 or len(part.encode()) > 255:
            raise Refused(rule, f"{what} has a part of more than 255 bytes: {part[:40]!r}...")


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def _shown(name: str | None) -> str:
    return "the test itself" if name is None else f"result {name!r}"
