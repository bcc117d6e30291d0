"""Sends a message to the proctor that runs this test, for the verbs that a test uses."""

from __future__ import annotations

from proctor.client import BadMessage, NoChannel, ReportError
from proctor.errors import ChannelError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def send(message: Callable[[], None]) -> int:
    try:
        message()
    except (BadMessage, NoChannel) as error:
        raise UsageError(str(error)) from None
    except ReportError as error:
        raise ChannelError(str(error)) from None
    return 0
