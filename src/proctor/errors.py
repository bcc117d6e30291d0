"""Every error that proctor raises on purpose: its message, a slug to look it up by, an exit code."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:  # the verbs that tests call do without the cost of `typing`
    from typing import ClassVar


class ProctorError(Exception):
    """Something the user can act on. The message names what was found and what was expected."""

    slug: ClassVar[str] = "internal"
    exit_code: int = 3


class UsageError(ProctorError):
    """The request itself cannot be carried out: a bad target, option or setting."""

    slug = "usage"
    exit_code = 4


class ConfigError(UsageError):
    """A setting in pyproject.toml or proctor.toml is unknown or of the wrong type."""

    slug = "config"


class InterpreterError(UsageError):
    """No interpreter fits, or the chosen one lacks what the tests need."""

    slug = "interpreter"


class LaunchError(UsageError):
    """The test process could not be started."""

    slug = "launch"


class ChannelError(ProctorError):
    """A message could not be sent on the control channel, or not as it was meant."""

    slug = "channel"
    exit_code = 2


class OutputError(ProctorError):
    """An output could not be written, or not completely."""

    slug = "output"

    def __init__(self, where: str, error: OSError) -> None:
        super().__init__(f"{where} could not be written: {error.strerror}")


class StreamError(ProctorError):
    """The input is not a valid stream of proctor's."""

    slug = "stream"


class ControlError(StreamError):
    """A test program broke the rules of the control channel: which one, at which byte, and why, perhaps."""

    slug = "control"

    def __init__(
        self,
        kind: str,
        rule: str,
        offset: int,
        message: str,
        before: bytes = b"",
        after: bytes = b"",
        cause: str = "",
    ) -> None:
        self.kind, self.rule, self.offset, self.message, self.cause = kind, rule, offset, message, cause
        self.before, self.after = before, after  # on both sides of the offset, as far as they are known
        sides = [f"{word} {side!r}" for word, side in (("after", before), ("before", after)) if side]
        where = ", ".join([f"rule {rule}", f"byte {offset}", *sides])
        super().__init__(f"{message}{'; likely cause: ' if cause else ''}{cause} ({where})")
