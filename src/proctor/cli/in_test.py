"""`proctor report`, `begin`, `duration` and `noop`: messages from a test to the proctor that runs it."""

from __future__ import annotations

import json
import os

from proctor import client
from proctor.cli.parser import LIMITS, Parser, suggest
from proctor.errors import ChannelError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_PAGE = "docs/reference/clients.md"
_RESULT = "the result"
_OWN = ("status", "name", "partial", "testout", "note")  # keys of a result that have an option of their own


def begin_parser() -> Parser:
    what = "In a test: open its result as an error, until `proctor report` closes it."
    return Parser("proctor begin", what, [("proctor begin", "at the start of a test script")], _PAGE)


def begin(arguments: list[str]) -> int:
    begin_parser().parse_args(arguments)
    return _send(client.begin)


def noop_parser() -> Parser:
    what = "In a test: send a message without effect, to find out whether proctor listens."
    return Parser(
        "proctor noop", what, [("proctor noop && proctor begin", "only where proctor listens")], _PAGE
    )


def noop(arguments: list[str]) -> int:
    noop_parser().parse_args(arguments)
    return _send(client.noop)


def duration_parser() -> Parser:
    examples = [
        ("proctor duration 15m", "15 minutes from now"),
        ("proctor duration +60", "one minute more"),
        ("proctor duration save", "pause the clock, until `proctor duration restore`"),
    ]
    parser = Parser("proctor duration", "In a test: change its time limit.", examples, _PAGE)
    what = "90, 15m, 1h 30m: from now; +60, -60: more or less; save, restore: the remaining time"
    parser.group(LIMITS).add_argument("time", nargs="+", metavar="TIME", help=what)
    return parser


def duration(arguments: list[str]) -> int:
    parser = duration_parser()
    if any(argument in ("-h", "--help") for argument in arguments):
        parser.parse_args(arguments)
    change = " ".join(parser.parse_args(["--", *arguments]).time)  # `-60` is no option
    return _send(lambda: client.duration(change))


def report(arguments: list[str]) -> int:
    parsed = report_parser().parse_args(arguments)
    files = _files(parsed.files)
    custom = dict(_custom(option) for option in parsed.custom)
    own = {name: getattr(parsed, name) for name in _OWN}
    try:
        return _send(lambda: client.report(files=files, **own, **custom))
    except OSError as error:  # of a file: the channel has errors of its own
        raise UsageError(f"--file {error.filename} cannot be read: {error.strerror}") from None


def _send(message: Callable[[], None]) -> int:
    try:
        message()
    except (client.BadMessage, client.NoChannel) as error:
        raise UsageError(str(error)) from None
    except client.ReportError as error:
        raise ChannelError(str(error)) from None
    return 0


def report_parser() -> Parser:
    examples = [
        ("proctor report --status pass", "the test itself has passed"),
        ("proctor report --name login --status fail --note 'no cookie'", "a part of it has failed"),
        ("proctor report --status fail --file server.log", "with a file"),
    ]
    parser = Parser("proctor report", "In a test: report a result, with files.", examples, _PAGE)
    result = parser.group(_RESULT)
    suggest(
        result.add_argument("--status", metavar="STATUS", help=", ".join(client.STATUSES)), client.STATUSES
    )
    result.add_argument("--name", metavar="NAME", help="part of the test (default: the test itself)")
    result.add_argument("--note", metavar="TEXT", help="a remark")
    partial = "leave the result open: more of the same name follows"
    result.add_argument("--partial", action="store_true", help=partial)
    parser.add_repeatable(_RESULT, "--set", "custom", "KEY=JSON", "any other key; may be repeated")
    file = "attach a file, under its own name or NAME; may be repeated"
    parser.add_repeatable(_RESULT, "--file", "files", "[NAME=]PATH", file)
    testout = "attach the output of the test as a file of this name"
    result.add_argument("--testout", metavar="NAME", help=testout)
    return parser


def _files(options: list[str]) -> dict[str, str]:
    files: dict[str, str] = {}
    for option in options:
        name, equals, path = option.partition("=")
        if not equals:
            name, path = os.path.basename(option), option
        if not name or not path:
            raise UsageError(f"invalid --file {option!r}: expected PATH or NAME=PATH")
        if name in files:
            raise UsageError(f"--file {option!r}: {name!r} is given twice; NAME=PATH sets another name")
        files[name] = path
    return files


def _custom(option: str) -> tuple[str, Any]:
    key, equals, text = option.partition("=")
    if not key or not equals:
        raise UsageError(f"invalid --set {option!r}: expected KEY=JSON")
    if key in (*_OWN, "files"):
        raise UsageError(f"--set {option!r}: {key!r} has an option of its own")
    try:
        return key, json.loads(text)
    except (ValueError, RecursionError):
        hint = f"a string needs quotes: --set '{key}=\"…\"'"
        raise UsageError(f"invalid --set {option!r}: {text!r} is not JSON; {hint}") from None
