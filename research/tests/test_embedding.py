"""python -m unittest test_embedding: neighbourhood component analysis, its networks, its pretraining and its
variants."""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from nestcast_research.learning import boltzmann, embedding, neighbourhood
from nestcast_research.learning.deformations import deformed
from nestcast_research.learning.encoders import Convolutional, Dense, Embedding
from nestcast_research.settings import BoltzmannSettings, EmbeddingSettings
from nestcast_train.codes.nested import truncate
from nestcast_train.settings import Phase
from nestcast_train.slim import read_weights
from test_hashing import fit, some_data

SMALL = EmbeddingSettings(
    "embedding", "small", widths=(36, 24, 6), activation="rectified", phases=(Phase(60),), batch=80, learning_rate=5e-3
)
STACK = BoltzmannSettings("boltzmann", "stack", widths=(9, 6, 4), phases=(Phase(1, "0"),), batch=80)


def by_definition(code: torch.Tensor, classes: torch.Tensor) -> torch.Tensor:
    """p(c^a) of each point by Equations 3 and 4, one by one."""
    found = []
    for a in range(len(code)):
        weights = [0.0 if a == b else torch.exp(-(code[a] - code[b]).square().sum()).item() for b in range(len(code))]
        found.append(sum(w for w, c in zip(weights, classes) if c == classes[a]) / sum(weights))
    return torch.tensor(found)


def task_of(settings: EmbeddingSettings) -> embedding.Task:
    torch.manual_seed(1)
    task = embedding.Task.__new__(embedding.Task)
    task.settings, task.data, task.model = settings, some_data(), Embedding(settings)
    task.labelled = task.data.some_labels(settings.labels, settings.seed)
    task.law = embedding.law(settings)
    return task


def trained(settings: EmbeddingSettings) -> embedding.Task:
    return fit(task_of(settings))


def error(task: embedding.Task) -> float:
    return task.validate(task.model)[0]["3 neighbours"]


