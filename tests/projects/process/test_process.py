"""Two tests, so that each of two workers has one."""

import conftest
import pytest


@pytest.mark.parametrize("number", [1, 2])
def test_state(number):
    conftest.write("test %d" % number)
