"""The papers' experiments. Importing this package makes its trainings and their data known to nestcast_train."""

from nestcast_research.data import samples
from nestcast_research.settings import BoltzmannSettings, EmbeddingSettings, HashingSettings
from nestcast_train.settings import TASKS, Kind

TASKS["hashing"] = Kind(HashingSettings, "nestcast_research.learning.hashing")
TASKS["boltzmann"] = Kind(BoltzmannSettings, "nestcast_research.learning.boltzmann")
TASKS["embedding"] = Kind(EmbeddingSettings, "nestcast_research.learning.embedding")
samples.register()
