"""python -m unittest test_nested: nested dropout and each method around it; every test fails where its method is taken
out."""

from __future__ import annotations

import dataclasses
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch

from nestcast_train import train
from nestcast_train.codes import nested, vectors
from nestcast_train.codes.autoencoder import Autoencoder
from nestcast_train.codes.nested import TruncationLaw
from nestcast_train.settings import AutoencoderSettings, Phase


def arms(count: int) -> np.ndarray:
    """(count, 2): points on five bent arms."""
    random = np.random.default_rng(1)
    along = 1 + 0.3 * random.normal(size=count)
    angle = 2 * np.pi / 5 * random.integers(0, 5, count) + 0.25 * np.exp(along) + 0.05 * random.normal(size=count)
    return along[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)


vectors.DATA["arms"] = lambda folder, axes: vectors.Vectors(arms(20_000))
TINY = AutoencoderSettings(
    "autoencoder",
    "tiny",
    data="arms",
    widths=(2, 16, 8),
    rho=0.7,
    corruption=0.0,
    hidden_dropout=0.0,
    phases=(Phase(300),),
    batch=128,
    learning_rate=1e-2,
    rise=10,
    validate_every=300,
)


def trained(settings: AutoencoderSettings) -> train.Run:
    with tempfile.TemporaryDirectory() as folder:
        run = train.start(settings, None, Path(folder))
        train.train(run)
    return run


class Truncation(unittest.TestCase):
    def test_the_geometric_law_is_the_papers(self):
        law = TruncationLaw.geometric(100, 0.9)
        self.assertAlmostEqual(law.shares.sum().item(), 1)
        self.assertAlmostEqual((law.shares[4] / law.shares[3]).item(), 0.9)
        self.assertAlmostEqual(law.survival()[50].item(), 0.9**50)  # about 0.005, Figure 1
        self.assertAlmostEqual(law.survival()[99].item(), 0.9**99)  # about 0.00003

    def test_the_log_uniform_law_gives_every_octave_the_same(self):
        shares = TruncationLaw.log_uniform(1023).shares
        octaves = [shares[2**i - 1 : 2 ** (i + 1) - 1].sum().item() for i in range(10)]
        for octave in octaves:
            self.assertAlmostEqual(octave, 0.1)

    def test_a_share_of_codes_is_whole_and_the_others_are_of_the_law(self):
        law = TruncationLaw.geometric(6, 0.5).mixed(0.7)
        self.assertAlmostEqual(law.shares[-1].item(), 0.7 + 0.3 * 0.5**5)
        self.assertAlmostEqual((law.shares[1] / law.shares[0]).item(), 0.5)
        settings = dataclasses.replace(TINY, cuts="log-uniform", whole=0.7)
        self.assertGreater(vectors.law(settings).shares[-1].item(), 0.7)
        uniform = vectors.law(dataclasses.replace(TINY, cuts="uniform", whole=0.2)).shares
        torch.testing.assert_close(uniform, torch.tensor([0.1] * 7 + [0.3]).double())

    def test_cuts_are_drawn_by_the_law_behind_what_is_swept(self):
        torch.manual_seed(1)
        law = TruncationLaw.geometric(8, 0.5)
        for swept in (0, 3):
            drawn = law.draw(20_000, swept)
            found = torch.bincount(drawn, minlength=9)[1:] / 20_000
            given = torch.where(torch.arange(8) >= swept, law.shares, 0)
            self.assertLess((found - given / given.sum()).abs().max().item(), 0.02)

    def test_units_behind_the_cut_are_dropped_and_get_no_gradient(self):
        code = torch.ones(3, 4, requires_grad=True)
        cut = nested.truncate(code, torch.tensor([1, 4, 2]))
        expected = torch.tensor([[1, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0]]).float()
        torch.testing.assert_close(cut.detach(), expected)
        cut.sum().backward()
        torch.testing.assert_close(code.grad, expected)

    def test_a_short_code_is_worth_more_with_nested_dropout(self):
        with_it, without = (trained(dataclasses.replace(TINY, cuts=cuts)).task for cuts in ("geometric", "whole"))
        errors = [{row["length"]: row["error"] for row in task.validate(task.model)} for task in (with_it, without)]
        self.assertLess(errors[0][1], 0.8 * errors[1][1])
        self.assertLess(errors[0][8], errors[0][1])

    def test_the_photo_models_geometric_cuts_are_of_the_same_law(self):
        from nestcast_train.photo import photo
        from nestcast_train.settings import PhotoSettings

        torch.manual_seed(1)
        cuts = photo.Cuts(PhotoSettings("photo", "one", cuts="geometric", rho=0.98)).draw(20_000)
        passes = ((7 - cuts) * 171).round()
        self.assertAlmostEqual(passes.mean().item(), 50, delta=1.5)  # 1 / (1 - rho)
        self.assertGreaterEqual(passes.min().item(), 1)


