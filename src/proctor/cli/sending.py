"""What the verbs of a test share: an exit code for what keeps a message from being sent."""

from __future__ import annotations

from proctor.client import BadMessage, NoChannel, ReportError
from proctor.errors import ChannelError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def sent(message: Callable[[], None]) -> int:
    try:
        message()
    except (BadMessage, NoChannel) as error:
        raise UsageError(str(error)) from None
    except ReportError as error:
        raise ChannelError(str(error)) from None
    return 0
