"""Where files of the repository lie."""

from __future__ import annotations

from pathlib import Path

TRAIN = Path(__file__).resolve().parents[1]  # models/train
ROOT = TRAIN.parents[1]  # the repository
SETTINGS = TRAIN / "settings"
ARTIFACTS = TRAIN.parent / "artifacts"  # the shipped packages
CHECKPOINTS = TRAIN.parent / "checkpoints"
CODEC_TABLES = ROOT / "codec/tables"  # the tables of `photo` and `video`, which the codec includes
