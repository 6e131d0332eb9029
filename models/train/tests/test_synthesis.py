"""python -m unittest test_synthesis: the frozen coder against slow twins, and a dry run of the training of networks
after it."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import json
import sys
import tempfile
import tomllib
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from PIL import Image

from made_data import TABLES, photo
from nestcast_train import slim, train
from nestcast_train.coded import coder, filtered, pack, post_filter, rotation_search, windows
from nestcast_train.export import manifest as of_package
from nestcast_train.photo.model import PLANE_SCALE
from nestcast_train.places import ARTIFACTS, CHECKPOINTS, CODEC_TABLES, SETTINGS
from nestcast_train.settings import Phase, SynthesisSettings, load
from nestcast_train.synthesis import synthesis


def slow_near(levels: np.ndarray, plane: int) -> np.ndarray:
    """Which coefficients pass 0 of a plane visits, symbol by symbol (spec/bitstream.md, "Coding passes"); one slice."""
    height, width = levels.shape
    known = np.abs(levels) >> (plane + 1) > 0
    near, visited = np.zeros((height + 2, width + 2), bool), np.zeros((height, width), bool)

    def mark(y: int, x: int) -> None:
        near[y : y + 3, x : x + 3] = True

    for y, x in np.argwhere(known):
        mark(y, x)
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            while True:
                block = near[1 + top : 9 + top, 1 + left : 9 + left][: height - top, : width - left]
                own = (slice(top, top + 8), slice(left, left + 8))
                candidates = np.argwhere(block & ~known[own] & ~visited[own])
                if len(candidates) == 0:
                    break
                y, x = candidates[0] + (top, left)
                visited[y, x] = True
                if abs(int(levels[y, x])) >> plane:
                    mark(y, x)
    return visited


class Coder(unittest.TestCase):
    def test_the_wavelet_is_undone(self):
        planes = np.random.default_rng(1).normal(0, 30, (3, 64, 128)).astype(np.float32)
        low, details = coder.decompose(planes, TABLES.taps)
        self.assertEqual([low.shape, details[0].shape], [(3, 1, 2), (3, 3, 32, 64)])
        np.testing.assert_allclose(coder.compose(low, details, 1, TABLES.taps), planes, atol=1e-2)

    def test_what_is_near_grows_within_its_pass_as_symbols_come(self):
        random = np.random.default_rng(2)
        for shape, plane in (((20, 27), 0), ((16, 16), 2), ((5, 40), 1)):
            levels = (random.laplace(0, 1.2 * 2**plane, shape)).astype(np.int16)
            grid = coder.Grid.of((2 * shape[0], 2 * shape[1]), 1)
            found = coder.near(np.abs(levels) >> (plane + 1) > 0, np.abs(levels) >> plane > 0, grid.neighbours())
            np.testing.assert_array_equal(found, slow_near(levels, plane))
            self.assertGreater(found.sum(), 10)

    def test_passes_are_those_of_the_stream(self):
        np.testing.assert_array_equal(coder.passes(3.0), np.full(coder.SUBBANDS, 3.0))
        half = coder.passes(3 + 1 - (57 + 20.25) / (3 * 57))
        np.testing.assert_allclose(half, [2.0] * 20 + [1.25] + [1.0] * 36, atol=1e-4)

    def test_more_of_the_stream_is_nearer_to_the_photo(self):
        picture = photo(192, 256, 3)
        coded = coder.encode(picture, TABLES)
        errors = []
        for cut in (6.3, 5.0, 3.6, 2.5, 1.2, 0.0):
            planes, _ = coder.window(coded, cut, TABLES, 0, 0, picture.shape[:2])
            errors.append(np.square(coder.to_rgb(planes, coded.axes) - picture).mean())
        self.assertEqual(errors, sorted(errors, reverse=True))
        self.assertLess(errors[-1], 2.0)
        self.assertTrue(0.5 < errors[-1] / coded.errors[0] < 2, "the estimate of the error is about right")

    def test_a_window_is_a_part_of_the_whole(self):
        coded = coder.encode(photo(448, 512, 4), TABLES)
        whole, all_known = coder.window(coded, 2.7, TABLES, 0, 0, (448, 512))
        part, known = coder.window(coded, 2.7, TABLES, 160, 192, (128, 96))
        self.assertLess(np.abs(part - whole[:, 160:288, 192:288]).mean(), 0.02)
        inner = all_known[1].significant[:, 40:72, 48:72]
        self.assertGreater((known[1].significant == inner).mean(), 0.999)

    def test_regions_of_other_colours_get_rotations(self):
        random = np.random.default_rng(5)
        grain = random.integers(0, 60, (128, 256, 1))
        colour = np.where(np.arange(256)[None, :, None] < 128, [3, 3, 3], [1, 0, 4])
        coded = coder.encode((60 + grain * colour // 2).clip(0, 255).astype(np.uint8), TABLES)
        self.assertTrue((coded.angles[:, :3] == coded.angles[0, 0]).all())
        self.assertTrue((coded.angles[:, 5:] == coded.angles[0, 7]).all())
        self.assertTrue((coded.angles[0, 0] != coded.angles[0, 7]).any())

    def test_rotations_are_undone(self):
        angles = np.random.default_rng(6).integers(-32, 32, (2, 3, 3))
        matrix = rotation_search.matrices(angles)
        bands = np.random.default_rng(7).normal(size=(3, 3, 16, 24)).astype(np.float32)
        np.testing.assert_allclose(coder.rotated(coder.rotated(bands, matrix), matrix.swapaxes(2, 3)), bands, atol=1e-5)


def slow_filtered(
    filters: post_filter.PostFilter, samples: np.ndarray, significance: np.ndarray, cut: float, c: int, y: int, x: int
) -> int:
    """One sample of component `c` (spec/bitstream.md, "Post-filter"); significance: (3, H / 4, W / 4)."""
    height, width = samples.shape[1:]

    def s(b: int, y: int, x: int) -> int:
        return int(samples[b, min(max(y, 0), height - 1), min(max(x, 0), width - 1)])

    def change(dx: int, dy: int) -> int:
        rows, columns = (range(at // 4 * 4 - 2, at // 4 * 4 + 6) for at in (y, x))
        return sum(min(abs(s(c, j + dy, i + dx) - s(c, j - dy, i - dx)), 4095) for j in rows for i in columns)

    m, (first, share) = post_filter.clip_at(filters.step, cut), post_filter.between(cut)
    h, v, d, e = change(1, 0), change(0, 1), change(1, 1), change(-1, 1)
    upright = max(h, v) * min(d, e) >= max(d, e) * min(h, v)
    a, b, ways = (h, v, (1, 2)) if upright else (d, e, (3, 4))
    direction = (ways[0] if a > b else ways[1]) if 2 * max(a, b) > 3 * min(a, b) else 0
    own = sum(h + v >= 10 * m << k for k in range(8)) * 5 + direction
    own = own * 4 + significance[c, y // 4, x // 4]
    out = s(c, y, x)
    pairs = [(b, pair) for b, own_pairs in post_filter.TAPS[c] for pair in own_pairs]
    for k, (b, (dy, dx)) in enumerate(pairs):
        sums = sum(min(max(s(b, y + i * dy, x + i * dx) - s(b, y, x), -m), m) for i in (1, -1))
        fine, coarse = (int(filters.taps[c][first + i, own, y % 2 * 2 + x % 2, k]) for i in (0, 1))
        tap = (fine * (256 - share) + coarse * share) >> 1
        out += (tap * sums + 2**14) >> 15
    return out


def slow_layer(
    filters: post_filter.PostFilter, planes: torch.Tensor, significance: np.ndarray, cut: float
) -> torch.Tensor:
    """(3, H, W) planes, filtered in floats, by operations whose derivatives PyTorch knows."""
    clip, (_, height, width) = post_filter.clip_at(filters.step, cut), planes.shape
    samples = (planes.detach() * 64).round().int().numpy()
    numbers = filters.numbers(post_filter.padded(samples), significance, clip)
    wide = torch.nn.functional.pad(planes[None], (2, 2, 2, 2), mode="replicate")[0]
    out = list(planes)
    for c, own in enumerate(filters.at(cut)):
        pairs = [(b, pair) for b, own_pairs in post_filter.TAPS[c] for pair in own_pairs]
        for taps, (b, (dy, dx)) in zip(own, pairs):
            for y, x in ((2 + dy, 2 + dx), (2 - dy, 2 - dx)):
                difference = (wide[b, y : y + height, x : x + width] - planes[b]).clamp(-clip / 64, clip / 64)
                out[c] = out[c] + torch.from_numpy(taps[numbers[c]] / np.float32(65536)).float() * difference
    return torch.stack(out)


class PostFilter(unittest.TestCase):
    filters = post_filter.PostFilter.read(CODEC_TABLES / "photo/tables.bin")

    def test_it_is_that_of_the_specification(self):
        coded = coder.encode(photo(128, 192, 11), TABLES)
        for cut in (0.3, 2.25, 4.6, 6.1):
            planes, known = coder.window(coded, cut, TABLES, 32, 32, (64, 96))
            samples = np.round(planes * np.float64(64)).astype(int)
            significance = np.zeros((3, 16, 24), int)
            for level, c, y, x in np.ndindex(3, 3, 64, 96):
                if known[level].significant[3 * c : 3 * c + 3, y >> level + 1, x >> level + 1].any():
                    significance[c, y // 4, x // 4] = max(significance[c, y // 4, x // 4], 3 - level)
            filtered = self.filters.apply(planes, known, cut) * 64
            for c, y, x in np.random.default_rng(12).integers((3, 64, 96), size=(150, 3)):
                self.assertEqual(filtered[c, y, x], slow_filtered(self.filters, samples, significance, cut, c, y, x))

    def test_the_shipped_one_helps(self):
        picture = photo(192, 256, 14)
        coded = coder.encode(picture, TABLES)
        target = np.einsum("ij,hwj->ihw", coded.axes, picture.astype(np.float32) - 128) / PLANE_SCALE
        planes, known = coder.window(coded, 3.6, TABLES, 0, 0, picture.shape[:2])
        before, after = (np.square(one - target).mean() for one in (planes, self.filters.apply(planes, known, 3.6)))
        self.assertLess(after, 0.99 * before)

    def seen(self, cuts: tuple[float, ...]) -> tuple[torch.Tensor, torch.Tensor, list[np.ndarray]]:
        """Planes and significance of windows at these cuts, and the planes filtered."""
        coded = coder.encode(photo(128, 192, 11), TABLES)
        found = [coder.window(coded, cut, TABLES, 32, 32, (64, 96)) for cut in cuts]
        significant = np.stack([post_filter.significance(known) for _, known in found])
        expected = [self.filters.apply(planes, known, cut) for (planes, known), cut in zip(found, cuts)]
        return (
            torch.from_numpy(np.stack([planes for planes, _ in found])),
            torch.from_numpy(significant).float(),
            expected,
        )

    def test_behind_a_network_it_is_the_same_but_for_roundings(self):
        cuts = (0.3, 4.6)
        planes, significant, expected = self.seen(cuts)
        found = filtered.Filtered(self.filters)(planes, significant, torch.tensor(cuts))
        self.assertGreater((found - planes).abs().max(), 1)
        np.testing.assert_allclose(found.numpy(), np.stack(expected), atol=0.4)
        self.assertLess(np.abs(found.numpy() - np.stack(expected)).mean(), 0.03)

    def test_its_derivative_is_that_of_clipped_differences(self):
        cuts = torch.tensor([0.3, 4.6])
        planes, significant, _ = self.seen(tuple(cuts.tolist()))
        planes, weights = planes.requires_grad_(), torch.randn(planes.shape, generator=torch.Generator().manual_seed(1))
        (filtered.Filtered(self.filters)(planes, significant, cuts) * weights).sum().backward()
        slow = planes.detach().clone().requires_grad_()
        for one, told, cut, factor in zip(slow, significant, cuts.tolist(), weights):
            (slow_layer(self.filters, one, told.numpy().astype(int), cut) * factor).sum().backward()
        torch.testing.assert_close(planes.grad, slow.grad, rtol=1e-4, atol=1e-4)
        self.assertGreater((planes.grad - weights).abs().max(), 0.1)

    def test_tables_lie_between_cuts(self):
        self.assertEqual([post_filter.between(cut) for cut in (0.2, 3.5, 9.0)], [(0, 0), (1, 64), (1, 256)])


class DryRun(unittest.TestCase):
    settings = SynthesisSettings(
        "synthesis",
        "dry",
        folder=str(SETTINGS),
        channels=(16, 16, 16),
        cuts=(0.0, 2.0, 4.0, 7.0),
        margin=0.25,
        batch=1,
        crop=64,
        rise=1,
        learning_rate=1e-3,
        validate_every=2,
        average=0.9,
        phases=(Phase(2, "2"), Phase(2, "0")),
    )

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        folder = Path(cls.folder.name)
        (folder / "photos/elementary").mkdir(parents=True)
        for i in range(2):
            Image.fromarray(photo(576, 640, i)).save(folder / f"photos/elementary/{i}.jpg", quality=95)
        arguments = ["pack.py", "--photos", str(folder / "photos"), "--out", str(folder / "packed")]
        with mock.patch.object(sys, "argv", arguments), contextlib.redirect_stdout(io.StringIO()):
            pack.main()

    def run_of(self, name: str, steps: int = 4, resume: bool = False) -> train.Run:
        run = train.start(self.settings, Path(self.folder.name) / "packed", Path(self.folder.name) / name, resume)
        if steps < self.settings.steps:  # as if it were told to end there
            run.task.after_step = lambda: ended.append(True) if run.step + 1 == steps else None
        ended: list = []
        train.train(run, ended)
        return run

    def test_levels_come_back_out_of_their_files(self):
        path = Path(self.folder.name) / "one"
        pixels = photo(128, 192, 9)
        coded = coder.encode(pixels, TABLES)
        pack.save(path, pixels, coded, TABLES)
        again, read = pack.read(Path(f"{path}.npz"))
        np.testing.assert_array_equal(again, pixels)
        for cut in (0.0, 4.2):
            for a, b in zip(*(coder.window(one, cut, TABLES, 32, 64, (64, 64))[0] for one in (coded, read))):
                np.testing.assert_array_equal(a, b)

    def test_a_run_that_was_interrupted_is_the_same_run(self):
        whole = self.run_of("whole")
        self.assertEqual(self.run_of("parts", 2).step, 2)
        parts = self.run_of("parts", resume=True)
        self.assertEqual((whole.step, parts.step), (4, 4))
        for a, b in zip(whole.average.values(), parts.average.values()):
            torch.testing.assert_close(a, b)
        rows = [json.loads(line) for line in (Path(self.folder.name) / "whole/log.jsonl").read_text().splitlines()]
        self.assertEqual({row["step"] for row in rows}, {0, 2, 4})
        untrained = [row for row in rows if row["step"] == 0]
        self.assertEqual(len(untrained), len(whole.task.validation))
        for row, (_, _, seen) in zip(untrained, whole.task.validation):  # the filter alone
            behind = whole.task.filter(seen["planes"], seen["significant"], seen["cut"])
            gain = windows.psnr(behind, seen) - windows.psnr(seen["planes"], seen)
            self.assertAlmostEqual(row["gain"], gain.mean().item(), 3)

    def test_a_run_goes_on_from_what_is_committed_of_it(self):
        run = self.run_of("long")
        small = Path(self.folder.name) / "short/checkpoint.pt"
        small.parent.mkdir()
        train.write(small, slim.slim(train.read(run.checkpoint)))
        self.assertLess(small.stat().st_size, run.checkpoint.stat().st_size / 4)
        again = self.run_of("short", resume=True)
        self.assertEqual(again.step, 4)
        for (name, a), b in zip(again.task.model.state_dict().items(), run.average.values()):
            torch.testing.assert_close(a, b, rtol=1e-3, atol=1e-6, msg=name)

    def test_steps_in_bfloat16_are_those_in_floats_but_for_roundings_and_keep_floats(self):
        losses = []
        for bf16 in (False, True):
            settings = dataclasses.replace(self.settings, bf16=bf16)
            run = train.start(settings, Path(self.folder.name) / "packed", Path(self.folder.name) / f"bf16-{bf16}")
            torch.nn.init.normal_(run.task.model.networks[2].tail.weight, std=0.05)
            losses.append(run.learn(run.task.batch(0)))
            self.assertTrue(all(value.dtype == torch.float32 for value in run.task.model.state_dict().values()))
        self.assertNotEqual(*losses)
        self.assertLess(abs(losses[1] / losses[0] - 1), 0.02)

    def test_every_network_learns_in_its_phases_alone(self):
        run = self.run_of("alone", steps=2)
        moved = [bool(network.tail.weight.abs().max() > 0) for network in run.task.model.networks]
        self.assertEqual(moved, [False, False, True])

    def test_it_starts_with_the_synthesis_of_a_photo_model_and_ends_in_its_package(self):
        folder = Path(self.folder.name)
        shipped = load(SETTINGS / "photo-synthesis.toml")
        short = dataclasses.replace(shipped.shortened(4), batch=1, crop=64, calibration=24)
        run = train.start(short, folder / "packed", folder / "started")
        first = train.read(CHECKPOINTS / "photo.pt")["model"]["synthesis.head.weight"].float()
        for network in run.task.model.networks:
            torch.testing.assert_close(network.head.weight.detach(), first)
        train.train(run)
        run.task.export(run.averaged(), folder / "started")
        package, model = folder / "started/package", ARTIFACTS / "photo"
        for name in ("tables.bin", "analysis.onnx", "post_filter.bin"):
            self.assertEqual((package / name).read_bytes(), of_package.file(model, name).read_bytes())
        networks = [(package / f"synthesis-{i}.onnx").read_bytes() for i in range(len(shipped.ranges()))]
        self.assertEqual(len(set(networks)), len(networks))
        manifest = tomllib.loads((package / "manifest.toml").read_text(encoding="utf-8"))
        self.assertEqual(manifest["ranges"]["cut"], list(shipped.cuts))
        self.assertEqual(len(np.load(package / "golden/synthesis.npy")), len(manifest["golden"]["cuts"]))

    def drawn(self, settings: SynthesisSettings, within: tuple[float, float]) -> np.ndarray:
        random = np.random.default_rng(1)
        return np.array([windows.draw_cut(settings, random, within) for _ in range(4000)])

    def test_cuts_are_within_their_range(self):
        cuts = self.drawn(self.settings, (0.0, 7.0))
        self.assertLess(np.abs(np.histogram(cuts, 7, (0, 7))[0] / 4000 - 1 / 7).max(), 0.03)
        for within in ((0.0, 7.0), (1.8, 3.2)):
            cuts = self.drawn(self.settings, within)
            self.assertTrue((cuts >= within[0]).all() and (cuts <= within[1]).all())
            self.assertGreater(np.ptp(cuts), 0.95 * np.ptp(within))

    def test_a_network_learns_cuts_of_its_range_and_a_margin(self):
        many = dataclasses.replace(self.settings, phases=(Phase(8, "1"), Phase(8, "2")), batch=8)
        task = train.start(many, Path(self.folder.name) / "packed", Path(self.folder.name) / "margin").task
        for steps, (low, high) in ((range(8), (1.75, 4.25)), (range(8, 16), (3.75, 7.0))):
            cuts = torch.cat([task.batch(step)["cut"] for step in steps])
            self.assertTrue((cuts >= low).all() and (cuts <= high).all())
            self.assertTrue((cuts < low + 0.25).any() or (cuts > high - 0.25).any())
        self.assertIsNone(task.batch(16))

    def test_settings_that_cannot_be_are_refused(self):
        for wrong in ({"cuts": (0.0, 4.0, 2.0)}, {"phases": (Phase(2, "3"),)}, {"phases": (Phase(2),)}):
            with self.assertRaises(SystemExit):
                synthesis.Task(dataclasses.replace(self.settings, **wrong), Path(self.folder.name) / "packed")

    def test_a_share_of_cuts_is_within_the_focus(self):
        near = dataclasses.replace(self.settings, focus=(3.0, 5.0), focused=0.5)
        cuts = self.drawn(near, (0.0, 7.0))
        self.assertAlmostEqual(np.mean((cuts > 3) & (cuts < 5)), 0.5 + 0.5 * 2 / 7, delta=0.03)
        cuts = self.drawn(near, (4.0, 7.0))
        self.assertAlmostEqual(np.mean(cuts < 5), 0.5 + 0.5 / 3, delta=0.04)
        self.assertLess(np.mean(self.drawn(near, (0.0, 2.0)) < 1), 0.7)


if __name__ == "__main__":
    unittest.main()
