"""After a draw of instances, headlines speak of the dataset, and weight what was drawn."""

import numpy as np
import pytest

from tests.refusals import refused_file
from tiebreak.formats import RatingTable
from tiebreak.report import build_report
from tiebreak.report.build import build_section
from tiebreak.stats import (
    Estimate,
    agreement,
    agreement_contributions,
    bradley_terry,
    two_way_interval,
)

RATERS = 5


def rows(*, control=True):
    """Return ratings of 80 instances, in which B wins more often the rarer an instance is drawn."""
    rng = np.random.default_rng(3)
    made = []
    for instance in range(80):
        inclusion = 0.2 if instance % 4 == 0 else 0.8
        in_control = control and instance % 8 < 2
        for rater in rng.choice(RATERS, 3, replace=False):
            b_wins = rng.random() < (0.8 if inclusion < 0.5 else 0.3)
            made.append(
                {
                    "unit": f"u{instance}",
                    "instance": f"i{instance}",
                    "rater": f"r{rater}",
                    "label": 1 if b_wins else -1,
                    "system_a": "old",
                    "system_b": "new",
                    "side_a": "left" if (instance + rater) % 2 else "right",
                    "phase": "control" if in_control else "selected",
                    "inclusion_probability": inclusion,
                }
            )
    return made


def criterion(made):
    return build_report(RatingTable.from_rows(made), replicates=200).criteria["preference"]


def weighted_rate(made):
    """Return the weighted share of ratings in which the new system wins."""
    weights = np.array([1 / row["inclusion_probability"] for row in made])
    wins = np.array([row["label"] > 0 for row in made])
    return float(weights @ wins / weights.sum())


def test_win_rates_are_weighted_and_speak_of_the_dataset():
    made = rows()
    section = criterion(made)
    of_new, of_pair = section.systems.win_rate["new"], section.systems.pairs["new vs old"]
    expected = weighted_rate(made)
    assert of_new.value == of_pair.value == pytest.approx(expected, rel=1e-12)
    assert abs(expected - np.mean([row["label"] > 0 for row in made])) > 0.05
    assert section.selection["old vs new"].win_rate.value == pytest.approx(1 - expected)
    for rate in (of_new, of_pair):
        assert (rate.scope.instances, rate.scope.raters) == ("dataset", "new")
        (inner,) = rate.narrower
        assert (inner.scope.instances, inner.scope.raters) == ("dataset", "these")
        assert rate.low <= inner.low < rate.value < inner.high <= rate.high


def test_bias_and_strengths_are_weighted_and_elo_is_of_the_selected_instances():
    made = rows()
    section = criterion(made)
    weights = np.array([1 / row["inclusion_probability"] for row in made])
    first = np.array([-1 if row["side_a"] == "left" else 1 for row in made])
    signs = np.sign([row["label"] for row in made])
    x, y = (v - weights @ v / weights.sum() for v in (first, signs))
    slope = weights @ (x * y) / (weights @ x**2)
    assert section.bias.position.value == pytest.approx(slope / 2)
    assert section.bias.position.scope.instances == "dataset"
    value = section.bias.position.value
    codes = [[int(row[name][1:]) for row in made] for name in ("instance", "rater")]
    point = Estimate(value, value, value)
    each, information = weights * x * (y - slope * x) / 2, weights * x**2
    wide = two_way_interval(each, *codes, narrow=point, weights=information, bounds=(-0.5, 0.5))
    assert section.bias.position.standard_error == pytest.approx(wide.standard_error)
    counts = [[row["label"] < 0, 0, row["label"] > 0] for row in made]
    names = {"system_a": ["old"] * len(made), "system_b": ["new"] * len(made)}
    fit = bradley_terry(np.array(counts, dtype=int), **names, weights=weights)
    strength = section.systems.bradley_terry["new"]
    assert strength.value == pytest.approx(fit.systems["new"].value)
    assert strength.scope.instances == "dataset"
    assert section.systems.bradley_terry_rank["new"].scope.instances == "dataset"
    (elo,) = build_section(RatingTable.from_rows(made), "elo", replicates=0).criteria.values()
    assert elo.elo["new"].scope.instances == "selected"


