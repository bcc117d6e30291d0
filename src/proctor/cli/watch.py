"""`proctor watch`: run tests, wait for a change, and run again."""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import time
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from proctor import config
from proctor.cli import options, output, run
from proctor.cli.interrupt import announce_interrupt
from proctor.cli.text_settings import on_terminal, wants_colours
from proctor.errors import UsageError
from proctor.events import Event
from proctor.execute import Starting, execute
from proctor.places import user_cache
from proctor.plan_run import plan_run, writing_down_imports
from proctor.process.cold_start import ColdStart
from proctor.process.preloads import Preloads
from proctor.process.stop import Stop
from proctor.process.warm_start import Standbys
from proctor.result import RunResult
from proctor.watching.affected import affected
from proctor.watching.changes import Changes, check_installed
from proctor.watching.faces import Lines, Screen
from proctor.watching.ignored import Ignored, is_source
from proctor.watching.inbox import Changed, Failed, Pressed, Resumed
from proctor.watching.loop import NOT_COMPLETED, Ended, Loop, Performed
from proctor.watching.rounds import Round, Rounds
from proctor.wire import formats

EXIT_CODES = (
    "exit codes: after q that of the last run that came to its end (see `proctor run`),"
    " 130 after Ctrl-C, 143 after SIGTERM, 2 if the project is gone"
)


def main(arguments: list[str]) -> int:
    own, passed_on = options.split(arguments)
    parsed = parser().parse_args(own)
    root = options.project(parsed.directory)
    form = output.chosen(parsed.format, os.environ)
    if not formats.FORMATS[form].is_text:
        files = f"`-o {form}=PATH` writes a file anew in each run"
        raise UsageError(f"--format {form} holds one run, and `proctor watch` has many; {files}")
    selection = run.asked_for(parsed, passed_on, root, config.load(root)).selection
    check_installed()
    gc.freeze()
    gc.set_threshold(1000)  # this verb lives on
    rounds = Rounds(selection, lambda changed: affected(changed, root, os.environ))
    with ExitStack() as living:
        ended = _watch(parsed, passed_on, root, rounds, form, living)
    if ended.why:
        print(f"proctor: {ended.why}", file=sys.stderr)
    return ended.code


def parser() -> options.Parser:
    parser = options.Parser(
        "proctor watch",
        "Run tests, wait for a change, and run again: what failed, what the change touches, then everything.",
        examples=(
            ("proctor watch", "every test of the project, again and again"),
            ("proctor watch tests/test_shop.py -x", "the tests of a file, each time up to the first failure"),
            ("proctor watch -o junit=junit.xml -- --cov=shop", "also write a report; --cov goes to pytest"),
        ),
        passes_on=True,
    )
    run.add_options(parser)
    parser.remark = EXIT_CODES
    return parser


def _watch(
    parsed: argparse.Namespace,
    passed_on: tuple[str, ...],
    root: Path,
    rounds: Rounds,
    form: str,
    living: ExitStack,
) -> Ended:
    """What is started here ends with `living`."""
    screen = None
    keys = False
    if form == "human" and on_terminal(os.environ):
        keys = sys.stdin.isatty()
        screen = Screen(_write, wants_colours(os.environ), keys)
    standbys = Standbys(Preloads(user_cache(os.environ)), lambda _: None)
    runs = _Runs(parsed, passed_on, root, standbys)
    loop = Loop(root, rounds, runs.perform, screen or Lines(_write, sys.stdout.fileno()), is_source)
    inbox = loop.inbox
    living.enter_context(inbox.signals(runs.heard))  # first: it holds while the others end
    living.callback(standbys.close)
    written = [os.path.abspath(path) for _, _, path in (given.partition("=") for given in parsed.outputs)]
    ignored = Ignored(root, written, os.environ)
    living.callback(ignored.close)
    changes = Changes(
        root, ignored, lambda paths: inbox.put(Changed(paths)), lambda why: inbox.put(Failed(why))
    )
    living.callback(changes.close)
    if screen is not None:
        living.callback(screen.leave)
    if keys:
        from proctor.watching.keys import Keys  # only people press keys

        living.enter_context(
            Keys(sys.stdin.fileno(), lambda key: inbox.put(Pressed(key)), lambda: inbox.put(Resumed()))
        )
    return loop.run()


class _Runs:
    """Runs of the same command line, each with the settings and the files of its moment."""

    def __init__(
        self, parsed: argparse.Namespace, passed_on: tuple[str, ...], root: Path, standbys: Standbys
    ) -> None:
        self._parsed, self._passed_on, self._root, self._standbys = parsed, passed_on, root, standbys
        self._announces = False  # a run is under way, and nothing on the screen would answer Ctrl-C

    def perform(self, round: Round, stop: Stop) -> Performed:
        settings = config.load(self._root)
        asked = run.asked_for(self._parsed, self._passed_on, self._root, settings)
        if round.selection is not None:
            asked = replace(asked, selection=round.selection, last_failed=False)
        plan = writing_down_imports(plan_run(asked, settings, os.environ))
        outputs = run.outputs_of(self._parsed, plan)
        starting: Starting = self._standbys.starter if settings.warm else ColdStart
        self._announces = not outputs.live
        request = run.request(plan, stop, outputs, starting)
        ended = 0

        def before_end(so_far: RunResult, seconds: float) -> Iterable[Event]:
            """Before anybody can read how it ended, and change a file because of that."""
            nonlocal ended
            ended = time.time_ns()
            return request.before_end(so_far, seconds) if request.before_end is not None else ()

        try:
            executed = execute(replace(request, before_end=before_end))
        finally:
            self._announces = False
            outputs.close()
            self._standbys.refill()
        run.explain(executed, asked, settings.mask_secrets)
        code = outputs.conclude(executed.result.exit_code)
        if outputs.unread:
            raise Ended(NOT_COMPLETED)
        return Performed(executed.result, code, ended)

    def heard(self, number: int) -> None:
        """In a signal handler."""
        if number == signal.SIGINT and self._announces:
            announce_interrupt()


def _write(text: str) -> None:
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
