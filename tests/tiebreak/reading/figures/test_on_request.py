"""Figures of sections on request, of one order, of win-or-tie rates and of fatigue."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.metrics.studies import preferences, report_of
from tests.tiebreak.reading.figures.test_figures import alternative
from tests.tiebreak.report.sections.machines import test_scoring as scoring
from tests.tiebreak.report.sections.machines.test_discernment import (
    COPIES,
    ORIGINALS,
    TYPOS,
    scores as copies_scored,
    section_of as section_of_copies,
    two_criteria,
)
from tests.tiebreak.report.sections.machines.test_probabilities import judged, section_of
from tests.tiebreak.report.sections.machines.test_replacement import rarely_drawn
from tests.tiebreak.report.sections.machines.test_scoring import score
from tests.tiebreak.report.sections.raters.test_set_values import rated
from tests.tiebreak.report.sections.systems.test_leaderboard import rows as categories
from tests.tiebreak.report.test_prompt_questions import (
    STRENGTHS,
    by_people,
    drawn,
    is_rare,
    judged as judged_pairs,
    league,
)
from tests.tiebreak.report.test_sections import (
    judged as judged_alone,
    of,
    three_systems,
    with_judge,
)
from tiebreak.reading.annotator_tests import annotator_tests
from tiebreak.reading.figures.machines.comparison_budget import (
    NOT_PARTED,
    comparison_budget_figures,
)
from tiebreak.reading.figures.machines.discernment import DIFFERENT_READING, discernment_figures
from tiebreak.reading.figures.machines.probabilities import machine_probability_figures
from tiebreak.reading.figures.machines.replacement import machine_replacement_figures
from tiebreak.reading.figures.machines.scoring import TIES, scoring_figures
from tiebreak.reading.figures.of_section import figures_of_section
from tiebreak.reading.figures.raters.fatigue import fatigue_slopes_figure
from tiebreak.reading.figures.systems.rank_stability import (
    LEFT_OUT,
    PARTS_TITLE,
    rank_stability_figures,
)
from tiebreak.reading.figures.systems.robustness import ROBUSTNESS_TITLE
from tiebreak.reading.figures.systems.transitivity import ORDER_TITLE, order_figure
from tiebreak.reading.messages import READING_IF_DRAWN
from tiebreak.report.registry import on_request
from tiebreak.report.sections.machines.scoring import NOBODY
from tiebreak.report.sections.systems.named_parts import NO_PARTS
from tiebreak.stats import Robustness
from tiebreak.stats.machines.calibration import NO_LABELS
from tiebreak.stats.machines.debiasing import NO_PREFERENCES
from tiebreak.stats.rankings.robustness import SHARED_TOP

OF_MACHINES = ("mean_correlations", "composite", "machine_differences")


@pytest.fixture(scope="module")
def section():
    """Return three systems in a cycle, rated by four annotators."""
    return of(three_systems(np.random.default_rng(0)), sections=on_request())


@pytest.fixture(scope="module")
def scores():
    """Return scores of annotators and of two machines."""
    rng = np.random.default_rng(1)
    rows = [
        {"unit": f"u{n}", "rater": rater, "label": int(1 + (n + rng.integers(2)) % 5)}
        | ({} if rater.startswith("r") else {"kind": "machine"})
        for n in range(30)
        for rater in ("r0", "r1", "judge", "longer")
    ]
    rows = [row | {"criterion": "fluency"} for row in rows]
    return of(rows, scales={"fluency": "ordinal:1..5"}, sections=OF_MACHINES)


@pytest.fixture(scope="module")
def probable():
    """Return people's preferences and the probabilities of a machine."""
    return section_of(judged())


@pytest.fixture(scope="module")
def replaceable():
    """Return answers by three annotators and a judge who agrees with the first."""
    rows = preferences([[1, -1, 1], [-1, -1, 1]] * 20)
    judge = [row | {"rater": "judge", "kind": "machine"} for row in rows if row["rater"] == "r0"]
    return of([*rows, *judge], sections=["machine_replacement"])


@pytest.fixture(scope="module")
def discerning():
    """Return scores of originals and copies on two criteria, by annotators and a judge."""
    rows = two_criteria()
    judge = [row | {"rater": "judge", "kind": "machine"} for row in rows]
    return section_of_copies([*rows, *judge], "fluency", weights={TYPOS: {"fluency": 1}})


@pytest.fixture(scope="module")
def categorised():
    """Return ratings of three systems in several categories, and those of a judge."""
    return of(
        with_judge(categories()),
        sections=["leaderboard", "pairs_by_agreement", "rank_stability", "win_rates_by_stratum"],
    )


