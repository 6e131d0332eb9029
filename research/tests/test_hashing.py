"""python -m unittest test_hashing: variational codes, the projections they are measured against, and the measures."""

from __future__ import annotations

import dataclasses
import math
import unittest

import numpy as np
import torch

from nestcast_research.data import labelled
from nestcast_research.learning import hashing, projections
from nestcast_research.learning.variational import Bernoulli, Gaussian, VariationalAutoencoder
from nestcast_research.measuring import ranking
from nestcast_research.settings import HashingSettings
from nestcast_train.codes.nested import TruncationLaw
from nestcast_train.settings import Phase

SMALL = HashingSettings(
    "hashing", "small", widths=(36, 24, 8), phases=(Phase(200),), batch=64, learning_rate=5e-3, temperatures=(1.0, 0.2)
)


def some_data(count: int = 600) -> labelled.Labelled:
    """Four classes of 36 samples each: a bright quarter, and noise."""
    torch.manual_seed(1)
    classes = torch.arange(count) % 4
    samples = 0.3 * torch.rand(count, 4, 9)
    samples[torch.arange(count), classes] += 0.6
    flat = samples.flatten(1)
    return labelled.Labelled(flat[:-100], classes[:-100], flat[-100:], classes[-100:])


def task_of(settings: HashingSettings) -> hashing.Task:
    torch.manual_seed(1)
    task = hashing.Task.__new__(hashing.Task)
    task.settings, task.data, task.model = settings, some_data(), VariationalAutoencoder(settings)
    task.law = hashing.law(settings)
    return task


def fit(task):
    """The task after all steps of its settings, without schedule and checkpoints."""
    adam = torch.optim.Adam(task.groups()[0]["params"], task.settings.learning_rate)
    for step in range(task.settings.steps):
        adam.zero_grad()
        task.loss(task.batch(step), task.settings.phases[0]).backward()
        adam.step()
    return task


def trained(settings: HashingSettings) -> hashing.Task:
    return fit(task_of(settings))


class Latents(unittest.TestCase):
    def test_the_divergence_is_the_sum_over_both_states_of_a_bit(self):
        logits = torch.tensor([[-30.0, -2.0, 0.0, 0.7, 30.0]])
        share = logits.double().sigmoid()
        expected = sum(p * torch.log(2 * p.clamp(min=1e-300)) for p in (share, 1 - share))
        torch.testing.assert_close(Bernoulli().divergence(logits), expected.float(), rtol=1e-4, atol=1e-5)
        self.assertAlmostEqual(Bernoulli().divergence(logits)[0, -1].item(), math.log(2), places=5)

    def test_the_gaussian_divergence_is_the_mean_of_the_log_ratio_over_samples(self):
        torch.manual_seed(1)
        numbers = torch.tensor([[0.8, -0.5]])  # mean, logarithm of the variance
        q = torch.distributions.Normal(0.8, math.exp(-0.25))
        drawn = q.sample((200_000,))
        expected = (q.log_prob(drawn) - torch.distributions.Normal(0.0, 1.0).log_prob(drawn)).mean()
        self.assertAlmostEqual(Gaussian().divergence(numbers).item(), expected.item(), delta=0.01)

    def test_gaussian_samples_have_the_mean_and_the_variance_that_are_given(self):
        torch.manual_seed(1)
        drawn = Gaussian().sample(torch.tensor([[0.8, -1.0, -0.5, 2.0]]).expand(40_000, 4), 1.0)
        torch.testing.assert_close(drawn.mean(0), torch.tensor([0.8, -1.0]), rtol=0, atol=0.05)
        torch.testing.assert_close(drawn.var(0).log(), torch.tensor([-0.5, 2.0]), rtol=0, atol=0.05)

    def test_a_relaxed_bit_is_1_as_often_as_its_probability_and_sharper_at_a_low_temperature(self):
        torch.manual_seed(1)
        logits = torch.tensor([-1.0, 0.0, 2.0]).expand(40_000, 3)
        soft, sharp = (Bernoulli().sample(logits, temperature) + 0.5 for temperature in (1.0, 0.1))
        for samples in (soft, sharp):
            torch.testing.assert_close((samples > 0.5).float().mean(0), logits[0].sigmoid(), rtol=0, atol=0.01)
        middle = lambda samples: ((samples > 0.1) & (samples < 0.9)).float().mean().item()
        self.assertLess(middle(sharp), middle(soft) / 4)

    def test_the_temperature_falls_by_the_same_factor_each_step(self):
        settings = dataclasses.replace(SMALL, phases=(Phase(101),), temperatures=(1.0, 0.01))
        found = [hashing.temperature(settings, step) for step in (0, 50, 100, 200)]
        np.testing.assert_allclose(found, [1.0, 0.1, 0.01, 0.01], rtol=1e-6)

    def test_a_gaussian_code_is_cut_at_its_median_and_a_bernoulli_one_at_a_half(self):
        y = some_data().training + 5  # so that means are off 0
        for latent, share in (("gaussian", 0.5), ("bernoulli", None)):
            model = VariationalAutoencoder(dataclasses.replace(SMALL, latent=latent))
            model.calibrate(y)
            if share:
                np.testing.assert_allclose(model.encode(y).float().mean(0), share, atol=0.02)
            else:
                self.assertTrue(torch.equal(model.encode(y), model.infer(y).sigmoid() > 0.5))


