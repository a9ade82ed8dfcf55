"""The leaderboard: rates held equal, by category, and what would part the next two systems."""

import numpy as np
import pytest

from tests.metrics.studies import drawn_study
from tests.tiebreak.report.test_sections import of, three_systems
from tiebreak.formats import RatingTable
from tiebreak.report import build_report
from tiebreak.report.build import build_section
from tiebreak.report.model.rankings import LeaderboardSection
from tiebreak.report.outcomes import NO_ANNOTATORS, NO_SYSTEMS
from tiebreak.report.sections.systems import leaderboard
from tiebreak.report.sections.systems.leaderboard import DRAWN


def board(rows: list[dict], **options) -> LeaderboardSection:
    section = of(rows, sections=["leaderboard"], **options)
    assert section.leaderboard is not None, section.problems
    return section.leaderboard


def rows(rates=(0.3, 0.3, 0.7), instances: int = 40) -> list[dict]:
    every = three_systems(np.random.default_rng(1), rates, instances)
    # Instances with an even number are of one category, and one in ten of a third.
    number = [int(row["instance"][1:]) for row in every]
    kinds = ["rare" if k % 10 == 9 else ("even", "odd")[k % 2] for k in number]
    return [row | {"category": kind} for row, kind in zip(every, kinds, strict=True)]


def test_win_rates_are_those_of_the_report_beside_those_held_equal():
    section = of(rows(), sections=["leaderboard", "controlled_win_rate"])
    one = section.leaderboard
    assert one.win_rate.keys() == section.systems.win_rate.keys()
    assert one.controlled == section.controlled_win_rate.controlled
    assert one.held_equal == ("length", "position")
    for name, rate in one.win_rate.items():
        assert rate.value == section.systems.win_rate[name].value


def test_a_category_has_the_win_rates_of_its_units_alone():
    every = rows()
    section = board(every)
    assert list(section.categories) == ["even", "odd", "rare"]
    alone = of([row for row in every if row["category"] == "odd"]).systems.win_rate
    for name, rate in section.categories["odd"].items():
        assert (rate.value, rate.n) == (alone[name].value, alone[name].n)
        assert rate.scope.raters == "new"
        assert rate.low == pytest.approx(alone[name].low, abs=0.03)  # other replicates
    assert not any(rate.has_interval for rate in section.categories["rare"].values())  # 4 instances


def test_ranks_machines_and_powered_rates_are_those_of_the_report():
    people = rows()
    units = {row["unit"]: row for row in people}.values()
    more = [row | {"unit": f"x{row['unit']}", "instance": f"x{row['instance']}"} for row in units]
    judged = [
        row | {"rater": "judge", "kind": "machine", "label": -row["label"]}
        for row in (*units, *more)
    ]
    about = of([*people, *judged], sections=["leaderboard"])
    section, systems = about.leaderboard, about.systems
    assert section.rank_sets == systems.rank_sets
    for name, rate in section.powered.items():
        assert rate.value == systems.powered[name].stack.value
    # Of the items that annotators rated, too; the report's are of all.
    alone = of([*people, *judged[: len(units)]]).systems.machine_win_rates["judge"]
    for name, rate in section.machines["judge"].items():
        assert (rate.value, rate.n) == (alone[name].value, alone[name].n)
        assert rate.n < systems.machine_win_rates["judge"][name].n
    assert section.machines_only == {}


def test_ranks_hold_for_all_criteria_at_once_in_a_section_alone():
    names = [f"c{n}" for n in range(9)]
    one = rows((0.38, 0.5, 0.38))
    table = RatingTable.from_rows([row | {"criterion": name} for name in names for row in one])
    scales = dict.fromkeys(names, "preference:tie")
    whole = build_report(table, replicates=20, scales=scales).criteria["c0"].systems
    alone = build_section(table, "leaderboard", replicates=20, scales=scales).criteria["c0"]
    assert alone.rank_sets == whole.rank_sets
    # One criterion alone would tell more systems apart.
    assert whole.rank_sets != board(one).rank_sets


def test_one_category_is_none_and_of_many_the_largest_are_kept(monkeypatch):
    assert board([row | {"category": "one"} for row in rows()]).categories == {}
    monkeypatch.setattr(leaderboard, "MAX_CATEGORIES", 2)
    section = board(rows())
    assert list(section.categories) == ["even", "odd"]
    assert section.categories_left_out == 1


def test_without_lengths_or_sides_there_is_a_reason_instead_of_rates_held_equal():
    bare = [{k: v for k, v in row.items() if k not in {"chars_a", "side_a"}} for row in rows()]
    section = board(bare)
    assert section.controlled is None
    assert "length is not known in" in section.controlled_reason
    assert section.win_rate


def test_each_system_but_the_last_has_a_next_one_and_numbers_of_both_systems():
    section = board(rows())
    ranked = sorted(section.win_rate, key=lambda name: -section.win_rate[name].value)
    assert [(pair.ahead, pair.behind) for pair in section.next_pairs] == [
        (ranked[0], ranked[1]),
        (ranked[1], ranked[2]),
    ]
    for pair in section.next_pairs:
        ahead, behind = section.win_rate[pair.ahead].value, section.win_rate[pair.behind].value
        assert pair.difference.value == pytest.approx(ahead - behind)
        # Every unit compares one of any two systems of three.
        assert (pair.instances, pair.ratings) == (40, 480)
        assert pair.needed_ratings == pytest.approx(12 * pair.needed_instances, abs=12)
        assert pair.least_instances <= pair.needed_instances < pair.likely_instances


def test_few_instances_part_nobody_and_say_so():
    (pair, _) = board(rows(instances=6)).next_pairs
    assert pair.needed_instances is None
    assert pair.reason == pair.difference.reason


def test_after_a_draw_the_size_is_left_to_the_planner():
    section = board(drawn_study("uniform", seed=0))
    assert {pair.reason for pair in section.next_pairs} == {DRAWN}
    assert {pair.needed_instances for pair in section.next_pairs} == {None}
    assert {pair.difference.scope.instances for pair in section.next_pairs} <= {
        "dataset",
        "selected",
    }


@pytest.mark.parametrize("name", ["leaderboard", "davidson", "controlled_win_rate"])
def test_comparisons_by_machines_alone_are_told_from_no_comparisons(name):
    by_machines = [row | {"kind": "machine"} for row in rows()]
    assert of(by_machines, sections=[name]).problems[name] == NO_ANNOTATORS
    alone = [row | {"system_b": ""} for row in rows()]
    assert of(alone, sections=[name]).problems[name] == NO_SYSTEMS


def test_ratings_that_compare_no_systems_have_no_leaderboard():
    numbers = [{"unit": f"u{k}", "rater": "r", "label": k % 5 + 1} for k in range(9)]
    section = of(numbers, sections=["leaderboard"], scales={"preference": "ordinal:1..5"})
    assert section.leaderboard is None
    assert section.problems["leaderboard"] == NO_SYSTEMS