@pytest.fixture(scope="module")
def scored():
    """Return three systems whose texts a judge scored one by one, and compared as annotators did."""
    pairs = with_judge(three_systems(np.random.default_rng(0), instances=10))
    scores = [score(f"i{n}", name, 1 + n % 4) for n in range(10) for name in "abc"]
    report = report_of(
        [row | {"criterion": "preference"} for row in pairs]
        + scores[:-1]
        + [scores[-1] | {"label": 5}],
        sections=["scoring_against_pairwise"],
        scales={"quality": "ordinal:1..5"},
    )
    return report.criteria["preference"]


@pytest.fixture(scope="module")
def special(scores, probable, replaceable, categorised, scored):
    """Return ratings that have a section, for those that others do not have."""
    pairs = judged_pairs(STRENGTHS, 4, np.random.default_rng(0)) + by_people("abcd", 4)
    return dict.fromkeys(OF_MACHINES, scores) | {
        "machine_probabilities": probable,
        "prediction_powered": of(judged_alone(40), sections=["prediction_powered"]),
        "machine_replacement": replaceable,
        "comparison_budget": of(pairs, sections=["comparison_budget"]),
        "family_bias": of(
            with_judge(categories()),
            sections=["family_bias"],
            families={"a": "GPT", "b": "Llama", "c": "Llama", "judge": "GPT"},
        ),
        "leaderboard": categorised,
        "pairs_by_agreement": categorised,
        "rank_stability": categorised,
        "win_rates_by_stratum": categorised,
        "scoring_against_pairwise": scored,
        "set_values": of(rated(), sections=["set_values"]),
    }


@pytest.fixture(scope="module")
def figures_of(section, special, discerning):
    """Return the figures of a section on request, of ratings that have it."""

    def figures(more):
        if more.name == "discernment":
            return figures_of_section(more.name, discerning)
        return figures_of_section(more.name, more.of(special.get(more.name, section)))

    return figures


@pytest.mark.thorough
@pytest.mark.parametrize("more", on_request().values(), ids=lambda more: more.name)
def test_every_figure_has_a_chart_its_data_and_how_to_read_it(more, figures_of):
    for figure in figures_of(more):
        assert figure.chart.file().startswith("<svg")
        assert alternative(figure).startswith(figure.finding)
        assert {len(row) for row in figure.rows} == {len(figure.columns)}
        assert " not " in figure.reading  # what must not be concluded
        assert " style=" not in figure.chart.page() + figure.chart.file()


def test_names_of_figures_differ(figures_of):
    names = [f.name for more in on_request().values() for f in figures_of(more)]
    assert len(names) == len(set(names))


def test_robustness_says_k_or_fewer_unless_all_smaller_sets_were_tried(section):
    (figure,) = figures_of_section("robustness", section.robustness)
    top = section.robustness.top
    few = f"{top.removals}" if top.is_fewest else f"{top.removals} or fewer"
    assert figure.finding.startswith(f"Without {few} of {top.ratings} ratings, {top.new_first}")
    assert figure.title == ROBUSTNESS_TITLE  # which a part of the ratings shows instead
    searched = replace(section.robustness, top=replace(top, removals=9, is_fewest=False))
    (figure,) = figures_of_section("robustness", searched)
    assert figure.finding.startswith("Without 9 or fewer of ")
    orders = {row[0]: row[5] for row in figure.rows}
    assert orders["a vs b: order"] == "yes"
    assert orders["a vs b: interval excludes ½"] == "this or fewer"


def test_robustness_without_a_set_says_why(section):
    nothing = Robustness("", "", 0, 5, False, reason=SHARED_TOP)
    empty = section.robustness.__class__(nothing, nothing, {}, {})
    (figure,) = figures_of_section("robustness", empty)
    assert not figure.chart
    assert figure.sentence == SHARED_TOP


def test_a_cycle_contradicts_one_order(section):
    figure = order_figure(section)
    assert figure.finding == "One order of the systems does not explain the win rates of all pairs"
    assert "100%" in figure.sentence
    assert figure.chart.file().count("<line") == 1  # the diagonal
    for name, observed, _ in figure.rows:
        assert observed == section.systems.pairs[name].value


def test_an_order_is_not_contradicted():
    figure = order_figure(of(three_systems(np.random.default_rng(1), rates=(0.4, 0.4, 0.31))))
    assert figure.finding == "No contradiction of one order of the systems is shown"


def test_two_systems_have_one_order():
    figure = order_figure(of(preferences([[1, -1]] * 12)))
    assert not figure.chart
    assert figure.finding == ORDER_TITLE


def test_win_or_tie_stands_beside_the_win_rate(section):
    (figure,) = figures_of_section("win_or_tie", section.systems)
    rows = {(row[0], row[1]): row[2] for row in figure.rows}
    assert rows["a", "win or tie"] == section.systems.win_or_tie["a"].value
    assert rows["a", "win rate"] == section.systems.win_rate["a"].value


