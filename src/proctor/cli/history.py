"""`proctor history`: what earlier runs say, from the store of the project's results."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec

from proctor import config
from proctor.cli import options
from proctor.cli.parser import suggest
from proctor.cli.text_settings import on_terminal
from proctor.cli.writers import stdout_writer
from proctor.errors import UsageError
from proctor.history.project import ProjectHistory
from proctor.history.store import Store
from proctor.remembered import SCHEMA
from proctor.render import history_text
from proctor.wire.literal import encode_line

PATH, CLEAR, EXPORT, IMPORT = _WORDS = ("path", "clear", "export", "import")
_LIMIT = 20
_ALL = -1  # rows, for sqlite


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor history",
        "Show what earlier runs say: the last runs, the results of a test, tests that are flaky or slow.",
        examples=(
            ("proctor history", "the last runs, of all branches"),
            ("proctor history tests/test_shop.py::test_total", "every result of a test"),
            ("proctor history --flaky", "tests that pass and fail without a change"),
            ("proctor history --format html -o history.html", "a page to look at"),
            ("proctor history import junit.xml", "add the run of a report"),
        ),
        page="docs/reference/history.md",
    )
    what, show = parser.group("what to show or do"), parser.group(options.SHOW)
    test = (
        "ID of a test or the end of it (default: the last runs); or path, clear, export, import REPORT...:"
        " where the history is, remove it, write it as JSON lines, add reports; after --, it is always a test"
    )
    suggest(what.add_argument("what", nargs="*", metavar="TEST|WORD", help=test), _WORDS)
    kind = what.add_mutually_exclusive_group()
    kind.add_argument("--flaky", action="store_true", help="tests that passed and failed with the same files")
    slow = "tests whose last pass took 1.5 times as long as usual, and 50 ms more"
    kind.add_argument("--slow", action="store_true", help=slow)
    branch = "with import: the branch that the reports belong to (default: the one that is checked out)"
    what.add_argument("--branch", metavar="NAME", help=branch)
    limit = f"show at most N runs, results or tests (default: {_LIMIT}; 200 runs with html)"
    show.add_argument("--limit", type=int, metavar="N", help=limit)
    options.add_format(parser, ("human", "json", "html"), "human")
    show.add_argument(
        "-o", dest="file_out", metavar="FILE", help="with html: file to write (default: stdout)"
    )
    options.add_directory(parser)
    return parser


def main(arguments: list[str]) -> int:
    own, tests = options.split(arguments)
    parsed = parser().parse_args(own)
    words = list(parsed.what)
    word = words[0] if words and words[0] in _WORDS and not tests else ""
    _check(parsed, word, [*words, *tests])
    history = ProjectHistory(options.project(parsed.directory), os.environ)
    if word == PATH:
        return _path(history)
    if word == CLEAR:
        return _clear(history)
    if word == EXPORT:
        return _export(history)
    if word == IMPORT:
        from proctor.cli.history_import import import_reports

        return import_reports(history, words[1:], parsed.branch)
    with history.store() as store:
        if store is not None and store.notice:
            print(f"proctor: {store.notice}", file=sys.stderr)
        if parsed.format == "html":
            from proctor.cli.page import write_history

            write_history(history, store, parsed.limit, parsed.file_out)
            return 0
        _show(history, store, next(iter([*words, *tests]), ""), parsed)
    return 0


def _check(parsed: argparse.Namespace, word: str, words: list[str]) -> None:
    if parsed.branch is not None and word != IMPORT:
        raise UsageError("--branch needs import: `proctor history import REPORT --branch NAME`")
    if word == IMPORT:
        if len(words) == 1:
            raise UsageError("import needs a file: `proctor history import REPORT...`")
    elif len(words) > 1:
        raise UsageError(f"unexpected argument {words[1]!r}: expected one test")
    _check_page(parsed, words)
    about = next((option for option in ("flaky", "slow") if getattr(parsed, option)), "")
    if about and words:
        raise UsageError(f"--{about} lists tests: {words[0]!r} is not expected with it")
    if parsed.limit is not None and parsed.limit < 0:
        raise UsageError(f"invalid --limit {parsed.limit}: expected 0 or more")


def _check_page(parsed: argparse.Namespace, words: list[str]) -> None:
    if parsed.format != "html":
        if parsed.file_out is not None:
            raise UsageError("-o FILE needs --format html")
        return
    if words or parsed.flaky or parsed.slow:
        raise UsageError("--format html shows the whole history: expected no test, word, --flaky or --slow")
    from proctor.cli.page import check_installed

    check_installed()


def _show(history: ProjectHistory, store: Store | None, test: str, parsed: argparse.Namespace) -> None:
    limit = _LIMIT if parsed.limit is None else parsed.limit
    as_json, now = parsed.format == "json", datetime.now(UTC)
    questions = history.questions(store) if store is not None else None
    if parsed.flaky or parsed.slow:
        flaky = history.flaky(store) if store is not None and parsed.flaky else []
        slow = questions.slow() if questions is not None and parsed.slow else []
        found, what = flaky or slow, "flaky" if parsed.flaky else "slow"
        if as_json:
            _print(tests=found if parsed.limit is None else found[:limit])
        elif not found:
            print(f"no test is {what}, by the history of {history.root}")
        elif parsed.flaky:
            history_text.write_flaky(flaky[:limit], len(flaky[limit:]), now, stdout_writer(os.environ))
        else:
            history_text.write_slow(slow[:limit], len(slow[limit:]), stdout_writer(os.environ))
    elif test:
        most = limit if as_json and parsed.limit is not None else _ALL
        name, results = questions.results(test, most) if questions is not None else (test, [])
        if as_json:
            _print(test=name, results=[_fields(result) for result in results])
        elif not results:
            print(f"no results of {test} in the history of {history.root}")
        else:
            plain = not _writes(history_text.NEEDED)
            history_text.write_test(name, results, limit, now, stdout_writer(os.environ), plain)
    else:
        runs = questions.runs(limit) if questions is not None else []
        if as_json:
            _print(runs=runs)
        elif runs:
            history_text.write_runs(runs, now, stdout_writer(os.environ))
        else:
            print(f"no runs in the history of {history.root}")


def _fields(result: msgspec.Struct) -> dict[str, Any]:
    names = ("run_id", "outcome", "duration", "commit", "tree", "started", "attempt")
    return {name: getattr(result, name) for name in names}


def _print(**values: Any) -> None:
    sys.stdout.buffer.write(encode_line({"schema": SCHEMA, **values}))


def _writes(letters: str) -> bool:
    """Whether stdout can; what is no terminal gets UTF-8."""
    if not on_terminal(os.environ):
        return True
    try:
        letters.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def _path(history: ProjectHistory) -> int:
    path = history.path
    print(path)
    if not path.exists():
        print("proctor: there is no history yet: the next run begins it", file=sys.stderr)
    if config.load(history.root).history is False:
        print("proctor: the settings of the project turn the history off", file=sys.stderr)
    return 0


def _clear(history: ProjectHistory) -> int:
    removed = history.clear()
    for path in removed:
        print(f"removed {path}")
    if not removed:
        print(f"no history of {history.root}: nothing to remove")
    return 0


def _export(history: ProjectHistory) -> int:
    from proctor.history.exchange import lines

    with history.store() as store:
        if store is not None:
            sys.stdout.buffer.writelines(lines(store))
    return 0
