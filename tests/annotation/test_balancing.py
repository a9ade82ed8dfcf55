"""Balanced draws, checked on random graphs and on random groups of items."""

import random
from collections import Counter, defaultdict

from hypothesis import given, strategies as st

from annotation.balancing import balanced_bits, dealt, spaced

EDGES = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), max_size=60)


@given(edges=EDGES, seed=st.integers(0, 10**6))
def test_bits_split_evenly_at_every_vertex_of_any_bipartite_graph(edges, seed):
    bits = balanced_bits(edges, random.Random(seed))
    balance = defaultdict(int)
    for (hit, pair), bit in zip(edges, bits, strict=True):
        balance["hit", hit] += 2 * bit - 1
        balance["pair", pair] += 2 * bit - 1
    assert all(abs(difference) <= 1 for difference in balance.values())


def test_each_bit_is_drawn_both_ways():
    edges = [(hit, 0) for hit in range(9)]
    drawn = [balanced_bits(edges, random.Random(seed)) for seed in range(400)]
    for number in range(9):
        ones = sum(bits[number] for bits in drawn)
        assert 140 < ones < 260


@given(
    instances=st.integers(2, 15),
    pairs=st.integers(1, 6),
    size=st.integers(1, 8),
    seed=st.integers(0, 10**6),
)
def test_a_hand_holds_every_pair_as_often_as_another(instances, pairs, size, seed):
    items = [(i, p) for i in range(instances) for p in range(pairs)]
    hands = dealt(
        items,
        pair_of=[p for _, p in items],
        instance_of=[i for i, _ in items],
        size=size,
        rng=random.Random(seed),
    )
    assert sorted(item for hand in hands for item in hand) == items
    assert max(map(len, hands)) <= size
    assert max(map(len, hands)) - min(map(len, hands)) <= 1
    for pair in range(pairs):
        held = [sum(p == pair for _, p in hand) for hand in hands]
        assert max(held) - min(held) <= 1


def test_no_hand_holds_an_instance_twice_where_there_are_enough():
    items = [(i, p) for i in range(30) for p in range(3)]
    for seed in range(20):
        hands = dealt(
            items,
            pair_of=[p for _, p in items],
            instance_of=[i for i, _ in items],
            size=6,
            rng=random.Random(seed),
        )
        for hand in hands:
            assert len({i for i, _ in hand}) == len(hand)


@given(n=st.integers(1, 9), data=st.data(), seed=st.integers(0, 10**6))
def test_a_repeat_is_never_nearer_than_asked(n, data, seed):
    originals = [f"o{i}" for i in range(n)]
    again = data.draw(st.integers(0, n))
    distance = data.draw(st.integers(1, n))
    repeats = [(original, original.replace("o", "r")) for original in originals[:again]]
    order = spaced(originals, repeats, distance=distance, rng=random.Random(seed))
    assert sorted(order) == sorted([*originals, *(repeat for _, repeat in repeats)])
    for original, repeat in repeats:
        assert order.index(repeat) - order.index(original) >= distance


def test_every_original_can_come_first():
    originals = ["a", "b", "c", "d", "e"]
    orders = (
        spaced(originals, [("a", "A")], distance=3, rng=random.Random(seed)) for seed in range(300)
    )
    assert set(Counter(order[0] for order in orders)) == set(originals)
