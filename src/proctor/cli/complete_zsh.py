"""The completion script for zsh: a file for `fpath`, which can also be sourced."""

from __future__ import annotations

import re

from proctor.cli.completion import GROUPS, OWN_OPTIONS, VERBS, Argument, arguments_of

_HEAD = """\
#compdef proctor
# zsh completion for proctor, written by `proctor completion zsh`

_proctor_runs() {
    local directory=${opt_args[-C]:-.}
    local -a runs
    runs=(last ${(Q)directory}/.proctor/runs/*(/N:t))
    _alternative 'runs:run:compadd -a runs' 'files:file:_files'
}

_proctor_output() {
    if compset -P '*='; then
        _files
    else
        compadd -S '' -- "$@"
    fi
}

_proctor() {
    local curcontext=$curcontext context state line ret=1
    local -A opt_args
    local -a verbs
    verbs=(
"""
_MIDDLE = """\
    )
    if ((CURRENT == 2)); then
        _describe -t verbs verb verbs
        return
    fi
    local verb=$words[2]
    shift words
    ((CURRENT--))
    case $verb in
"""
_TAIL = """\
    esac
}

if [[ $funcstack[1] == _proctor ]]; then
    _proctor "$@"
else
    compdef _proctor proctor
fi
"""


def script() -> str:
    described = [(verb, what) for verbs in GROUPS.values() for verb, what in verbs.items()]
    lines = [f"        {_quoted(f'{verb}:{what}')}\n" for verb, what in [*described, *OWN_OPTIONS.items()]]
    cases = [line for verb in VERBS for line in _case(verb)]
    return "".join([_HEAD, *lines, _MIDDLE, *cases, _TAIL])


def _case(verb: str) -> list[str]:
    specs = [_spec(argument) for argument in arguments_of(verb)]
    return [
        f"        {verb})\n",
        "            _arguments -s -S : \\\n",
        *(f"                {spec} \\\n" for spec in specs[:-1]),
        f"                {specs[-1]}\n",
        "            ;;\n",
    ]


def _spec(argument: Argument) -> str:
    value = f":{_escaped(argument.metavar)}:{_action(argument)}" if argument.takes_value else ""
    if not argument.names:
        star = "*" if argument.repeats else ""
        return _quoted(f"{star}:{_escaped(argument.metavar)}:{_action(argument)}")
    once = "*" if argument.repeats else f"({' '.join(argument.names)})" if len(argument.names) > 1 else ""
    what = f"[{_escaped(argument.help)}]"
    specs = [f"{once}{_option(name, argument.takes_value)}{what}{value}" for name in argument.names]
    return " ".join(map(_quoted, specs))


def _option(name: str, takes_value: bool) -> str:
    """The value of a long option may follow `=`, that of a short one may follow at once."""
    return name if not takes_value else f"{name}=" if name.startswith("--") else f"{name}+"


def _action(argument: Argument) -> str:
    words = " ".join(argument.words)
    match argument.kind:
        case "files":
            return "_files"
        case "directories":
            return "_files -/"
        case "runs":
            return "_proctor_runs"
        case "output":
            return f"_proctor_output {words}"
        case _:
            return f"({words})" if words else " "


def _escaped(text: str) -> str:
    return re.sub(r"([\[\]:\\])", r"\\\1", text)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
