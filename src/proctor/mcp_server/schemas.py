"""The arguments and answers of each tool. Arguments that are not listed here are refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from proctor.errors import UsageError
from proctor.nearest import or_known

USUAL_WAIT = 50.0  # seconds: many clients give up after 60
NO_LIMIT = 10**9  # items: the budget alone decides
USUAL_BUDGET = 6000  # tokens of each half of an answer, unless the caller or the settings say otherwise
LEAST_BUDGET, MOST_BUDGET = 200, 100_000
_SHOWN = 80  # characters of a value that an error repeats
_ERRORS = 5  # named at once


def _writable(text: str) -> str:
    """Whether it can be passed on a command line."""
    if "\0" in text or any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("contains NUL or a lone surrogate")
    return text


Text = Annotated[str, Field(max_length=4096), AfterValidator(_writable)]
RunId = Annotated[str, Field(pattern=r"^(last|[0-9a-z-]{1,22})$")]
Seconds = Annotated[float, Field(ge=0, le=600)]
Offset = Annotated[int, Field(ge=0, le=10**12)]
Limit = Annotated[int, Field(ge=1, le=NO_LIMIT)]
Budget = Annotated[int, Field(ge=LEAST_BUDGET, le=MOST_BUDGET)]
Detail = Annotated[
    Literal["summary", "failures", "full"],
    Field(description="full: every test and field; whole unless a budget is given"),
]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_empty(cls, given: Any) -> Any:
        """Some clients send every argument: an empty text, or null, means not given."""
        if isinstance(given, dict):
            return {name: value for name, value in given.items() if value is not None and value != ""}
        return given

    def given(self, name: str) -> bool:
        return name in self.model_fields_set


class Selecting(Arguments):
    targets: Annotated[
        list[Text],
        Field(max_length=10_000, description="Paths, ids, test names or file.py:LINE; none: all tests"),
        BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
    ] = []
    keywords: Annotated[Text, Field(description="As pytest -k")] = ""
    markers: Annotated[Text, Field(description="As pytest -m")] = ""


class Where(Arguments):
    runner: Annotated[Text, Field(description="One or several (a,b); default: all found")] = ""
    python: Annotated[Text, Field(description="One that describe_project lists")] = ""
    project: Annotated[Text, Field(description="Directory; else the server's first root")] = ""


class ExecuteTests(Where, Selecting):
    failfast: Annotated[bool, Field(description="Stop at the first failure")] = False
    maxfail: Annotated[int, Field(ge=1, le=10**6)] = 0
    workers: Annotated[int, Field(ge=1, le=256)] | Literal["", "auto"] = ""
    retries: Annotated[int, Field(ge=0, le=1000, description="Of failed tests")] = 0
    test_timeout: Annotated[float, Field(gt=0, le=86_400, description="Seconds for each test")] = 0.0
    last_failed: Annotated[bool, Field(description="Only tests that failed when they last ran")] = False
    baseline: Annotated[bool, Field(description="Run failures at the branch's start, too")] = False
    repeat: Annotated[int, Field(ge=1, le=10_000, description="Times to run each test")] = 1
    seed: Annotated[int, Field(ge=0, lt=2**32, description="Seed of hashes and test order")] = -1
    verbosity: Annotated[int, Field(ge=-2, le=4, description="As pytest -v; 2: full values")] = 0
    locals: Annotated[bool, Field(description="Local variables of failures, by their own repr")] = False
    env: Annotated[
        dict[str, Text], Field(max_length=50, description="Variables that the project's allow_env permits")
    ] = {}
    timeout: Annotated[float, Field(gt=0, le=86_400, description="Seconds for the run (300)")] = 0.0
    wait: Annotated[Seconds, Field(description="Seconds; a longer run goes on, see get_run")] = USUAL_WAIT
    detail: Detail = "failures"
    budget: Annotated[Budget, Field(description="Tokens of the answer")] = USUAL_BUDGET

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> ExecuteTests:
        if self.failfast and self.maxfail:
            raise ValueError("maxfail: expected only one of failfast and maxfail")
        return self


class DiscoverTests(Where, Selecting):
    offset: Annotated[Offset, Field(description="Tests to skip")] = 0
    limit: Limit = NO_LIMIT
    budget: Budget = USUAL_BUDGET


class GetRun(Arguments):
    run_id: RunId
    wait: Annotated[Seconds, Field(description="Seconds to wait for the run to end")] = 0.0
    detail: Detail = "failures"
    select: Annotated[
        Literal["failures", "ids", "tests", "output", "json_report", "files"],
        Field(description="One part, page by page"),
    ] = "failures"
    offset: Annotated[Offset, Field(description="Items, or bytes of output")] = 0
    limit: Limit = NO_LIMIT
    budget: Budget = USUAL_BUDGET


class GetTest(Arguments):
    run_id: RunId
    node_id: Text
    locals: Annotated[bool, Field(description="Local variables of its failure, too")] = False
    part: Annotated[
        Literal["all", "difference"], Field(description="difference: the full difference of compared values")
    ] = "all"
    offset: Annotated[Offset, Field(description="Characters of the difference")] = 0
    budget: Budget = USUAL_BUDGET


class GetHistory(Arguments):
    node_id: Annotated[Text, Field(description="Id or its end; none: the last runs")] = ""
    select: Annotated[
        Literal["results", "flaky", "slow"], Field(description="flaky, slow: lists of tests")
    ] = "results"
    offset: Offset = 0
    limit: Limit = 20
    budget: Budget = USUAL_BUDGET
    project: Text = ""

    @model_validator(mode="after")
    def _agrees_with_itself(self) -> GetHistory:
        if self.node_id and self.select != "results":
            raise ValueError(f"node_id: not expected with select={self.select}, which lists tests")
        return self


class CompareRuns(Arguments):
    a: Annotated[RunId, Field(description="The run before")]
    b: RunId
    offset: Offset = 0
    budget: Budget = USUAL_BUDGET


class CancelRun(Arguments):
    run_id: RunId


class DescribeProject(Arguments):
    project: Text = ""


Running: TypeAlias = ExecuteTests | DiscoverTests
Budgeted: TypeAlias = Running | GetRun | GetTest | GetHistory | CompareRuns


class ToolInfo(msgspec.Struct, frozen=True):
    """A row of `tools/list`."""

    name: str
    description: str
    arguments: type[Arguments]
    output: dict[str, Any]
    reads_only: bool = True
    idempotent: bool = True


def _object(required: str, **types: str) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for name, kind in types.items():
        kinds = kind.split()
        properties[name] = {"type": kinds[0] if len(kinds) == 1 else kinds}
    return {"type": "object", "properties": properties, "required": required.split()}


_DOCUMENT = _object(
    "run_id outcome summary",
    text="string",
    run_id="string",
    outcome="string",
    exit_code="integer null",
    summary="object",
    tests="array",
    collection_errors="array",
    json_report="object",
    text_output="string",
    omitted="object",
)

TOOLS = (
    ToolInfo(
        "execute_tests",
        "Run the project's tests and report what happened. Only outcome `passed` is green; `running`: get_run"
        " has the rest later.",
        ExecuteTests,
        _DOCUMENT,
        reads_only=False,
        idempotent=False,
    ),
    ToolInfo(
        "discover_tests",
        "List the tests that execute_tests would run, without running them.",
        DiscoverTests,
        _object("total tests", total="integer", tests="array", collection_errors="array", omitted="object"),
        reads_only=False,
        idempotent=False,
    ),
    ToolInfo(
        "get_run",
        "A run's result again, or with select, offset or limit one part of it, page by page. `last` is the"
        " newest run.",
        GetRun,
        _DOCUMENT,
    ),
    ToolInfo(
        "get_test",
        "One test of a run: whole message, traceback, captured output, files.",
        GetTest,
        _object(
            "run_id test",
            run_id="string",
            test="object",
            captured="object",
            difference="string",
            omitted="object",
        ),
    ),
    ToolInfo(
        "get_history",
        "Earlier results of a test, the newest first; or tests that are flaky or became slow.",
        GetHistory,
        _object("", test="string", results="array", tests="array", runs="array", omitted="object"),
    ),
    ToolInfo(
        "compare_runs",
        "What is different in run b: new, still and fixed failures; tests slower, faster, added, removed.",
        CompareRuns,
        _object("new fixed still", new="array", fixed="array", still="array", omitted="object"),
    ),
    ToolInfo(
        "cancel_run",
        "End a run that is under way, with every process it started.",
        CancelRun,
        _object("run_id outcome", text="string", run_id="string", outcome="string", summary="object"),
        reads_only=False,
    ),
    ToolInfo(
        "describe_project",
        "The interpreter, pytest, plugins, markers, test paths and runners of a project.",
        DescribeProject,
        _object("project runner", project="string", runner="string", problem="string null"),
    ),
)


def input_schema(arguments: type[Arguments]) -> dict[str, Any]:
    """The model's schema without what clients do not need: a model pays for every token of it."""
    schema = arguments.model_json_schema()
    return {
        "type": "object",
        "properties": {name: _plain(value) for name, value in schema["properties"].items()},
        **({"required": schema["required"]} if "required" in schema else {}),
        "additionalProperties": False,
    }


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(item) for item in value if item != ""]
    if not isinstance(value, dict):
        return value
    return {name: _plain(item) for name, item in value.items() if not _needless(name, item)}


