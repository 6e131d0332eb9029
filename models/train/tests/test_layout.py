"""What may import what."""

from __future__ import annotations

import unittest

from nestcast_train.places import TRAIN


class Layout(unittest.TestCase):
    def test_the_training_knows_nothing_of_the_research(self):
        modules = list((TRAIN / "nestcast_train").rglob("*.py"))
        self.assertGreater(len(modules), 30)
        for module in modules:
            self.assertNotIn("nestcast_research", module.read_text(encoding="utf-8"), module)


if __name__ == "__main__":
    unittest.main()
