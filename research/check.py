"""Check the research: python3 research/check.py [NAME...], all tests or those named as for unittest.

Installs what models/train/check.py does. The tests share made data with those of models/train.
"""

from __future__ import annotations

import sys
from pathlib import Path

if sys.version_info < (3, 11):
    raise SystemExit(f"the research needs Python 3.11 or later, this is {sys.version.split()[0]}")

HERE = Path(__file__).resolve().parent
TRAIN = HERE.parent / "models/train"
sys.path.insert(0, str(TRAIN))

from nestcast_train import checking  # noqa: E402  after the path

if __name__ == "__main__":
    sys.exit(checking.run(HERE, [HERE, TRAIN, TRAIN / "tests"], sys.argv[1:]))
