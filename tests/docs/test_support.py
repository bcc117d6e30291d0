"""The test of the docs would notice: a block that is wrong fails, and a page can be written anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.console import Command, Shell, blocks, rewritten, without_what_varies

PAGE = """
# A page

<!-- in: .; exit: 0 3 -->
```console
$ echo one
one
$ (exit 3)
```

```sh
$ never run
```

```console
$ cat <<'END' | tr a-z A-Z
> some
> END
SOME
$ echo > file \\
>   two
```
"""


def test_blocks_have_commands_with_their_output_and_their_exit_statuses() -> None:
    first, second = blocks(PAGE)

    assert first.commands == [Command("echo one", "one\n"), Command("(exit 3)", "")]
    assert (first.example, first.status(0), first.status(1), first.status(2)) == (".", 0, 3, 0)
    assert [command.text for command in second.commands] == [
        "cat <<'END' | tr a-z A-Z\nsome\nEND",
        "echo > file \\\n  two",
    ]


def test_what_a_shell_prints_is_kept_by_command_with_its_status(tmp_path: Path) -> None:
    shell = Shell(tmp_path)
    ran = [shell.run(block) for block in blocks(PAGE)]

    assert [[status for status, _ in block] for block in ran] == [[0, 3], [0, 0]]
    assert [[command.output for _, command in block] for block in ran] == [["one\n", ""], ["SOME\n", ""]]


def test_a_command_sees_the_status_of_the_one_before_and_both_streams_are_printed(tmp_path: Path) -> None:
    (block,) = blocks(
        "<!-- in: . -->\n```console\n$ (exit 4)\n$ echo $?\n$ echo no >&2\n$ pwd\n$ command -v proctor\n```\n"
    )
    ran = Shell(tmp_path).run(block)

    assert [command.output for _, command in ran] == [
        "",
        "4\n",
        "no\n",
        "/home/me\n",
        "/home/me/.local/bin/proctor\n",
    ]


def test_the_slowest_tests_are_shown_only_where_a_command_asks_for_them(tmp_path: Path) -> None:
    text = "a\nslowest 0.20s t::a\n        0.11s t::b\n1 passed in 1.00s\n"
    commands = [f"cat <<'END'\n{text}END", f"cat <<'END' # --durations 2\n{text}END"]
    page = "".join("$ " + command.replace("\n", "\n> ") + "\n" for command in commands)
    (block,) = blocks(f"```console\n{page}```\n")

    plain, asked = [command.output for _, command in Shell(tmp_path).run(block)]
    assert (plain, asked) == ("a\n1 passed in 1.00s\n", text)


def test_blocks_share_a_copy_of_an_example_until_one_asks_for_another(tmp_path: Path) -> None:
    hows = ("exit: 0", "in: crash", "exit: 0", "in: shop", "in: shop; fresh")
    page = "".join(f"<!-- {how} -->\n```console\n$ basename $PWD; ls new; touch new\n```\n" for how in hows)
    shell = Shell(tmp_path)
    printed = [
        shell.run(block)[0][1].output.replace("ls: cannot access 'new': ", "") for block in blocks(page)
    ]

    lost = "No such file or directory\n"
    assert printed == [f"shop\n{lost}", f"crash\n{lost}", "crash\nnew\n", "shop\nnew\n", f"shop\n{lost}"]


def test_a_program_can_be_missing(tmp_path: Path) -> None:
    page = "<!-- without: sed -->\n```console\n$ command -v sed || echo none\n$ echo a | cat\n```\n"
    ran = Shell(tmp_path).run(blocks(page)[0])

    assert [command.output for _, command in ran] == ["none\n", "a\n"]


def test_a_page_is_written_anew_where_it_differs() -> None:
    _, second = blocks(PAGE)
    new = rewritten(PAGE, [[Command("echo one", "uno\n")], second.commands])

    assert new == PAGE.replace("$ echo one\none\n$ (exit 3)\n", "$ echo one\nuno\n")


@pytest.mark.parametrize(
    "one, other",
    [
        ("3 passed in 0.5s", "3 passed in 1m 12.31s"),
        ("run 20261115-233819-sgel0q", "run 20260101-000000-abcdef"),
        ("pytest 9.2.0, 6 tests", "pytest 8.4.1, 6 tests"),
        ('{"duration": 0.25}', '{"duration": 1.5e-05}'),
        ("==== 1 failed in 0.12s ====", "====== 1 failed in 1.2s ======"),
        ("a  12 ms  b", "a     1.5 s   b"),
        ("2 minutes ago", "just now"),
        ("RUN  now  failed", "RUN  12s   failed"),
    ],
)
def test_times_ids_and_versions_may_differ(one: str, other: str) -> None:
    assert without_what_varies(one) == without_what_varies(other)


@pytest.mark.parametrize(
    "one, other",
    [
        ("3 passed", "4 passed"),
        ("tests/test_a.py:10", "tests/test_a.py:11"),
        ("  indented", "indented"),
        ("assert 250 == 200", "assert 150 == 200"),
        ("a\n\nb", "a\nb"),
    ],
)
def test_nothing_else_may(one: str, other: str) -> None:
    assert without_what_varies(one) != without_what_varies(other)


def test_what_is_no_console_session_is_refused() -> None:
    with pytest.raises(AssertionError, match="begins with"):
        blocks("```console\noutput\n```\n")
    with pytest.raises(AssertionError, match="unknown key"):
        blocks("<!-- inn: shop -->\n```console\n$ a\n```\n")