class Training(unittest.TestCase):
    def test_the_loss_is_half_the_squared_error_and_the_divergence_by_its_weight(self):
        for latent in ("bernoulli", "gaussian"):
            task = task_of(dataclasses.replace(SMALL, latent=latent, variance=0.3))
            given, y, temperature = batch = task.batch(0)
            lengths = task.law.draw(len(y))  # all are whole
            torch.manual_seed(2)
            reconstructed, divergence = task.model(given, lengths, temperature)
            expected = ((reconstructed - y).square().sum(1) / 2 + 0.3 * divergence).mean()
            torch.manual_seed(2)
            task.law.draw = lambda count: lengths  # so that nothing else is drawn
            torch.testing.assert_close(task.loss(batch, SMALL.phases[0]), expected)

    def test_what_is_cut_is_neither_decoded_nor_charged(self):
        for latent in ("bernoulli", "gaussian"):
            torch.manual_seed(1)
            model, y = VariationalAutoencoder(dataclasses.replace(SMALL, latent=latent)), some_data().training[:5]
            whole = model.latent.divergence(model.infer(y))
            nothing, free = model(y, torch.zeros(5), 0.5)
            torch.testing.assert_close(free, torch.zeros(5))
            torch.testing.assert_close(nothing, model.decode(torch.zeros(5, 8)))
            torch.testing.assert_close(model(y, torch.full((5,), 3), 0.5)[1], whole[:, :3].sum(1))

    def test_first_bits_reconstruct_more_where_the_code_is_nested(self):
        self.assertEqual(hashing.law(SMALL).shares[-1].item(), 1, "not cut unless asked")
        nested, plain = (
            error_of_first_bits(trained(dataclasses.replace(SMALL, **cuts)), 2)
            for cuts in ({"cuts": "geometric", "rho": 0.6}, {})
        )
        self.assertLess(nested, 0.6 * plain)

    def test_training_lowers_the_bound_and_finds_classes(self):
        for latent in ("bernoulli", "gaussian"):
            settings = dataclasses.replace(SMALL, latent=latent)
            before, task = task_of(settings), trained(settings)
            loss = lambda of: of.loss(of.batch(0), settings.phases[0]).item()
            self.assertLess(loss(task), loss(before) - 0.5)
            self.assertGreater(task.validate(task.model)[0]["MAP"], 0.8)


@torch.no_grad()
def error_of_first_bits(task: hashing.Task, length: int) -> float:
    """Mean squared error of what the first bits of a code reconstruct, as a share of the variance."""
    y, model = task.data.training, task.model
    code = model.latent.code(model.encode(y).float()) * (torch.arange(8) < length)
    return ((model.decode(code) - y).square().sum() / (y - y.mean(0)).square().sum()).item()


