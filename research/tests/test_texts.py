"""python -m unittest test_texts: descriptions of packages as vectors."""

from __future__ import annotations

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import numpy as np

from nestcast_research.data import texts

WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon"
PACKAGES = """\
Package: libchess
Source: chess (1.2)
Section: games
Description-md5: 1

Package: chess-data
Source: chess
Section: games
Description-md5: 1

Package: units
Section: contrib/math
Description-md5: 2

Package: libunits-dev
Source: units-lib
Section: libdevel
Description-md5: 2

Package: terse
Section: math
Description-md5: 3
"""
TRANSLATION = f"""\
Package: libchess
Description-md5: 1
Description-en: Chess and more chess
 {WORDS}
 .
 queen, QUEEN; x 42

Package: units
Description-md5: 2
Description-en: Conversion
 {WORDS}

Package: terse
Description-md5: 3
Description-en: Too short
"""


class Texts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "debian").mkdir()
        (self.folder / "debian/Packages").write_text(PACKAGES, encoding="utf-8")
        (self.folder / "debian/Translation-en").write_text(TRANSLATION, encoding="utf-8")
        vocabulary = mock.patch.object(texts, "VOCABULARY", self.folder / "vocabulary.csv")
        vocabulary.start()
        self.addCleanup(vocabulary.stop)

    def test_a_source_has_one_text_and_sections_of_kinds_have_none(self):
        words, classes = texts.texts(self.folder)
        found = {texts.SECTIONS[one]: said for one, said in zip(classes, words)}
        self.assertEqual(sorted(found), ["games", "math"])
        self.assertEqual(len(words), 2)
        self.assertEqual(found["games"], ["chess", "and", "more", "chess", *WORDS.split(), "queen", "queen"])

    def test_rare_words_that_come_often_count_most(self):
        words, _ = texts.texts(self.folder)
        with mock.patch.object(texts, "COMMON", 0.5):
            texts.write_vocabulary(words)
        kept = [line.split(",")[0] for line in texts.VOCABULARY.read_text(encoding="utf-8").split()[1:]]
        self.assertEqual(
            sorted(kept), ["and", "chess", "conversion", "more", "queen"], "words of all texts are left out"
        )
        (weights,) = texts.vectors([["and", "chess", "chess", "unknown"]])
        self.assertAlmostEqual(float(np.linalg.norm(weights)), 1, places=5)
        self.assertAlmostEqual(weights[kept.index("chess")] / weights[kept.index("and")], 1 + np.log(2), places=5)
        self.assertEqual(np.count_nonzero(texts.vectors([[]])), 0)

    def test_a_folder_without_packages_says_what_to_do(self):
        (self.folder / "debian/Packages").write_text("", encoding="utf-8")
        with self.assertRaisesRegex(SystemExit, "README"):
            texts.texts(self.folder)


if __name__ == "__main__":
    unittest.main()
