"""With many systems, a heading rests on intervals that hold for all of them at once."""

import itertools

import numpy as np
import pytest

from tiebreak.formats import RatingTable
from tiebreak.reading.findings import best_first, win_rate_finding
from tiebreak.reading.leading_numbers import leader
from tiebreak.reading.messages import (
    AT_ONCE,
    HOW_TO_READ_RANK_SETS,
    NO_WINNER,
    RANK_SET,
)
from tiebreak.reading.shown import section_of
from tiebreak.report import build_report
from tiebreak.report.sections.systems.comparisons import UNEVEN
from tiebreak.stats import RankSet, rank_sets

RATERS = 12


def rows(systems, *, lead=0.0, instances=40, criteria=("preference",), seed=0):
    """Return ratings of all pairs of systems; the first system wins more often by `lead`."""
    rng = np.random.default_rng(seed)
    return [
        {
            "unit": f"u{instance}-{a}-{b}",
            "instance": f"i{instance}",
            "rater": f"r{rater}",
            "criterion": criterion,
            "label": -1 if rng.random() < 0.5 + lead * (a == systems[0]) else 1,
            "system_a": a,
            "system_b": b,
        }
        for instance in range(instances)
        for a, b in itertools.combinations(systems, 2)
        for rater in rng.choice(RATERS, 2, replace=False)
        for criterion in criteria
    ]


def sections(made, **options):
    return build_report(RatingTable.from_rows(made), replicates=200, **options).criteria


def test_two_systems_are_one_comparison():
    systems = sections(rows(["a", "b"]))["preference"].systems
    assert systems.simultaneous.n_win_rates == systems.simultaneous.n_pairs == 1
    assert systems.simultaneous.win_rate == systems.win_rate
    assert systems.simultaneous.pairs == systems.pairs


def test_intervals_that_hold_at_once_are_wider_and_have_the_same_value():
    systems = sections(rows(["a", "b", "c", "d"]))["preference"].systems
    together = systems.simultaneous
    assert (together.n_win_rates, together.n_pairs) == (4, 6)
    assert (len(together.win_rate), len(together.pairs)) == (4, 6)
    every = zip(
        [*together.win_rate.values(), *together.pairs.values()],
        [*systems.win_rate.values(), *systems.pairs.values()],
        strict=True,
    )
    for wide, rate in every:
        assert wide.value == rate.value
        assert wide.low < rate.low < rate.high < wide.high
        assert wide.scope == rate.scope
        assert "max-t over" in wide.method
        (inner,) = wide.narrower
        assert inner.scope.raters == "these"


def test_they_are_never_wider_than_bonferronis(monkeypatch):
    made = rows(["a", "b", "c", "d"])
    together = sections(made)["preference"].systems.simultaneous
    for module in (
        "tiebreak.stats.core.simultaneous",
        "tiebreak.report.sections.systems.simultaneous",
    ):
        monkeypatch.setattr(f"{module}.MAX_COMPARISONS", 1)
    by_bonferroni = sections(made)["preference"].systems.simultaneous
    narrower = 0
    for name, wide in (by_bonferroni.win_rate | by_bonferroni.pairs).items():
        rate = (together.win_rate | together.pairs)[name]
        assert wide.method.endswith(" comparisons")
        assert "Bonferroni over" in wide.method
        assert wide.low <= rate.low < rate.high <= wide.high
        narrower += wide.low < rate.low
    assert narrower


def test_a_level_is_that_of_the_criteria_and_the_systems_of_each():
    section = sections(rows(["a", "b", "c"], criteria=("fluent", "correct")))["fluent"]
    method = section.systems.simultaneous.pairs["a vs b"].method
    assert "max-t over 3 comparisons, Bonferroni over 2 criteria" in method
    section = sections(rows(["a", "b"], criteria=("fluent", "correct")))["fluent"]
    method = section.systems.simultaneous.pairs["a vs b"].method
    assert "Bonferroni over 2 comparisons" in method


def test_a_second_criterion_widens_intervals_and_raises_the_level_of_rank_sets(monkeypatch):
    levels = []

    def recorded(means, *, confidence_level):
        levels.append(confidence_level)
        return rank_sets(means, confidence_level=confidence_level)

    monkeypatch.setattr("tiebreak.report.sections.systems.simultaneous.rank_sets", recorded)
    made = rows(["a", "b", "c"], criteria=("fluent", "correct"))
    both = sections(made)["fluent"].systems.simultaneous
    alone = sections([row for row in made if row["criterion"] == "fluent"])["fluent"].systems
    assert levels == pytest.approx([0.975, 0.975, 0.95])
    for name, rate in alone.simultaneous.win_rate.items():
        assert both.win_rate[name].low < rate.low < rate.high < both.win_rate[name].high


