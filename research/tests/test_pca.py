"""Recovery of principal components, and the vectors that the paper learns from."""

from __future__ import annotations

import dataclasses
import unittest

import numpy as np
import torch

from nestcast_research.data import samples
from nestcast_research.measuring import pca
from nestcast_train.codes import vectors
from nestcast_train.codes.autoencoder import Autoencoder
from nestcast_train.codes.nested import TruncationLaw
from nestcast_train.settings import AutoencoderSettings

TINY = AutoencoderSettings(
    "autoencoder", "tiny", data="pinwheel", widths=(2, 16, 8), corruption=0.0, hidden_dropout=0.0
)


class RecoveryOfPca(unittest.TestCase):
    def test_units_are_eigenvectors_with_nested_dropout_alone(self):
        random = torch.Generator().manual_seed(2)
        basis = torch.linalg.qr(torch.randn(12, 12, dtype=torch.float64, generator=random)).Q
        values = 0.8 ** torch.arange(12, dtype=torch.float64)
        covariance = basis * values @ basis.t()
        eigenvectors = pca.leading_eigenvectors(covariance, 4)[1]
        nested_decoder = pca.train(covariance, TruncationLaw.geometric(4, 0.5), sweep=True)
        standard = pca.train(covariance, TruncationLaw.whole(4), sweep=False)
        self.assertLess(pca.angles(nested_decoder, eigenvectors).max().item(), 0.5)
        for decoder in (nested_decoder, standard):
            self.assertLess(pca.principal_angles(decoder, eigenvectors).max().item(), 0.5)
        self.assertGreater(pca.angles(standard, eigenvectors).max().item(), 10)

    def test_the_summed_loss_is_the_mean_of_drawn_ones(self):
        torch.manual_seed(1)
        y = torch.randn(400, 5).double()
        law = TruncationLaw.geometric(3, 0.6)
        model = Autoencoder(dataclasses.replace(TINY, widths=(5, 3), tied=False)).double()
        with torch.no_grad():
            model.up_weights[0].copy_(torch.linalg.qr(torch.randn(5, 3).double()).Q.t())
            lengths = torch.arange(1, 4)
            losses = [(model(y, torch.full((400,), b)) - y).square().sum(1).mean() for b in lengths.tolist()]
            mean = (law.shares * torch.stack(losses)).sum()
            summed = pca.expected_loss(y.t() @ y / 400, model.weights[0].t(), model.up_weights[0].t(), law.survival())
        torch.testing.assert_close(summed, mean)


class Data(unittest.TestCase):
    def test_the_pinwheel_is_the_same_every_time_and_standardised(self):
        data = vectors.load("pinwheel", None)
        torch.testing.assert_close(data.training, vectors.load.__wrapped__("pinwheel", None).training)
        torch.testing.assert_close(data.training.std(0), torch.ones(2))

    def test_patches_lie_where_their_picture_has_them(self):
        picture = np.arange(3 * 32 * 32).reshape(1, -1)
        for patch in samples.patches(picture).reshape(-1, 3, 8, 8):
            self.assertTrue((np.diff(patch, axis=2) == 1).all() and (np.diff(patch, axis=1) == 32).all())
            self.assertTrue((np.diff(patch, axis=0) == 1024).all())


if __name__ == "__main__":
    unittest.main()
