"""A board whose annotators' ratings of a part of the instances are hidden, and what machines foretell."""

import re
from itertools import permutations

import numpy as np
import pytest
from scipy.stats import spearmanr

from tests.tiebreak.report.sections.systems.test_leaderboard import rows
from tiebreak.formats import RatingTable
from tiebreak.reading.figures.systems.leaderboard import leaderboard_figures
from tiebreak.report.build import build_section
from tiebreak.report.sections.systems.comparisons import UNEVEN
from tiebreak.report.sections.systems.hidden_part import HiddenDraw
from tiebreak.report.sections.systems.rank_correlations import (
    TOO_FEW_SYSTEMS,
    possible_correlations,
)
from tiebreak.report.serialization import from_json, to_json
from tiebreak.stats import RankSet
from tiebreak.stats.core.independence import too_few_clusters

DRAW = HiddenDraw(0.5, 7, "2026-11-28T01:00:00+00:00")


def judged(people: list[dict], *, reverses=False) -> list[dict]:
    """Return ratings with those of a judge that says the opposite of the first annotator, or the same."""
    units = {row["unit"]: row for row in reversed(people)}.values()
    sign = -1 if reverses else 1
    machine = {"rater": "judge", "kind": "machine"}
    return [*people, *(row | machine | {"label": sign * row["label"]} for row in units)]


def board(every: list[dict], hidden: HiddenDraw | None = DRAW):
    table = RatingTable.from_rows(every)
    options = {"replicates": 20, "scales": {"preference": "preference:tie"}, "hidden": hidden}
    made = build_section(table, "leaderboard", **options)
    [part] = made.criteria.values()
    return part


def rates(every: list[dict], kind: str, hidden: bool) -> dict[str, float]:
    """Return win rates by hand."""
    points: dict[str, list[float]] = {}
    for row in every:
        if row["kind"] == kind and DRAW.hides(row["instance"]) == hidden:
            of_a = {-1: 1.0, 0: 0.5, 1: 0.0}[np.sign(row["label"])]
            points.setdefault(row["system_a"], []).append(of_a)
            points.setdefault(row["system_b"], []).append(1 - of_a)
    return {name: float(np.mean(values)) for name, values in points.items()}


def values(one) -> tuple[float, float]:
    return one.of_hidden.value, one.of_public.value


@pytest.fixture
def every():
    return judged([row | {"kind": "human"} for row in rows()])


def test_no_column_of_annotators_uses_a_hidden_rating(every):
    part = board(every)
    turned = [
        row | {"label": -row["label"]}
        if row["kind"] == "human" and DRAW.hides(row["instance"])
        else row
        for row in every
    ]
    other = board(turned)
    for name in ("win_rate", "controlled", "categories", "rank_sets", "powered", "machines"):
        assert to_json(getattr(part, name)) == to_json(getattr(other, name)), name
    assert part.hidden.machines != other.hidden.machines
    shown = rates(every, "human", hidden=False)
    assert {name: one.value for name, one in part.win_rate.items()} == pytest.approx(shown)


def test_the_correlations_are_spearmans_of_one_part_by_machine_and_the_other_by_people(every):
    [one] = board(every).hidden.machines.values()
    names = sorted(rates(every, "human", hidden=True))

    def rho(machine_hidden: bool) -> float:
        x, y = (
            rates(every, kind, hidden)
            for kind, hidden in (("machine", machine_hidden), ("human", not machine_hidden))
        )
        return spearmanr([x[name] for name in names], [y[name] for name in names]).statistic

    assert one.of_hidden.value == pytest.approx(rho(machine_hidden=False))
    assert one.of_public.value == pytest.approx(rho(machine_hidden=True))


def test_a_judge_that_says_the_opposite_foretells_the_opposite_order():
    people = [row | {"kind": "human"} for row in rows((0.2, 0.2, 0.2))]
    same, opposite = (
        board(judged(people, reverses=reverses)).hidden.machines["judge"]
        for reverses in (False, True)
    )
    assert values(same) == pytest.approx((1, 1))
    assert values(opposite) == pytest.approx((-1, -1))


def test_the_two_directions_are_told_apart():
    people = [row | {"kind": "human"} for row in rows((0.2, 0.2, 0.2))]
    every = [
        row | {"label": -row["label"]}
        if row["kind"] == "machine" and DRAW.hides(row["instance"])
        else row
        for row in judged(people)
    ]
    one = board(every).hidden.machines["judge"]
    assert values(one) == pytest.approx((1, -1))