class Projections(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.y = torch.randn(800, 6) * torch.tensor([5.0, 4.0, 3.0, 2.0, 0.1, 0.1]) + 10

    def loss(self, projection: projections.Projection) -> float:
        """How far projections are from their signs."""
        v = (self.y - projection.mean) @ projection.directions.t()
        return (v - v.sign()).square().mean().item()

    def test_itq_turns_the_principal_axes_nearer_to_signs(self):
        plain = projections.principal_directions(self.y, 4)
        turned = projections.iterative_quantisation(self.y, 4, 50, seed=1)
        unturned = projections.iterative_quantisation(self.y, 4, 0, seed=1)
        self.assertLess(self.loss(turned), min(self.loss(plain), self.loss(unturned)) - 1e-3)
        torch.testing.assert_close(turned.directions @ turned.directions.t(), torch.eye(4), rtol=0, atol=1e-4)

    def test_itq_finds_the_rotation_of_a_cube_and_nears_signs_at_every_turn(self):
        torch.manual_seed(2)
        rotation = torch.linalg.qr(torch.randn(4, 4)).Q
        corners = (torch.rand(2000, 4) < 0.5).float() * 2 - 1
        self.y = (corners + 0.1 * torch.randn(2000, 4)) @ rotation
        losses = [self.loss(projections.iterative_quantisation(self.y, 4, turns, seed=1)) for turns in (0, 1, 2, 4, 50)]
        self.assertEqual(losses, sorted(losses, reverse=True))
        self.assertLess(losses[-1], 0.02, "corners are at signs but for the noise")
        self.assertGreater(losses[1], 0.2, "one turn does not do")

    def test_axes_are_by_variance_and_random_directions_keep_angles(self):
        axes = projections.principal_directions(self.y, 3).directions
        torch.testing.assert_close(axes.abs().argmax(1), torch.arange(3))
        near = self.y + 0.05 * torch.randn_like(self.y)
        hashed = projections.random_directions(self.y, 64, seed=1)
        apart = lambda other: (hashed.encode(self.y) != hashed.encode(other)).float().mean().item()
        self.assertLess(apart(near), apart(self.y.flip(0)) / 4)

    def test_random_bits_differ_by_the_angle_between_centred_vectors(self):
        y = torch.tensor([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [-2.0, -2.0, 0.0]]) + 7  # whose mean is 7
        code = projections.random_directions(y, 20_000, seed=1).encode(y)
        differ = (code[:, None] != code[None]).float().mean(2)
        unit = torch.nn.functional.normalize(y - 7)
        torch.testing.assert_close(differ, (unit @ unit.t()).clamp(-1, 1).acos() / math.pi, rtol=0, atol=0.015)
        self.assertFalse(torch.equal(code, projections.random_directions(y, 20_000, seed=2).encode(y)))

    def test_discriminants_tell_classes_apart_where_principal_axes_do_not(self):
        classes = torch.arange(800) % 3
        self.y[:, 5] += classes
        gap = lambda points: (
            torch.stack([points[classes == one].mean(0) for one in range(3)]).var(0).max()
            / points[classes == 0].var(0).min()
        )
        found = projections.discriminants(self.y, classes, 2)
        self.assertGreater(gap(found.points(self.y)[:, :1]), 50)
        self.assertLess(gap(projections.principal_directions(self.y, 2).points(self.y)), 1)
        self.assertGreater(found.directions[0, 5].abs() / found.directions[0, :4].abs().max(), 10)
        own = self.y - torch.stack([self.y[classes == one].mean(0) for one in range(3)])[classes]
        along = found.directions @ (own.t() @ own / len(own)) @ found.directions.t()
        torch.testing.assert_close(
            along, torch.eye(2), rtol=0, atol=1e-3, msg="classes have a spread of 1 along each, and none between them"
        )

    def test_large_margins_tell_classes_of_several_parts_apart_where_discriminants_do_not(self):
        part = torch.arange(300) % 3
        classes, y = (part == 1).long(), torch.randn(300, 3) * torch.tensor([2.0, 1.0, 0.3])
        y[:, 2] += 3.0 * part  # one class is on both sides of the other
        of = ranking.Collection(classes[:200].numpy(), classes[200:].numpy())
        error = lambda found: ranking.vote_errors(found.points(y[:200]), found.points(y[200:]), of, (3,))[3]
        self.assertGreater(error(projections.discriminants(y[:200], classes[:200], 1)), 0.2)
        self.assertLess(error(projections.large_margins(y[:200], classes[:200], 1, 300)), 0.05)

    def test_large_margins_pull_neighbours_of_the_class_and_push_others_by_a_margin(self):
        """Three steps from the discriminants go along the gradient of Weinberger and Saul's Equation 13, by its
        definition."""
        torch.manual_seed(3)
        points = range(24)
        classes, y = torch.arange(24) % 2, torch.randn(24, 3)
        y[:, 0] += classes
        directions = projections.discriminants(y, classes, 2).directions.clone().requires_grad_()
        distance = lambda a, b: (directions @ (y[a] - y[b])).square().sum()
        adam = torch.optim.Adam([directions], 0.02)
        for _ in range(3):
            loss = torch.zeros(())
            for point in points:
                own = [other for other in points if other != point and classes[other] == classes[point]]
                for target in sorted(own, key=lambda other: (y[other] - y[point]).square().sum().item())[:3]:
                    pull = distance(point, target)
                    loss = (
                        loss
                        + pull
                        + sum(
                            (1 + pull - distance(point, other)).clamp(min=0)
                            for other in points
                            if classes[other] != classes[point]
                        )
                    )
            adam.zero_grad()
            (loss / len(points)).backward()
            adam.step()
        torch.testing.assert_close(
            projections.large_margins(y, classes, 2, 3).directions, directions.detach(), rtol=0, atol=1e-4
        )


class Measures(unittest.TestCase):
    def test_a_ranking_by_hand(self):
        found = ranking.measures(np.array([True, False, True, False, False, True]))
        self.assertAlmostEqual(found["MAP"], (1 + 2 / 3 + 3 / 6) / 3)
        self.assertAlmostEqual(found["precision at 10"], 0.5)
        self.assertAlmostEqual(found["recall at 100"], 1.0)
        self.assertEqual(ranking.measures(np.zeros(5, bool))["MAP"], 0)

    def test_codes_that_are_classes_rank_perfectly_and_equal_codes_by_chance(self):
        classes = np.arange(800) % 4
        of = ranking.Collection(classes, classes[:40])
        bits = torch.stack([torch.from_numpy(classes & 1), torch.from_numpy(classes >> 1)], 1) > 0
        self.assertAlmostEqual(ranking.ranked(bits, bits[:40], of)["MAP"], 1)
        self.assertAlmostEqual(ranking.ranked(bits, bits[:40], of)["recall at 100"], 0.5)
        same = torch.zeros(800, 2) > 0
        self.assertAlmostEqual(ranking.ranked(same, same[:40], of)["MAP"], 0.25, delta=0.02)

    def test_distances_and_balls_are_those_of_bits(self):
        torch.manual_seed(1)
        codes, asked = torch.rand(50, 9) < 0.5, torch.rand(7, 9) < 0.5
        distance = ranking.hamming(codes, asked)
        np.testing.assert_array_equal(distance, (asked[:, None] != codes[None]).sum(2).numpy())
        of = ranking.Collection(np.arange(50) % 3, np.arange(7) % 3)
        for row in ranking.balls(codes, asked, of, range(0, 10, 3)):
            inside, same = distance <= row["radius"], of.classes[None] == of.wanted[:, None]
            self.assertAlmostEqual(row["found"], inside.sum(1).mean())
            self.assertAlmostEqual(row["recall"], ((inside & same).sum(1) / same.sum(1)).mean())
        self.assertAlmostEqual(row["precision"], same.mean(), places=6)

    def test_neighbours_vote_and_the_nearest_decides_between_equals(self):
        points = torch.tensor([[0.0], [1.0], [2.0], [9.0]])
        of = ranking.Collection(np.array([0, 1, 1, 0]), np.array([0, 1]))
        errors = ranking.vote_errors(points, torch.tensor([[-1.0], [-1.0]]), of, (1, 2, 3))
        self.assertEqual(errors, {1: 0.5, 2: 0.5, 3: 0.5})
        of = ranking.Collection(np.array([0, 1, 1, 0]), np.array([1]))
        self.assertEqual(ranking.vote_errors(points, torch.tensor([[-1.0]]), of, (1, 2, 3)), {1: 1.0, 2: 1.0, 3: 0.0})


class Labels(unittest.TestCase):
    def test_a_share_of_each_class_is_drawn_once(self):
        data = some_data()
        drawn = data.some_labels(0.1, seed=3)
        self.assertEqual(len(drawn.unique()), len(drawn))
        counts = data.classes[drawn].bincount()
        self.assertTrue(((counts == 12) | (counts == 13)).all(), counts)
        self.assertEqual(len(data.some_labels(0.0, seed=3)), 4, "one of each at least")

    def test_laws_are_taken_from_settings(self):
        geometric = hashing.law(dataclasses.replace(SMALL, cuts="geometric", rho=0.5))
        torch.testing.assert_close(geometric.shares, TruncationLaw.geometric(8, 0.5).shares)


if __name__ == "__main__":
    unittest.main()
