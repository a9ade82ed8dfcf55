"""Every estimate has a scope, and no heading claims more than the scope."""

import re
from dataclasses import replace

import numpy as np
import pytest

from tests.metrics.studies import drawn_study, estimates, preferences, report_of, sections, words
from tiebreak.reading.agreement_findings import agreement_finding
from tiebreak.reading.findings import (
    INSTANCES,
)
from tiebreak.reading.messages import (
    INSTANCES_ARE_WEIGHTED,
    INSTANCES_WERE_SELECTED,
    ON_SELECTED,
    OTHERS_AGREE,
    OVER_DATASET,
    WEIGHTED_TO_DATASET,
)
from tiebreak.report import Report
from tiebreak.report.model.fields import BY_KEY
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.selection import PairSelection
from tiebreak.report.sections.systems.prediction_powered import UNCOVERED, UNPREDICTED
from tiebreak.stats.core.results import Estimate, NarrowerInterval, Scope
from tiebreak.stats.design.hajek import OF_SELECTED

CLAIMS = (WEIGHTED_TO_DATASET, OVER_DATASET, INSTANCES["dataset"])


def of_pair(report: Report) -> PairSelection:
    return report.criteria["preference"].selection["first vs second"]


def test_every_estimate_has_a_scope():
    report = report_of(preferences([[-1, 0, 1], [1, 1, 1]] * 10))
    by_path = dict(estimates(report.criteria))
    strata = report.criteria["preference"].strata
    of_units = [n for n, stratum in enumerate(strata) if stratum.stratifier in ("all", *BY_KEY)]
    new = "|".join(
        [
            "/systems/.*(win_rate|pairs|win_or_tie|bradley_terry|differences)",
            "/fatigue/",
            "/rater_variance/",
            *(rf"/strata\[{n}\]/human_human" for n in of_units),
        ]
    )
    assert len(by_path) > 50
    for path, estimate in by_path.items():
        is_new = estimate.has_interval and re.search(new, path)
        assert estimate.scope.raters == ("new" if is_new else "these"), path
        assert estimate.scope.instances == ("new" if estimate.has_interval else "these"), path


def test_an_interval_for_new_raters_has_the_one_for_these_raters_beside_it():
    report = report_of(preferences([[-1, 0, 1], [1, 1, -1]] * 10))
    rates = report.criteria["preference"].systems
    for rate in (*rates.win_rate.values(), *rates.pairs.values()):
        (inner,) = rate.narrower
        assert (inner.scope.instances, inner.scope.raters) == ("new", "these")
        assert rate.low <= inner.low < rate.value < inner.high <= rate.high
        assert Estimate.from_json(rate.as_json()) == rate


def test_two_raters_speak_of_themselves():
    report = report_of(preferences([[-1, 0], [1, 1]] * 10))
    rate = report.criteria["preference"].systems.win_rate["a"]
    assert (rate.has_interval, rate.scope.raters, rate.narrower) == (True, "these", ())


@pytest.mark.sampled(2)
@pytest.mark.parametrize("design", ["top", "proportional", "strata"])
@pytest.mark.parametrize("seed", range(3))
def test_without_a_control_sample_no_figure_holds_for_the_dataset(design, seed):
    report = report_of(drawn_study(design, seed=seed))
    scopes = {estimate.scope.instances for _, estimate in estimates(report.criteria)}
    assert scopes <= {"selected", "these"}
    assert OF_SELECTED in of_pair(report).win_rate.method
    shown = words(report)
    assert not [claim for claim in CLAIMS if claim in shown]
    assert ON_SELECTED.strip(", ") in shown or INSTANCES["selected"] in shown


def test_a_winner_among_the_most_separable_is_claimed_for_the_selected_instances_only():
    report = report_of(drawn_study("top", seed=1))
    assert of_pair(report).win_rate.value == pytest.approx(0.65, abs=0.06)
    heading = sections(report)[0].wins[0]
    assert "first wins more often than it loses" in heading
    assert ON_SELECTED in heading


@pytest.mark.slow
@pytest.mark.parametrize("design", ["top", "proportional", "strata"])
def test_with_a_control_sample_the_weighted_rate_is_that_of_the_dataset(design):
    held = 0
    for seed in range(10):
        rows = drawn_study(design, seed=seed, n=300, control_share=0.2)
        rate = of_pair(report_of(rows)).win_rate
        assert rate.scope == Scope(instances="dataset", raters="these")
        held += rate.low <= 0.45 <= rate.high
    assert held >= 8  # of 10 at 95%; chance alone gives fewer in 1 of 100 runs


@pytest.mark.parametrize(("n", "scope"), [(100, "selected"), (150, "dataset")])
def test_the_most_separable_need_thirty_control_instances_to_hold_for_the_dataset(n, scope):
    pair = of_pair(report_of(drawn_study("top", seed=0, n=n, control_share=0.2)))
    assert pair.control == n / 5
    assert pair.win_rate.scope.instances == scope
    assert pair.ratings_saved.is_defined == (scope == "dataset")


