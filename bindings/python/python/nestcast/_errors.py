"""Errors that Python's part of the package raises."""

from __future__ import annotations

import math
from operator import index
from typing import Any

from ._nestcast import ArgumentError


def argument(message: str) -> ArgumentError:
    """Makes an error whose text begins as those of the native module and of C do."""
    return ArgumentError(f"invalid argument: {message}")


def check(**arguments: Any) -> None:
    """Refuses, by their names, arguments that the native module cannot take as what it needs; None is left to it.

    `token` is bytes, `bpp` a number, and every other one a whole number.
    """
    for name, value in arguments.items():
        if value is None:
            continue
        if name == "token":
            # A token is a secret, so the message has its type only.
            if not isinstance(value, bytes | bytearray | memoryview):
                raise argument(f"token is bytes, not {type(value).__name__}")
        elif name == "bpp":
            if not _is_number(value):
                raise argument(f"bpp is a number from 0 on, not {value!r}")
        elif not _is_whole(value):
            raise argument(f"{name} is a whole number from 0 on, not {value!r}")


def _is_number(value: Any) -> bool:
    try:
        return math.isfinite(value) and value >= 0
    except (TypeError, OverflowError):
        return False


def _is_whole(value: Any) -> bool:
    try:
        return 0 <= index(value) < 2**64
    except TypeError:
        return False
