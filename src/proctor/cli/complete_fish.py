"""The completion script for fish."""

from __future__ import annotations

from proctor.cli.completion import GROUPS, OWN_OPTIONS, VERBS, Argument, arguments_of

_HEAD = """\
# fish completion for proctor, written by `proctor completion fish`

function __proctor_verb
    set -l words (commandline -opc)
    test (count $words) -gt 1; and test $words[2] = $argv[1]
end

function __proctor_no_verb
    test (count (commandline -opc)) -eq 1
end

function __proctor_runs
    set -l words (commandline -opc)
    set -l directory .
    if set -l at (contains -i -- -C $words)
        set directory $words[(math $at + 1)]
    end
    echo last
    for run in $directory/.proctor/runs/*/
        basename $run
    end
end

complete -c proctor -f
"""


def script() -> str:
    lines = [_HEAD]
    for verbs in GROUPS.values():
        lines += [
            f"complete -c proctor -n __proctor_no_verb -a {v} -d {_quoted(w)}\n" for v, w in verbs.items()
        ]
    for option, what in OWN_OPTIONS.items():
        lines.append(f"complete -c proctor -n __proctor_no_verb -l {option[2:]} -d {_quoted(what)}\n")
    for verb in VERBS:
        lines += [_line(verb, argument) for argument in arguments_of(verb)]
    return "".join(lines)


def _line(verb: str, argument: Argument) -> str:
    parts = [f"complete -c proctor -n '__proctor_verb {verb}'"]
    parts += [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in argument.names]
    if argument.takes_value:
        parts += _value(argument)
    if argument.names:
        parts.append(f"-d {_quoted(argument.help)}")
    return " ".join(parts) + "\n"


def _value(argument: Argument) -> list[str]:
    """An option requires its value; files are offered only where one is meant."""
    words = list(argument.words)
    parts = ["-r" if argument.names else ""]
    match argument.kind:
        case "files" | "output":
            parts.append("-F")
        case "directories":
            parts.append("-f")
            words.append("(__fish_complete_directories)")
        case "runs":
            parts.append("-F")
            words.append("(__proctor_runs)")
        case _:
            parts.append("-f")
    parts.append(f"-a {_quoted(' '.join(words))}" if words else "")
    return [part for part in parts if part]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