def test_without_a_control_sample_only_the_selected_instances_are_spoken_of():
    made = rows(control=False)
    section = criterion(made)
    rate = section.systems.win_rate["new"]
    assert rate.value == pytest.approx(weighted_rate(made))
    assert rate.scope.instances == rate.narrower[0].scope.instances == "selected"
    assert section.bias.position.scope.instances == "selected"
    assert section.systems.bradley_terry["new"].scope.instances == "selected"


def test_without_all_probabilities_nothing_is_weighted_or_said_of_the_dataset():
    table = RatingTable.from_rows(rows())  # a file must have them, but a table could lack them
    table["inclusion_probability"][table["unit"] == "u7"] = np.nan
    rate = build_report(table, replicates=200).criteria["preference"].systems.win_rate["new"]
    assert rate.value == pytest.approx(np.mean(table["label"] > 0))
    assert rate.scope.instances == "selected"


def test_while_only_the_control_sample_is_rated_its_instances_count_alike():
    made = [row for row in rows() if row["phase"] == "control"]
    rate = criterion(made).systems.win_rate["new"]
    assert rate.value == pytest.approx(np.mean([row["label"] > 0 for row in made]))
    assert rate.scope.instances == "dataset"


def test_a_part_that_happens_to_be_in_the_control_sample_has_its_weights_from_the_whole_study():
    """Or items of one category would count alike in its row, and by their weights in all others."""
    made = [
        row | {"category": "all control" if row["phase"] == "control" else "other"}
        for row in agreed()
    ]
    table = RatingTable.from_rows(made)
    strata = build_section(table, "machine_replacement", replicates=0).criteria["preference"]
    (one,) = [one for one in strata if one.stratum == "all control"]
    counts, weights = human_counts([row for row in made if row["category"] == "all control"])
    shares = counts[:, 1] / np.maximum(counts.sum(axis=1), 1)
    found = one.machines["judge"]
    assert found.agreement == pytest.approx(weights @ shares / weights.sum())
    assert abs(found.agreement - found.unweighted_agreement) > 0.01


def test_instances_that_were_not_drawn_have_no_weights():
    made = [row | {"phase": "all", "inclusion_probability": None} for row in rows()]
    rate = criterion(made).systems.win_rate["new"]
    assert rate.value == pytest.approx(np.mean([row["label"] > 0 for row in made]))
    assert rate.scope.instances == "new"


def agreed(*, control=True):
    """Return ratings in which raters agree more on instances that are rarely drawn, and a judge's."""
    rng, made = np.random.default_rng(5), []
    for row in rows(control=control):
        sure = row["inclusion_probability"] < 0.5
        label = 1 if rng.random() < (0.95 if sure else 0.5) else -1
        made.append(row | {"label": label})
    judge = {"rater": "judge", "kind": "machine", "label": 1}
    return made + [row | judge for row in {row["unit"]: row for row in made}.values()]


def human_counts(made):
    counts, weights = np.zeros((80, 5), dtype=int), np.zeros(80)
    for row in made:
        unit = int(row["unit"][1:])
        weights[unit] = 1 / row["inclusion_probability"]
        counts[unit, row["label"] + 2] += row["rater"] != "judge"
    return counts[:, [1, 3]], weights


