"""python -m unittest test_paper: the packages of binary codes, the pictures they learn from, and how the paper's
figures are measured."""

from __future__ import annotations

import dataclasses
import io
import re
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from made_data import SMALL, small_model, some_pictures
from nestcast_research import stored
from nestcast_research.data import features, labelled
from nestcast_research.learning.encoders import Embedding
from nestcast_research.learning.variational import VariationalAutoencoder
from nestcast_research.measuring import compression, learned_tables, neighbours, photographs, retrieval
from nestcast_research.pages import learned, learned_findings, packages
from nestcast_research.places import PAGES
from nestcast_research.settings import EmbeddingSettings, HashingSettings
from nestcast_train import slim
from nestcast_train.codes import code_package, pictures
from nestcast_train.codes.pictures import SIDE
from nestcast_train.codes.vectors import Frame
from nestcast_train.places import ROOT


class Packages(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.path = Path(self.folder.name)

    def test_a_variational_package_gives_its_models_bits(self):
        package = {**SMALL.package, "decoder": False}
        for latent in ("bernoulli", "gaussian"):
            torch.manual_seed(1)
            settings = HashingSettings("hashing", "small", axes=12, latent=latent, widths=(12, 20, 32), package=package)
            model, frame = VariationalAutoencoder(settings), small_model(SMALL)[1]
            model.calibrate(frame.coordinates(some_pictures(200)))
            slim.write_weights(self.path / "weights.npz", {**model.state_dict(), **frame.state()})
            code_package.write(settings, self.path / "weights.npz", self.path / "package")
            model, frame = code_package.read(settings, self.path / "weights.npz")
            images = (255 * some_pictures(20)).byte()
            expected = model.activations(frame.coordinates(images / 255)).detach().numpy()
            np.testing.assert_allclose(
                code_package.Package(self.path / "package").encode(images.numpy()), expected, atol=1e-4
            )

    def test_a_package_of_digits_gives_its_models_bits_of_a_stretched_digit(self):
        torch.manual_seed(1)
        digits = torch.nn.functional.interpolate(torch.rand(200, 1, 5, 5), (28, 28), mode="bilinear").flatten(1)
        frame = Frame.of(digits, 8)
        package = {**SMALL.package, "decoder": False}
        for settings, kind in (
            (HashingSettings("hashing", "small", axes=8, widths=(8, 20, 32)), VariationalAutoencoder),
            (
                EmbeddingSettings("embedding", "small", axes=8, widths=(8, 20, 32), activation="rectified", beta=0.5),
                Embedding,
            ),
        ):
            model = kind(settings)
            model.calibrate(frame.coordinates(digits))
            slim.write_weights(self.path / "weights.npz", {**model.state_dict(), **frame.state()})
            packages.write(settings, self.path / "weights.npz", self.path / "digits", package)
            model, own = code_package.read(settings, self.path / "weights.npz")
            images = [Image.fromarray(digit.numpy()) for digit in (255 * digits[:20]).byte().view(-1, 28, 28)]
            given = np.stack([pictures.stretched(image) for image in images])
            expected = (model.encode if kind is VariationalAutoencoder else model)(
                own.coordinates((255 * digits[:20]).byte() / 255)
            ) > 0
            self.assertGreater(
                ((code_package.Package(self.path / "digits").encode(given) > 0) == expected.numpy()).mean(), 0.97
            )


def by_definition(codes_: torch.Tensor, query: torch.Tensor, least: int) -> list[int]:
    """Section 5.1: down the tree until |N_b| < R; then N_(b-1). Behind the last bit there is no smaller one."""
    before = list(range(len(codes_)))
    for b in range(1, codes_.shape[1] + 1):
        now = [i for i in range(len(codes_)) if codes_[i, :b].tolist() == query[:b].tolist()]
        if len(now) < least:
            return before
        before = now
    return before


class Retrieval(unittest.TestCase):
    def test_neighbourhoods_are_those_of_the_definition(self):
        torch.manual_seed(1)
        for bits, count in ((1, 3), (6, 40), (12, 200)):
            codes_ = torch.rand(count, bits) < 0.3
            for query in [*codes_[:10], *(torch.rand(10, bits) < 0.3)]:
                shared = neighbours.shared_bits(codes_, query)
                for least in (1, 2, 7, count, count + 1):
                    self.assertEqual(
                        neighbours.neighbourhood(shared, least).tolist(), by_definition(codes_, query, least)
                    )

    def test_precision_is_1_for_codes_that_are_classes_and_a_query_does_not_find_itself(self):
        labels = torch.arange(4).repeat_interleave(150)
        codes_ = torch.stack([labels & 1, labels >> 1], 1) > 0
        own = torch.arange(0, 600, 50)
        found = retrieval.precisions(codes_, labels, codes_[own], labels[own], own)
        for name, value in found.items():
            self.assertAlmostEqual(value, 149 if name.startswith("members") else 1, places=4, msg=name)

    def test_precision_is_a_share(self):
        labels = torch.arange(2).repeat(300)
        found = retrieval.precisions(
            torch.zeros(600, 4) > 0, labels, torch.zeros(3, 4) > 0, torch.zeros(3), torch.full((3,), -1)
        )
        self.assertAlmostEqual(found["ordered, whole neighbourhood, 10"], 0.5, places=4)


class Photographs(unittest.TestCase):
    def test_folders_count_alike_and_a_photo_does_not_find_itself(self):
        folders = np.array([0] * 30 + [1] * 90)
        bits = (torch.arange(120) >= 30)[:, None].repeat(1, 8)
        found = photographs.precisions(bits, folders)
        self.assertEqual((found["precision at 10"].min(), found["MAP"].min()), (1, 1))
        alone = photographs.precisions(torch.eye(3) > 0, np.arange(3))
        self.assertEqual(alone["MAP"].max(), 0, "nothing but itself is of its folder")
        mean, deviation = photographs.folders_mean(np.where(folders == 0, 0.2, np.arange(120) % 2), folders)
        self.assertAlmostEqual(mean, 0.35)
        self.assertAlmostEqual(deviation, np.sqrt(0.25 / 90) / 2)

    def test_what_is_seen_is_the_neighbourhoods_of_all_codes_that_are_asked_for(self):
        torch.manual_seed(1)
        bits, asked = torch.rand(100, 12) < 0.4, torch.rand(3, 12) < 0.4
        expected = {
            index
            for code in asked
            for index in neighbours.neighbourhood(neighbours.shared_bits(bits, code), 7).tolist()
        }
        self.assertEqual(set(photographs.in_neighbourhoods(bits, asked, 7).nonzero()[0].tolist()), expected)

    def test_an_original_is_found_by_any_code_of_what_a_photo_may_be_a_crop_of(self):
        torch.manual_seed(1)
        bits = torch.rand(200, 64) < 0.5
        other, late = ~bits[7], bits[7].clone()
        late[0] ^= True  # near, but in no neighbourhood
        of = photographs.Photographs(torch.empty(0), np.zeros(200), torch.empty(0), ["crop", "late"], np.array([7, 7]))
        found = photographs.originals_found(
            bits, torch.stack([torch.stack([other, bits[7]]), torch.stack([late, late])]), of
        )
        self.assertEqual({name: tuple(shares) for name, shares in found.items()}, {"crop": (1, 1), "late": (1, 0)})

    def test_models_of_photos_and_of_digits_encode_any_picture(self):
        photos = (255 * some_pictures(6)).byte().view(6, 3, SIDE, SIDE)
        for one in filter(lambda one: stored.have(one.name), learned.PHOTOS):
            code = photographs.of_model(one)(photos)
            self.assertEqual(code.shape, (6, one.bits), one.name)
            torch.testing.assert_close(code, learned.encoder(one)(photos.flatten(1) / 255))
            self.assertFalse((code == code[0]).all(), one.name)
        for one in (learned.HASHES[0], learned.EMBEDDINGS[0]):
            self.assertEqual(photographs.of_model(one)(photos).shape, (6, one.bits), one.name)

    def test_the_default_is_what_the_table_says_is_best_for_photos_without_labels(self):
        self.assertEqual(learned_findings.best_for_photos()["package"], photographs.BUILT_IN)
        argument = (ROOT / "cli/src/args/retrieval.rs").read_text(encoding="utf-8")
        self.assertIn(f'default_value = "{photographs.BUILT_IN}"', argument)


class Compression(unittest.TestCase):
    def test_influence_is_what_the_error_grows_by(self):
        model, frame = small_model(dataclasses.replace(SMALL, widths=(12, 32), skip=False))
        with torch.no_grad():
            y = frame.coordinates(some_pictures(50))
            code, whole = model.encode(y), (model(y, torch.full((50,), 32)) - y).square().sum(1).mean()
            for unit in (0, 9, 31):
                kept = code.clone()
                kept[:, unit] = 0
                grown = (model.decode(kept) - y).square().sum(1).mean() - whole
                torch.testing.assert_close(compression.influence(model, y)[unit], grown, rtol=1e-3, atol=1e-3)

    def test_a_scan_is_what_is_left_without_headers(self):
        sizes = []
        for seed in (1, 2):
            noise = np.random.default_rng(seed).integers(0, 255, (SIDE, SIDE, 3), np.uint8)
            file = io.BytesIO()
            Image.fromarray(noise).save(file, "JPEG", quality=50)
            scan = compression.scan_bytes(file.getvalue())
            self.assertGreater(scan, 100)
            sizes.append(len(file.getvalue()) - scan)
        self.assertEqual(*sizes)


class LearnedCodes(unittest.TestCase):
    def test_every_model_encodes_digits_with_its_committed_weights(self):
        digits = torch.rand(5, 784)
        models = [one for one in (*learned.HASHES, *learned.EMBEDDINGS, *learned.POINTS) if stored.have(one.name)]
        self.assertGreater(len(models), 10, "the small ones lie in research/weights")
        for one in models:
            code = learned.encoder(one)(digits)
            self.assertEqual(code.shape, (5, one.bits), one.name)
            self.assertEqual(code.dtype == torch.bool, one not in learned.POINTS, one.name)
        for one in (*learned.FEATURES, *learned.CIFAR):
            if stored.have(one.name):
                given = torch.rand(5, 2048 if one in learned.FEATURES else 3072)
                self.assertEqual(learned.encoder(one)(given).shape, (5, one.bits), one.name)

    @unittest.skipUnless(stored.have(f"{features.NETWORK}-64"), "this clone has no history: no weights")
    def test_features_are_what_a_network_of_pictures_makes_of_digits_with_a_black_border(self):
        digits = torch.rand(3, 784)
        x = torch.zeros(3, 3, 32, 32)
        x[:, :, 2:30, 2:30] = digits.view(3, 1, 28, 28)
        (own,) = (one for one in learned.PICTURES if one.settings == features.NETWORK)
        model, _ = learned.embedding_model(own)
        x = x - 0.5
        for layer in model.encoder.filters[: features.LAYERS]:
            x = torch.nn.functional.max_pool2d(layer(x).tanh(), 3, stride=2, padding=1)
        found = features.features(digits)
        self.assertEqual(found.shape, (3, 2048))
        torch.testing.assert_close(found, x.flatten(1))

    @unittest.skipUnless(all(stored.have(one.name) for one in learned.POINTS), "this clone has no history: no weights")
    def test_a_classifier_learns_and_neighbours_of_few_labels_are_those_that_have_them(self):
        torch.manual_seed(1)
        classes = torch.arange(600) % 3
        x = torch.nn.functional.one_hot(classes, 8) + 0.1 * torch.randn(600, 8)
        self.assertGreater((learned_tables.classifier(x, classes)(x).argmax(1) == classes).float().mean().item(), 0.95)
        test = learned.Test.__new__(learned.Test)
        test.data = labelled.Labelled(torch.rand(600, 784), classes, torch.rand(3, 784), classes[:3])
        counts = {}
        for one in learned.POINTS:
            for name, points in learned_tables.points_of(test, one).items():
                self.assertEqual(points.encode(test.data.training).shape, (600, points.units), name)
                counts[name] = 600 if points.members is None else len(points.members)
        for share in learned.KNOWN:
            known = {count for name, count in counts.items() if f" {100 * share:.0f} % of labels" in name}
            self.assertEqual(known, {round(600 * share)}, share)
        self.assertEqual({count for name, count in counts.items() if "% of labels" not in name}, {600})

    def test_queries_are_timed_by_the_length_of_codes(self):
        times = learned_tables.query_times()
        self.assertTrue({16, 32, 64, 512} <= set(times))
        for found in times.values():
            self.assertLess(float(found["us in order"]), float(found["us one by one"]))


class Page(unittest.TestCase):
    def test_the_pages_show_every_figure_that_is_committed(self):
        pages = "".join((PAGES / name).read_text(encoding="utf-8") for name in ("index.html", "codes.html"))
        drawn = {path.name for path in PAGES.iterdir() if path.suffix in (".png", ".svg")}
        self.assertEqual(drawn - set(re.findall('src="([^"]*)"', pages)), set())

    def test_what_codes_html_says_is_of_the_committed_tables(self):
        page = (PAGES / "codes.html").read_text(encoding="utf-8")
        for section in learned_findings.sections():
            for line in section.found.split("\n"):
                self.assertIn(line, page, section.title)


if __name__ == "__main__":
    unittest.main()