class Objectives(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        self.code, self.classes = torch.randn(30, 5), torch.arange(30) % 3

    def test_distances_are_floats_in_a_network_of_bfloat16(self):
        far = 30 + 0.1 * self.code  # whose squares are large compared with their differences
        with torch.autocast("cpu", torch.bfloat16):
            found = neighbourhood.squared_distances(far)
        torch.testing.assert_close(found, neighbourhood.squared_distances(far.double()).float(), rtol=0.05, atol=0.01)

    def test_they_are_equations_5_and_6(self):
        expected = by_definition(self.code, self.classes)
        distances = neighbourhood.squared_distances(self.code)
        torch.testing.assert_close(neighbourhood.expected_correct(distances, self.classes), expected.mean())
        torch.testing.assert_close(neighbourhood.log_likelihood(distances, self.classes), expected.log().mean())

    def test_a_point_does_not_choose_itself(self):
        code = torch.tensor([[0.0], [0.0], [9.0], [9.0]])
        self.assertAlmostEqual(
            neighbourhood.expected_correct(neighbourhood.squared_distances(code), torch.tensor([0, 1, 0, 1])).item(),
            0,
            places=6,
        )

    def test_a_code_is_scaled_for_its_median_point_to_have_so_many_neighbours(self):
        ring = torch.eye(8)  # all as far from each other
        torch.testing.assert_close(
            neighbourhood.effective_neighbours(neighbourhood.squared_distances(ring)), torch.full((8,), 7.0)
        )
        far = 100 * self.code
        found = neighbourhood.effective_neighbours(neighbourhood.squared_distances(far))
        self.assertLess(found.median().item(), 1.01, "each sees but one")
        for wanted in (2.0, 10.0):
            scaled = neighbourhood.scale_for(neighbourhood.squared_distances(far), wanted) * far
            self.assertAlmostEqual(
                neighbourhood.effective_neighbours(neighbourhood.squared_distances(scaled)).median().item(),
                wanted,
                places=2,
            )

    def test_a_point_sees_only_its_own_first_units_in_others(self):
        lengths = torch.arange(30) % 5 + 1
        distances = neighbourhood.squared_distances(self.code, lengths)
        for a, b in itertools.product((0, 7, 29), (1, 8, 28)):
            expected = (self.code[a, : lengths[a]] - self.code[b, : lengths[a]]).square().sum()
            torch.testing.assert_close(distances[a, b], expected, rtol=1e-4, atol=1e-4)
        whole = neighbourhood.squared_distances(self.code, torch.full((30,), 5))
        torch.testing.assert_close(whole, neighbourhood.squared_distances(self.code))
        self.assertFalse(torch.equal(truncate(self.code, lengths), self.code))


class Training(unittest.TestCase):
    def test_each_objective_brings_classes_together(self):
        self.assertGreater(error(task_of(dataclasses.replace(SMALL, widths=(36, 24, 1)))), 0.1, "untrained")
        for changes in ({}, {"objective": "likelihood"}, {"objective": "softmax", "classes": 4}, {"beta": 0.5}):
            self.assertLess(error(trained(dataclasses.replace(SMALL, **changes))), 0.05, changes)

    def test_a_nested_binary_code_learns_in_units_that_a_cut_leaves(self):
        binary = dataclasses.replace(SMALL, widths=(36, 24, 64), beta=0.5)
        for settings, share in ((dataclasses.replace(binary, cuts="geometric", rho=0.3), 0.3), (binary, 1.0)):
            task = task_of(settings)
            loss = task.loss(task.batch(0), settings.phases[0])
            learns = torch.autograd.grad(loss, task.model.encoder.weights[-1])[0].norm(dim=1) > 0
            self.assertTrue(learns[:3].all())
            self.assertLessEqual(learns.float().mean().item(), share)
            self.assertGreater(learns.float().mean().item(), share / 8)

    def test_units_outside_the_objective_are_free_and_reconstruct(self):
        settings = dataclasses.replace(SMALL, classed=4, reconstruction=0.01)
        task = task_of(settings)
        x, classes, free = task.batch(0)

        def gradient() -> torch.Tensor:
            loss = task.loss((x, classes, free), settings.phases[0])
            return torch.autograd.grad(loss, task.model.encoder.weights[-1])[0].norm(dim=1)

        self.assertTrue((gradient() > 0).all(), "all units reconstruct")
        task.settings = dataclasses.replace(settings, reconstruction=0.0)
        self.assertTrue(((gradient() > 0) == (torch.arange(6) < 4)).all(), "four are in the objective")

    def test_neighbours_are_found_by_the_units_in_the_objective(self):
        task = task_of(dataclasses.replace(SMALL, classed=4))
        before = task.validate(task.model)
        with torch.no_grad():
            task.model.encoder.weights[-1][4:] *= 1000
        self.assertEqual(task.validate(task.model), before)

    def test_the_loss_is_of_the_objective_and_the_reconstruction_by_lambda(self):
        task = task_of(dataclasses.replace(SMALL, reconstruction=0.25))
        x, classes, _ = batch = task.batch(0)
        code = task.model(x)
        mean = task.model.encoder.decode(code).sigmoid()
        error = -(x * mean.log() + (1 - x) * (1 - mean).log()).sum(1).mean()  # Eq. 18
        for objective, gain in (("nca", neighbourhood.expected_correct), ("likelihood", neighbourhood.log_likelihood)):
            task.settings = dataclasses.replace(task.settings, objective=objective)
            expected = -0.75 * gain(neighbourhood.squared_distances(code), classes) + 0.25 * error  # Eq. 16
            torch.testing.assert_close(task.loss(batch, task.settings.phases[0]), expected, rtol=1e-4, atol=1e-4)

    def test_reconstruction_learns_from_pictures_without_labels(self):
        settings = dataclasses.replace(SMALL, labels=0.02, reconstruction=0.5)
        task = task_of(settings)
        x, classes, free = task.batch(0)
        self.assertEqual(len(x), len(task.labelled))
        self.assertEqual(len(free), settings.batch)
        before = task.loss((x, classes, free), settings.phases[0]).item()
        after = trained(settings)
        self.assertLess(after.loss((x, classes, free), settings.phases[0]).item(), before - 0.5)

    def test_what_is_exported_encodes_without_its_decoder(self):
        task = task_of(dataclasses.replace(SMALL, reconstruction=0.01))
        with tempfile.TemporaryDirectory() as folder:
            task.export(task.model, Path(folder))
            weights = read_weights(Path(folder) / "weights.npz")
        alone = Embedding(SMALL)
        alone.load_state_dict(weights)
        x = torch.rand(7, 36)
        torch.testing.assert_close(alone(x), task.model(x), rtol=0.05, atol=0.05)

    def test_digits_are_deformed_each_by_itself_and_stay_what_they_are(self):
        random, stroke = np.random.default_rng(1), torch.zeros(28, 28)
        stroke[6:22, 12:15] = 1
        x = stroke.flatten().repeat(200, 1)
        self.assertIs(deformed(x, 0, random), x)
        found, place = deformed(x, 1.0, random), torch.arange(28.0)
        middles = torch.stack([(found.view(-1, 28, 28).sum(i) * place).sum(1) / found.sum(1) for i in (1, 2)])
        self.assertTrue((middles.std(1) > 0.5).all() and ((middles - middles.mean(1, keepdim=True)).abs() < 5).all())
        self.assertLess((middles[:, :, None] - torch.tensor([13.0, 13.5])[:, None, None]).mean(1).abs().max(), 0.3)
        self.assertGreater((found @ x[0] / x[0].sum()).mean(), 0.4, "much of the stroke is where it was")
        self.assertGreater(found.std(0).max(), 0.2)

    def test_what_is_learned_from_is_deformed(self):
        task = task_of(dataclasses.replace(SMALL, deformation=1.0))
        plain = task_of(SMALL)
        (x, classes, _), (own, same, _) = task.batch(3), plain.batch(3)
        self.assertTrue((classes == same).all())
        self.assertGreater((x - own).abs().mean(), 0.02)


class Networks(unittest.TestCase):
    def test_the_convolutional_one_has_the_papers_layers(self):
        network = Convolutional(dataclasses.replace(SMALL, network="convolutional", widths=(784, 128, 64)))
        self.assertEqual(
            [tuple(layer.weight.shape) for layer in network.filters], [(32, 1, 5, 5), (32, 32, 5, 5), (32, 32, 5, 5)]
        )
        self.assertEqual(network(torch.rand(3, 784)).shape, (3, 64))
        colour = Convolutional(dataclasses.replace(SMALL, network="convolutional", widths=(3072, 200, 100)))
        self.assertEqual(colour(torch.rand(3, 3072)).shape, (3, 100))

    def test_its_units_are_the_largest_of_what_tanh_gives(self):
        torch.manual_seed(1)
        network, x = (
            Convolutional(dataclasses.replace(SMALL, network="convolutional", widths=(784, 128, 64))),
            3 * torch.rand(3, 784),
        )
        planes = x.view(3, 1, 28, 28) - 0.5
        for layer in network.filters:
            planes = F.max_pool2d(layer(planes).tanh(), 3, stride=2, padding=1)
        torch.testing.assert_close(network(x), network.code(network.hidden(planes.flatten(1)).tanh()))

    def test_softmax_features_are_the_codes_that_its_classifier_stands_behind(self):
        torch.manual_seed(1)
        softmax, nca = (Embedding(dataclasses.replace(SMALL, objective=objective)) for objective in ("softmax", "nca"))
        nca.encoder.load_state_dict(softmax.encoder.state_dict())
        x = 9 * torch.rand(7, 36)
        torch.testing.assert_close(softmax(x), nca(x).tanh())
        self.assertGreater(nca(x).abs().max().item(), 1)

    def test_an_unrolled_stack_encodes_as_its_machines_do_and_decodes_through_them(self):
        torch.manual_seed(1)
        stack = boltzmann.Stack(dataclasses.replace(STACK, deviation=1.0))
        network = Dense(dataclasses.replace(SMALL, activation="logistic", widths=(9, 6, 5), reconstruction=0.1))
        own = network.weights[1][4].clone()
        network.begin(stack.state_dict())
        x = torch.rand(7, 9)
        torch.testing.assert_close(network(x)[:, :4], stack.features(2, x))
        torch.testing.assert_close(network.weights[1][4], own, msg="units that no machine has stay")
        torch.testing.assert_close(network.up_weights[0], stack.weights[0])
        self.assertEqual(network.decode(network(x)).shape, (7, 9))

    def test_training_starts_from_a_stack(self):
        stack = boltzmann.Stack(dataclasses.replace(STACK, widths=(36, 24, 6)))
        task = task_of(SMALL)
        task.begin({"model": stack.state_dict()})
        torch.testing.assert_close(list(task.model.encoder.weights), list(stack.weights))
        torch.testing.assert_close(list(task.model.encoder.biases), list(stack.biases))

    def test_a_pretrained_code_is_scaled_as_fine_tuning_starts_and_reconstructs_as_before(self):
        torch.manual_seed(1)
        stack = boltzmann.Stack(dataclasses.replace(STACK, widths=(36, 24, 6), deviation=3.0))
        plain, scaled = (
            task_of(dataclasses.replace(SMALL, reconstruction=0.1, classed=4, neighbours=wanted))
            for wanted in (0.0, 12.0)
        )
        for task in (plain, scaled):
            task.begin({"model": stack.state_dict()})
        with torch.no_grad():
            code = scaled.model(scaled.data.training[: embedding.SCALED])
            found = neighbourhood.effective_neighbours(neighbourhood.squared_distances(code[:, :4])).median().item()
            self.assertAlmostEqual(found, 12, delta=0.1)
            x = plain.data.training[:7]
            own, same = (task.model.encoder.decode(task.model(x)) for task in (plain, scaled))
        torch.testing.assert_close(own, same, rtol=1e-3, atol=1e-3)

    def test_held_out_pictures_are_learned_from_where_the_settings_say_so(self):
        data = some_data()
        with unittest.mock.patch("nestcast_research.data.labelled.load", return_value=data):
            task, usual = (embedding.Task(dataclasses.replace(SMALL, held_out=kept), None) for kept in (False, True))
        self.assertIs(usual.data, data)
        torch.testing.assert_close(task.data.training, torch.cat([data.training, data.held_out]))
        torch.testing.assert_close(task.data.classes, torch.cat([data.classes, data.held_out_classes]))
        self.assertEqual(len(task.labelled), len(task.data.training))
        self.assertEqual(task.validate(task.model), [], "nothing is left to validate with")


class Pretraining(unittest.TestCase):
    def test_hidden_units_are_sampled_in_a_gibbs_step(self):
        torch.manual_seed(1)
        stack, x = boltzmann.Stack(dataclasses.replace(STACK, widths=(1, 1, 1))), torch.full((20_000, 1), 0.6)
        with torch.no_grad():
            for machine, (weight, up_bias) in enumerate(((40.0, -20.0), (1.0, 0.0))):
                stack.weights[machine].fill_(weight)
                stack.biases[machine].fill_(-23 if machine == 0 else 0.5)
                stack.up_biases[machine].fill_(up_bias)
        binary = stack.gibbs(0, x)  # what is seen again is the unit itself
        self.assertLess(torch.minimum(binary, 1 - binary).max().item(), 1e-6)
        self.assertAlmostEqual(binary.mean().item(), torch.tensor(1.0).sigmoid().item(), delta=0.02)
        gaussian = stack.gibbs(1, x).logit()
        self.assertAlmostEqual(gaussian.mean().item(), 1.1, delta=0.05)
        self.assertAlmostEqual(gaussian.std().item(), 1, delta=0.05)

    def test_a_machine_learns_from_the_features_of_those_below_with_small_weights(self):
        torch.manual_seed(1)
        settings = dataclasses.replace(STACK, deviation=1.0, decay=0.5)
        task, batch = boltzmann.Task.__new__(boltzmann.Task), torch.rand(40, 9)
        task.settings, task.model = settings, boltzmann.Stack(settings)
        for machine, x in ((0, batch), (1, task.model.hidden(0, batch).detach())):
            torch.manual_seed(2)
            energy = (
                task.model.free_energy(machine, x) - task.model.free_energy(machine, task.model.gibbs(machine, x))
            ).mean()
            expected = energy + 0.25 * task.model.weights[machine].square().sum()
            torch.manual_seed(2)
            torch.testing.assert_close(task.loss(batch, Phase(1, str(machine))), expected)

    def test_free_energies_are_sums_over_all_hidden_states(self):
        torch.manual_seed(1)
        stack = boltzmann.Stack(dataclasses.replace(STACK, deviation=1.0))
        for parameter in (*stack.biases, *stack.up_biases):
            torch.nn.init.normal_(parameter)
        x = torch.rand(5, 9)
        states = torch.tensor(list(itertools.product((0.0, 1.0), repeat=6)))
        energies = -(x @ stack.up_biases[0])[:, None] - states @ stack.biases[0] - x @ stack.weights[0].t() @ states.t()
        torch.testing.assert_close(stack.free_energy(0, x), -(-energies).logsumexp(1), rtol=1e-4, atol=1e-4)

    def test_its_gradient_is_that_of_contrastive_divergence(self):
        torch.manual_seed(1)
        stack, x = boltzmann.Stack(dataclasses.replace(STACK, deviation=1.0)), torch.rand(40, 9)
        for machine, given in ((0, x), (1, stack.features(1, x).detach())):
            again = stack.gibbs(machine, given)
            loss = (stack.free_energy(machine, given) - stack.free_energy(machine, again)).mean()
            (found,) = torch.autograd.grad(loss, stack.weights[machine])
            statistic = lambda v: stack.hidden(machine, v).t() @ v / len(v)
            torch.testing.assert_close(found, statistic(again) - statistic(given), rtol=1e-4, atol=1e-5)

    def test_training_a_machine_lowers_the_error_of_a_gibbs_step_and_leaves_the_others(self):
        torch.manual_seed(1)
        settings = dataclasses.replace(STACK, widths=(36, 24, 8), phases=(Phase(300, "0"),), learning_rate=1e-2)
        task = boltzmann.Task.__new__(boltzmann.Task)
        task.settings, task.data, task.model = settings, some_data(), boltzmann.Stack(settings)
        before, second = task.validate(task.model)[0]["error"], task.model.weights[1].clone()
        adam = torch.optim.Adam(task.groups()[0]["params"], settings.learning_rate)
        for step in range(settings.steps):
            adam.zero_grad()
            task.loss(task.batch(step), settings.phases[0]).backward()
            adam.step()
        self.assertLess(task.validate(task.model)[0]["error"], before - 0.2)
        torch.testing.assert_close(task.model.weights[1], second)
        self.assertEqual(task.trained("0"), ("0",))


if __name__ == "__main__":
    unittest.main()
