"""What every test can rely on, however the tests themselves were started."""

from __future__ import annotations

import signal

import pytest
from hypothesis import HealthCheck, Phase, settings

pytest.register_assert_rewrite("support.golden")  # texts that differ are shown
collect_ignore = ["projects", "data"]  # what tests run, and is no test of ours

# A shell starts its background jobs with some of these ignored, and nohup everything with another; and
# programs hand that down to what they start.
for number, handler in (
    (signal.SIGINT, signal.default_int_handler),
    (signal.SIGQUIT, signal.SIG_DFL),
    (signal.SIGHUP, signal.SIG_DFL),
):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, handler)

# A busy machine is no fault of what is tested.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "brief",  # for `make mutate`, which asks whether a test fails, a thousand times, and not with what
    settings.get_profile("patient"),
    max_examples=10,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
)
settings.load_profile("patient")
