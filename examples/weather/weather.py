"""Weather, with mistakes that kill the process, never come back, or show only once."""

import ctypes
import time
from pathlib import Path

CACHE = Path(__file__).with_name("cache.txt")


def rain(millimetres: list[int]) -> int:
    return sum(millimetres)


def wind(address: int) -> int:
    return ctypes.c_ubyte.from_address(address).value  # reads memory that may not be there


def forecast() -> str:
    """Of tomorrow; but the station never answers."""
    while True:
        time.sleep(0.1)


def temperature() -> int:
    """The cached one; but the first caller only fills the cache."""
    if not CACHE.exists():
        CACHE.write_text("21")
        return 0
    return int(CACHE.read_text())
