"""Packages of binary codes, their frames, and the near-duplicates that they learn from."""

from __future__ import annotations

import dataclasses
import re
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

from made_data import SMALL, small_model, some_pictures
from nestcast_train import slim
from nestcast_train.codes import code_package, pictures, vectors
from nestcast_train.codes.autoencoder import Autoencoder
from nestcast_train.codes.pictures import SIDE
from nestcast_train.codes.vectors import Frame
from nestcast_train.settings import AutoencoderSettings


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def written(
        self, settings: AutoencoderSettings, relative: bool = False
    ) -> tuple[Autoencoder, Frame, code_package.Package]:
        model, frame = small_model(settings, relative)
        slim.write_weights(self.path / "weights.npz", {**model.state_dict(), **frame.state()})
        code_package.write(settings, self.path / "weights.npz", self.path / "package")
        return *code_package.read(settings, self.path / "weights.npz"), code_package.Package(self.path / "package")

    def test_a_package_gives_what_its_model_does_at_every_kind_of_cut(self):
        linear = dataclasses.replace(SMALL, widths=(12, 32), skip=False, gain_rate=0.0)
        for settings in (SMALL, linear, dataclasses.replace(linear, tied=True)):
            model, frame, package = self.written(settings)
            images = (255 * some_pictures(20)).byte()
            given = package.encode(images.numpy())
            with torch.no_grad():
                y = frame.coordinates(images / 255)
                sums = model.activations(y) - model.binarise.threshold
                clear = sums.abs() > 1e-3
                self.assertTrue(((torch.from_numpy(given) > 0) == (sums > 0))[clear].all())
                bits = torch.from_numpy((given > 0).astype(np.float32)) - settings.beta
                for length in (0, 1, 7, 31, 32):
                    expected = frame.original(model.decode(bits * (torch.arange(32) < length))).clamp(0, 1).numpy()
                    np.testing.assert_allclose(package.decode(given, length).reshape(20, -1), expected, atol=1e-4)

    def test_a_lighter_picture_has_the_same_code_where_the_frame_is_relative(self):
        settings = dataclasses.replace(SMALL, package={**SMALL.package, "decoder": False})
        model, frame, package = self.written(settings, relative=True)
        images = (255 * some_pictures(20)).byte().numpy()
        with torch.no_grad():
            sums = (
                model.activations(frame.coordinates(torch.from_numpy(images).reshape(20, -1) / 255))
                - model.binarise.threshold
            )
        np.testing.assert_allclose(package.encode(images), sums.numpy(), atol=1e-3)
        darker = (images * 0.8).astype(np.uint8)
        same = ((package.encode(images) > 0) == (package.encode(darker) > 0)).mean()
        absolute = self.written(settings)[2]
        self.assertGreater(same, 0.5 + 0.5 * ((absolute.encode(images) > 0) == (absolute.encode(darker) > 0)).mean())
        torch.testing.assert_close(frame.state()["frame.relative"], torch.tensor(True))

    def test_a_share_beta_of_each_bit_is_ones(self):
        settings = dataclasses.replace(SMALL, beta=0.2, package={**SMALL.package, "decoder": False})
        package = self.written(settings)[2]
        torch.manual_seed(1)
        given = package.encode((255 * some_pictures(200)).byte().numpy())
        np.testing.assert_allclose((given > 0).mean(0), 0.2, atol=0.05)
        self.assertIsNone(package.decoder)

    def test_the_manifest_has_the_hash_of_every_file(self):
        self.written(SMALL)
        manifest = (self.path / "package/manifest.toml").read_text(encoding="utf-8")
        self.assertIn('kind = "binary-code"', manifest)
        self.assertIn("bits = 32", manifest)
        for name in ("encoder.onnx", "decoder.onnx", "golden/pictures.npy", "golden/codes.npy", "golden/decoded.npy"):
            self.assertRegex(manifest, f'"{re.escape(name)}" = "[0-9a-f]{{64}}"')

    def test_weights_in_8_bits_are_read_as_they_were_rounded_and_written_the_same_again(self):
        weight = torch.randn(40, 50)
        slim.write_weights(self.path / "a.npz", {"weight": weight, "bias": torch.randn(5)})
        first = slim.read_weights(self.path / "a.npz")
        self.assertLess((first["weight"] - weight).abs().max().item(), weight.abs().max().item() / 250)
        slim.write_weights(self.path / "b.npz", first)
        torch.testing.assert_close(slim.read_weights(self.path / "b.npz"), first, rtol=1e-6, atol=0)