def test_no_heading_after_a_draw_is_made_from_unweighted_rates():
    """The first system wins most rated instances, which are separable, but not the dataset."""
    rows = drawn_study("top", seed=3, n=150, control_share=0.3)
    report = report_of(rows)
    rate = report.criteria["preference"].systems.win_rate["first"]
    assert np.mean([row["label"] < 0 for row in rows]) > 0.55
    assert (rate.scope.instances, rate.low < 0.5) == ("dataset", True)
    assert not sections(report)[0].wins[0].startswith("first")


def test_a_drawn_criterion_without_pairs_has_a_note_on_the_selected_instances():
    rows = [row | {"criterion": "c", "label": 2} for row in drawn_study("top", seed=0)]
    report = report_of(rows, scales={"c": "ordinal:1..5"})
    assert sections(report)[0].note == INSTANCES_WERE_SELECTED
    assert sections(report_of(preferences([[-1, 1]] * 12)))[0].note == ""


def test_agreement_after_a_draw_with_a_control_sample_is_that_of_the_dataset():
    (section,) = sections(report_of(drawn_study("proportional", seed=0, n=300, control_share=0.2)))
    heading, sentence = section.agreement
    assert heading.endswith(OVER_DATASET)
    assert INSTANCES["dataset"] in sentence
    words, _, titles = section.note.partition(": ")
    assert words == INSTANCES_ARE_WEIGHTED.split(": ")[0]
    assert "Variance components" in titles.split("; ")[-1]
    assert "Elo ratings" not in titles  # which this report has not


def judged_study(*, of_all=True, control_share=0.2):
    """Return a drawn study with a judge that rates the drawn instances and others."""
    rows = drawn_study("proportional", seed=0, control_share=control_share)
    judged = [row | {"rater": "judge", "kind": "machine"} for row in rows if row["rater"] == "r0"]
    others = [
        {
            **judged[0],
            "unit": f"more{i}",
            "instance": f"more{i}",
            "phase": "",
            "label": i % 2 * 2 - 1,
        }
        for i in range(1000 - len(judged) if of_all else 30)
    ]
    return [*rows, *judged, *others]


def powered(rows):
    systems = report_of(rows).criteria["preference"].systems
    return systems.prediction_powered["judge"]["first"], systems


def test_a_prediction_powered_rate_needs_all_instances_after_a_draw():
    rate, _ = powered(judged_study(of_all=False))
    assert (rate.is_defined, rate.reason) == (False, UNPREDICTED)
    rate, _ = powered(judged_study(control_share=0))
    assert (rate.is_defined, rate.reason) == (False, UNCOVERED)


def test_a_prediction_powered_rate_after_a_draw_is_the_corrected_weighted_mean():
    rows = judged_study()
    rate, systems = powered(rows)
    with_one = systems.prediction_powered_lambda_1["judge"]["first"]
    wins = {row["unit"]: (1 - row["label"]) / 2 for row in rows if row["rater"] == "judge"}
    of_all = np.mean(list(wins.values()))
    people = [row for row in rows if row["rater"] != "judge"]
    weights = np.array([1 / row["inclusion_probability"] for row in people])
    corrected = [(1 - row["label"]) / 2 - (wins[row["unit"]] - of_all) for row in people]
    assert with_one.value == pytest.approx(np.average(corrected, weights=weights))
    assert (rate.scope.instances, rate.scope.raters) == ("dataset", "new")
    assert rate.low < rate.value < rate.high
    low, high = sorted([with_one.value, systems.win_rate["first"].value])
    assert low <= rate.value <= high  # as λ is between 0 and 1


def with_alpha(alpha: Estimate) -> CriterionSection:
    section = report_of(preferences([[-1, 0, 1], [1, 1, -1]] * 10)).criteria["preference"]
    first, *rest = section.strata
    agreement = replace(first.human_human, krippendorff_alpha=alpha)
    return replace(section, strata=(replace(first, human_human=agreement), *rest))


@pytest.mark.parametrize(
    ("low", "inner_low", "heading"),
    [
        (0.1, 0.2, "Annotators agree beyond chance"),
        (-0.1, 0.2, "These annotators agree beyond chance"),
        (-0.1, -0.05, "No agreement beyond chance is shown"),
    ],
)
def test_agreement_of_these_annotators_is_not_claimed_for_others(low, inner_low, heading):
    inner = NarrowerInterval(inner_low, 0.5, Scope("new"), "bootstrap")
    alpha = Estimate(0.3, low, 0.6, stated_scope=Scope("new", "new"), narrower=(inner,))
    title, sentence = agreement_finding(with_alpha(alpha))
    assert title == heading
    assert (OTHERS_AGREE in sentence) == heading.startswith("These")
