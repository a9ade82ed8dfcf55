"""Figures of the leaderboard: pairs, categories, and what would part the next two systems."""

from dataclasses import replace
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from tests.tiebreak.report.sections.systems.test_leaderboard import rows
from tests.tiebreak.report.test_sections import of, preferences
from tiebreak.digits import counted
from tiebreak.reading.figures.systems.leaderboard import (
    ALONE,
    ANNOTATORS,
    BOTH,
    EQUAL,
    MATRIX_LATER,
    MATRIX_SEVERAL,
    MAX_SYSTEMS,
    UNLICENSED,
    leaderboard_figures,
    win_matrix_figure,
)
from tiebreak.reading.shown import WORTH, section_of
from tiebreak.report.model.rankings import LeaderboardSection
from tiebreak.report.model.report import CriterionSection


@pytest.fixture(scope="module")
def about() -> CriterionSection:
    return of(rows(), sections=["leaderboard"])


@pytest.fixture(scope="module")
def board(about) -> LeaderboardSection:
    return about.leaderboard


def by_key(figure, *columns: str) -> dict[tuple, dict]:
    every = [dict(zip(figure.columns, row, strict=True)) for row in figure.rows]
    return {tuple(row[column] for column in columns): row for row in every}


def test_a_matrix_has_every_pair_both_ways_with_its_number_and_scope(about):
    figure = win_matrix_figure(about)
    cells = by_key(figure, "system", "other")
    assert len(cells) == 6
    rate = about.systems.pairs["a vs b"]
    there, back = cells["a", "b"], cells["b", "a"]
    assert there["value"] == rate.value == pytest.approx(1 - back["value"])
    assert (there["low"], there["high"]) == (rate.low, rate.high)
    assert (back["low"], back["high"]) == pytest.approx((1 - rate.high, 1 - rate.low))
    assert back["low_these_raters"] == pytest.approx(1 - there["high_these_raters"])
    assert (there["n"], there["instances"], there["raters"]) == (40, "new", "new")
    first = max(about.systems.win_rate, key=lambda name: about.systems.win_rate[name].value)
    assert figure.rows[0][0] == first
    assert f"1. {first}" in figure.chart.file()


def test_two_systems_and_a_running_study_have_no_matrix(about):
    two = of(preferences([[1, -1]] * 12))
    assert win_matrix_figure(two).sentence == MATRIX_SEVERAL
    running = replace(about, stopping=SimpleNamespace(is_reached=False))
    assert not win_matrix_figure(running).chart
    assert win_matrix_figure(running).sentence == MATRIX_LATER


@pytest.mark.slow
def test_of_forty_systems_the_first_are_drawn_and_all_pairs_are_in_the_table():
    rng = np.random.default_rng(0)
    names = [f"a system with a rather long name {k:02}" for k in range(40)]
    compared = [
        {"unit": f"{a}{b}", "rater": "r", "system_a": a, "system_b": b}
        | {"label": 1 if rng.random() < 0.6 else -1}
        for a, b in combinations(names, 2)
    ]
    figure = win_matrix_figure(of(compared, replicates=0))
    assert len(figure.rows) == 40 * 39
    assert figure.chart.file().count('class="human"') == MAX_SYSTEMS**2
    assert str(MAX_SYSTEMS) in figure.sentence


def test_a_pair_is_named_by_its_systems_even_if_a_name_looks_like_a_pair():
    odd = [
        {"unit": f"i{k}{a}{b}", "instance": f"i{k}", "rater": f"r{k % 3}", "label": 1}
        | {"system_a": a, "system_b": b}
        for k in range(12)
        for a, b in combinations(("x", "x vs y", "y"), 2)
    ]
    cells = by_key(win_matrix_figure(of(odd)), "system", "other")
    assert {names for names in cells if names[0] == "x vs y"} == {("x vs y", "x"), ("x vs y", "y")}


