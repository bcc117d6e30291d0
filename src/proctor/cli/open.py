"""`proctor open`: write the page of a kept run beside it, and open it in the browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from proctor.agent_mode import agent_mode
from proctor.archive.inside import Folder, replace_inside
from proctor.archive.lookup import LAST, find_run
from proctor.cli import options, text_settings
from proctor.cli.show import write_runs
from proctor.cli.source import opened
from proctor.cli.writers import Output, check
from proctor.errors import OutputError
from proctor.wire.reports.any_report import AnyReport

PAGE = "report.html"
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor open",
        "Write the page of a kept run beside it, and open it in the browser.",
        examples=(
            ("proctor open", "the last run"),
            ("proctor open 20260801-101500-k3v9qa", "another one"),
        ),
        page="docs/reference/report.md",
    )
    run = f"ID of a run or its beginning, {LAST}, or the directory of a run (default: {LAST})"
    parser.group("which run").add_argument("run", nargs="?", default=LAST, metavar="RUN", help=run)
    options.add_directory(parser)
    parser.remark = (
        f"The page is {PAGE} in the directory of the run. BROWSER names the browser;"
        " where there is none, only the path of the page is printed."
    )
    return parser


def main(arguments: list[str]) -> int:
    parsed = parser().parse_args(arguments)
    check("html")
    root = options.project(parsed.directory)
    run = find_run(parsed.run, root, os.environ)
    page = _write_page(run, root)
    print(page, flush=True)
    if _has_browser(os.environ):
        import webbrowser  # takes long to import

        if not webbrowser.open(page.as_uri()):
            print("proctor: no browser could be opened", file=sys.stderr)
    return 0


def _write_page(run: Folder, root: Path) -> Path:
    path = Path(os.path.abspath(run.path)) / PAGE
    settings = text_settings.of_replay(root, {})

    def write(file: int) -> None:
        with opened(run) as source, os.fdopen(file, "wb", closefd=False) as target:
            output = Output(target, settings, os.environ, lambda: run, str(path))
            write_runs(AnyReport(run.name, "events"), run.name, source, "html", False, output)

    try:
        within = run.open()
        try:
            replace_inside(within, PAGE, write)
        finally:
            os.close(within)
    except OSError as error:
        raise OutputError(str(path), error) from None
    return path


def _has_browser(environ: Mapping[str, str]) -> bool:
    """Whether somebody can look at it here: an agent cannot, and a terminal alone has no room for it."""
    if environ.get("BROWSER"):
        return True
    if agent_mode(environ, sys.stdout.isatty()).on:
        return False
    return sys.platform == "darwin" or any(environ.get(name) for name in _SCREENS)
