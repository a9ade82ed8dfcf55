"""Balanced randomisation of the sides of systems, and of the units that share a HIT."""

import random
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from math import log
from typing import TypeVar

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


Item = TypeVar("Item")


def balanced_bits(edges: Sequence[tuple[Hashable, Hashable]], rng: random.Random) -> list[int]:
    """Return a random bit per edge of a bipartite graph, with as many 0s as 1s (±1) at each vertex.

    A unit is an edge from its HIT to its pair of systems, so sides are balanced both within each
    HIT and for each pair over the study. The graph is decomposed into trails along which the bits
    alternate: the edge that enters a vertex balances the edge that leaves it. An open trail starts
    and ends at vertices of odd degree, and every closed trail in a bipartite graph has even length
    (de Werra 1971, equitable colouring of bipartite graphs).
    """
    at: dict[tuple[int, Hashable], list[int]] = defaultdict(list)
    for number, ends in enumerate(edges):
        for side, end in enumerate(ends):
            at[side, end].append(number)
    for numbers in at.values():
        rng.shuffle(numbers)
    vertices = list(at)
    rng.shuffle(vertices)
    odd_first = sorted(vertices, key=lambda vertex: len(at[vertex]) % 2 == 0)
    bits: dict[int, int] = {}
    # Every odd vertex starts or ends one open trail. The remaining trails are closed.
    is_open = {vertex: len(at[vertex]) % 2 == 1 for vertex in vertices}
    for vertex in odd_first:
        if is_open[vertex]:
            is_open[vertex], is_open[_follow(vertex, edges, at, bits, rng)] = False, False
    for vertex in vertices:
        while _has_edge(vertex, at, bits):
            _follow(vertex, edges, at, bits, rng)
    return [bits[number] for number in range(len(edges))]


Vertex = tuple[int, Hashable]


def _has_edge(vertex: Vertex, at: dict[Vertex, list[int]], bits: dict[int, int]) -> bool:
    numbers = at[vertex]
    while numbers and numbers[-1] in bits:
        numbers.pop()
    return bool(numbers)


def _follow(
    vertex: Vertex,
    edges: Sequence[tuple[Hashable, Hashable]],
    at: dict[Vertex, list[int]],
    bits: dict[int, int],
    rng: random.Random,
) -> Vertex:
    """Follow unused edges until the current vertex has none left, and return that vertex."""
    bit = rng.getrandbits(1)
    while _has_edge(vertex, at, bits):
        number = at[vertex].pop()
        bits[number], bit = bit, 1 - bit
        other = 1 - vertex[0]
        vertex = (other, edges[number][other])
    return vertex


def evenly_drawn(items: Sequence[Item], n: int, rng: random.Random) -> list[Item]:
    """Draw n items at equal distances from a random start; each has the same probability.

    Of any consecutive items, including from the last to the first, a share of n in all is
    drawn (±1).
    """
    start = rng.randrange(len(items))
    return [item for k, item in enumerate(items) if (k * n + start) % len(items) < n]


def dealt(
    items: Sequence[Item],
    *,
    pair_of: Sequence[Hashable],
    instance_of: Sequence[Hashable],
    size: int,
    rng: random.Random,
) -> list[list[Item]]:
    """Deal items into groups of at most ``size``, each with every pair as often (±1).

    Items are dealt to the groups in turn, pair by pair. If a group would contain an instance twice,
    the item is exchanged for one of the same pair in another group, if there is a suitable one.
    """
    order = list(range(len(items)))
    rng.shuffle(order)
    order.sort(key=lambda i: str(pair_of[i]))  # stable, so random within each pair
    count = -(-len(items) // size)
    groups = [order[start::count] for start in range(count)]
    group_of = {i: g for g, group in enumerate(groups) for i in group}
    by_pair: dict[Hashable, list[int]] = defaultdict(list)
    for i in order:
        by_pair[pair_of[i]].append(i)
    counts: list[dict[Hashable, int]] = [defaultdict(int) for _ in groups]
    for i, group in group_of.items():
        counts[group][instance_of[i]] += 1
    for i in order:
        if counts[group_of[i]][instance_of[i]] > 1:
            _exchange(i, by_pair[pair_of[i]], instance_of, group_of, counts)
    dealt_groups: list[list[Item]] = [[] for _ in groups]
    for i in order:
        dealt_groups[group_of[i]].append(items[i])
    for dealt_group in dealt_groups:
        rng.shuffle(dealt_group)
    return dealt_groups


def _exchange(
    i: int,
    others: Sequence[int],
    instance_of: Sequence[Hashable],
    group_of: dict[int, int],
    counts: list[dict[Hashable, int]],
) -> None:
    """Swap item ``i`` with another item of its system pair, unless a group got an instance twice."""
    group_i, instance_i = group_of[i], instance_of[i]
    for j in others:
        group_j, instance_j = group_of[j], instance_of[j]
        if (
            group_j != group_i
            and not counts[group_j][instance_i]
            and not counts[group_i][instance_j]
        ):
            for group, removed, added in (
                (group_i, instance_i, instance_j),
                (group_j, instance_j, instance_i),
            ):
                counts[group][removed] -= 1
                counts[group][added] += 1
            group_of[i], group_of[j] = group_j, group_i
            return


def spaced(
    originals: Sequence[Item],
    repeats: Sequence[tuple[Item, Item]],
    *,
    distance: int,
    rng: random.Random,
) -> list[Item]:
    """Return originals and repeats in random order, each repeat at least ``distance`` later.

    ``repeats`` contains pairs of an original and its repeat. Rejection sampling makes all valid
    orders equally likely. After `MAX_DRAWS` failures, the repeated originals go first and their
    repeats last, which gives the largest possible distance.
    """
    order = [*originals, *(repeat for _, repeat in repeats)]
    ids = [(id(original), id(repeat)) for original, repeat in repeats]
    for _ in range(MAX_DRAWS):
        rng.shuffle(order)
        at = {id(item): index for index, item in enumerate(order)}
        if all(at[repeat] - at[original] >= distance for original, repeat in ids):
            return order
    repeated = {original for original, _ in ids}
    rng.shuffle(order)
    first = [item for item in order if id(item) in repeated]
    repeat_of = {id(original): repeat for original, repeat in repeats}
    last = [repeat_of[id(item)] for item in first]
    between = [item for item in order if id(item) not in {*repeated, *map(id, last)}]
    return [*first, *between, *last]


MAX_DRAWS = 200
