"""Dates, of which the short form is not read yet."""

import datetime


def parse(text: str) -> datetime.date:
    year, month, day = text.split("-")
    return datetime.date(int(year), int(month), int(day))