def test_fatigue_is_stated_only_if_agreement_falls(section):
    figure = fatigue_slopes_figure(section)
    assert figure.finding == "No change of agreement over an annotator's items is shown"
    assert "−9.6%" in figure.sentence
    without = fatigue_slopes_figure(of(preferences([[1, -1]] * 12)))
    assert not without.chart
    assert without.sentence


def test_a_reliability_diagram_has_a_diagonal_and_a_point_for_each_range(probable):
    diagram, debiasing = machine_probability_figures(probable.machine_probabilities)
    assert diagram.chart.file().count('stroke-dasharray="3 3"') == 2  # and in the legend
    assert diagram.chart.file().count('d="M-4.5') == sum(row[2] > 0 for row in diagram.rows)
    one = probable.machine_probabilities["judge"]
    assert {row[6]: row[7] for row in debiasing.rows} == {
        "as it is": one.debiasing.agreement.value,
        "debiased": one.debiasing.debiased.value,
        "both orders averaged": one.both_orders.value,
    }


def test_without_human_labels_a_diagram_says_why_it_is_empty():
    machines = [row for row in judged(units=12) if row["rater"] == "judge"]
    section = section_of(machines)
    figures = machine_probability_figures(section.machine_probabilities)
    assert not any(figure.chart for figure in figures)
    assert [figure.sentence for figure in figures] == [NO_LABELS, NO_PREFERENCES]


def test_discernment_is_drawn_over_all_criteria_and_by_rater(discerning):
    tests, summary, styles, correlations = discernment_figures(discerning)
    assert "annotators, judge over 2 criteria (fluency, relevance)" in tests.reading
    assert DIFFERENT_READING not in tests.reading + summary.reading
    of = dict(zip(tests.columns, tests.rows[0], strict=True))
    combined = discerning.all_criteria["annotators"].tests[TYPOS]
    assert (of["rater"], of["perturbation"], of["pairs"]) == ("annotators", TYPOS, 5)
    assert of["criteria_together_D"] == combined.score.value
    assert of["expert_weights"] == "fluency 1.00"
    weights = [(row[0], row[1], row[2]) for row in summary.rows if row[2] == "average"]
    assert weights == [
        (rater, kind, "average")
        for kind in ("equal weights", "expert weights")
        for rater in ("annotators", "judge")
    ]
    of_judge = discerning.raters["judge"].style
    shown = {row[1]: row[2:] for row in styles.rows if row[0] == "judge"}
    assert shown == {s: (of_judge.originals[s], of_judge.copies[s]) for s in of_judge.copies}
    assert styles.chart.file().count("<rect") == 2 * len(styles.rows)
    assert [row[:2] for row in correlations.rows] == [("annotators", "judge")]


def test_raters_of_different_criteria_are_named_with_theirs_and_a_warning():
    rows = [
        *copies_scored(ORIGINALS, COPIES, criterion="fluency"),
        *copies_scored(ORIGINALS, COPIES, criterion="relevance"),
        *copies_scored(ORIGINALS, COPIES, criterion="fluency", rater="judge", kind="machine"),
    ]
    tests, summary, *_ = discernment_figures(section_of_copies(rows, "fluency"))
    assert "annotators over 2 criteria (fluency, relevance)" in tests.reading
    assert "judge over 1 criterion (fluency)" in tests.reading
    for figure in (tests, summary):
        assert figure.reading.endswith(DIFFERENT_READING)


def test_a_rater_without_scores_of_copies_has_no_average_and_is_named():
    rows = [
        *copies_scored(ORIGINALS, COPIES),
        *copies_scored([5] * 5, [None] * 5, rater="judge", kind="machine"),
    ]
    tests, summary, *_ = discernment_figures(section_of_copies(rows))
    assert "judge" in summary.sentence
    judge = dict(zip(tests.columns, tests.rows[1], strict=True))
    assert (judge["D"], judge["p"], judge["without_a_pair"]) == (None, None, 5)
    assert judge["reason"]


def league_with_judges(rng):
    """Return comparisons of three systems by annotators and by two judges in both orders."""
    people = league({"a": 1, "b": 0, "c": -1}, 40, rng, raters=("r0", "r1"))
    judges = [
        row | {"rater": name}
        for name in ("x", "y")
        for row in judged_pairs({"a": 1, "b": 0, "c": -1}, 40, rng)
    ]
    return [*people, *judges]


@pytest.mark.parametrize(
    ("arrange", "sentence"),
    [
        (lambda rows: rows, READING_IF_DRAWN["these"]),
        (lambda rows: drawn(rows, is_rare), READING_IF_DRAWN["dataset"]),
        (lambda rows: drawn(rows, is_rare, control=False), READING_IF_DRAWN["selected"]),
    ],
)
@pytest.mark.slow
def test_figures_after_a_draw_say_which_instances_they_describe(arrange, sentence):
    rows = arrange(league_with_judges(np.random.default_rng(3)))
    names = ("machine_differences", "rank_stability", "comparison_budget", "composite")
    section = of(rows, sections=names)
    for name in names:
        for figure in figures_of_section(name, getattr(section, name)):
            assert figure.reading.endswith(sentence)
            assert ("were drawn" in figure.reading) == bool(sentence)


