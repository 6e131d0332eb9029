"""python -m unittest test_guesses: files of symbols are read, what is known agrees with the coder's, and a fit finds
what guesses save."""

from __future__ import annotations

import struct
import tempfile
import unittest
from pathlib import Path

import numpy as np

from made_data import TABLES, photo
from nestcast_research.measuring import guesses
from nestcast_train.coded import coder


class Files(unittest.TestCase):
    def setUp(self):
        self.coded = coder.encode(photo(64, 128, 1), TABLES)
        details = [band for own in self.coded.details[::-1] for band in own.reshape(9, *own.shape[2:])]
        self.levels = [*self.coded.low, *details]
        self.symbols = np.zeros(3, guesses.SYMBOL)
        self.symbols["context"], self.symbols["subband"], self.symbols["x"] = (7, 6480, 7000), (48, 49, 255), (1, 2, 0)
        parts = [struct.pack("<II", 128, 64), struct.pack("<I", 8), self.coded.angles.astype(np.int8).tobytes()]
        parts += [np.ascontiguousarray(own, "<i2").tobytes() for own in self.levels] + [
            struct.pack("<I", 3),
            self.symbols.tobytes(),
        ]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "photo.symbols"
            path.write_bytes(b"".join(parts))
            (self.slice,) = guesses.read(path)

    def test_what_was_written_is_read(self):
        np.testing.assert_array_equal(self.slice.angles, self.coded.angles)
        np.testing.assert_array_equal(self.slice.symbols, self.symbols)
        for own, read in zip(self.levels, self.slice.levels, strict=True):
            np.testing.assert_array_equal(own, read)

    def test_planes_are_those_of_a_decoder(self):
        for end in (0, 3):
            planes, bands, matrices = guesses.known(self.slice, end, TABLES)
            wanted, knowledge = coder.window(self.coded, float(end), TABLES, 0, 0, (64, 128))
            np.testing.assert_allclose(planes, wanted, atol=1e-3)
            np.testing.assert_array_equal(bands[0].significant, knowledge[0].significant)
            one = bands[0].significant.reshape(9, 2, 16, 4, 16).any((0, 2, 4))
            self.assertTrue((matrices == np.eye(3)).all((2, 3))[~one & (self.coded.angles == 0).all(2)].all())


class Fits(unittest.TestCase):
    def test_a_fit_finds_what_guesses_tell_and_nothing_in_noise(self):
        random, count = np.random.default_rng(0), 40_000
        symbols = np.zeros(count, [*guesses.GUESSED, ("told", "f4"), ("noise", "f4")])
        symbols["photo"], symbols["plane"], symbols["level"] = random.integers(0, 4, count), 2, 1
        symbols["sign"] = random.random(count) < 0.5
        symbols["logit"] = np.where(symbols["sign"], 0, -1)
        symbols["told"], symbols["noise"] = random.normal(0, 0.5, (2, count))
        size = np.where(symbols["sign"], symbols["told"], np.abs(symbols["told"]) - 0.4)
        symbols["bit"] = random.random(count) < 1 / (1 + np.exp(-symbols["logit"] - 4 * size))
        (_, (signs, significances), _, _), nothing = guesses.savings(symbols, "told"), guesses.savings(symbols, "noise")
        self.assertGreater(signs, 0.2)
        self.assertGreater(significances, 0.05)
        self.assertLess(np.abs(nothing).max(), 0.005)


if __name__ == "__main__":
    unittest.main()