def _needless(name: str, item: Any) -> bool:
    """Removes titles, empty defaults and very large bounds, which cost tokens and help no model."""
    return (
        name in ("title", "maxLength")
        or (name == "default" and (not item or item == NO_LIMIT))
        or (name == "maximum" and item >= 10**6)
    )


Checked = TypeVar("Checked", bound=Arguments)


def check(model: type[Checked], given: Mapping[str, Any]) -> Checked:
    """Raises a UsageError that names each wrong argument, and what is expected."""
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        raise UsageError(_faults(model, error)) from None


def _faults(model: type[Arguments], error: ValidationError) -> str:
    found: dict[str, list[str]] = {}
    for fault in error.errors(include_url=False):
        place = fault["loc"]
        if not place:  # one of our own rules, which name the argument
            found.setdefault(fault["msg"].removeprefix("Value error, "), [])
            continue
        field = _short(str(place[0])) + "".join(f"[{step}]" for step in place[1:] if isinstance(step, int))
        found.setdefault(field, []).append(_fault(model, dict(fault)))
    lines = [field if not why else f"{field}: {' or '.join(why)}" for field, why in found.items()]
    more = f"; and {len(lines) - _ERRORS} more" if len(lines) > _ERRORS else ""
    return "; ".join(lines[:_ERRORS]) + more


def _fault(model: type[Arguments], fault: dict[str, Any]) -> str:
    if fault["type"] == "extra_forbidden":
        return f"no such argument{or_known(str(fault['loc'][0]), model.model_fields)}"
    if fault["type"] == "missing":
        return "is required"
    message = fault["msg"].removeprefix("Value error, ")
    return f"{message[:1].lower()}{message[1:]}, not {_short(repr(fault['input']))}"


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
