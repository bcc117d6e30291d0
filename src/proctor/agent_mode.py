"""Decides whether a coding agent reads the output: the first match in one table. `proctor doctor` shows it.

Also loaded, by its path, into the interpreters of tests: Python 3.7 or newer, and its standard library.
"""

from __future__ import annotations

from typing import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TRUE = frozenset({"1", "true", "yes", "on"})
FALSE = frozenset({"0", "false", "no", "off"})

# fmt: off
#: Set by agents for the programs they start; on a terminal too, because agents use pseudo-terminals.
STRONG = (
    "AI_AGENT", "AGENT",
    "CLAUDECODE", "CLAUDE_CODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CODE_IS_COWORK",
    "CURSOR_AGENT", "CURSOR_EXTENSION_HOST_ROLE", "CURSOR_SANDBOX",
    "GEMINI_CLI",
    "CODEX_SANDBOX", "CODEX_CI", "CODEX_THREAD_ID", "CODEX_SANDBOX_NETWORK_DISABLED", "CODEX_CLI",
    "COPILOT_CLI", "COPILOT_AGENT", "GITHUB_COPILOT_CLI_MODE", "GH_COPILOT_WORKING_DIRECTORY",
    "OPENCODE", "OPENCODE_CLIENT", "OPENCODE_CALLER", "OPENCODE_AI",
    "ANTIGRAVITY_AGENT", "AUGMENT_AGENT", "AMP_CURRENT_THREAD_ID", "GOOSE_TERMINAL", "CRUSH",
    "CLINE_ACTIVE", "CLINE_TASK_ID",
    "ROO_CODE_TASK_ID", "QWEN_CODE",
    "KIMI_CLI", "KIMI_PLUGIN_ROOT",
    "GROK_PLUGIN_ROOT", "GROK_PLUGIN_DATA",
    "JUNIE_DATA", "JUNIE_SHIM_PATH",
    "PI_CODING_AGENT", "OPENCLAW_SHELL", "TRAE_AI_SHELL_ID", "DROID_CLI", "WINDSURF_SESSION", "AGENT_CLI",
)
#: A human's shell can have these, so they count only where no human reads along.
WEAK = (
    "CURSOR_TRACE_ID", "CURSOR_EDITOR", "CURSOR_AI",
    "ZED_ENVIRONMENT", "ZED_TERM",
    "REPL_ID", "GOOSE_PROVIDER",
    "COPILOT_MODEL", "COPILOT_ALLOW_ALL", "COPILOT_GITHUB_TOKEN",
    "AMP_HOME", "OR_APP_NAME", "TERM_PROGRAM",
)
# fmt: on
#: Variables that mean an agent only with one of these values.
VALUES = {
    "AGENT": frozenset({"amp", "goose", "crush", "1"}),
    "CURSOR_EXTENSION_HOST_ROLE": frozenset({"agent-exec"}),
    "OR_APP_NAME": frozenset({"aider", "plandex", "openhands"}),
    "TERM_PROGRAM": frozenset({"kiro"}),
}


class AgentMode(NamedTuple):
    on: bool
    why: str  # never the value of a variable: that is untrusted text


def agent_mode(environ: Mapping[str, str], is_terminal: bool, asked: str = "auto") -> AgentMode:
    """`asked` is the value of the option `--failure-summary`."""
    if asked != "auto":
        return AgentMode(asked == "on", f"--failure-summary {asked}")
    explicit = environ.get("PROCTOR_AGENT", "").strip().lower()
    if explicit in TRUE | FALSE:
        return AgentMode(explicit in TRUE, "PROCTOR_AGENT")
    for name in ("AI_AGENT", "AGENT"):
        if environ.get(name, "").strip().lower() in FALSE:
            return AgentMode(False, f"{name} says no")
    for name in STRONG:
        if _counts(name, environ.get(name, "")):
            return AgentMode(True, f"{name} is set")
    if not is_terminal:
        for name in WEAK:
            if _counts(name, environ.get(name, "")):
                return AgentMode(True, f"{name} is set and stdout is not a terminal")
    return AgentMode(False, "no variable of an agent is set")


def _counts(name: str, value: str) -> bool:
    word = value.strip().lower()
    if not word or word in FALSE:
        return False
    return word in VALUES[name] if name in VALUES else True
