"""Chooses which samples of two systems are compared so that neither system's texts are longer.

The sum of the log ratios of lengths is kept near 0 for each pair of systems: of the samples that an
instance offers, the next one is that which brings the sum closest to 0. Differences within
comparisons remain; what goes is a difference on average.
"""

from collections import defaultdict
from collections.abc import Mapping
from math import log

Pair = tuple[int, int]


class LengthBalance:
    """The sums of the log ratios of lengths so far, by pair of systems."""

    def __init__(self) -> None:
        self.sums: dict[Pair, float] = defaultdict(float)

    def choose(self, pair: Pair, lengths: Mapping[int, tuple[int, int]], n: int) -> list[int]:
        """Return ``n`` samples of an instance, of which `lengths` has A's and B's characters."""
        remaining = {sample: log((a + 1) / (b + 1)) for sample, (a, b) in lengths.items()}
        chosen = []
        for _ in range(min(n, len(remaining))):
            sample = min(remaining, key=lambda k: (abs(self.sums[pair] + remaining[k]), k))
            self.sums[pair] += remaining.pop(sample)
            chosen.append(sample)
        return sorted(chosen)
