"""The completion script for bash, from version 3.2 on; it needs no other package."""

from __future__ import annotations

from proctor.cli.completion import OWN_OPTIONS, VERBS, Argument, Kind, arguments_of

_HEAD = """\
# bash completion for proctor, written by `proctor completion bash`

_proctor_add() {  # the lines of stdin, as candidates
    local line
    while IFS= read -r line; do COMPREPLY+=("$line"); done
}

_proctor_runs() {
    local directory=. i run
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -C ]]; then directory=${COMP_WORDS[i + 1]}; fi
    done
    echo last
    for run in "$directory"/.proctor/runs/*/; do
        run=${run%/}
        if [[ -d $run ]]; then echo "${run##*/}"; fi
    done
}

_proctor() {
    local cur=${COMP_WORDS[COMP_CWORD]} verb=${COMP_WORDS[1]} at=$((COMP_CWORD - 1))
    local before kind=words words= i
    COMPREPLY=()
    if [[ $cur == "=" ]]; then
        cur=
    elif [[ ${COMP_WORDS[at]} == "=" ]]; then
        at=$((at - 1))
    fi
    before=${COMP_WORDS[at]}
    if [[ $at -gt 1 && ${COMP_WORDS[at - 1]} == -o && $at -ne $((COMP_CWORD - 1)) ]]; then
        before='-o FORMAT='
    fi
    for ((i = 2; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then verb=--; fi
    done
    if [[ $COMP_CWORD -eq 1 ]]; then
        words='@VERBS@'
    else
        case $verb,$before in
"""
_MIDDLE = """\
            *)
                case $verb,$cur in
"""
_TAIL = """\
                    *) kind=files ;;
                esac
                ;;
        esac
    fi
    _proctor_add < <(compgen -W "$words" -- "$cur")
    case $kind in
        files)
            compopt -o filenames 2>/dev/null
            _proctor_add < <(compgen -f -- "$cur")
            ;;
        directories)
            compopt -o filenames 2>/dev/null
            _proctor_add < <(compgen -d -- "$cur")
            ;;
        runs)
            compopt -o filenames 2>/dev/null
            _proctor_add < <(compgen -W "$(_proctor_runs)" -- "$cur")
            _proctor_add < <(compgen -f -- "$cur")
            ;;
        output)
            compopt -o nospace 2>/dev/null
            ;;
    esac
}

complete -F _proctor proctor
"""


def script() -> str:
    lines = [_HEAD.replace("@VERBS@", " ".join([*VERBS, *OWN_OPTIONS]))]
    for verb in VERBS:
        for argument in arguments_of(verb):
            if argument.names and argument.takes_value:
                pattern = "|".join(f"{verb},{name}" for name in argument.names)
                lines.append(_case(12, pattern, argument.kind, argument.words))
            if argument.kind == "output":
                lines.append(_case(12, f"{verb},'-o FORMAT='", "files", ()))
    lines.append(_MIDDLE)
    lines += [_case(20, f"{verb},-*", "words", _options(arguments_of(verb))) for verb in VERBS]
    lines += [_case(20, f"{verb},*", *_positional(arguments_of(verb))) for verb in VERBS]
    return "".join([*lines, _TAIL])


def _case(indent: int, pattern: str, kind: Kind, words: tuple[str, ...]) -> str:
    sets = [f"kind={kind}"] if kind != "words" else []
    sets += [f"words='{' '.join(words)}'"] if words else []
    return f"{' ' * indent}{pattern}) {' '.join(sets) or ':'} ;;\n"


def _options(arguments: list[Argument]) -> tuple[str, ...]:
    return tuple(name for argument in arguments for name in argument.names)


def _positional(arguments: list[Argument]) -> tuple[Kind, tuple[str, ...]]:
    """Of several, the words of the first and the kind of the last."""
    found = [argument for argument in arguments if not argument.names]
    if not found:
        return "words", ()
    return found[-1].kind, tuple(word for argument in found for word in argument.words)
