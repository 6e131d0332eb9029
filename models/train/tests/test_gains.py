"""python -m unittest test_gains: the coder with gains, what gains are worth, and dry runs of both tasks."""

from __future__ import annotations

import contextlib
import dataclasses
import io
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
from nestcast_train.coded import coder as whole
from nestcast_train.coded import filtered, post_filter
from nestcast_train.coded.windows import to_rgb
from nestcast_train.gains import gains, network, pictures, slopes, synthesis
from nestcast_train.places import ARTIFACTS, SETTINGS

HEIGHT, WIDTH = 128, 192
LOADED = settings.load(SETTINGS / "photo-ssim-gains.toml")
TABLES = whole.Tables.read(ARTIFACTS / "photo-ssim/tables.bin")


class OfOnePicture(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pixels = photo(HEIGHT, WIDTH, 4)
        cls.coded = whole.encode(cls.pixels, TABLES)
        cls.coder = gains.frozen_coder(LOADED, (HEIGHT, WIDTH))
        matrices = whole.rotation_search.matrices(cls.coded.angles)
        rgb = torch.from_numpy(cls.pixels).permute(2, 0, 1)[None].float()
        axes = torch.from_numpy(cls.coded.axes).float()[None]
        cls.crops = pictures.Crops(rgb, axes, torch.from_numpy(matrices.astype(np.float32))[None])
        cls.planes = gains.planes_of(cls.crops)
        cls.bands = cls.coder.decompose(cls.planes, cls.crops.rotations)
        cls.none = torch.zeros(1, HEIGHT // network.REGION, WIDTH // network.REGION)

    def test_without_gains_it_is_the_coder_of_whole_photos(self):
        back = self.coder.compose(self.bands, self.crops.rotations)
        torch.testing.assert_close(back, self.planes, rtol=0, atol=2e-3)
        for cut in (0.0, 2.0, 4.0):
            decoded = self.coder.code(self.bands, self.none, torch.tensor([cut]))
            linear = self.coder.compose(decoded.bands, self.crops.rotations)[0].numpy()
            expected, known = whole.window(self.coded, cut, TABLES, 0, 0, (HEIGHT, WIDTH))
            np.testing.assert_allclose(linear, expected, atol=0.01)
            significant = synthesis.significance(decoded.bands)[0].numpy()
            np.testing.assert_array_equal(significant, post_filter.significance(known))

    def test_a_gain_is_a_finer_step_there_alone(self):
        gain = self.none.clone()
        gain[0, 1, 2] = 1.0
        cut = torch.tensor([3.0])
        before, after = (
            (self.coder.compose(self.coder.code(self.bands, g, cut).bands, self.crops.rotations) - self.planes).square()
            for g in (self.none, gain)
        )
        middle = slice(36, 60), slice(68, 92)
        self.assertLess(after[0, 0][middle].mean(), 0.7 * before[0, 0][middle].mean())
        far = slice(100, None), slice(150, None)  # the coarsest basis functions reach a little further
        self.assertAlmostEqual((after[0, 0][far].mean() / before[0, 0][far].mean()).item(), 1, delta=0.02)

    def test_what_gains_are_worth_is_what_all_of_them_change(self):
        def show(bands: list[torch.Tensor]) -> torch.Tensor:
            return to_rgb(self.coder.compose(bands, self.crops.rotations), self.crops.axes)

        worth, score, bits = slopes.worth(self.coder, self.bands, self.none, torch.tensor([3.4]), show, self.crops.rgb)
        self.assertEqual(worth.shape, self.none.shape)
        self.assertTrue(bits > 0 and score < 100)
        # At equal bits a gain for all regions is worth nothing.
        self.assertLess(worth.sum().abs(), 0.05 * worth.abs().sum())
        rate = self.coder.code(self.bands, self.none, torch.tensor([3.4])).bits
        self.assertGreater(self.coder.code(self.bands, self.none + 0.5, torch.tensor([3.4])).bits, 1.1 * rate)

    def test_filters_are_those_of_the_filter_of_arrays(self):
        filters = post_filter.PostFilter.read(ARTIFACTS / "photo-ssim/post_filter.bin")
        planes, known = whole.window(self.coded, 2.0, TABLES, 0, 0, (HEIGHT, WIDTH))
        samples = np.clip(np.round(planes.astype(np.float64) * post_filter.UNIT), -1e4, 1e4).astype(np.int32)
        clip, significant = post_filter.clip_at(filters.step, 2.0), post_filter.significance(known)
        expected = np.stack(filters.numbers(post_filter.padded(samples), significant, clip))
        given = torch.from_numpy(samples)[None].float(), torch.from_numpy(significant)[None].float()
        found = filtered.filters_of(*given, torch.full((1, 1, 1), float(clip)))
        np.testing.assert_array_equal(found[0].numpy(), expected)


class Gains(unittest.TestCase):
    def test_they_are_differences_from_the_weighted_mean(self):
        found = torch.tensor([[[[1.0, 2.0], [6.0, 3.0]], [[1.0, 1.0], [0.0, 1.0]]]])
        torch.testing.assert_close(network.gains(found, 0.5), torch.tensor([[[0.5, 0.0], [-1.5, -0.5]]]))


class DryRun(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        folder = Path(cls.folder.name)
        (folder / "photos/elementary").mkdir(parents=True)
        for i in range(2):
            Image.fromarray(photo(576, 640, i)).save(folder / f"photos/elementary/{i}.jpg", quality=95)
        out = str(folder / gains.FOUND)
        arguments = ["pictures.py", "--photos", str(folder / "photos"), "--out", out]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(io.StringIO()):
            pictures.main()

    def run_of(self, of: settings.Settings, name: str) -> Path:
        out = Path(self.folder.name) / name
        run = train.start(of, Path(self.folder.name), out)
        train.train(run)
        run.task.export(run.averaged(), out)
        return out

    def test_a_network_for_gains_ends_in_a_package(self):
        phases = settings.Phase(2, "rule"), settings.Phase(1, "worth")
        short = dataclasses.replace(LOADED, batch=1, crop=64, phases=phases, rise=1)
        size, rates = (mock.patch.object(gains, "VALIDATION_SIZE", (64, 128)), (0.5,))
        with size, mock.patch.object(gains, "VALIDATION_RATES", rates):
            out = self.run_of(short, "gains")
        package = tomllib.loads((out / "package/manifest.toml").read_text(encoding="utf-8"))
        self.assertEqual(package["networks"]["gains"], {"planes": "planes", "activity": "activity"})
        self.assertIn(gains.GAINS, package["files"])
        self.assertEqual(np.load(out / "package/golden/activity.npy").shape, (2, 2, 2))

    def test_a_synthesis_for_gains_ends_in_a_package(self):
        shipped = settings.load(SETTINGS / "photo-ssim-masked.toml")
        short = dataclasses.replace(shipped.shortened(2), batch=1, crop=64, rise=1)
        size, cuts = (mock.patch.object(synthesis, "VALIDATION_SIZE", (64, 128)), (3.5,))
        with size, mock.patch.object(synthesis, "VALIDATION_CUTS", cuts):
            out = self.run_of(short, "masked")
        self.assertTrue((out / "package/synthesis-0.onnx").exists())


if __name__ == "__main__":
    unittest.main()
