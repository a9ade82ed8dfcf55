"""Statistics equal the published values to the four decimals in golden.csv."""

import numpy as np
import pytest

from tests.tiebreak.stats.published import (
    counts_of,
    golden,
    gpt_machine,
    pandalm,
    pandalm_machine,
    separability,
    summeval,
)
from tiebreak.stats import (
    Comparison,
    agreement,
    agreement_strata,
    binned_js,
    classification,
    cohen_kappa,
    collect_rating_sets,
    count_matrix,
    human_machine,
    jensen_shannon,
    krippendorff_alpha,
    leave_one_out,
    percentage_agreement,
    summarise_rating_sets,
    unique_label_strata,
    win_rate,
)
from tiebreak.stats.raters.additive import NO_PAIR

CONFIGURATIONS = ("mistral-7b_vicuna-7b_samsum", "vicuna-7b_gpt-3.5-turbo-instruct_cnn_dm")


def assert_golden(value, dataset, statistic, stratum):
    expected = golden()[dataset, statistic, stratum]
    assert f"{value:.4f}" == f"{float(expected):.4f}", (dataset, statistic, stratum)


def pooled(strata, *names):
    return np.logical_or.reduce([stratum.members for stratum in strata if stratum.name in names])


@pytest.mark.parametrize("criterion", ["coherence", "relevance"])
class TestSummEval:
    def test_alpha_of_all_units(self, criterion):
        counts = summeval(criterion)
        dataset = f"SummEval-expert-{criterion}"
        ordinal = krippendorff_alpha(counts, level="ordinal").value
        assert_golden(ordinal, dataset, "kalpha_ordinal_HH", "All")
        interval = krippendorff_alpha(counts, level="interval").value
        assert_golden(interval, dataset, "kalpha_interval_HH", "All")

    @pytest.mark.parametrize(
        ("stratum", "names"),
        [("0.60<=PA<1", ("0.8<=PA<1", "0.6<=PA<0.8")), ("PA<0.60", ("PA<0.6",))],
    )
    def test_strata_of_agreement(self, criterion, stratum, names):
        counts = summeval(criterion)
        inside = pooled(agreement_strata(counts, level="ordinal"), *names)
        dataset = f"SummEval-expert-{criterion}"
        assert_golden(inside.sum(), dataset, "n_items", stratum)
        alpha = krippendorff_alpha(counts[inside], level="ordinal").value
        assert_golden(alpha, dataset, "kalpha_ordinal_HH", stratum)

    def test_full_agreement_on_several_labels_is_an_alpha_of_one(self, criterion):
        counts = summeval(criterion)
        inside = pooled(agreement_strata(counts, level="ordinal"), "PA=1")
        dataset = f"SummEval-expert-{criterion}"
        assert_golden(inside.sum(), dataset, "n_items", "PA=1")
        alpha = krippendorff_alpha(counts[inside], level="ordinal").value
        assert_golden(alpha, dataset, "kalpha_ordinal_HH", "PA=1")

    @pytest.mark.parametrize("unique", [1, 2, 3])
    def test_strata_of_unique_labels(self, criterion, unique):
        counts = summeval(criterion)
        strata = {stratum.name: stratum for stratum in unique_label_strata(counts)}
        assert set(strata) == {"1", "2", "3"}
        units = strata[str(unique)]
        alpha = krippendorff_alpha(counts[units.members], level="ordinal").value
        stratum = f"unique={unique} (n={units.n_units})"
        assert_golden(alpha, f"SummEval-expert-{criterion}", "kalpha_ordinal_HH", stratum)


