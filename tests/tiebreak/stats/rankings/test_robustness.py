"""How few ratings decide a ranking, beside a search through all sets of ratings."""

from itertools import combinations

import numpy as np
import pytest

from tiebreak.stats import interval_robustness, pair_robustness, top_robustness

NAMES = ("w", "x", "y", "z")
OUTCOMES = np.eye(3, dtype=int)


def random_ratings(rng):
    """Return up to 12 ratings of up to four systems: two systems and the share of the first."""
    systems, ratings = int(rng.integers(2, 5)), int(rng.integers(2, 13))
    first = rng.integers(0, systems, ratings)
    second = (first + rng.integers(1, systems, ratings)) % systems
    return first, second, rng.integers(0, 3, ratings)


def wins_of(first, second, outcome, kept, weights=None):
    """Return wins of row over column in samples, where a tie is half a win of each."""
    wins, weight = np.zeros((len(kept), 4, 4)), np.ones(len(first)) if weights is None else weights
    for k, (a, b, result) in enumerate(zip(first, second, outcome, strict=True)):
        wins[:, a, b] += kept[:, k] * (1, 0.5, 0)[result] * weight[k]
        wins[:, b, a] += kept[:, k] * (0, 0.5, 1)[result] * weight[k]
    return wins


def strengths(wins, plays):
    """Return Bradley–Terry strengths by Zermelo's iteration, or NaN where Ford's condition fails."""
    wins = wins[:, plays][:, :, plays]
    reach = (wins > 0) | np.eye(len(plays), dtype=bool)
    for _ in range(3):
        reach = (reach[:, :, :, None] & reach[:, None, :, :]).any(axis=2)
    values = np.full((len(wins), len(plays)), np.nan)
    wins = wins[has_maximum := reach.all(axis=(1, 2))]
    games, strength = wins + wins.swapaxes(1, 2), np.ones((len(wins), len(plays)))
    for _ in range(500):
        total = (games / (strength[:, :, None] + strength[:, None, :])).sum(axis=2)
        strength = wins.sum(axis=2) / total
        strength /= strength.sum(axis=1, keepdims=True)
    values[has_maximum] = np.log(strength)
    return values