def test_rates_stand_beside_those_held_equal_and_by_category(board):
    columns, rates, _ = leaderboard_figures(board)
    shown = by_key(rates, "system", "series")
    assert shown["c", "held equal"]["value"] == board.controlled["c"].value
    assert all(name in rates.sentence for name in board.held_equal)
    cells = by_key(columns, "system", "column")
    assert {column for _, column in cells} == {ANNOTATORS, EQUAL, "even", "odd", "rare"}
    assert cells["b", ANNOTATORS]["low"] == board.win_rate["b"].low
    assert cells["b", "odd"]["value"] == board.categories["odd"]["b"].value
    assert cells["b", "rare"]["low"] is None
    assert cells["b", "rare"]["reason"]
    ranks = {name: cells[name, ANNOTATORS]["ranks"] for name in "abc"}
    assert ranks == {n: f"{s.best}–{s.worst}" for n, s in board.rank_sets.items()}
    assert f"{ranks['a']}. a" in columns.chart.file()


def test_without_what_is_held_equal_or_categories_there_are_fewer_columns(board):
    bare = replace(board, controlled=None, controlled_reason="No length is known.", categories={})
    columns, rates, _ = leaderboard_figures(bare)
    assert rates.sentence.startswith(bare.controlled_reason)
    assert {row[1] for row in rates.rows} == {"as it is"}
    assert {row[3] for row in columns.rows} == {ANNOTATORS}


def with_unrated_system() -> list[dict]:
    """Return annotators' ratings of three systems, and two machines' of those and of a fourth."""
    people = rows()
    units = [row for row in people if row["rater"] == "r0"]
    fourth = [row | {"unit": f"d{row['unit']}", "system_b": "d"} for row in units]
    machine = {"kind": "machine", "label": 1}
    return [
        *people,
        *(row | machine | {"rater": name} for name in ("judge", "other") for row in units),
        *(row | machine | {"rater": "judge"} for row in fourth),
    ]


def test_a_system_that_only_machines_rated_has_a_row_where_one_has_a_licence():
    board = of(with_unrated_system(), sections=["leaderboard"]).leaderboard
    assert board.machines.keys() == {"judge", "other"}
    assert {name: [*of] for name, of in board.machines_only.items()} == {"judge": ["d"]}
    assert not board.win_rate["d"].is_defined
    for licensed in (None, ("other",)):
        unknown, *_ = leaderboard_figures(replace(board, licensed=licensed))
        assert "d" not in {row[0] for row in unknown.rows}
        assert unknown.sentence == UNLICENSED.format(systems=counted(1, "system"))
    figure, *_ = leaderboard_figures(replace(board, licensed=("judge",)))
    cells = by_key(figure, "system", "rated_by", "column")
    assert {key for key in cells if key[0] == "d"} == {("d", ALONE, "by judge")}
    assert cells["d", ALONE, "by judge"]["value"] == 1
    assert cells["d", ALONE, "by judge"]["ranks"] == ""
    assert cells["b", BOTH, "by other"]["value"] == board.machines["other"]["b"].value
    assert f"d ({ALONE})" in figure.chart.file()
    assert not figure.sentence


def test_the_next_pair_has_its_numbers(board):
    figure = leaderboard_figures(board)[2]
    pair = board.next_pairs[1]
    row = by_key(figure, "ahead", "behind")[pair.ahead, pair.behind]
    assert row["needed_instances"] == pair.needed_instances
    assert row["likely_instances"] == pair.likely_instances
    assert row["least_instances"] == pair.least_instances
    assert (row["value"], row["low"]) == (pair.difference.value, pair.difference.low)


def test_sizes_in_words_are_rounded_up_to_two_digits(board):
    pair = replace(board.next_pairs[0], needed_instances=706, likely_instances=8_465)
    figure = leaderboard_figures(replace(board, next_pairs=(pair,)))[2]
    assert all(number in figure.sentence for number in ("8,500", f"now {pair.instances}"))
    (row,) = by_key(figure, "needed_instances", "likely_instances")
    assert row == (706, 8_465)


def test_the_worth_of_each_powered_rate_is_in_the_table_of_rankings():
    people = preferences([[1, 1], [1, -1], [1, 1]] * 10)
    judged = [{**row, "rater": "judge", "kind": "machine"} for row in people[::2]]
    more = [{**row, "unit": f"x{row['unit']}", "instance": f"x{row['unit']}"} for row in judged]
    section = of([*people, *judged, *more], sections=["prediction_powered"])
    ranking = section_of("preference", section).ranking
    place = ranking.systems.index("a")
    worth = section.systems.powered["a"].effective_by_machine["judge"]
    (row,) = [row for row in ranking.rows if row.name == WORTH.format(machine="judge")]
    assert row.numbers[place].text == f"{worth:.1f}"