class TestPandaLM:
    dataset = "PandaLM-test"

    def test_humans(self):
        among_humans = agreement(counts_of(pandalm(), 3))
        for statistic, name in (
            ("kalpha_nominal_HH", "krippendorff_alpha"),
            ("pct_agreement_HH", "percentage_agreement"),
            ("randolph_HH", "randolph_kappa"),
            ("fleiss_HH", "fleiss_kappa"),
            ("LOO_expected_HH", "leave_one_out"),
        ):
            assert_golden(among_humans.estimates()[name].value, self.dataset, statistic, "All")

    @pytest.mark.parametrize(("first", "second"), [(1, 2), (1, 3), (2, 3)])
    def test_cohen_of_two_annotators(self, first, second):
        labels = pandalm()
        kappa = cohen_kappa(labels[:, first - 1], labels[:, second - 1], n_labels=3)
        assert_golden(kappa.value, self.dataset, "cohen_kappa", f"annotator{first} vs {second}")

    def test_strata_of_agreement(self):
        counts = counts_of(pandalm(), 3)
        strata = agreement_strata(counts, level="nominal")
        for stratum, names in (
            ("PA=1", ("PA=1",)),
            ("0.60<=PA<1", ("0.8<=PA<1", "0.6<=PA<0.8")),
            ("PA<0.60", ("PA<0.6",)),
        ):
            inside = pooled(strata, *names)
            assert_golden(inside.sum(), self.dataset, "n_items", stratum)
            alpha = krippendorff_alpha(counts[inside])
            expected = golden()[self.dataset, "kalpha_nominal_HH", stratum]
            if expected:
                assert f"{alpha.value:.4f}" == expected
            else:
                assert alpha.reason == NO_PAIR

    def test_majorities(self):
        modes = counts_of(pandalm(), 3).argmax(axis=1)
        for label in range(3):
            assert_golden(
                (modes == label).sum(), self.dataset, "majority_label_count", f"label {label}"
            )

    def test_pandalm_7b_against_the_majority(self):
        counts = counts_of(pandalm(), 3)
        pair = Comparison.of(counts, counts_of(pandalm_machine(), 3))
        against_machine = human_machine(pair)
        judge = "judge pandalm-7b"
        assert_golden(
            against_machine.krippendorff_alpha.value, self.dataset, "kalpha_HwMw", f"{judge} All"
        )
        assert_golden(
            against_machine.leave_one_out.value, self.dataset, "LOO_expected_HM", f"{judge} All"
        )
        distance = "binned_JS_distance_base_e"
        assert_golden(against_machine.binned_js.value, self.dataset, distance, f"{judge} All")
        divergence = binned_js(pair, form="divergence").value
        assert_golden(divergence, self.dataset, "binned_JS_divergence_base_2", f"{judge} All")

    @pytest.mark.parametrize(
        ("stratum", "names"),
        [("PA=1", ("PA=1",)), ("0.60<=PA<1", ("0.8<=PA<1", "0.6<=PA<0.8"))],
    )
    def test_pandalm_7b_by_stratum(self, stratum, names):
        counts = counts_of(pandalm(), 3)
        machine = counts_of(pandalm_machine(), 3)
        inside = pooled(agreement_strata(counts, level="nominal"), *names)
        against_machine = human_machine(Comparison.of(counts[inside], machine[inside]))
        named = f"judge pandalm-7b {stratum}"
        assert_golden(against_machine.krippendorff_alpha.value, self.dataset, "kalpha_HwMw", named)
        assert_golden(
            against_machine.percentage_agreement.value, self.dataset, "pct_agreement_HwMw", named
        )

    @pytest.mark.parametrize(
        ("judge", "machine"), [("gpt-3.5", gpt_machine), ("pandalm-7b", pandalm_machine)]
    )
    def test_judges_as_classifiers(self, judge, machine):
        # As in the publication, an unparsed answer is converted to a tie.
        answers = np.maximum(machine(), 0)
        pair = Comparison.of(counts_of(pandalm(), 3), counts_of(answers, 3))
        for name, score in classification(pair).estimates().items():
            assert_golden(score.value, self.dataset, name, f"judge {judge} vs human majority")

    def test_gpt_with_unparsed_answers_as_ties(self):
        pair = Comparison.of(counts_of(pandalm(), 3), counts_of(np.maximum(gpt_machine(), 0), 3))
        against_machine = human_machine(pair)
        for statistic, name in (
            ("kalpha_HwMw", "krippendorff_alpha"),
            ("LOO_expected_HM", "leave_one_out"),
            ("binned_JS_distance_base_e", "binned_js"),
        ):
            estimate = against_machine.estimates()[name]
            assert_golden(estimate.value, self.dataset, statistic, "judge gpt-3.5 All")


