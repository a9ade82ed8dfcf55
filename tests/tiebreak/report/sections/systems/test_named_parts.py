"""The ranking of systems in named parts of the data, such as an open and a hidden one."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import rankdata, spearmanr

from tests.tiebreak.report.test_prompt_questions import league
from tests.tiebreak.report.test_sections import of
from tiebreak.report.generators import Seeds
from tiebreak.report.sections.systems import named_parts
from tiebreak.report.sections.systems.comparisons import UNEVEN
from tiebreak.report.sections.systems.rank_correlations import TOO_FEW_SYSTEMS, row_correlations

STRENGTHS = {"a": 1.5, "b": 0.5, "c": -0.5, "d": -1.5}
TURNED = {"a": -1.5, "b": -0.5, "c": 0.5, "d": 1.5}


def parted(rng, sizes: dict[str, int], strengths: dict[str, dict[str, float]] | None = None):
    """Return comparisons in parts of these sizes; each part may have strengths of its own."""
    rows = []
    for name, size in sizes.items():
        chosen = (strengths or {}).get(name, STRENGTHS)
        rows += [
            row
            | {"unit": f"{name}{row['unit']}", "instance": f"{name}{row['instance']}"}
            | ({"category": name} if name != "none" else {})
            for row in league(chosen, size, rng)
        ]
    return rows


def parts_of(rows, rater="annotators"):
    return (
        of(rows, sections=["rank_stability"], core=True, replicates=0).rank_stability[rater].parts
    )


def test_the_correlation_is_that_of_hand():
    points = np.array([[2, 1, 0]] * 5 + [[0, 1, 2]] * 3 + [[1, 2, 0]] * 2 + [[0, 2, 1]], float)
    names = np.array(["open"] * 5 + ["hidden"] * 6)
    section = named_parts.named_parts(points, np.full((11, 3), 2.0), names, Seeds(0))
    (part,) = section.parts.values()
    # In the open part a, b and c won 10, 5 and 0 of 10; in the hidden one 2, 9 and 7 of 12.
    assert part.correlation == pytest.approx(spearmanr([10, 5, 0], [2, 9, 7])[0])
    assert part.correlation == pytest.approx(-0.5)
    assert (part.instances, part.other_instances, part.rest) == (5, 6, "hidden")


@pytest.mark.slow
def test_p_values_are_the_shares_of_all_parts_of_this_size_that_are_as_extreme():
    points = next(random_tables(3, [0.5, 0, 0, -0.5], 9))
    names = np.array(["open"] * 4 + ["hidden"] * 5)
    whole = named_parts.named_parts(
        np.tile(points, (2, 1)), np.full((18, 4), 3.0), np.tile(names, 2), Seeds(1)
    )
    points = np.tile(points, (2, 1))
    low, far = [], []
    for chosen in combinations(range(18), 8):
        inside, outside = (
            points[[*chosen]].sum(axis=0) / 24,
            np.delete(points, chosen, 0).sum(axis=0) / 30,
        )
        far.append(((inside - outside) ** 2).sum())
        low.append(np.corrcoef(rankdata(inside.round(9)), rankdata(outside.round(9)))[0, 1])
    part = whole.parts["open"]
    inside = np.tile(names == "open", 2)
    rates = points[inside].mean(axis=0) / 3, points[~inside].mean(axis=0) / 3
    distance = ((rates[0] - rates[1]) ** 2).sum()
    assert part.correlation == pytest.approx(spearmanr(*rates)[0])
    assert part.p == pytest.approx(np.mean(np.array(low) <= part.correlation + 1e-9), abs=0.05)
    assert part.p_rates == pytest.approx(np.mean(np.array(far) >= distance - 1e-9), abs=0.05)


def test_two_parts_that_are_all_instances_are_one_split():
    section = parts_of(parted(np.random.default_rng(0), {"hidden": 12, "open": 30}))
    assert [*section.parts] == ["open"]
    part = section.parts["open"]
    assert (part.rest, part.instances, part.other_instances) == ("hidden", 30, 12)
    assert part.p_adjusted == part.p


def test_instances_without_a_category_are_in_the_rest():
    section = parts_of(parted(np.random.default_rng(0), {"open": 12, "none": 20}))
    assert (section.parts["open"].rest, section.parts["open"].other_instances) == (None, 20)


def test_several_parts_are_adjusted_for_their_number():
    section = parts_of(parted(np.random.default_rng(0), {"x": 12, "y": 12, "z": 12, "small": 4}))
    assert section.parts["small"].reason == named_parts.TOO_FEW_INSTANCES
    assert {part.rest for part in section.parts.values()} == {None}
    for name in "xyz":
        part = section.parts[name]
        assert part.p_adjusted == pytest.approx(min(1, 3 * part.p))  # the small one has no test


@pytest.mark.slow
def test_a_small_part_that_ranks_otherwise_is_seen_by_its_correlation():
    seen = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = parted(rng, {"hidden": 40, "open": 10}, {"open": TURNED})
        part = parts_of(rows).parts["open"]
        seen += part.p <= 0.05 and part.correlation < part.low
    assert seen >= 18


@pytest.mark.slow
def test_halves_in_opposite_orders_are_seen_by_their_win_rates():
    """All systems win equally over both, so random halves have low correlations too."""
    seen = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rows = parted(rng, {"hidden": 25, "open": 25}, {"hidden": TURNED})
        part = parts_of(rows).parts["open"]
        assert part.correlation < 0
        seen += part.p_rates <= 0.05
    assert seen >= 18


def random_tables(seed: int, strengths: list[float], instances: int) -> Iterator[np.ndarray]:
    """Yield points of systems on each instance, where each pair is compared once."""
    rng = np.random.default_rng(seed)
    strength = np.array(strengths)
    share = 1 / (1 + np.exp(strength[None, :] - strength[:, None]))
    while True:
        won = rng.random((instances, *share.shape)) < share
        points = np.triu(won, 1) + np.transpose(np.triu(~won, 1), (0, 2, 1))
        yield points.sum(axis=2).astype(float)


def test_parts_that_do_not_differ_have_small_p_values_no_more_often_than_they_say():
    """Close systems, of which random parts rank differently."""
    names = np.array(["open"] * 10 + ["hidden"] * 20)
    tables = random_tables(5, [0.2, 0.1, 0, -0.1, -0.2], 30)
    parts = [
        named_parts.named_parts(next(tables), np.full((30, 5), 4.0), names, Seeds(seed)).parts
        for seed in range(300)
    ]
    for p in (np.array([getattr(one["open"], kind) for one in parts]) for kind in ("p", "p_rates")):
        for level in (0.05, 0.1, 0.3):
            error = np.sqrt(level * (1 - level) / 300)
            share = np.mean(p <= level)
            assert share <= level + 3.1 * error
            assert share >= level / 2 - error  # ranks have few values, so p may be too large


def test_random_parts_without_a_correlation_count_as_low_ones():
    """Two instances decide all ranks, so a part that has both of them or none has equal win rates."""
    points = np.array([[1, 1, 1]] * 10 + [[2, 1, 0], [2, 1, 0]], float)
    names = np.array(["open"] * 5 + ["hidden"] * 5 + ["open", "hidden"])
    part = named_parts.named_parts(points, np.full((12, 3), 2.0), names, Seeds(0)).parts["open"]
    assert part.correlation == 1
    assert 0 < part.splits < 1000
    assert part.p == 1


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [({"none": 30}, named_parts.NO_PARTS), ({"open": 30}, named_parts.NO_PARTS)],
)
def test_without_two_parts_there_is_none(sizes, reason):
    section = parts_of(parted(np.random.default_rng(0), sizes))
    assert (section.parts, section.reason) == ({}, reason)


def test_items_of_one_instance_in_two_categories_are_no_parts():
    rows = parted(np.random.default_rng(0), {"open": 12, "hidden": 12})
    rows[0]["category"] = "hidden"
    assert parts_of(rows).reason == named_parts.MIXED


def test_two_systems_have_no_ranking():
    rows = parted(np.random.default_rng(0), {"open": 12, "hidden": 12})
    rows = [row for row in rows if {row["system_a"], row["system_b"]} == {"a", "b"}]
    assert parts_of(rows).reason == TOO_FEW_SYSTEMS


def test_a_system_that_a_part_lacks_has_a_reason():
    rows = parted(np.random.default_rng(0), {"open": 12, "hidden": 12})
    kept = [r for r in rows if r["category"] == "open" or "d" not in (r["system_a"], r["system_b"])]
    assert parts_of(kept).reason == UNEVEN
    of_d = [r for r in kept if "d" in (r["system_a"], r["system_b"])]
    even = [*kept, *(r | {"unit": f"{r['unit']} again"} for r in of_d)]
    assert parts_of(even).parts["open"].reason == named_parts.NOT_ALL_COMPARED


def test_a_part_in_which_nobody_wins_has_no_ranks():
    rows = parted(np.random.default_rng(0), {"open": 12, "hidden": 12})
    rows = [row | ({"label": 0} if row["category"] == "open" else {}) for row in rows]
    assert parts_of(rows).parts["open"].reason == named_parts.NO_RANKS


def test_the_largest_parts_are_shown_and_the_others_counted():
    sizes = {f"p{n:02}": 5 + (n == 3) for n in range(22)}
    section = parts_of(parted(np.random.default_rng(0), sizes))
    assert len(section.parts) == named_parts.MAX_PARTS
    assert section.left_out == 2
    assert "p03" in section.parts


@pytest.mark.thorough
def test_each_machine_has_its_own_parts():
    rng = np.random.default_rng(0)
    rows = parted(rng, {"open": 25, "hidden": 25})
    turned = parted(rng, {"open": 25, "hidden": 25}, {"hidden": TURNED})
    rows += [row | {"rater": "judge", "kind": "machine"} for row in turned]
    of_judge, of_people = (parts_of(rows, name).parts["open"] for name in ("judge", "annotators"))
    assert of_judge.p_rates < 0.05 < of_people.p_rates


def test_scores_that_are_equal_but_for_rounding_share_a_rank():
    scores = np.array([[0.1 + 0.2, 0.3, 0.9]])
    other = np.array([[0.0, 1.0, 2.0]])
    assert row_correlations(scores, other)[0] == pytest.approx(spearmanr([1, 1, 2], [0, 1, 2])[0])
    assert np.isnan(row_correlations(scores, scores * 0 + 1)[0])
