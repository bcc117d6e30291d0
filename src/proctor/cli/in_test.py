"""`proctor report`, `begin`, `duration` and `noop`: messages of a test to the proctor that runs it."""

from __future__ import annotations

import json
import os

from proctor import client
from proctor.cli.parser import Parser
from proctor.errors import ChannelError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_OWN = ("status", "name", "partial", "testout", "note")  # keys of a result that have an option of their own


def begin(arguments: list[str]) -> int:
    what = "Open the test's own result as an error; `proctor report` closes it."
    Parser("proctor begin", description=what).parse_args(arguments)
    return _send(client.begin)


def noop(arguments: list[str]) -> int:
    what = "Send a message without effect: does proctor listen?"
    Parser("proctor noop", description=what).parse_args(arguments)
    return _send(client.noop)


def duration(arguments: list[str]) -> int:
    parser = Parser("proctor duration", description="Change the time limit of the test.")
    what = "90, 15m, 1h 30m: from now; +60, -60: more or less; save, restore: what is left of it"
    parser.add_argument("time", nargs="+", metavar="TIME", help=what)
    if any(argument in ("-h", "--help") for argument in arguments):
        parser.parse_args(arguments)
    change = " ".join(parser.parse_args(["--", *arguments]).time)  # `-60` is no option
    return _send(lambda: client.duration(change))


def report(arguments: list[str]) -> int:
    parsed = _report_parser().parse_args(arguments)
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


def _report_parser() -> Parser:
    parser = Parser("proctor report", description="Report a result of the test that runs this.")
    parser.add_argument("--status", metavar="STATUS", help=", ".join(client.STATUSES))
    parser.add_argument("--name", metavar="NAME", help="of a part of the test; without it, the test itself")
    file = "send a file, by its own name or that one; repeatable"
    parser.add_repeatable("--file", "files", "[NAME=]PATH", file)
    parser.add_argument("--partial", action="store_true", help="leave it open for more of the same name")
    parser.add_argument("--testout", metavar="NAME", help="add the output of the test as a file")
    parser.add_argument("--note", metavar="TEXT", help="a remark")
    parser.add_repeatable("--set", "custom", "KEY=JSON", "any other key; repeatable")
    return parser


def _files(options: list[str]) -> dict[str, str]:
    files: dict[str, str] = {}
    for option in options:
        name, equals, path = option.partition("=")
        if not equals:
            name, path = os.path.basename(option), option
        if not name or not path:
            raise UsageError(f"--file {option!r} is neither PATH nor NAME=PATH")
        if name in files:
            raise UsageError(f"--file {option!r}: {name!r} is there already; NAME=PATH gives another name")
        files[name] = path
    return files


def _custom(option: str) -> tuple[str, Any]:
    key, equals, text = option.partition("=")
    if not key or not equals:
        raise UsageError(f"--set {option!r} is not KEY=JSON")
    if key in (*_OWN, "files"):
        raise UsageError(f"--set {option!r}: {key!r} has an option of its own")
    try:
        return key, json.loads(text)
    except (ValueError, RecursionError):
        hint = f"a text needs quotes: --set '{key}=\"…\"'"
        raise UsageError(f"--set {option!r}: {text!r} is not JSON; {hint}") from None
