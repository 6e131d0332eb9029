"""python -m unittest test_photo: `photo` from nothing to a package in about 50 steps of each training, and what is
committed of the shipped runs."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import hashlib
import io
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from PIL import Image

from made_data import photo
from nestcast_train import settings, train
from nestcast_train.data import photos
from nestcast_train.export import manifest as of_package
from nestcast_train.export import photo_package
from nestcast_train.photo import make
from nestcast_train.photo.model import Codec
from nestcast_train.places import ARTIFACTS, CHECKPOINTS, ROOT, SETTINGS, TRAIN

STEPS = 50
LEARNED = 4190  # bytes of tables.bin before the parts that coding learns: priors,
FILTER = LEARNED + 2 * photo_package.CONTEXTS  # and from here on the post-filter


class OneCommand(unittest.TestCase):
    """The command of the README on invented photos, and the program with what it gave."""

    @classmethod
    def setUpClass(cls):
        cls.enterClassContext(contextlib.redirect_stdout(io.StringIO()))
        cls.out = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        (cls.out / "photos/elementary").mkdir(parents=True)
        for i in range(3):
            Image.fromarray(photo(448, 512, i)).save(cls.out / f"photos/elementary/{i}.jpg", quality=95)
        cls.run_of()
        cls.package = cls.out / "run/package"

    @classmethod
    def run_of(cls, name: str = "run", steps: int = STEPS):
        arguments = ["make_photo.py", "--photos", cls.out / "photos", "--out", cls.out / name, "--steps", steps]
        with mock.patch.object(sys, "argv", [str(argument) for argument in arguments]):
            make.main()

    def test_every_phase_was_trained(self):
        state = train.read(self.out / "run/coder/checkpoint.pt")
        self.assertAlmostEqual(state["step"], STEPS, delta=8)
        untrained = Codec(settings.load(SETTINGS / "photo.toml")).state_dict()
        for name in (
            "taps",
            "log_steps.0",
            "offsets.2",
            "scales.1.near",
            "analysis.tail.weight",
            "synthesis.tail.weight",
        ):
            self.assertFalse(torch.equal(state["model"][name], untrained[name]), name)
        behind = train.read(self.out / "run/checkpoint.pt")["model"]
        for name in {phase.stage for phase in settings.load(SETTINGS / "photo-synthesis.toml").phases}:
            self.assertFalse(
                torch.equal(behind[f"networks.{name}.tail.weight"], state["model"]["synthesis.tail.weight"]), name
            )

    def test_the_package_is_whole(self):
        manifest = tomllib.loads((self.package / "manifest.toml").read_text(encoding="utf-8"))
        self.assertEqual((manifest["name"], manifest["data"][1]["files"]), ("photo", 29))
        for name, digest in manifest["files"].items():
            self.assertEqual(hashlib.sha256((self.package / name).read_bytes()).hexdigest(), digest, name)
        shipped = tomllib.loads((ARTIFACTS / "photo/manifest.toml").read_text(encoding="utf-8"))
        self.assertEqual(manifest.keys(), shipped.keys())
        self.assertEqual(manifest["files"].keys(), shipped["files"].keys())
        self.assertEqual(manifest["ranges"], shipped["ranges"])

    def test_priors_were_counted(self):
        priors = np.frombuffer((self.package / "tables.bin").read_bytes()[LEARNED:FILTER], "<u2")
        self.assertGreater(len(np.unique(priors)), 50)

    def test_the_post_filter_was_fitted(self):
        taps = np.frombuffer((self.package / "tables.bin").read_bytes()[FILTER + 2 :], "i1")
        self.assertGreater((taps != 0).mean(), 0.5)
        behind = (self.package / "post_filter.bin").read_bytes()
        self.assertEqual(behind, (self.out / "run/coder/package/post_filter.bin").read_bytes())
        behind = np.frombuffer(behind[2:], "i1")
        self.assertEqual(len(behind), len(taps))
        self.assertGreater((behind != 0).mean(), 0.5)

    def test_what_was_made_is_not_made_again_and_what_was_not_is(self):
        files = [self.out / "run" / name for name in ("coder/checkpoint.pt", "checkpoint.pt", "package/manifest.toml")]
        before = [file.stat().st_mtime_ns for file in files]
        self.run_of()
        self.assertEqual([file.stat().st_mtime_ns for file in files], before)
        (self.out / "run/exported").unlink()
        files[2].write_text("half", encoding="utf-8")
        self.run_of()
        after = [file.stat().st_mtime_ns for file in files]
        self.assertEqual(after[0], before[0])
        self.assertNotEqual(files[2].read_text(encoding="utf-8"), "half")

    def test_another_run_is_not_taken_for_this_one(self):
        with self.assertRaisesRegex(SystemExit, "other settings"):
            self.run_of(steps=STEPS + 10)

    def test_a_training_that_is_asked_to_end_is_kept_and_not_exported(self):
        def asked(run: train.Run, ended: list) -> None:
            signal.raise_signal(signal.SIGTERM)
            trained(run, ended)

        trained, handler = train.train, signal.getsignal(signal.SIGTERM)
        with mock.patch.object(train, "train", asked), self.assertRaisesRegex(SystemExit, "goes on from here"):
            self.run_of("stopped")
        self.assertEqual(train.read(self.out / "stopped/coder/checkpoint.pt")["step"], 0)
        self.assertFalse((self.out / "stopped/coder/exported").exists())
        self.assertIs(signal.getsignal(signal.SIGTERM), handler)

    def test_the_program_takes_it(self):
        picture, stream, again = (self.out / name for name in ("a.png", "a.nst", "b.png"))
        Image.fromarray(photo(96, 128, 9)).save(picture)
        self.program("encode", picture, "-o", stream, "--analysis", "deep")
        self.program("decode", stream, "-o", again)
        apart = np.asarray(Image.open(again).convert("RGB")).astype(float) - np.asarray(Image.open(picture))
        self.assertLess(np.square(apart).mean(), 30)

    def program(self, *arguments: object) -> None:
        command = [
            "cargo",
            "run",
            "--quiet",
            "--locked",
            "-p",
            "nestcast",
            "--",
            *map(str, arguments),
            "--model",
            str(self.package),
        ]
        done = subprocess.run(
            command,
            cwd=ROOT,
            capture_output=True,
            text=True,
            env={**os.environ, **photo_package.runtime()},
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)


class Shipped(unittest.TestCase):
    def test_the_list_of_photos_is_that_of_the_manifest(self):
        with open(TRAIN / "photos.tsv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        told = tomllib.loads((ARTIFACTS / "photo/manifest.toml").read_text(encoding="utf-8"))["data"]
        counts = [sum(row["file"].startswith(f"{folder}/") for row in rows) for folder in photos.OPEN]
        self.assertEqual(counts, [source["files"] for source in told])
        with tempfile.TemporaryDirectory() as folder:
            for file in (Path(folder) / row["file"] for row in rows):
                file.parent.mkdir(exist_ok=True)
                file.touch()
            kept = {file.relative_to(folder).as_posix() for file in photos.training(folder)}
        self.assertEqual({row["file"] for row in rows if row["part"] == "training"}, kept)
        self.assertEqual(len({row["git_blob"] for row in rows}), len(rows))
        for row in rows:
            self.assertNotRegex(row["licence"], "NC|ND", row["file"])

    def test_the_checkpoints_are_those_of_the_shipped_tables(self):
        for name in ("photo", "photo-ssim"):
            model = Codec(settings.load(SETTINGS / f"{name}.toml"))
            model.load_state_dict(train.floats(train.read(CHECKPOINTS / f"{name}.pt")["model"]))
            shipped = of_package.file(ARTIFACTS / f"{name}", "tables.bin").read_bytes()
            self.assertEqual(photo_package.tables(model)[:LEARNED], shipped[:LEARNED], name)

    def test_steps_are_finer_towards_coarse_levels_and_wider_in_chroma_as_the_settings_say(self):
        plain = dataclasses.replace(settings.load(SETTINGS / "photo-ssim.toml"), step_tilt=0.0, step_chroma=0.0)
        tilted = dataclasses.replace(plain, step_tilt=0.25, step_chroma=0.5)
        before, after = (photo_package.shipped_steps(Codec(one)) for one in (plain, tilted))
        octaves = [(b - a) / math.log(2) for a, b in zip(before, after)]
        for level, found in enumerate(octaves[:-1]):
            torch.testing.assert_close(found, torch.tensor([0.0] * 3 + [0.5] * 6) - 0.25 * level)
        torch.testing.assert_close(octaves[-1], torch.tensor([0.0, 0.5, 0.5]) - 0.25 * (plain.levels - 1))

    def test_the_settings_are_those_of_the_shipped_manifests(self):
        for name in ("photo", "photo-ssim"):
            model = Codec(settings.load(SETTINGS / f"{name}.toml"))
            trained_on = settings.load(SETTINGS / f"{name}-synthesis.toml")
            written = tomllib.loads(photo_package.with_cuts(photo_package.head(model), trained_on.cuts))
            shipped = tomllib.loads((ARTIFACTS / f"{name}/manifest.toml").read_text(encoding="utf-8"))
            del shipped["files"]
            shipped["networks"].pop("gains", None)  # which a training of its own puts there
            self.assertEqual(json.dumps(written), json.dumps(shipped))

    def test_checkpoints_hold_nothing_that_can_be_made_again(self):
        for file in CHECKPOINTS.glob("*.pt"):
            state = train.read(file)
            self.assertLessEqual(state.keys(), {"model", "bpp", "step", "seconds"}, file.name)
            large = [
                name for name, value in state["model"].items() if value.numel() >= 1024 and value.dtype != torch.half
            ]
            self.assertEqual(large, [], file.name)


if __name__ == "__main__":
    unittest.main()
