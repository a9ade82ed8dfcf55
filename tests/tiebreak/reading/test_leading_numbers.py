"""The five leading numbers: which they are, what they are of, and what undefined ones ask for."""

import random
import re
from dataclasses import replace
from math import sqrt

import pytest

from tests.metrics.studies import drawn_study, preferences, report_of
from tiebreak.digits import in_digits
from tiebreak.formats import RatingTable
from tiebreak.reading.document.section_tables import tables_of
from tiebreak.reading.leading_numbers import (
    NONE_DIFFERS,
    SOME_DIFFER,
    hardest_pair,
    leading_numbers,
)
from tiebreak.reading.messages import ADVICE, NO_COMPARISONS, NO_MACHINES, NOT_IN_REPORT
from tiebreak.report import build_report
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.sections.machines.noise_ceiling import NO_PAIR as NO_PAIR_WITH_MACHINE
from tiebreak.stats import smallest_difference
from tiebreak.stats.core.independence import too_few_clusters
from tiebreak.stats.raters.additive import NO_PAIR

QUESTIONS = ["systems", "raters", "raters", "machines", "planning"]
RNG = random.Random(0)
PEOPLE = preferences([[RNG.choice([-1, -1, 0, 1]) for _ in range(6)] for _ in range(40)])


def judged(rows: list[dict]) -> list[dict]:
    """Return the first rating of each unit as those of a judge."""
    first = {row["unit"]: row for row in reversed(rows)}.values()
    return [row | {"rater": "judge", "kind": "machine"} for row in first]


def of(rows: list[dict], **options) -> CriterionSection:
    (section,) = report_of(rows, **options).criteria.values()
    return section


def test_there_is_a_number_for_each_question_and_consistency_is_none_of_them():
    numbers = leading_numbers(of([*PEOPLE, *judged(PEOPLE)]))
    assert [number.tab for number in numbers] == QUESTIONS
    assert all(re.match("−?[0-9]", number.number.text) for number in numbers)
    assert "Consistency" not in [number.title for number in numbers]


@pytest.mark.parametrize(("low", "answer"), [(0.0, NONE_DIFFERS), (0.001, SOME_DIFFER)])
def test_whether_others_would_agree_is_answered_as_the_interval_allows(low, answer):
    about = of(PEOPLE)
    variance = replace(about.rater_variance.variance, value=0.002, low=low, high=0.01)
    known = replace(about, rater_variance=replace(about.rater_variance, variance=variance))
    assert leading_numbers(known)[2].answer == answer
    assert leading_numbers(known)[2].told.startswith(answer)
    assert not leading_numbers(known, is_part=True)[2].answer


def test_the_numbers_are_those_of_the_report():
    about = of([*PEOPLE, *judged(PEOPLE)])
    winner, agreement, others, machine, smallest = leading_numbers(about)
    rate = about.systems.win_rate["a"]
    assert winner.number.text == in_digits(2 * rate.value - 1)
    assert (
        winner.number.interval == f"{in_digits(2 * rate.low - 1)} to {in_digits(2 * rate.high - 1)}"
    )
    assert agreement.number.text == in_digits(about.all_units.human_human.krippendorff_alpha.value)
    assert others.number.text == in_digits(sqrt(about.rater_variance.variance.value))
    effective = in_digits(about.rater_variance.effective_raters)
    assert f" {effective} of {about.rater_variance.raters}" in others.sentence
    (table,) = tables_of("rater_variance", about)
    assert any(effective in row for row in table.rows)
    found = about.noise_ceiling["judge"]
    assert machine.number.text == in_digits(found.agreement.value)
    assert in_digits(found.ceiling.value) in machine.sentence
    (pair,) = about.systems.simultaneous.pairs.values()
    assert smallest.number.text == in_digits(smallest_difference(pair).value)


def test_a_core_report_has_all_five():
    table = RatingTable.from_rows([*PEOPLE, *judged(PEOPLE)])
    (core,), (whole,) = (
        build_report(table, replicates=100, core=core).criteria.values() for core in (True, False)
    )
    assert [n.number for n in leading_numbers(core)] == [n.number for n in leading_numbers(whole)]


