"""The calls and URIs that answers name for what they omit, in the form in which a model writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping

from proctor.render.agent import Hints

_RUN = 'get_run(run_id="{run}"'
_TEST = 'get_test(run_id="{run}", node_id={test}'

#: What the text for agents names instead of commands for a shell.
HINTS = Hints(
    whole=f'{_RUN}, detail="full") or proctor://runs/{{run}}/result.json',
    test=f"{_TEST})",
    difference=f'{_TEST}, part="difference")',
    ids=f'{_RUN}, select="ids")',
    output=f'{_RUN}, select="output")',
    resource="proctor://runs/{run}/result.json",
    quotes_as_json=True,
)


def uri(run_id: str, part: str = "result.json") -> str:
    return f"proctor://runs/{run_id}/{part}"


def page_call(run_id: str, select: str, offset: int | None = None) -> str:
    """The call for a part of a run. Without an offset, `failures` is the whole answer again."""
    more = f", offset={offset}" if offset is not None else ""
    return f'get_run(run_id="{run_id}", select="{select}"{more})'


def history_call(asked: Mapping[str, object], offset: int) -> str:
    """The next page of `get_history`; `asked` are the arguments that were given."""
    given = [f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in asked.items()]
    return f"get_history({', '.join([*given, f'offset={offset}'])})"


def comparison_call(a: str, b: str, offset: int) -> str:
    return f'compare_runs(a="{a}", b="{b}", offset={offset})'


def full_call(run_id: str) -> str:
    return f'get_run(run_id="{run_id}", detail="full")'
