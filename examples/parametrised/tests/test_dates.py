import datetime

import pytest
from dates import parse

DAY = datetime.date(2026, 3, 1)


@pytest.mark.parametrize("text", ["2026-03-01", "20260301", "2026/03/01", "1 March 2026"])
def test_every_form_of_a_date_is_read(text):
    assert parse(text) == DAY


def test_the_order_is_year_month_day():
    assert parse("2026-03-01").month == 3
