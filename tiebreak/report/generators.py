"""Random generators of the statistics, each from the seed and the statistic's name."""

from dataclasses import dataclass

import numpy as np

from tiebreak.stats import generator_for


@dataclass(frozen=True)
class Seeds:
    """A seed, and the path of names to a statistic."""

    seed: int
    path: tuple[str, ...] = ()

    def below(self, *names: str) -> "Seeds":
        return Seeds(self.seed, (*self.path, *names))

    def generator(self, *names: str) -> np.random.Generator:
        return generator_for(self.seed, *self.path, *names)