def rates(wins, plays):
    wins = wins[:, plays][:, :, plays]
    games = (wins + wins.swapaxes(1, 2)).sum(axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = wins.sum(axis=2) / games
    return np.where((games > 0).all(axis=1)[:, None], values, np.nan)


def fewest(ratings, scores, weights=None):
    """Return the size of the smallest set that puts another system first, by trying all sets."""
    first, second, outcome = ratings
    n, plays = len(first), sorted({*first.tolist(), *second.tolist()})
    of_all = scores(wins_of(first, second, outcome, np.ones((1, n)), weights), plays)[0]
    if np.isnan(of_all).any() or (of_all > of_all.max() - 1e-7).sum() > 1:
        return None
    top = int(np.argmax(of_all))
    for size in range(1, n):
        kept = np.array(
            [[k not in gone for k in range(n)] for gone in combinations(range(n), size)]
        )
        left = scores(np.unique(wins_of(first, second, outcome, kept, weights), axis=0), plays)
        others = np.delete(left, top, axis=1)
        with np.errstate(invalid="ignore"):
            if (others > left[:, [top]] + 1e-6).any():
                return size
    return 0


@pytest.mark.thorough
@pytest.mark.parametrize(("by", "scores"), [("bradley_terry", strengths), ("win_rate", rates)])
def test_the_number_is_that_of_a_search_through_all_sets(by, scores):
    rng, compared = np.random.default_rng(11), 0
    while compared < 200:
        ratings = random_ratings(rng)
        first, second, outcome = ratings
        robust = top_robustness(
            OUTCOMES[outcome],
            system_a=[NAMES[k] for k in first],
            system_b=[NAMES[k] for k in second],
            by=by,
        )
        if "never compared" in (robust.reason or ""):
            continue
        compared += 1
        least = fewest(ratings, scores)
        assert robust.removals == (least or 0)
        assert robust.is_fewest == bool(least)
        assert bool(robust.reason) == (not least)


@pytest.mark.parametrize(("by", "scores"), [("bradley_terry", strengths), ("win_rate", rates)])
@pytest.mark.slow
def test_with_weights_the_number_is_never_below_that_of_a_search_through_all_sets(by, scores):
    rng, compared, differ = np.random.default_rng(12), 0, 0
    while compared < 150:
        ratings = first, second, outcome = random_ratings(rng)
        weights = rng.choice([0.5, 1.0, 3.3], len(first))
        names = {"system_a": [NAMES[k] for k in first], "system_b": [NAMES[k] for k in second]}
        robust = top_robustness(OUTCOMES[outcome], **names, by=by, weights=weights)
        if "never compared" in (robust.reason or ""):
            continue
        compared += 1
        least = fewest(ratings, scores, weights) or 0
        assert bool(robust.removals) == bool(least)
        assert robust.removals == least if robust.is_fewest else robust.removals >= least
        differ += least != (fewest(ratings, scores) or 0)
    assert differ > 30


@pytest.mark.parametrize("seed", range(30))
def test_the_order_of_a_weighted_pair_needs_the_fewest_ratings(seed):
    rng = np.random.default_rng(seed)
    sides = [rng.choice([0.5, 1.0, 3.3], rng.integers(1, 7)) for _ in range(2)]
    robust = pair_robustness(len(sides[0]), 2, len(sides[1]), names=("x", "y"), weights=sides)
    lead = sides[0].sum() - sides[1].sum()
    if abs(lead) < 1e-9:
        assert (robust.first, robust.removals) == ("", 0)
        return
    signed = np.concatenate([sides[0], -sides[1]]) * np.sign(lead)
    least = next(
        size
        for size in range(1, len(signed))
        if any(signed.sum() - sum(gone) < -1e-9 for gone in combinations(signed.tolist(), size))
    )
    assert (robust.first, robust.removals) == ("xy"[int(lead < 0)], least)
    assert robust.is_fewest


def test_equal_weights_change_nothing():
    counts, a, b = table(np.random.default_rng(1))
    names = {"system_a": a, "system_b": b}
    weighted = top_robustness(counts, **names, weights=np.full(len(a), 7.3))
    assert weighted == top_robustness(counts, **names)
    plain = pair_robustness(7, 2, 4, names=("x", "y"))
    assert pair_robustness(7, 2, 4, names=("x", "y"), weights=([7.3] * 7, [7.3] * 4)) == plain


def table(rng, systems=6, ratings=600, gap=0.3):
    first = rng.integers(0, systems, ratings)
    second = (first + rng.integers(1, systems, ratings)) % systems
    strength = np.linspace(0, gap, systems)
    outcome = np.where(
        rng.random(ratings) < 0.1,
        1,
        np.where(rng.random(ratings) < 1 / (1 + np.exp(strength[second] - strength[first])), 0, 2),
    )
    names = np.array([f"s{k}" for k in range(systems)])
    return OUTCOMES[outcome], names[first].tolist(), names[second].tolist()


@pytest.mark.parametrize("by", ["bradley_terry", "win_rate"])
@pytest.mark.parametrize("seed", range(6))
def test_another_system_is_first_without_the_set(by, seed):
    counts, a, b = table(np.random.default_rng(seed))
    robust = top_robustness(counts, system_a=a, system_b=b, by=by)
    assert 0 < robust.removals == sum(kind.ratings for kind in robust.removed)
    kept = np.ones(len(a), dtype=bool)
    for kind in robust.removed:
        outcome = np.argmax(counts, axis=1)
        is_kind = [
            (x, y, o) in {(kind.system, kind.other, 0), (kind.other, kind.system, 2)}
            if kind.outcome == "won"
            else o == 1 and {x, y} == {kind.system, kind.other}
            for x, y, o in zip(a, b, outcome, strict=True)
        ]
        kept[np.flatnonzero(is_kind)[: kind.ratings]] = False
    assert (~kept).sum() == robust.removals
    left = [name for name, is_kept in zip(a, kept, strict=True) if is_kept]
    right = [name for name, is_kept in zip(b, kept, strict=True) if is_kept]
    after = top_robustness(counts[kept], system_a=left, system_b=right, by=by)
    assert after.first == robust.new_first != robust.first


def test_a_set_of_a_large_table_is_k_or_fewer():
    counts, a, b = table(np.random.default_rng(3), ratings=3000, gap=1.5)
    assert not top_robustness(counts, system_a=a, system_b=b).is_fewest


def test_units_with_several_ratings_count_each():
    robust = top_robustness(
        [[5, 0, 0], [0, 1, 2]], system_a=["x", "y"], system_b=["y", "x"], by="bradley_terry"
    )
    assert (robust.first, robust.new_first, robust.ratings) == ("x", "", 8)
    robust = top_robustness([[3, 1, 2]], system_a=["x"], system_b=["y"])
    assert (robust.removals, robust.is_fewest) == (2, True)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ([[2, 0, 2]], "share the first rank"),
        ([[2, 0, 0]], "no other system ever wins"),
        ([[0, 0, 0]], "No rating compares"),
    ],
)
def test_there_is_no_set_without_one_first_system(counts, reason):
    robust = top_robustness(counts, system_a=["x"], system_b=["y"])
    assert robust.removals == 0
    assert reason in robust.reason


@pytest.mark.parametrize(
    ("counts", "removals", "first", "is_fewest"),
    [
        ((7, 2, 4), 4, "x", True),
        ((4, 2, 7), 4, "y", True),
        ((5, 0, 5), 0, "", False),
        ((5, 3, 0), 0, "x", False),
        ((0, 0, 0), 0, "", False),
    ],
)
def test_the_order_of_a_pair(counts, removals, first, is_fewest):
    robust = pair_robustness(*counts, names=("x", "y"))
    assert (robust.removals, robust.first, robust.is_fewest) == (removals, first, is_fewest)
    assert bool(robust.reason) == (not removals)


def half_width_of(value, instance):
    """Return the mean and twice its standard error from sums over instances."""
    sums = np.bincount(instance, value - value.mean())
    return value.mean(), 2 * np.sqrt(sums @ sums) / len(value)


@pytest.mark.parametrize("seed", range(40))
def test_a_finding_hangs_on_no_fewer_ratings_than_a_search_through_all_sets_says(seed):
    rng = np.random.default_rng(seed)
    value = rng.choice([0, 0.5, 1, 1, 1, 1], 10)
    instance = np.arange(10) // 2

    def ends(kept):
        mean, half = half_width_of(value[kept], instance[kept])
        return mean - half, mean + half

    def includes(kept):
        low, high = ends(kept)
        return not (low > 0.5 or high < 0.5)

    removals = interval_robustness(value, instance, ends)
    smaller = (
        size
        for size in range(10)
        for gone in combinations(range(10), size)
        if includes(np.isin(np.arange(10), gone, invert=True))
    )
    least = next(smaller, 10)
    assert least <= removals <= least + 1  # most often the same


def test_no_rating_needs_to_leave_if_the_interval_includes_the_reference():
    assert interval_robustness([1.0, 0.0], [0, 1], lambda kept: (0.2, 0.8)) == 0


def test_an_interval_that_always_excludes_the_reference_needs_all_ratings():
    assert interval_robustness([1.0] * 7, range(7), lambda kept: (0.6, 0.9)) == 7