def test_the_draw_follows_from_seed_and_instance_alone():
    names = np.array([f"i{n}" for n in range(4000)])
    hidden = DRAW.members(names)
    assert abs(hidden.mean() - 0.5) < 0.04  # five standard errors
    assert (DRAW.members(names[:10]) == hidden[:10]).all()
    assert (HiddenDraw(0.5, 8).members(names) != hidden).any()
    # A larger share hides more, and what a smaller one hides.
    assert (HiddenDraw(0.7, 7).members(names) >= hidden).all()


def test_without_a_hidden_part_nothing_is_said_of_one(every):
    part = board(every, hidden=None)
    assert part.hidden is None
    assert "hidden-part" not in {figure.name for figure in leaderboard_figures(part)}


def test_a_system_that_annotators_rated_in_the_hidden_part_only_is_not_machines_only(every):
    new = [
        row | {"unit": f"n{row['unit']}", "system_b": "new"}
        for row in every
        if DRAW.hides(row["instance"])
    ]
    part = board([*every, *new])
    assert not any("new" in of for of in (part.machines_only or {}).values())
    assert part.hidden.machines["judge"].of_hidden.reason == UNEVEN


def test_two_systems_have_no_rank_correlation():
    people = [
        row | {"kind": "human"}
        for row in rows()
        if {row["system_a"], row["system_b"]} == {"a", "b"}
    ]
    one = board(judged(people)).hidden.machines["judge"]
    assert (one.of_hidden.is_defined, one.of_hidden.reason) == (False, TOO_FEW_SYSTEMS)


def test_report_and_figure_say_share_seed_date_and_numbers(every):
    part = board(every)
    assert to_json(from_json(type(part), to_json(part))) == to_json(part)
    figure = leaderboard_figures(part)[-1]
    hidden = len({row["instance"] for row in every if DRAW.hides(row["instance"])})
    assert re.findall(r"[\d-]+", figure.sentence) == [str(hidden), "40", "7", "2026-11-28"]
    assert [row[0] for row in figure.rows] == ["judge", "judge"]


def of_ranks(ranks: tuple[int, ...], reach: int = 0) -> dict[str, RankSet]:
    n = len(ranks)
    return {str(k): RankSet(max(1, r - reach), min(n, r + reach)) for k, r in enumerate(ranks)}


@pytest.mark.parametrize("reach", [0, 1, 2])
def test_the_bounds_hold_every_correlation_of_orders_with_such_ranks(reach):
    orders = [np.array(one) for one in permutations(range(1, 5))]
    for other in permutations(range(1, 5)):
        x, y = of_ranks((1, 2, 3, 4), reach), of_ranks(other, reach)
        x_orders, y_orders = (
            [
                o
                for o in orders
                if all(sets[str(k)].best <= r <= sets[str(k)].worst for k, r in enumerate(o))
            ]
            for sets in (x, y)
        )
        rho = [spearmanr(a, b).statistic for a in x_orders for b in y_orders]
        low, high = possible_correlations(x, y)
        assert low <= min(rho) + 1e-9
        assert high >= max(rho) - 1e-9
        if not reach:
            assert (low, high) == pytest.approx((rho[0], rho[0]))


def test_the_interval_has_one_end_where_both_boards_separate_all_systems():
    people = [row | {"kind": "human"} for row in rows((0.05, 0.05, 0.05), 400)]
    one = board(judged(people)).hidden.machines["judge"].of_hidden
    assert (one.value, one.narrower[0].low, one.narrower[0].high) == pytest.approx((1, 1, 1))
    assert (one.scope.raters, one.narrower[0].scope.raters) == ("new", "these")
    assert one.low <= one.narrower[0].low


def test_other_annotators_leave_more_orders_possible_than_these():
    people = [row | {"kind": "human"} for row in rows((0.2, 0.3, 0.4), 120)]
    one = board(judged(people)).hidden.machines["judge"].of_hidden
    assert one.low < one.narrower[0].low < one.value


def test_few_hidden_instances_leave_no_interval():
    people = [row | {"kind": "human"} for row in rows((0.2, 0.2, 0.2), 12)]
    hidden = board(judged(people)).hidden
    one = hidden.machines["judge"].of_hidden
    assert (one.is_defined, one.has_interval, one.narrower) == (True, False, ())
    fewest = min(hidden.hidden, hidden.instances - hidden.hidden)
    assert one.reason == too_few_clusters(float(fewest))
