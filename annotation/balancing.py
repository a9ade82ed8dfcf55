"""Balanced draws: which side each unit shows first, and which units share a HIT."""

import random
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def balanced_bits(edges: Sequence[tuple[Hashable, Hashable]], rng: random.Random) -> list[int]:
    """A random bit per edge of a bipartite graph, as many 1s as 0s (±1) at every vertex.

    A unit is an edge from its HIT to its pair of systems, so that sides split evenly within each
    HIT and over the study for each pair, both at once. Trails that take a new edge at each step
    and alternate the bit do it: what enters a vertex is balanced by what leaves it, an open trail
    starts and ends where the degree is odd, and every closed one is even in a bipartite graph
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
    # Every odd vertex starts or ends one open trail; closed ones are left, and may start anywhere.
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
    """Walk unused edges until none is left where it stands; return that vertex."""
    bit = rng.getrandbits(1)
    while _has_edge(vertex, at, bits):
        number = at[vertex].pop()
        bits[number], bit = bit, 1 - bit
        other = 1 - vertex[0]
        vertex = (other, edges[number][other])
    return vertex


def dealt(
    items: Sequence[Item],
    *,
    pair_of: Sequence[Hashable],
    instance_of: Sequence[Hashable],
    size: int,
    rng: random.Random,
) -> list[list[Item]]:
    """Items in hands of at most ``size``, each with as many of every pair as others (±1).

    Dealt pair by pair, round and round. Where a hand would hold an instance twice, items of the
    same pair change hands as long as that helps.
    """
    order = list(range(len(items)))
    rng.shuffle(order)
    order.sort(key=lambda i: str(pair_of[i]))  # stable: random within each pair
    count = -(-len(items) // size)
    hands = [order[start::count] for start in range(count)]
    places = {i: h for h, hand in enumerate(hands) for i in hand}
    by_pair: dict[Hashable, list[int]] = defaultdict(list)
    for i in order:
        by_pair[pair_of[i]].append(i)
    held: list[dict[Hashable, int]] = [defaultdict(int) for _ in hands]
    for i, hand in places.items():
        held[hand][instance_of[i]] += 1
    for i in order:
        if held[places[i]][instance_of[i]] > 1:
            _exchange(i, by_pair[pair_of[i]], instance_of, places, held)
    found: list[list[Item]] = [[] for _ in hands]
    for i in order:
        found[places[i]].append(items[i])
    for dealt_hand in found:
        rng.shuffle(dealt_hand)
    return found


def _exchange(
    i: int,
    others: Sequence[int],
    instance_of: Sequence[Hashable],
    places: dict[int, int],
    held: list[dict[Hashable, int]],
) -> None:
    """Swap with the first item of the pair that makes no instance meet itself."""
    mine, own = places[i], instance_of[i]
    for j in others:
        theirs, other = places[j], instance_of[j]
        if theirs != mine and not held[theirs][own] and not held[mine][other]:
            for hand, gone, come in ((mine, own, other), (theirs, other, own)):
                held[hand][gone] -= 1
                held[hand][come] += 1
            places[i], places[j] = theirs, mine
            return


def spaced(
    originals: Sequence[Item],
    repeats: Sequence[tuple[Item, Item]],
    *,
    distance: int,
    rng: random.Random,
) -> list[Item]:
    """Originals and repeats in random order, each repeat ``distance`` or more after its original.

    ``repeats`` holds (original, repeat). Orders are drawn until one is far enough apart, so all
    that are allowed are equally likely; after many draws in vain, the repeated ones go first and
    their repeats last, which is as far apart as can be.
    """
    order = [*originals, *(repeat for _, repeat in repeats)]
    ids = [(id(original), id(repeat)) for original, repeat in repeats]
    for _ in range(MAX_DRAWS):
        rng.shuffle(order)
        at = {id(item): place for place, item in enumerate(order)}
        if all(at[repeat] - at[original] >= distance for original, repeat in ids):
            return order
    twice = {original for original, _ in ids}
    rng.shuffle(order)
    first = [item for item in order if id(item) in twice]
    again = {id(original): repeat for original, repeat in repeats}
    last = [again[id(item)] for item in first]
    between = [item for item in order if id(item) not in {*twice, *map(id, last)}]
    return [*first, *between, *last]


MAX_DRAWS = 200
