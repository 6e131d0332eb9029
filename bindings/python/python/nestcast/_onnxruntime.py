"""Finds the library of ONNX Runtime that the Python package `onnxruntime` contains."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

_PATTERN = {
    "win32": "onnxruntime.dll",
    "darwin": "libonnxruntime*.dylib",
}.get(sys.platform, "libonnxruntime.so*")


def library() -> str | None:
    """Returns the library's file; None if ORT_DYLIB_PATH names another, or if the package is not installed."""
    if os.environ.get("ORT_DYLIB_PATH"):
        return None
    package = importlib.util.find_spec("onnxruntime")
    if package is None or package.origin is None:
        return None
    found = sorted((Path(package.origin).parent / "capi").glob(_PATTERN))
    return str(found[0]) if found else None
