"""python -m unittest test_perceptual: SSIMULACRA 2 against the crate that measures it, and a dry run of the synthesis
for the eye."""

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
from PIL import Image, ImageFilter

from made_data import photo
from nestcast_train import settings, train
from nestcast_train.coded import pack
from nestcast_train.places import ARTIFACTS, SETTINGS
from nestcast_train.synthesis import perceptual
from nestcast_train.synthesis.ssimulacra import ssimulacra2

# What fast-ssim2 0.9 measures.
SCORES = {"blurred": 73.569, "noisy": 48.968, "coarse": 60.560}


def samples(pixels: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(pixels.astype(np.float32)).permute(2, 0, 1)[None]


class Metric(unittest.TestCase):
    original = photo(192, 256, 5)

    def test_it_is_what_the_crate_says(self):
        noise = np.round(np.random.default_rng(1).normal(0, 12, self.original.shape))
        changed = {
            "blurred": np.asarray(Image.fromarray(self.original).filter(ImageFilter.GaussianBlur(1.2))),
            "noisy": np.clip(self.original + noise, 0, 255),
            "coarse": np.clip(self.original // 24 * 24 + 12, 0, 255),
        }
        for name, score in SCORES.items():
            self.assertAlmostEqual(
                ssimulacra2(samples(changed[name]), samples(self.original)).item(), score, delta=0.6, msg=name
            )

    def test_equals_are_perfect(self):
        self.assertGreater(ssimulacra2(samples(self.original), samples(self.original)).item(), 99)

    def test_its_gradient_leads_to_the_original(self):
        original = samples(self.original)
        decoded = original + 20 * torch.randn(original.shape, generator=torch.Generator().manual_seed(1))
        before = ssimulacra2(decoded, original)
        for _ in range(8):
            decoded = decoded.detach().requires_grad_()
            (gradient,) = torch.autograd.grad(ssimulacra2(decoded, original).sum(), decoded)
            self.assertTrue(gradient.isfinite().all())
            decoded = decoded + 500 * gradient / gradient.norm()
        self.assertGreater(ssimulacra2(decoded, original).item(), before.item() + 2)


class DryRun(unittest.TestCase):
    def test_a_run_starts_with_the_checkpoint_and_ends_in_the_models_package(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / "photos/elementary").mkdir(parents=True)
            for i in range(2):
                Image.fromarray(photo(704, 704, i)).save(folder / f"photos/elementary/{i}.jpg", quality=95)
            arguments = [
                "pack.py",
                "--photos",
                folder / "photos",
                "--out",
                folder / "packed",
                "--model",
                ARTIFACTS / "photo-ssim",
            ]
            with mock.patch.object(sys, "argv", list(map(str, arguments))), contextlib.redirect_stdout(io.StringIO()):
                pack.main()
            shipped = settings.load(SETTINGS / "photo-ssim-synthesis.toml")
            short = dataclasses.replace(shipped.shortened(2), batch=1, crop=64, calibration=32)
            run = train.start(short, folder / "packed", folder / "run")
            first = train.read(shipped.path(shipped.start))["model"]["networks.0.head.weight"].float()
            torch.testing.assert_close(run.task.model.networks[0].head.weight.detach(), first)
            self.same_loss_in_bfloat16(run)
            train.train(run)
            self.assertFalse(torch.equal(run.task.model.networks[0].head.weight, first))
            run.task.export(run.averaged(), folder / "run")
            package, model = folder / "run/package", ARTIFACTS / "photo-ssim"
            self.assertEqual((package / "tables.bin").read_bytes(), (model / "tables.bin").read_bytes())
            self.assertNotEqual((package / "synthesis-0.onnx").read_bytes(), (model / "synthesis-0.onnx").read_bytes())
            written = tomllib.loads((package / "manifest.toml").read_text(encoding="utf-8"))
            self.assertEqual(written["name"], "photo-ssim")
            self.assertEqual((package / "post_filter.bin").read_bytes(), (model / "post_filter.bin").read_bytes())

    def same_loss_in_bfloat16(self, run: train.Run) -> None:
        """Without the network's roundings: the comparison stays in floats."""
        batch, losses = run.task.batch(0), []
        for enabled in (False, True):
            with torch.no_grad(), torch.autocast("cpu", torch.bfloat16, enabled=enabled):
                losses.append(run.task.loss(batch, run.settings.phases[0]).item())
        self.assertAlmostEqual(*losses, delta=0.003)


class Loss(unittest.TestCase):
    def test_the_loss_looks_at_ssimulacra(self):
        """If two pictures have the same squared error, the one that looks better has the lower loss."""
        original = samples(Metric.original)
        grain = torch.randn(original.shape, generator=torch.Generator().manual_seed(2))
        shift = grain.square().mean().sqrt()
        self.assertGreater(
            perceptual.missing(original + 8 * grain, original).item(),
            perceptual.missing(original + 8 * shift, original).item() + 5,
        )


if __name__ == "__main__":
    unittest.main()