def test_rank_sets_stand_beside_win_rates_and_say_how_to_read_them():
    section = sections(rows([f"s{n}" for n in range(4)], lead=0.4))["preference"]
    sets = section.systems.rank_sets
    assert sets["s0"] == RankSet(1, 1)
    assert {sets[f"s{n}"] for n in (1, 2, 3)} == {RankSet(2, 4)}
    ranking = section_of("preference", section).ranking
    assert ranking.rows[0].name == RANK_SET
    assert ranking.systems[0] == "s0"
    ranks = ranking.rows[0].numbers
    assert [number.text for number in ranks] == ["1", "2 to 4", "2 to 4", "2 to 4"]
    assert [number.leads for number in ranks] == [True, False, False, False]
    rates = ranking.rows[1]
    assert not any(number.leads for number in rates.numbers)
    assert HOW_TO_READ_RANK_SETS in ranking.notes


def test_without_intervals_there_are_no_rank_sets():
    section = sections(rows(["a", "b", "c"], instances=4))["preference"]
    assert section.systems.rank_sets is None
    ranking = section_of("preference", section).ranking
    assert RANK_SET not in {row.name for row in ranking.rows}


def test_criteria_with_preferences_share_the_family():
    both = sections(rows(["a", "b"], criteria=("fluent", "correct")))
    for section in both.values():
        assert section.systems.simultaneous.n_win_rates == 2
        assert AT_ONCE.format(n=2) in win_rate_finding(section)[1]


@pytest.mark.parametrize(
    ("lead", "heading"), [(0.0, NO_WINNER), (0.4, "s0 ranks first of 4 systems")]
)
def test_the_heading_names_who_is_ahead_of_all_at_once(lead, heading):
    section = sections(rows([f"s{n}" for n in range(4)], lead=lead))["preference"]
    title, sentence = win_rate_finding(section)
    assert title.startswith(heading)
    assert AT_ONCE.format(n=4) in sentence


@pytest.mark.slow
def test_an_interval_of_one_system_alone_names_nobody():
    """In some study of five equal systems, one system's own interval excludes ½."""
    for seed in range(40):
        made = rows([f"s{n}" for n in range(5)], instances=12, seed=seed)
        section = sections(made)["preference"]
        alone = [rate.low > 0.5 for rate in section.systems.win_rate.values()]
        together = [rate.low > 0.5 for rate in section.systems.simultaneous.win_rate.values()]
        if any(alone) and not any(together):
            break
    else:
        pytest.fail("no such study among forty")
    assert "With these annotators" in win_rate_finding(section)[0] or (
        win_rate_finding(section)[0] == NO_WINNER
    )


def against(first: str, second: str, wins: int, of: int) -> list[dict]:
    """Return one rating of each instance, of which the first system wins some."""
    return [
        {"unit": f"{first}{second}{k}", "instance": f"{first}{second}{k}", "rater": f"r{k % 7}"}
        | {"system_a": first, "system_b": second, "label": -1 if k < wins else 1}
        for k in range(of)
    ]


def test_a_system_that_wins_against_weak_opponents_does_not_lead():
    # B wins .64 of all its comparisons, and A .63, all of them against B.
    made = against("A", "B", 126, 200) + against("B", "C", 246, 300)
    section = sections(made, sections=["leaderboard", "shared_ranks"])["preference"]
    systems = section.systems
    assert systems.win_rate["B"].value > systems.win_rate["A"].value
    assert systems.ranked_by == "bradley_terry"
    assert systems.rank_sets == {"A": RankSet(1, 1), "B": RankSet(2, 2), "C": RankSet(3, 3)}
    assert leader(section)[0] == best_first(systems)[0] == "A"
    assert systems.shared_ranks == {}
    assert section.leaderboard.next_pairs == ()
    assert UNEVEN in win_rate_finding(section)[1]


def test_where_ratings_do_not_rank_systems_nobody_leads():
    section = sections(against("A", "B", 15, 20) + against("C", "D", 18, 20))["preference"]
    assert section.systems.ranked_by == "nothing"
    assert section.systems.rank_sets is None
    assert leader(section)[0] == ""


def test_rank_sets_by_strength_are_those_by_win_rate_where_all_met_evenly():
    made = against("A", "B", 50, 80) + against("B", "C", 55, 80) + against("A", "C", 65, 80)
    by_rate = sections(made)["preference"].systems
    by_strength = sections([*made, *against("B", "A", 0, 1)])["preference"].systems
    assert (by_rate.ranked_by, by_strength.ranked_by) == ("win_rate", "bradley_terry")
    assert by_rate.rank_sets == by_strength.rank_sets
