"""Random generators for the statistics, each seeded with the report's seed and a name."""

from dataclasses import dataclass

import numpy as np

from tiebreak.stats import generator_for


@dataclass(frozen=True)
class Seeds:
    """A seed, and the path of names that leads to a statistic in the report."""

    seed: int
    path: tuple[str, ...] = ()

    def below(self, *names: str) -> "Seeds":
        return Seeds(self.seed, (*self.path, *names))

    def generator(self, *names: str) -> np.random.Generator:
        return generator_for(self.seed, *self.path, *names)
