"""Unknown fields of a public stream, kept so that they can be written again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from proctor.events import Foreign
from proctor.wire.stream.words import SUBTYPES, Object

#: Fields of a test that the rules of the stream give a form; what has another one is kept in `extra`.
_FORMS: Mapping[str, Callable[[Any], bool]] = {
    "file": lambda value: isinstance(value, str),
    "stdout": lambda value: isinstance(value, str),
    "stderr": lambda value: isinstance(value, str),
    "line": lambda value: _whole(value) and value > 0,
    "duration": lambda value: _whole(value) and value >= 0,
    "throughput": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "subtype": lambda value: isinstance(value, str) and value in SUBTYPES,
}
_NEEDED = {"type", "status", "label", "reason", "subtype", "extra"}  # even where the original does without
_WORDS = ("outcome", "phase")  # in `extra`: theirs may be more exact


def foreign_of(original: Object, ours: Object) -> Foreign | None:
    """What the object of a test has and ours has not, and the other way round."""
    theirs = original.get("extra")
    extra = theirs if isinstance(theirs, dict) else {} if theirs is None else {"extra": theirs}
    own = ours.get("extra", {})
    more = _more(extra, own)
    more |= {name: extra[name] for name in _WORDS if _other_word(extra.get(name), own.get(name))}
    kept: Object = {}
    for name, value in original.items():
        if name in ours or name == "extra":
            continue
        if name != "reason" and (name not in _FORMS or _FORMS[name](value)):  # only a failure has a reason
            kept[name] = value
        else:
            more.setdefault(name, value)
    if more:
        kept["extra"] = more
    absent = [name for name in ours if name not in original and name not in _NEEDED]
    absent += [f"extra.{name}" for name in own if name not in extra and name not in ("id", "outcome")]
    return Foreign(kept, tuple(absent)) if kept or absent else None


def restored(ours: Object, foreign: Foreign | None) -> Object:
    """The object of a test as it was, but for what the rules make different."""
    if foreign is None:
        return ours
    absent = {name for name in foreign.absent if "." not in name}
    found = {name: value for name, value in ours.items() if name not in absent}
    found |= {name: value for name, value in foreign.more.items() if name not in found}
    lost = {name.removeprefix("extra.") for name in foreign.absent} - absent
    own = {name: value for name, value in ours.get("extra", {}).items() if name not in lost}
    more = foreign.more.get("extra", {})
    extra = _joined(own, more) | {name: more[name] for name in _WORDS if name in more}
    found.pop("extra", None)
    return {**found, "extra": extra} if extra else found


def beside(
    original: Object, known: Mapping[str, type | tuple[type, ...]], inner: Mapping[str, Any]
) -> Object:
    """Of a suite or final line: the fields that are not known, and those of `extra`."""
    found = {name: value for name, value in original.items() if name not in known and name != "extra"}
    theirs = original.get("extra")
    extra = theirs if isinstance(theirs, dict) else {} if theirs is None else {"extra": theirs}
    more = {name: value for name, value in extra.items() if not isinstance(value, inner.get(name, ()))}
    return {**found, "extra": more} if more else found


def with_more(ours: Object, more: Object) -> Object:
    return _joined(ours, more) if more else ours


def _more(theirs: Object, ours: Object) -> Object:
    found: Object = {}
    for name, value in theirs.items():
        if name not in ours:
            found[name] = value
        elif isinstance(value, dict) and isinstance(ours[name], dict) and (more := _more(value, ours[name])):
            found[name] = more
    return found


def _joined(ours: Object, more: Object) -> Object:
    found = dict(ours)
    for name, value in more.items():
        if name not in found:
            found[name] = value
        elif isinstance(value, dict) and isinstance(found[name], dict):
            found[name] = _joined(found[name], value)
    return found


def _other_word(theirs: Any, ours: Any) -> bool:
    return isinstance(theirs, str) and isinstance(ours, str) and theirs != ours


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
