"""Errors that Python's part of the package raises."""

from __future__ import annotations

from ._nestcast import ArgumentError


def argument(message: str) -> ArgumentError:
    """Makes an error whose text begins as those of the native module and of C do."""
    return ArgumentError(f"invalid argument: {message}")
