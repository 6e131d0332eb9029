"""Check the training: python3 models/train/check.py [NAME...], all tests or those named as for unittest.

Installs what pyproject.toml names into target/train-python first, if this Python lacks a package. Checks the style too.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info < (3, 11):
    raise SystemExit(f"training needs Python 3.11 or later, this is {sys.version.split()[0]}")

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from nestcast_train import checking  # noqa: E402  after the path

if __name__ == "__main__":
    sys.exit(checking.run(HERE, [HERE], sys.argv[1:]))
