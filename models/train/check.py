"""Run the tests of the training: python3 models/train/check.py [NAME...], all or those named as for unittest.

Installs requirements.txt into target/train-python first, if this Python lacks a package; no other folder is touched.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements.txt"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent.parent / "target"))
PACKAGES = TARGET / "train-python"
MODULES = "import torch, numpy, PIL, onnx, onnxruntime, matplotlib"


def environment() -> dict[str, str]:
    paths = [str(PACKAGES), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def install() -> None:
    stamp, wanted = PACKAGES / "installed", hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    if subprocess.run([sys.executable, "-c", MODULES], env=environment(), capture_output=True, check=False).returncode == 0:
        return
    print(f"installing what training needs into {PACKAGES} (5 GB where PyTorch comes with CUDA)", flush=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--quiet", "--upgrade"]
    if subprocess.run([*pip, "--target", PACKAGES, "-r", REQUIREMENTS], check=False).returncode:
        raise SystemExit("pip cannot install models/train/requirements.txt: check the network and repeat")
    stamp.write_text(wanted, encoding="utf-8")


def main() -> None:
    if sys.version_info < (3, 11):
        raise SystemExit(f"training needs Python 3.11 or later, this is {sys.version.split()[0]}")
    install()
    names = sys.argv[1:] or ["discover"]
    sys.exit(subprocess.run([sys.executable, "-m", "unittest", *names], cwd=HERE, env=environment(), check=False).returncode)


if __name__ == "__main__":
    main()
