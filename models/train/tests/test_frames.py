"""python -m unittest test_frames: the network for shown frames of video, what it learns from, and a dry run of its
training."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import unittest
from pathlib import Path

import numpy as np
import onnx
import torch
import torch.nn.functional as F

from nestcast_train import slim, train
from nestcast_train.export import manifest
from nestcast_train.frames import decoded_frames, frame_package, frame_restorer, frame_restoring
from nestcast_train.frames.frame_restorer import FINER, LUMA, SAMPLES, FrameRestorer
from nestcast_train.photo.model import Correction
from nestcast_train.places import CHECKPOINTS, SETTINGS
from nestcast_train.settings import FrameSettings, Phase, load
from nestcast_train.synthesis.perceptual import missing

SMALL = FrameSettings("frames", "small", channels=(16, 16, 16), blocks=(1, 1, 1))


def records(count: int) -> np.ndarray:
    """Smooth frames, with noise in place of what coding loses."""
    random = np.random.default_rng(count)
    out = np.zeros(count, decoded_frames.RECORD)
    for i, record in enumerate(out):
        record["clip"], record["receiver"] = i % 2, i % 5
        record["floor"], record["enhanced"], record["shown"] = 4.5, 3.5, 4.5 - i % 5 / 2
        for c, (height, width) in zip("yuv", decoded_frames.SHAPES):
            y, x = np.mgrid[:height, :width]
            original = 128 + 60 * np.sin((x + 3 * i) / 9) * np.cos(y / 11)
            noise = random.normal(0, 4, original.shape)
            record[f"original.{c}"] = original
            record[f"filtered.{c}"] = np.round((original - 128 + noise) * 64)
            record[f"predicted.{c}"] = np.round((original - 128 + 2 * noise) * 8)
            record[f"significance.{c}"] = random.integers(0, 4, (height // 4, width // 4))
        record["error"] = 16
    return out


class Records(unittest.TestCase):
    def test_blocks_are_those_of_the_planes(self):
        record = records(1)[0]
        given = torch.from_numpy(decoded_frames.of(record, "original"))
        planes = [torch.from_numpy(record[f"original.{c}"].astype(np.float32))[None] for c in "yuv"]
        expected = torch.cat([F.pixel_unshuffle(plane, side) for plane, side in zip(planes, (4, 2, 2))])
        torch.testing.assert_close(given, expected)
        self.assertEqual(given.shape, (SAMPLES, 32, 32))
        known = decoded_frames.known(record)
        np.testing.assert_array_equal(known[0], record["significance.y"])
        np.testing.assert_array_equal(known[2][1::2, 0::2], record["significance.v"])

    def test_a_file_that_breaks_off_is_read_as_far_as_it_goes(self):
        with tempfile.TemporaryDirectory() as folder:
            path, whole = Path(folder) / "frames.bin", records(3)
            path.write_bytes(whole.tobytes()[:-1])
            np.testing.assert_array_equal(decoded_frames.read(path), whole[:2])

    def test_clips_of_every_kind_come_first(self):
        clips = [Path(f"{i:02}") for i in range(20)]
        mixed = decoded_frames.mixed(clips)
        self.assertEqual(sorted(mixed), clips)
        self.assertEqual([clip.name for clip in mixed[:4]], ["00", "07", "14", "01"])

    def test_colours_are_those_of_the_planes(self):
        record = records(1)[0]
        luma, *others = (record[f"original.{c}"].astype(np.float64) for c in "yuv")
        blue, red = (other.repeat(2, 0).repeat(2, 1) - 128 for other in others)
        grey = (luma - 16) / 219
        green = grey - (0.344136 * blue + 0.714136 * red) / 224
        expected = 255 * np.stack([grey + 1.402 * red / 224, green, grey + 1.772 * blue / 224])
        given = frame_restoring.to_rgb(frame_restoring.stacked([record])["target"])[0]
        np.testing.assert_allclose(given.numpy(), expected, atol=1e-3)


class Network(unittest.TestCase):
    def test_it_starts_as_the_synthesis_of_photos(self):
        torch.manual_seed(1)
        photo = Correction(SMALL.channels, SMALL.blocks, SMALL.step, cut=True)
        torch.nn.init.normal_(photo.tail.weight, std=0.1)
        own = FrameRestorer(SMALL)
        own.load_photo(photo.state_dict())
        luma, *others = (20 * torch.randn(1, 1, side, side) for side in (64, 32, 32))
        added = torch.randn(1, frame_restorer.CHANNELS - SAMPLES, 16, 16)
        blocks = torch.cat([F.pixel_unshuffle(luma, 4), *(F.pixel_unshuffle(other, 2) for other in others), added], 1)
        planes = torch.cat([luma, *(F.interpolate(other, scale_factor=2) for other in others)], 1)
        with torch.no_grad():
            given = own(blocks, torch.tensor([[3.2, 4.0, 5.0, 0.0]]))
            expected = photo(planes, torch.tensor([3.2 - FINER]))
            torch.testing.assert_close(F.pixel_shuffle(given[:, :LUMA], 4), expected[:, :1], rtol=1e-3, atol=1e-4)
            for i, component in enumerate((1, 2)):
                part = given[:, LUMA + 4 * i : LUMA + 4 * i + 4]
                torch.testing.assert_close(
                    F.pixel_shuffle(part, 2),
                    F.avg_pool2d(expected[:, component : component + 1], 2),
                    rtol=1e-3,
                    atol=1e-4,
                )
            torch.nn.init.normal_(own.head.weight[:, SAMPLES:])
            self.assertFalse(torch.allclose(own(blocks, torch.tensor([[3.2, 4.0, 5.0, 0.0]])), given))

    def test_without_training_it_corrects_nothing(self):
        torch.manual_seed(2)
        given = FrameRestorer(SMALL)(
            torch.randn(1, frame_restorer.CHANNELS, 8, 8), torch.tensor([[2.0, 3.0, 4.0, 1.0]])
        )
        self.assertEqual(given.abs().max().item(), 0)

    def test_the_shipped_settings_are_those_of_the_shipped_network(self):
        settings = load(SETTINGS / "frames.toml")
        FrameRestorer(settings).load_state_dict(train.floats(train.read(CHECKPOINTS / "frames.pt")["model"]))


class DryRun(unittest.TestCase):
    settings = dataclasses.replace(
        SMALL,
        batch=2,
        rise=1,
        validate_every=2,
        average=0.9,
        phases=(Phase(2, "squares"), Phase(2, "eye")),
        calibration=3,
        learning_rate=3e-3,
    )

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        for name, count in (("training", 6), ("held-out", 20)):
            (self.at(f"{name}.bin")).write_bytes(records(count).tobytes())

    def at(self, name: str) -> Path:
        return Path(self.folder.name) / name

    def run_of(self, name: str, steps: int = 4, resume: bool = False) -> train.Run:
        run = train.start(self.settings, self.at(""), self.at(name), resume)
        if steps < self.settings.steps:  # as if it were told to end there
            run.task.after_step = lambda: ended.append(True) if run.step + 1 == steps else None
        ended: list = []
        train.train(run, ended)
        return run

    def test_a_phase_has_one_of_two_losses(self):
        task = train.start(self.settings, self.at(""), self.at("losses")).task
        batch = task.batch(0)
        torch.nn.init.normal_(task.model.tail.weight, std=0.01)  # a new network corrects nothing
        squares, eye = (task.loss(batch, Phase(1, stage)).item() for stage in ("squares", "eye"))
        restored = batch["frame"] + task.model(batch["blocks"], batch["told"])
        self.assertGreater((restored - batch["frame"]).abs().max().item(), 0.01)
        frames = (frame_restoring.to_rgb(planes) for planes in (restored, batch["target"]))
        expected = missing(*frames).log().mean().item() + self.settings.fidelity * squares
        self.assertAlmostEqual(eye, expected, delta=1e-4)
        with torch.autocast("cpu", torch.bfloat16), torch.no_grad():
            self.assertAlmostEqual(task.loss(batch, Phase(1, "eye")).item(), eye, delta=0.003)
        with self.assertRaisesRegex(SystemExit, "stage = 'all'"):
            train.start(dataclasses.replace(self.settings, phases=(Phase(1),)), self.at(""), self.at("unknown"))

    def test_a_run_that_was_interrupted_is_the_same_run(self):
        whole = self.run_of("whole")
        self.assertEqual(self.run_of("parts", 2).step, 2)
        parts = self.run_of("parts", resume=True)
        for a, b in zip(whole.average.values(), parts.average.values()):
            torch.testing.assert_close(a, b)
        rows = [json.loads(line) for line in self.at("whole/log.jsonl").read_text().splitlines()]
        self.assertEqual(
            {(row["step"], row["receiver"]) for row in rows},
            {(step, receiver) for step in (0, 2, 4) for receiver in range(5)},
        )
        self.assertTrue(all(row["gain"] == 0 for row in rows if row["step"] == 0))

    def test_a_package_is_what_was_trained_and_a_checkpoint_is_enough_for_it(self):
        settings = dataclasses.replace(self.settings, phases=(Phase(40, "squares"),))
        run = train.start(settings, self.at(""), self.at("run"))
        train.train(run)
        self.assertLess(
            np.mean([row["luma"] + row["gain"] for row in run.task.validate(FrameRestorer(settings))]),
            np.mean([row["luma"] + row["gain"] for row in run.task.validate(run.averaged())]),
        )
        run.task.export(run.averaged(), self.at("run"))
        package = self.at("run/package")
        text = (package / manifest.MANIFEST).read_text()
        self.assertEqual(text.count("[ranges]"), 1)
        for name, digest in manifest.files(package, (frame_package.NETWORK,)).items():
            self.assertIn(f'"{name}" = "{digest}"', text)
        onnx.checker.check_model(onnx.load(package / frame_package.NETWORK), full_check=False)
        batch = run.task.batch(3)
        with torch.no_grad():
            floats = run.averaged()(batch["blocks"], batch["told"])
        given = frame_package.exported(
            frame_package.session(package / frame_package.NETWORK), batch["blocks"], batch["told"]
        )
        self.assertLess((given - floats).square().mean() / floats.square().mean(), 0.1)

        small = self.at("again/checkpoint.pt")
        small.parent.mkdir()
        train.write(small, slim.slim(train.read(run.checkpoint)))
        again = train.start(settings, self.at(""), self.at("again"), resume=True)
        for (name, a), b in zip(again.averaged().state_dict().items(), run.average.values()):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-5, msg=name)


if __name__ == "__main__":
    unittest.main()
