"""Report values: JSON, and generators that each belong to one named statistic."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from metrics.stats import Estimate, generator_for
from metrics.stats.bootstrap import Resampling

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


def estimates_json(estimates: Mapping[str, Estimate]) -> dict[str, Json]:
    return {name: estimate_json(estimate) for name, estimate in estimates.items()}


def estimate_json(estimate: Estimate) -> dict[str, Json]:
    return dict(estimate.as_json())


def label_key(label: object) -> str:
    """How a label is written as a key: −1, 2.5, yes; never 2.0 for a whole number."""
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)  # type: ignore[call-overload]


@dataclass(frozen=True)
class Draws:
    """Where in the report we are: each statistic has the generator of its full name."""

    seed: int
    replicates: int
    path: tuple[str, ...] = ()

    def at(self, *names: str) -> "Draws":
        return replace(self, path=(*self.path, *names))

    def rng_for(self, statistic: str) -> np.random.Generator:
        return generator_for(self.seed, *self.path, statistic)

    def options(self, statistic: str) -> Resampling:
        """The keyword options of one statistic."""
        return {"replicates": self.replicates, "rng": self.rng_for(statistic)}