@pytest.mark.parametrize(("has_control", "speaks_of"), [(True, "dataset"), (False, "selected")])
def test_scores_after_a_draw_say_which_instances_they_describe(has_control, speaks_of):
    rows = scoring.league(40, np.random.default_rng(3))
    figures = [
        scoring_figures(scoring.section_of(some))
        for some in (rows, scoring.drawn(rows, has_control=has_control))
    ]
    assert not any("were drawn" in figure.reading for figure in figures[0])
    assert all(figure.reading.endswith(READING_IF_DRAWN[speaks_of]) for figure in figures[1])


@pytest.mark.parametrize(("has_control", "speaks_of"), [(True, "dataset"), (False, "selected")])
def test_tests_after_a_draw_say_which_instances_they_describe(has_control, speaks_of):
    rows = rarely_drawn(np.random.default_rng(3), (0.8, 0.8))
    if not has_control:
        rows = [row | {"phase": "selected"} for row in rows]
    section = report_of(
        rows, scales={"c": "nominal:no,yes"}, sections=["machine_replacement"], replicates=0
    ).criteria["c"]
    (figure,) = machine_replacement_figures(section.machine_replacement)
    first = dict(zip(figure.columns, figure.rows[0], strict=True))
    assert figure.reading.endswith(READING_IF_DRAWN[speaks_of])
    assert first["speaks_of"] == speaks_of
    (row,) = annotator_tests(section, states_findings=True).rows
    assert row.scope.endswith(READING_IF_DRAWN[speaks_of])


@pytest.mark.thorough
def test_accuracy_needs_annotators_who_part_the_systems():
    pairs = judged_pairs(STRENGTHS, 4, np.random.default_rng(0))
    rows = [*pairs, *by_people("abcd", 4)]
    _, accuracy = comparison_budget_figures(
        of(rows, sections=["comparison_budget"]).comparison_budget
    )
    last = dict(zip(accuracy.columns, accuracy.rows[-1], strict=True))
    assert (last["median"], last["system_pairs"], last["ratings"]) == (1, 6, 24)
    _, without = comparison_budget_figures(
        of(pairs, sections=["comparison_budget"]).comparison_budget
    )
    assert not without.chart
    assert without.sentence == NOT_PARTED


def test_named_parts_have_no_lines_and_their_p_values_in_the_table(categorised):
    *_, figure = rank_stability_figures(categorised.rank_stability)
    of_people = categorised.rank_stability["annotators"].parts.parts
    assert [row[:3] for row in figure.rows[:2]] == [
        ("annotators", "even", "all others"),
        ("annotators", "odd", "all others"),
    ]
    even = dict(zip(figure.columns, figure.rows[0], strict=True))
    assert (even["p"], even["p_of_rates"]) == (of_people["even"].p, of_people["even"].p_rates)
    assert "interval" not in alternative(figure)
    assert (figure.finding, figure.title) == (PARTS_TITLE, "")


def test_without_categories_the_figure_of_parts_says_why(section):
    *_, figure = rank_stability_figures(section.rank_stability)
    assert not figure.chart
    assert (figure.rows, figure.sentence) == ((), NO_PARTS)


def test_parts_that_are_not_shown_are_counted(categorised):
    one = categorised.rank_stability["annotators"]
    more = {"annotators": replace(one, parts=replace(one.parts, left_out=3))}
    *_, figure = rank_stability_figures(more)
    assert figure.sentence.endswith(LEFT_OUT.format(n=3))


def test_scoring_says_what_it_took_and_which_rule_ties_have(scored):
    agreement, differences, ranks = scoring_figures(scored.scoring_against_pairwise)
    # Pairs, instances, answers to score, ties among pairs, answers to compare, ties among these.
    assert re.findall(r"\d+", agreement.sentence) == ["30", "10", "30", "93", "30", "0"]
    for figure in (agreement, differences):
        names = dict.fromkeys(row[0] for row in figure.rows)
        assert [*names] == [f"judge (quality) vs judge: {rule}" for rule in TIES.values()]
    row = dict(zip(ranks.columns, ranks.rows[0], strict=True))
    assert (row["pairs"], row["score_answers"], row["systems"]) == (30, 30, 3)


def test_without_scores_the_figure_says_what_to_do(section):
    (figure,) = scoring_figures(section.scoring_against_pairwise)
    assert not figure.chart
    assert figure.sentence == NOBODY
