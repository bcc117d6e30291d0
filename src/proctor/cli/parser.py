"""argparse for every verb: groups of options, help, errors in one line.

The options that verbs share are in `options`, which takes longer to import.
"""

from __future__ import annotations

import argparse
from functools import partial

from proctor.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

WHAT, LIMITS, HOW, SHOW, WHERE = "what to run", "limits", "how to run", "what to show", "where"
PAGE = "docs/reference/command-line.md"
EXIT_CODES = "exit codes: 0 passed, 1 failed, 2 not completed, 3 internal error, 4 usage error, 5 no tests"
_HELP = "help"
_ORDER = (WHAT, LIMITS, HOW, SHOW, WHERE, _HELP)
_WIDTH = 100  # columns of a help text, unless the terminal has fewer
_OPTION_LIKE = 0.7  # how like an unknown option a known one must be: many are short


class _Formatter(argparse.RawDescriptionHelpFormatter):
    def _format_action_invocation(self, action: argparse.Action) -> str:
        if is_optional(action):
            return f"{', '.join(action.option_strings)}[={action.metavar}]"
        return super()._format_action_invocation(action)


class Parser(argparse.ArgumentParser):
    """Options in groups, in the order of the constants above. A wrong option is a UsageError."""

    def __init__(
        self,
        prog: str,
        description: str,
        examples: Sequence[tuple[str, str]] = (),
        page: str = PAGE,
        passes_on: bool = False,  # what follows `--` goes to the test runner
    ) -> None:
        # A fixed width: finding out the terminal's takes an import, even if nothing is printed.
        super().__init__(
            prog,
            description=description,
            formatter_class=partial(_Formatter, width=_WIDTH),
            add_help=False,
            exit_on_error=False,
        )
        self.examples, self.page, self.passes_on = tuple(examples), page, passes_on
        self.remark = ""  # what else a help text says
        self._given: list[str] = []
        self.register("type", int, _whole_number)
        self._groups: dict[str, argparse._ArgumentGroup] = {}
        self.group(_HELP).add_argument("-h", "--help", action="help", help="show this help")

    def group(self, title: str) -> argparse._ArgumentGroup:
        """The group of this title, for `add_argument`. One that has no constant above is shown first."""
        if title not in self._groups:
            self._groups[title] = self.add_argument_group(title)
        return self._groups[title]

    @property
    def sections(self) -> list[tuple[str, list[argparse.Action]]]:
        """The titles of the groups with their arguments, in the order in which they are shown."""
        titles = sorted(self._groups, key=lambda title: _ORDER.index(title) if title in _ORDER else -1)
        return [(title, self._groups[title]._group_actions) for title in titles]

    @property
    def positionals(self) -> list[argparse.Action]:
        return [action for action in self._actions if not action.option_strings]

    @property
    def options(self) -> dict[str, argparse.Action]:
        """Every option by each of its names."""
        return {name: action for action in self._actions for name in action.option_strings}

    @property
    def usage_line(self) -> str:
        """Without the names of the options, which have a line each."""
        words = [self.prog, "[OPTION]...", *map(_usage, self.positionals)]
        return " ".join([*words, "[-- ARGS]"] if self.passes_on else words)

    def format_help(self) -> str:
        from shutil import get_terminal_size

        width = min(_WIDTH, max(get_terminal_size().columns, 40))
        self.formatter_class = partial(_Formatter, width=width, max_help_position=26)
        self.usage = self.usage_line.replace("%", "%%")
        self._action_groups = [self._groups[title] for title, _ in self.sections]
        self.epilog = "\n\n".join(filter(None, [self._examples(), *self.notes]))
        return super().format_help()

    @property
    def notes(self) -> list[str]:
        """What follows the options in a help text."""
        arguments = "ARGS after -- go to the test runner as they are." if self.passes_on else ""
        return [note for note in (arguments, self.remark, f"documentation: {self.page}") if note]

    def _examples(self) -> str:
        widest = max((len(command) for command, _ in self.examples), default=0)
        lines = [f"  {command:{widest}}  {what}" for command, what in self.examples]
        return "\n".join(["examples:", *lines]) if lines else ""

    def parse_args(self, args: Sequence[str]) -> argparse.Namespace:  # type: ignore[override]  # all that verbs need
        self._given = list(args)
        args = [f"{word}=" if self._lacks_value(word) else word for word in args]
        try:
            parsed, rest = self.parse_known_args(args)
            if rest and not any(word.startswith("-") for word in rest):  # `TARGET -x TARGET`
                parsed, rest = self.parse_known_intermixed_args(args)
        except argparse.ArgumentError as error:
            if error.argument_name is None:  # some are missing, from Python 3.13 on
                self.error(error.message)
            raise UsageError(_words(error)) from None
        if rest:
            raise UsageError(self._unknown(rest))
        return parsed

    def _lacks_value(self, word: str) -> bool:
        """Whether it is an option that may have a value and has none: the next word must not become it."""
        meant = [name for name in self.options if name == word] or [
            name for name in self.options if word.startswith("--") and name.startswith(word)
        ]
        return len(meant) == 1 and is_optional(self.options[meant[0]])

    def error(self, message: str) -> NoReturn:
        required = "the following arguments are required: "
        if message.startswith(required):
            if unknown := [word for word in self._given if self._is_unknown(word)]:
                raise UsageError(self._unknown(unknown))  # which may be the reason
            message = f"{message.removeprefix(required)} is missing"
        raise UsageError(f"{message}; `{self.prog} --help` lists the options")

    def _is_unknown(self, word: str) -> bool:
        name = word.partition("=")[0]
        return name.startswith("--") and not any(option.startswith(name) for option in self.options)

    def _unknown(self, rest: list[str]) -> str:
        from proctor.nearest import did_you_mean

        unknown = next((word for word in rest if word.startswith("-")), None)
        if unknown is None:
            return f"unexpected argument {rest[0]!r}; `{self.prog} --help` lists the arguments"
        name = unknown.partition("=")[0]
        long = [option for option in self.options if option.startswith("--")]
        if hint := did_you_mean(name, long if name.startswith("--") else [], like=_OPTION_LIKE):
            return f"unknown option {name}{hint}"
        if self.passes_on:
            more = f"options of the test runner go after --: `{self.prog} -- {unknown}`"
            return f"unknown option {name}; {more}"
        return f"unknown option {name}; `{self.prog} --help` lists the options"

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            from proctor.nearest import or_known

            raise argparse.ArgumentError(action, f"{value!r}{or_known(str(value), action.choices)}")

    def add_repeatable(self, group: str, option: str, dest: str, metavar: str, help: str) -> argparse.Action:
        """An option that adds one value to a list each time it is given."""
        values = self.group(group)
        return values.add_argument(option, dest=dest, action="append", default=[], metavar=metavar, help=help)

    def add_optional(self, group: str, option: str, metavar: str, help: str) -> argparse.Action:
        """An option with a value after `=`, or without: then it is the empty text."""
        return self.group(group).add_argument(option, nargs="?", metavar=metavar, help=help)


def is_optional(action: argparse.Action) -> bool:
    """Whether it is an option that may be given with a value or without."""
    return bool(action.option_strings) and action.nargs == "?"


def suggest(action: argparse.Action, words: Sequence[str]) -> None:
    """Values that completion offers for an argument that takes others, too."""
    action.suggested = tuple(words)  # type: ignore[attr-defined]


def suggested(action: argparse.Action) -> tuple[str, ...]:
    words: tuple[str, ...] = getattr(action, "suggested", ()) or tuple(map(str, action.choices or ()))
    return words


def _whole_number(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number") from None


def _words(error: argparse.ArgumentError) -> str:
    name, message = error.argument_name, error.message
    if message == "expected one argument":
        return f"{name} needs a value"
    return f"invalid {name} {message}" if message.startswith(("'", '"')) else f"{name}: {message}"


def _usage(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    if action.choices is not None and action.metavar is None:
        name = "|".join(map(str, action.choices))
    return {"*": f"[{name}]...", "?": f"[{name}]", "+": f"{name}..."}.get(str(action.nargs), name)
