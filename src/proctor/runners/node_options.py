"""Which words on the command lines of node, jest and vitest are options, and which belong to one."""

from __future__ import annotations

import msgspec

from proctor.runners.shell import Word

# Of node: these take the next word, if they have no `=`. All others of node's stand alone.
_VALUED_TEXT = """
    -r --require --import --loader --experimental-loader -C --conditions --env-file --env-file-if-exists
    --test-reporter --test-reporter-destination --test-name-pattern --test-skip-pattern --test-concurrency
    --test-timeout --test-shard --test-coverage-include --test-coverage-exclude --test-coverage-lines
    --test-coverage-branches --test-coverage-functions --test-global-setup --test-isolation
    --experimental-test-isolation --test-random-seed --input-type --title --dns-result-order --diagnostic-dir
    --icu-data-dir --inspect-port --watch-path --unhandled-rejections --redirect-warnings --disable-warning
    --openssl-config --tls-cipher-list --max-http-header-size --experimental-default-type
    --experimental-config-file --localstorage-file --experimental-sea-config --max-old-space-size --tsconfig
"""
# These run no file: `node -e code`.
_WITHOUT_FILE_TEXT = "-e --eval -p --print -pe -c --check -i --interactive -v --version --run -h --help"
# Of jest and vitest, which may have anything behind an option: these stand alone.
_JEST_ALONE = """
    --coverage --collectCoverage --verbose --ci --runInBand -i --silent --forceExit --detectOpenHandles
    --passWithNoTests --colors --color --detectLeaks --onlyChanged -o --bail -b --useStderr --expand -e
    --errorOnDeprecated --logHeapUsage --json --cache --watch --watchAll --runTestsByPath --findRelatedTests
    --all --lastCommit --onlyFailures -f --clearCache --clearMocks --resetMocks --resetModules
    --restoreMocks --showConfig --listTests --notify --updateSnapshot -u --testLocationInResults --watchman
    --injectGlobals --randomize --showSeed --workerThreads --openHandlesTimeout --waitForUnhandledRejections
"""
_VITEST_ALONE = """
    --run --watch -w --coverage --coverage.enabled --coverage.all --ui --open --globals --silent --dom
    --passWithNoTests --typecheck --typecheck.only --isolate --fileParallelism --allowOnly
    --hideSkippedTests --logHeapUsage --browser --browser.headless --standalone --update -u --color
    --clearScreen --expandSnapshotDiff --disableConsoleIntercept --printConsoleTrace
    --dangerouslyIgnoreUnhandledErrors --includeTaskLocation --inspect --inspectBrk --cache --strictTags
"""
_VALUED, _WITHOUT_FILE = frozenset(_VALUED_TEXT.split()), frozenset(_WITHOUT_FILE_TEXT.split())
_ALONE = {"jest": frozenset(_JEST_ALONE.split()), "vitest": frozenset(_VITEST_ALONE.split())}


def called(words: tuple[Word, ...]) -> tuple[tuple[Word, ...], tuple[Word, ...]]:
    """What stands behind `node`: its options, each in one word where that can be, and the file with all that
    follows. None of both for a call that runs no file."""
    options: list[Word] = []
    at = 0
    while at < len(words) and words[at].value.startswith("-") and words[at].value != "-":
        option = words[at]
        if option.value in _WITHOUT_FILE:
            return (), ()
        at += 1
        if option.value == "--":
            break
        if option.value in _VALUED and at < len(words):
            options += joined(option, words[at])
            at += 1
        else:
            options.append(option)
    return tuple(options), words[at:]


def joined(option: Word, value: Word) -> list[Word]:
    if not option.value.startswith("--"):
        return [option, value]
    both = Word(f"{option.text}={value.text}", f"{option.value}={value.value}")
    return [msgspec.structs.replace(both, plain=option.plain and value.plain)]


def is_boolean(tool: str, option: str) -> bool:
    """Whether the next word is none of this option's."""
    return "=" in option or option.startswith("--no-") or option in _ALONE[tool]


def without(words: tuple[Word, ...], tool: str, *options: str) -> tuple[Word, ...]:
    """The words without these options and their values."""
    kept: list[Word] = []
    is_value = False
    for word in words:
        if word.value.partition("=")[0] in options:
            is_value = not is_boolean(tool, word.value)
        elif not (is_value and not word.value.startswith("-")):
            kept.append(word)
            is_value = False
        else:
            is_value = False
    return tuple(kept)