class Sweeping(unittest.TestCase):
    def test_a_unit_that_stands_still_is_fixed_and_the_next_follows(self):
        weight = torch.arange(12.0).view(4, 3) + 1
        sweep = nested.UnitSweep([weight], window=2, tolerance=0.01, patience=100)
        for _step in range(4):
            weight[1:] += 1
            sweep.after_step()
        self.assertEqual(sweep.swept, 1)
        weight[0] += 5
        weight[2:] += 1
        for _ in range(2):
            sweep.after_step()
        torch.testing.assert_close(weight[0], torch.tensor([1.0, 2.0, 3.0]), msg="a fixed unit is put back")

    def test_patience_ends(self):
        weight = torch.rand(4, 3)
        sweep = nested.UnitSweep([weight], window=1, tolerance=0.0, patience=3)
        for _ in range(9):
            weight.add_(torch.rand(4, 3))
            sweep.after_step()
        self.assertEqual(sweep.swept, 3)

    def test_late_units_learn_where_units_are_swept(self):
        torch.manual_seed(1)
        settings = dataclasses.replace(TINY, widths=(2, 24), rho=0.4, beta=0.5)
        swept = dataclasses.replace(settings, sweep_window=4, sweep_tolerance=0.0, sweep_patience=3)
        runs = [trained(one) for one in (settings, swept)]
        last = [{row["length"]: row["error"] for row in run.task.validate(run.task.model)} for run in runs]
        self.assertEqual(runs[1].task.sweep.swept, 23)
        self.assertLess(last[1][24], 0.8 * last[0][24])

    def test_a_run_that_was_interrupted_keeps_its_sweep(self):
        sweeps = [nested.UnitSweep([torch.rand(4, 3)], window=1, tolerance=0.0, patience=1) for _ in range(2)]
        sweeps[0].after_step()
        sweeps[1].load_state(sweeps[0].state())
        self.assertEqual(sweeps[1].swept, 1)
        torch.testing.assert_close(sweeps[1].fixed, sweeps[0].fixed)


class Regularisation(unittest.TestCase):
    def test_every_units_penalty_is_the_same_share_of_its_own_gradient(self):
        torch.manual_seed(1)
        weight = torch.nn.Parameter(torch.randn(4, 10))
        gradient = torch.randn(4, 10) * torch.tensor([1.0, 0.1, 1e-3, 1e-6])[:, None]
        weight.grad = gradient.clone()
        coefficients = nested.add_weight_decay(weight, 0.2)
        penalty = weight.grad - gradient
        torch.testing.assert_close(penalty, coefficients[:, None] * weight.sign(), rtol=1e-2, atol=1e-9)
        torch.testing.assert_close(coefficients * 10**0.5 / gradient.norm(dim=1), torch.full((4,), 0.2))

    def test_a_run_with_it_has_smaller_weights(self):
        runs = [trained(dataclasses.replace(TINY, decay=decay)) for decay in (0.0, 0.5)]
        sizes = [sum(weight.abs().sum().item() for weight in run.task.model.weights) for run in runs]
        self.assertLess(sizes[1], 0.9 * sizes[0])


class Binarisation(unittest.TestCase):
    def test_every_unit_is_one_for_its_share_of_the_data(self):
        torch.manual_seed(1)
        binarise = nested.Binarise(3, beta=0.2)
        x = torch.randn(5000, 3) * torch.tensor([1.0, 50.0, 0.01]) + torch.tensor([0.0, 7.0, -3.0])
        binarise.calibrate(x)
        for mode in (True, False):
            bits = binarise.train(mode)(x).detach()
            torch.testing.assert_close(bits.mean(0), torch.full((3,), 0.2), atol=0.002, rtol=0)
        self.assertEqual(set(bits.flatten().tolist()), {0.0, 1.0})

    def test_a_calibrated_model_gives_ones_for_its_share_of_the_data_less_their_mean(self):
        torch.manual_seed(1)
        model, y = Autoencoder(dataclasses.replace(TINY, beta=0.2)), 3 + torch.randn(1000, 2)
        model.calibrate(y)
        code = model.encode(y).detach()
        torch.testing.assert_close(code.unique(), torch.tensor([-0.2, 0.8]))
        torch.testing.assert_close(code.mean(0), torch.zeros(8), rtol=0, atol=0.01)

    def test_the_gradient_goes_past_the_threshold(self):
        x = torch.tensor([[-10.0], [-0.1], [0.1], [10.0]], requires_grad=True)
        nested.Binarise(1, beta=0.5)(x).sum().backward()
        self.assertTrue((x.grad[1:3] > 0).all(), "near the threshold")
        self.assertTrue((x.grad[[0, 3]] == 0).all(), "far from it")

    def test_decoder_and_encoder_share_their_weights(self):
        model = Autoencoder(dataclasses.replace(TINY, beta=0.2))
        self.assertEqual(len(model.up_weights), 0)
        code = torch.ones(1, 8)
        before = model.decode(code)
        with torch.no_grad():
            model.weights[-1].mul_(2)
        self.assertFalse(torch.allclose(model.decode(code), before))


