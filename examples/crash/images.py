"""Images, with a mistake in the part that is written in C."""

import ctypes


def size(width: int, height: int) -> int:
    return 3 * width * height


def first_byte(address: int) -> int:
    return ctypes.c_ubyte.from_address(address).value  # reads memory that may not be there