@pytest.mark.parametrize(
    ("rows", "number", "reason"),
    [
        (preferences([[-1]] * 12), 1, NO_PAIR),
        (PEOPLE, 3, NO_MACHINES),
        (preferences([[-1]] * 12) + judged(preferences([[-1]] * 12)), 3, NO_PAIR_WITH_MACHINE),
    ],
)
def test_an_undefined_number_says_what_to_do(rows, number, reason):
    shown = leading_numbers(of(rows))[number].number
    assert shown.text == "–"
    assert reason in shown.reason
    assert shown.reason.endswith(ADVICE[reason])


@pytest.mark.parametrize("number", [0, 2, 4])
def test_scores_have_no_number_about_two_systems(number):
    rows = [
        {"unit": f"u{n}", "rater": f"r{r}", "label": (n + r) % 5, "criterion": "c"}
        for n in range(12)
        for r in range(3)
    ]
    shown = leading_numbers(of(rows))[number].number
    assert shown.text == "–"
    if number:
        assert NO_COMPARISONS in shown.reason


def test_of_several_pairs_the_one_that_needs_the_largest_difference_is_named():
    rows = PEOPLE + [
        row | {"unit": f"c-{row['unit']}", "instance": f"c-{row['instance']}", "system_b": "c"}
        for row in PEOPLE[:60]
    ]
    about = of(rows)
    pairs = about.systems.simultaneous.pairs
    found = {name: smallest_difference(rate).value for name, rate in pairs.items()}
    smallest = leading_numbers(about)[4]
    assert smallest.number.text == in_digits(max(found.values()))
    assert max(found, key=found.get) in smallest.sentence


def test_of_pairs_with_too_few_items_the_one_with_the_most_is_named():
    """What one pair lacks must not read as what the study has."""
    one = [row | {"unit": "c", "instance": "c", "system_b": "aa"} for row in PEOPLE[:3]]
    four = [row for row in PEOPLE if row["unit"] in {made["unit"] for made in PEOPLE[:12]}]
    about = of([*one, *four])
    pair, least, _ = hardest_pair(about)
    few = max(about.systems.pairs, key=lambda name: about.systems.pairs[name].n)
    n = about.systems.pairs[few].n
    assert not pair
    assert n > 1
    assert few in least.reason
    assert least.reason.endswith(too_few_clusters(n, "unit"))


def test_a_report_of_before_these_numbers_asks_to_be_computed_again():
    about = of([*PEOPLE, *judged(PEOPLE)])
    numbers = leading_numbers(replace(about, rater_variance=None, noise_ceiling=None))
    assert [NOT_IN_REPORT in n.number.reason for n in numbers] == [False, False, True, True, False]


def test_after_a_draw_agreement_and_ceiling_are_of_the_same_items_and_weights():
    rows = drawn_study("proportional", seed=0, control_share=0.3)
    machine = [row for row in judged(rows) if int(row["unit"][1:]) % 2]
    section = of(rows + machine)
    found, strata = section.noise_ceiling["judge"], section.all_units.machines["judge"]
    assert found.agreement.n == found.annotators.n == len(machine)
    alone = strata.single_human_machine.percentage_agreement
    assert found.agreement.value == pytest.approx(alone.value)  # all have several ratings
    assert found.agreement.scope == alone.scope
    of_half = of([row for row in rows if int(row["unit"][1:]) % 2] + machine)
    kappa = of_half.all_units.human_human.randolph_kappa.value
    labels = len(of_half.labels)
    assert found.annotators.value == pytest.approx(kappa * (1 - 1 / labels) + 1 / labels)


def test_annotators_are_compared_within_pairs_whichever_side_is_named_first():
    people = preferences([[-1, -1, 1, RNG.choice([-1, 1])] for _ in range(30)])
    swap = {"system_a": "b", "system_b": "a"}
    rows = [
        row | (swap | {"label": -row["label"]} if int(row["unit"][1:]) % 3 else {})
        for row in people
    ]
    expected = of(people).rater_variance
    assert expected.variance.low > 0
    assert of(rows).rater_variance == expected