class Noise(unittest.TestCase):
    def test_invariance_is_the_jacobians_norm(self):
        torch.manual_seed(1)
        jacobian = torch.tensor([[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]])
        y = torch.randn(50_000, 2)
        given = nested.invariance(lambda y: y @ jacobian.t(), y, y + 0.1 * torch.randn_like(y))
        self.assertAlmostEqual(given.item(), 12.5, delta=0.1)  # the squared norm by the dimension

    def test_a_run_with_it_has_steadier_codes(self):
        moved = []
        for weight in (0.0, 0.3):
            run = trained(dataclasses.replace(TINY, invariance=weight))
            torch.manual_seed(1)
            y = run.task.vectors.held_out
            moved.append(nested.invariance(run.task.model.activations, y, y + 0.1 * torch.randn_like(y)).item())
        self.assertLess(moved[1], 0.5 * moved[0])

    def test_a_tenth_of_the_inputs_is_corrupted(self):
        torch.manual_seed(1)
        given = nested.corrupt(torch.ones(200, 200), 0.1)
        self.assertAlmostEqual((given == 0).float().mean().item(), 0.1, delta=0.01)
        self.assertEqual(set(given.flatten().tolist()), {0.0, 1.0})

    def test_dropout_is_in_the_hidden_layers_of_encoder_and_decoder_and_not_in_the_code(self):
        model = Autoencoder(dataclasses.replace(TINY, hidden_dropout=0.5)).train()
        y, code = torch.ones(400, 2), torch.ones(400, 8)
        for part, given in ((model.activations, y), (model.decode, code)):
            self.assertGreater(part(given).std(0).min().item(), 0.01, "the same rows, other units dropped")
        linear = Autoencoder(dataclasses.replace(TINY, hidden_dropout=0.5, widths=(2, 8))).train()
        self.assertEqual(linear.activations(y).std(0).max().item(), 0)

    def test_invariance_does_not_depend_on_the_scale_of_an_encoder(self):
        settings = dataclasses.replace(
            TINY, widths=(2, 8), tied=False, cuts="whole", invariance=1.0, phases=(Phase(1),)
        )
        losses = []
        for scale in (1.0, 100.0):
            torch.manual_seed(1)
            task = vectors.Task(settings, None)
            with torch.no_grad():
                task.model.weights[0].mul_(scale)
                task.model.up_weights[0].zero_()
            torch.manual_seed(2)
            losses.append(task.loss(task.batch(0), Phase(1)).item())
        self.assertAlmostEqual(losses[0] / losses[1], 1, places=3)

    def test_the_loss_sees_corrupted_inputs_and_dropped_hidden_units(self):
        for change in ({"corruption": 0.5}, {"hidden_dropout": 0.5}):
            task = vectors.Task(dataclasses.replace(TINY, cuts="whole", **change), None)
            losses = [task.loss(task.batch(0), Phase(1)).item() for _ in range(2)]
            self.assertNotEqual(*losses)
            task.model.eval()
            y = task.vectors.held_out
            torch.testing.assert_close(task.model.encode(y), task.model.encode(y), msg="no dropout behind training")

    def test_hidden_layers_are_rectified_and_the_code_is_not(self):
        model = Autoencoder(TINY)
        with torch.no_grad():
            model.biases[0].fill_(-1e6)
            model.biases[1].fill_(-3)
            model.up_biases[1].fill_(-1e6)
            model.up_biases[0].fill_(4)
        torch.testing.assert_close(model.activations(torch.randn(5, 2)), torch.full((5, 8), -3.0))
        torch.testing.assert_close(model.decode(torch.randn(5, 8)), torch.full((5, 2), 4.0))


if __name__ == "__main__":
    unittest.main()
