"""Which pairs of systems an instance is compared in, if not in all of them.

A design with a budget takes pairs from a sequence in which, after any number of pairs, every system
was compared the same number of times (±1). It consists of blocks: perfect matchings for an even
number of systems, and Hamiltonian cycles for an odd number (Walecki's decomposition; Lucas 1892).
"""

import random
from collections import deque
from collections.abc import Collection, Iterable
from itertools import combinations

import numpy as np
import scipy

from studies.models import Study

# A pair of systems by their indices in the study's order, the smaller one first.
Pair = tuple[int, int]
MAX_DRAWS = 200


class PairSchedule:
    """Draws the pairs of one instance after the other. The same seed draws the same pairs."""

    def __init__(self, study: Study, n_systems: int) -> None:
        self.pairs = list(combinations(range(n_systems), 2))
        self.budget = budget_of(study, n_systems)
        self._rng = random.Random(f"{study.seed}:pairs")
        self._blocks = blocks(n_systems)
        if study.pairing == Study.Pairing.RANDOM:
            self._blocks = self._blocks[:1]
        self._upcoming: deque[Pair] = deque()

    def pairs_for(self, available: Collection[Pair]) -> list[Pair]:
        """Return the pairs of the next instance, of which only the available ones have texts."""
        if self.budget is None or len(available) <= self.budget:
            return [pair for pair in self.pairs if pair in available]
        left_out = len(available) - self.budget
        if left_out < self.budget:
            # What is left out is as balanced as what is taken, and has no pair twice.
            excluded = self._take(left_out, available)
            return [pair for pair in self.pairs if pair in available and pair not in excluded]
        return sorted(self._take(self.budget, available))

    def _take(self, n: int, available: Collection[Pair]) -> list[Pair]:
        """Take the next pairs, and leave those that cannot be used now for later instances."""
        taken: list[Pair] = []
        passed_over: dict[Pair, None] = {}
        while len(taken) < n:
            if not self._upcoming:
                self._upcoming.extend(self._next_blocks(n - len(taken), taken))
            pair = self._upcoming.popleft()
            if pair in available and pair not in taken:
                taken.append(pair)
            else:
                passed_over[pair] = None
        self._upcoming.extendleft(reversed(passed_over))
        return taken

    def _next_blocks(self, needed: int, avoided: Collection[Pair]) -> list[Pair]:
        """Return all blocks with the systems in a new order so that no pair comes twice."""
        names = list(range(max(pair[1] for pair in self.pairs) + 1))
        for _ in range(MAX_DRAWS):
            self._rng.shuffle(names)
            drawn = [_pair(names[a], names[b]) for block in self._blocks for a, b in block]
            if not set(drawn[:needed]) & set(avoided):
                break
        return drawn


def budget_of(study: Study, n_systems: int) -> int | None:
    """Return the number of pairs per instance, or None for a design that compares every pair."""
    if study.pairing in {Study.Pairing.ALL, Study.Pairing.BASELINE}:
        return None
    return study.pairs_per_instance or max(1, n_systems // 2)


def blocks(n_systems: int) -> list[list[Pair]]:
    """Return all pairs in blocks, in each of which every system comes as often as any other.

    After any number of pairs, counted from the first block on, the systems' counts differ by at
    most 1.
    """
    if n_systems % 2:
        return [_cycle(n_systems, first) for first in range(n_systems // 2)]
    return [_matching(n_systems, first) for first in range(n_systems - 1)]


def _matching(n: int, first: int) -> list[Pair]:
    """Return a round of a round-robin tournament: system n − 1 stays, and the others rotate."""
    last = n - 1
    others = [_pair((first + i) % last, (first - i) % last) for i in range(1, n // 2)]
    return [_pair(last, first), *others]


def _cycle(n: int, first: int) -> list[Pair]:
    """Return the pairs along a zigzag cycle, every other pair first so that counts stay equal."""
    steps = [-(i // 2) if i % 2 == 0 else (i + 1) // 2 for i in range(n - 1)]
    order = [n - 1, *((first + step) % (n - 1) for step in steps)]
    edges = [_pair(order[i], order[(i + 1) % n]) for i in range(n)]
    return [*edges[0 : n - 1 : 2], edges[-1], *edges[1 : n - 1 : 2]]


def _pair(a: int, b: int) -> Pair:
    return (a, b) if a < b else (b, a)


def unconnected_groups(systems: Iterable[int], pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Return the groups of systems without comparisons between them; one group if all compare."""
    known = list(systems)
    index = {system: i for i, system in enumerate(known)}
    edges = np.array([(index[a], index[b]) for a, b in pairs], dtype=int).reshape(-1, 2)
    graph = scipy.sparse.coo_array((np.ones(len(edges)), edges.T), shape=(len(known), len(known)))
    _, labels = scipy.sparse.csgraph.connected_components(graph, directed=False)
    return [[s for s, label in zip(known, labels, strict=True) if label == n] for n in set(labels)]