class DeepFromLinear(unittest.TestCase):
    def test_a_deep_model_begins_as_the_linear_one(self):
        linear = small_model(dataclasses.replace(SMALL, widths=(12, 32), skip=False))[0]
        task = vectors.Task.__new__(vectors.Task)
        task.settings, task.model = SMALL, Autoencoder(SMALL)
        task.begin({"model": linear.state_dict()})
        y, lengths = torch.randn(30, 12), torch.arange(3, 33)
        torch.testing.assert_close(task.model.eval()(y, lengths), linear(y, lengths))
        task.begin({"model": {**task.model.state_dict(), "up_biases.0": torch.ones(12)}})
        torch.testing.assert_close(
            task.model.up_biases[0], torch.ones(12), msg="a deep model's weights are taken as they are"
        )


class Frames(unittest.TestCase):
    def test_an_error_along_axes_is_the_vectors_own_as_a_share_of_the_variance(self):
        mixing = torch.randn(6, 40)
        training = torch.randn(300, 6) @ mixing + 3
        frame = Frame.of(training, 6)  # all that such vectors have
        moved = training + 0.1 * torch.randn(300, 6) @ mixing
        own = (moved - training).square().sum(1).mean() / (training - training.mean(0)).square().sum(1).mean()
        along = ((frame.coordinates(moved) - frame.coordinates(training)).square() @ frame.importance).mean()
        torch.testing.assert_close(along, own, rtol=2e-3, atol=0)
        torch.testing.assert_close(frame.original(frame.coordinates(training)), training, rtol=0, atol=1e-3)

    def test_elements_without_axes_have_mean_0_and_variance_1(self):
        training = torch.randn(5000, 3) * torch.tensor([1.0, 20.0, 0.1]) + 7
        standard = Frame.of(training, 0).coordinates(training)
        torch.testing.assert_close(standard.mean(0), torch.zeros(3), rtol=0, atol=1e-3)
        torch.testing.assert_close(standard.std(0), torch.ones(3))


class NearDuplicates(unittest.TestCase):
    def test_a_box_is_shrunk_by_the_means_of_areas(self):
        fine = torch.rand(1, 3, pictures.FINE, pictures.FINE)
        box = [torch.tensor([value]) for value in (4.0, float(SIDE), 6.0, float(SIDE))]
        torch.testing.assert_close(pictures.cropped(fine, *box), fine[:, :, 4 : 4 + SIDE, 6 : 6 + SIDE])
        torch.testing.assert_close(pictures.plain(fine).mean((2, 3)), fine.mean((2, 3)))
        halves = pictures.area_means(torch.tensor([0.0]), torch.tensor([16.0]))
        self.assertEqual(halves[0, :3, :3].tolist(), [[1, 0, 0], [1, 0, 0], [0, 1, 0]])

    def test_they_are_cropped_lighter_or_darker_and_noisy(self):
        flat = torch.full((50, 3, pictures.FINE, pictures.FINE), 0.5)
        changed = pictures.near_duplicates(flat, np.random.default_rng(1))
        levels = changed.mean((1, 2, 3))
        self.assertGreater(levels.max().item() - levels.min().item(), 0.1)
        self.assertAlmostEqual(changed.std((1, 2, 3)).mean().item(), pictures.NOISE, delta=0.005)
        ramp = torch.linspace(0.2, 0.8, pictures.FINE).expand(50, 3, pictures.FINE, pictures.FINE)
        slopes = pictures.near_duplicates(ramp, np.random.default_rng(1)).mean((1, 2)).diff().mean(1)
        self.assertGreater(slopes.std().item(), 0, "crops differ")

    def test_a_model_is_given_them_and_reconstructs_what_they_are_of(self):
        data = vectors.NearDuplicates.__new__(vectors.NearDuplicates)
        data.windows = np.random.default_rng(1).integers(0, 255, (10, 3, pictures.FINE, pictures.FINE), np.uint8)
        plain = pictures.plain(torch.from_numpy(data.windows).float() / 255).flatten(1)
        data.frame = Frame(plain.mean(0), torch.ones(4), torch.linalg.qr(torch.randn(plain.shape[1], 4)).Q.t(), 4.0)
        data.training = data.frame.coordinates(plain)
        given, y = data.batch(6, np.random.default_rng(2))
        self.assertFalse(torch.equal(given, y))
        self.assertTrue(all((row == data.training).all(1).any() for row in y))


if __name__ == "__main__":
    unittest.main()