@pytest.mark.thorough
def test_agreement_is_weighted_and_speaks_of_the_dataset():
    made = agreed()
    section = criterion(made)
    counts, weights = human_counts(made)
    ours = section.all_units.human_human.estimates()
    expected = agreement(counts, weights=weights).estimates()
    unweighted = agreement(counts).estimates()
    people = [row for row in made if row["rater"] != "judge"]
    unit, rater = (np.array([int(row[name][1:]) for row in people]) for name in ("unit", "rater"))
    label = [(row["label"] + 1) // 2 for row in people]
    contributions = agreement_contributions(unit, label, n_units=80, n_labels=2, weights=weights)
    for name in ("krippendorff_alpha", "percentage_agreement", "fleiss_kappa", "leave_one_out"):
        estimate = ours[name]
        assert estimate.value == pytest.approx(expected[name].value, rel=1e-12)
        assert abs(estimate.value - unweighted[name].value) > 0.02
        assert (estimate.scope.instances, estimate.scope.raters) == ("dataset", "new")
        (inner,) = estimate.narrower
        assert (inner.scope.instances, inner.scope.raters) == ("dataset", "these")
        assert estimate.low <= inner.low < estimate.value < inner.high <= estimate.high
        point = Estimate(estimate.value, estimate.value, estimate.value)
        wide = two_way_interval(
            contributions[name], unit, rater, narrow=point, weights=weights[unit]
        )
        assert estimate.standard_error == pytest.approx(wide.standard_error)


def test_other_coefficients_and_agreement_with_machines_are_weighted_too():
    made = agreed()
    section = criterion(made)
    counts, weights = human_counts(made)
    shares = (counts.max(axis=1) > counts.sum(axis=1) / 2) * (counts[:, 1] > counts[:, 0])
    groups = section.all_units.machines["judge"]
    assert groups.classification.accuracy.value == pytest.approx(
        weights @ shares / weights.sum(), rel=1e-12
    )
    delta, compared = groups.delta.percentage_agreement, groups.human_machine.percentage_agreement
    among = section.all_units.human_human.percentage_agreement
    assert delta.value == pytest.approx(among.value - compared.value, rel=1e-12)
    pairs = (counts * (counts - 1)).sum(axis=1) / 6
    by_chance = 1 / 3  # of the labels on the scale
    coefficient = section.chance_corrected.brennan_prediger["identity"]
    expected = (weights @ pairs / weights.sum() - by_chance) / (1 - by_chance)
    assert coefficient.value == pytest.approx(expected, rel=1e-12)
    for estimate in (delta, compared, coefficient):
        assert (estimate.scope.instances, estimate.scope.raters) == ("dataset", "these")
        assert "inverse inclusion probabilities" in estimate.method
    runs = groups.machine_machine.percentage_agreement
    assert runs.scope.instances == "selected"


def test_agreement_without_a_control_sample_is_that_of_the_selected_instances():
    made = agreed(control=False)
    section = criterion(made)
    counts, weights = human_counts(made)
    alpha = section.all_units.human_human.krippendorff_alpha
    expected = agreement(counts, weights=weights).krippendorff_alpha.value
    assert alpha.value == pytest.approx(expected, rel=1e-12)
    assert alpha.scope.instances == alpha.narrower[0].scope.instances == "selected"


def test_few_effective_instances_have_no_interval_of_agreement():
    """Of 40 instances, two stand for nearly the whole dataset."""
    made = [
        row | {"inclusion_probability": 0.001 if int(row["unit"][1:]) < 2 else 1.0}
        for row in agreed()
        if int(row["unit"][1:]) < 40
    ]
    section = criterion(made)
    for estimate in (
        section.all_units.human_human.krippendorff_alpha,
        section.all_units.machines["judge"].human_machine.percentage_agreement,
    ):
        assert (estimate.is_defined, estimate.has_interval) == (True, False)
        assert "effective" in estimate.reason


def test_probabilities_without_a_phase_are_used():
    made = [row | {"phase": ""} for row in rows(control=False)]
    section = criterion(made)
    of_new = section.systems.win_rate["new"]
    assert of_new.value == pytest.approx(weighted_rate(made), rel=1e-12)
    assert of_new.scope.instances == "dataset"
    assert section.selection["old vs new"].win_rate.scope.instances == "dataset"
    with refused_file(("ratings", len(made), "probability_missing")):
        RatingTable.from_rows([*made[:-1], made[-1] | {"unit": "v", "inclusion_probability": None}])
