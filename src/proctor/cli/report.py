"""`proctor report`: report a result, with files, from any test that can start a program."""

from __future__ import annotations

import json
import os

from proctor import client
from proctor.cli.parser import Parser
from proctor.cli.send import send
from proctor.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_OWN = ("name", "status", "files", "partial", "testout", "note")  # keys that have an option


def main(arguments: list[str]) -> int:
    parsed = _parser().parse_args(arguments)
    files = _files(parsed.files)
    custom = dict(_custom(option) for option in parsed.custom)
    own = {name: getattr(parsed, name) for name in ("status", "name", "partial", "testout", "note")}
    try:
        return send(lambda: client.report(files=files, **own, **custom))
    except OSError as error:  # of a file: the channel has errors of its own
        raise UsageError(f"--file {error.filename} cannot be read: {error.strerror}") from None


def _parser() -> Parser:
    parser = Parser("proctor report", description="Report a result of the test that runs this.")
    parser.add_argument("--status", metavar="STATUS", help=", ".join(client.STATUSES))
    parser.add_argument("--name", metavar="NAME", help="of a part of the test; without it, the test itself")
    parser.add_argument(
        "--file",
        dest="files",
        action="append",
        default=[],
        metavar="[NAME=]PATH",
        help="send a file, by its own name or that one; repeatable",
    )
    parser.add_argument("--partial", action="store_true", help="leave it open for more of the same name")
    parser.add_argument("--testout", metavar="NAME", help="add the output of the test as a file")
    parser.add_argument("--note", metavar="TEXT", help="a remark")
    parser.add_argument(
        "--set",
        dest="custom",
        action="append",
        default=[],
        metavar="KEY=JSON",
        help="any other key; repeatable",
    )
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
    if key in _OWN:
        raise UsageError(f"--set {option!r}: {key!r} has an option of its own")
    try:
        return key, json.loads(text)
    except (ValueError, RecursionError):
        hint = f"a text needs quotes: --set '{key}=\"…\"'"
        raise UsageError(f"--set {option!r}: {text!r} is not JSON; {hint}") from None