class TestBeyondCorrelationTable4:
    """Two units in bin 2 and one unit in bin 3, whose label distributions give the printed bins."""

    dataset = "BC-Table4-toy"
    humans = [[1, 2, 0], [0, 2, 1], [0, 1, 2]]
    machine = [[1, 1, 0], [0, 0, 2], [0, 2, 0]]

    @pytest.mark.parametrize(
        ("form", "stratum"),
        [
            ("distance", "scipy default: distance, ln"),
            ("divergence", "Eq.2: divergence, log2"),
            ("distance_base_2", "distance, log2"),
        ],
    )
    def test_binned(self, form, stratum):
        pair = Comparison.of(self.humans, self.machine)
        distance = binned_js(pair, level="ordinal", form=form)
        assert_golden(distance.value, self.dataset, "binned_JS", stratum)

    @pytest.mark.parametrize(("form", "words"), [("distance", "ln"), ("divergence", "log2")])
    def test_bins(self, form, words):
        second = jensen_shannon([1, 4, 1], [1, 1, 2], form=form)
        third = jensen_shannon([0, 1, 2], [0, 2, 0], form=form)
        assert_golden(float(second), self.dataset, "JS bin2", f"{form}, {words}")
        assert_golden(float(third), self.dataset, "JS bin3", f"{form}, {words}")


@pytest.mark.parametrize(
    "labels", [[1, 1, 2, 2], [1, 2, 0, 1], [0, 1, 2, 2], [1, 1, 1, 2], [1, 1, 1, 1]]
)
def test_href_leave_one_out(labels):
    estimate = leave_one_out(counts_of(np.array([labels]), 3))
    assert_golden(estimate.value, "HREF-unit", "LOO_inner expected", str(labels))


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_krippendorffs_three_coders(level):
    _ = -1
    coders = np.array(
        [
            [_, _, _, _, _, 3, 4, 1, 2, 1, 1, 3, 3, _, 3],
            [1, _, 2, 1, 3, 3, 4, 3, _, _, _, _, _, _, _],
            [_, _, 2, 1, 3, 4, 4, _, 2, 1, 1, 3, 3, _, 4],
        ]
    )
    labels = np.where(coders > 0, coders - 1, -1).T
    counts = counts_of(labels, 4)
    alpha = krippendorff_alpha(counts, level=level, values=[1, 2, 3, 4]).value
    dataset = "Krippendorff-canonical-3coders"
    assert_golden(alpha, dataset, f"kalpha_{level}", "15 units, missing data")


@pytest.mark.parametrize("name", CONFIGURATIONS)
class TestSeparabilityStudy:
    def test_rating_sets(self, name):
        labels, instances, raters, units = separability(name)
        sets = collect_rating_sets(labels, instances=instances, raters=raters, units=units)
        summary = summarise_rating_sets(sets)
        dataset = f"SEP-{name}"
        assert (summary.n, summary.n_incomplete) == (150, 0)
        zero = "rating_sets inconsistent (c=0)"
        assert_golden(summary.zero.value, dataset, zero, "150 sets")
        perfect = "rating_sets perfectly consistent (c=1)"
        assert_golden(summary.perfect.value, dataset, perfect, "150 sets")
        assert_golden(summary.consistency.value, dataset, "mean_consistency", "150 sets")
        strength = "mean preference strength (Eq.7)"
        assert_golden(summary.preference_strength.value, dataset, strength, "150 sets")
        assert_golden(150 * summary.all_ties.value, dataset, "all-tie rating sets", "150 sets")
        assert summary.zero.value == pytest.approx(
            summary.contradictory.value + summary.all_ties.value
        )

    def test_units(self, name):
        labels, _, _, units = separability(name)
        counts = count_matrix(units, labels + 1, n_units=250, n_labels=3)
        dataset = f"SEP-{name}"
        votes = golden()[dataset, "votes A/tie/B", "750 votes"]
        assert "/".join(map(str, counts.sum(axis=0))) == votes
        alpha = krippendorff_alpha(counts).value
        assert_golden(alpha, dataset, "kalpha_nominal per pair", "250 pairs x3 raters")
        one_out = leave_one_out(counts).value
        assert_golden(one_out, dataset, "LOO_expected_HH", "250 pairs x3 raters")
        won, tied, _ = counts.sum(axis=0)
        assert win_rate(counts).value == pytest.approx((won + tied / 2) / 750)
        assert percentage_agreement(counts).n == 250
