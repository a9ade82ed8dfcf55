"""Prediction-powered estimates against published values and the reference package; edge cases."""

import warnings
from statistics import NormalDist

import numpy as np
import pytest

from tests.paths import GOLDEN
from tests.refusals import refused
from tests.tiebreak.stats.published import golden, gpt_machine, pandalm
from tiebreak.stats.machines.labelled_sample import NO_LABEL, NO_VARIATION, ONE_INSTANCE
from tiebreak.stats.machines.prediction_powered import (
    NO_PAIR,
    NO_UNLABELLED,
    prediction_powered_mean,
    prediction_powered_win_rate,
)
from tiebreak.stats.rankings.win_rates import win_rate

FOREST, PANDALM = "ppi-forest_badmodel", "PandaLM-gpt3.5-perm0"


def forest():
    """Return labels and predictions in the order of the file."""
    path = GOLDEN / "ppi" / "forest_badmodel.csv"
    labels, predictions = np.loadtxt(path, delimiter=",", skiprows=1, unpack=True)
    return labels, predictions


def pandalm_scores():
    """Return human and machine scores: 1 if the second answer won, ½ for a tie or if unparsed."""
    points = np.array([0.5, 0.0, 1.0])
    humans = pandalm()
    votes = np.stack([(humans == label).sum(axis=1) for label in range(3)], axis=1)
    machine = gpt_machine()
    order = np.random.default_rng(0).permutation(len(humans))
    return points[votes.argmax(axis=1)][order], points[np.where(machine < 0, 0, machine)][order]


def as_row(estimate):
    return f"{estimate.value:.4f} [{estimate.low:.4f},{estimate.high:.4f}]"


@pytest.mark.parametrize("dataset", [FOREST, PANDALM])
class TestPublished:
    def scores(self, dataset):
        return forest() if dataset == FOREST else pandalm_scores()

    def expected(self, dataset, statistic):
        rows = [value for key, value in golden().items() if key[:2] == (dataset, statistic)]
        assert len(rows) == 1
        return rows[0]

    def test_true_and_classical_mean(self, dataset):
        truth, machine = self.scores(dataset)
        assert f"{truth.mean():.4f}" == self.expected(dataset, "true_mean_all")
        classical = prediction_powered_mean(truth[:200], machine[:200], machine[200:]).classical
        assert as_row(classical) == self.expected(dataset, "classical_mean_ci95")
        assert classical.n == 200

    @pytest.mark.parametrize(
        ("statistic", "lam", "start"),
        [
            ("ppi_mean_ci95 (ARES, lam=1)", 1, 200),
            ("ppi_mean_ci95 (ARES, unlab=all)", 1, 0),
            ("ppi_mean_ci95 (ppi_py lam=1)", 1, 200),
            ("ppi++_mean_ci95 (ppi_py lam=None)", None, 200),
        ],
    )
    def test_prediction_powered_mean(self, dataset, statistic, lam, start):
        truth, machine = self.scores(dataset)
        means = prediction_powered_mean(truth[:200], machine[:200], machine[start:], lam=lam)
        assert as_row(means.estimate) == self.expected(dataset, statistic)
        assert (means.n_labelled, means.n_unlabelled) == (200, len(truth) - start)


def sample(seed, *, n=60, others=300):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n + others)
    machine = 0.3 + 0.2 * seed * truth + rng.normal(size=n + others)
    return truth[:n], machine[:n], machine[n:]


@pytest.fixture
def reference():
    """Import the reference package without letting it silence all warnings."""
    with warnings.catch_warnings():
        yield pytest.importorskip("ppi_py", reason="ppi-python is not installed.")


@pytest.mark.parametrize("lam", [None, 1, 0.25, 0])
@pytest.mark.parametrize("seed", range(6))
def test_equals_the_reference_package(reference, seed, lam):
    parts = sample(seed)
    value = float(np.squeeze(reference.ppi_mean_pointestimate(*parts, lam=lam)))
    low, high = np.squeeze(reference.ppi_mean_ci(*parts, alpha=0.05, lam=lam))
    estimate = prediction_powered_mean(*parts, lam=lam).estimate
    assert [estimate.value, estimate.low, estimate.high] == pytest.approx(
        [value, low, high], abs=1e-12
    )


class TestByHand:
    LABELS, PREDICTIONS = np.array([1.0, 0, 1, 1]), np.array([1.0, 0, 0, 1])
    OTHERS = np.array([1.0, 0, 1, 1, 1, 0])

    def test_rectified_mean(self):
        means = prediction_powered_mean(self.LABELS, self.PREDICTIONS, self.OTHERS, lam=1)
        assert means.estimate.value == pytest.approx(4 / 6 + 1 / 4)
        error = np.sqrt((3 / 16) / 4 + (2 / 9) / 6)
        assert means.estimate.standard_error == pytest.approx(error)
        assert means.estimate.high == pytest.approx(4 / 6 + 1 / 4 + 1.959963984540054 * error)
        assert (means.lam, means.n_labelled, means.n_unlabelled) == (1, 4, 6)

    def test_power_tuned(self):
        means = prediction_powered_mean(self.LABELS, self.PREDICTIONS, self.OTHERS)
        # cov = 2/4 − 3/4·2/4 = 1/8; six of ten predictions are 1, variance .24·10/9
        lam = (1 / 8) / ((1 + 4 / 6) * (0.24 * 10 / 9))
        assert means.lam == pytest.approx(lam)
        assert means.estimate.value == pytest.approx(0.75 + lam * (4 / 6 - 1 / 2))
        assert f"{means.lam:.4g}" in means.estimate.method

    def test_unbiased_variances(self):
        means = prediction_powered_mean(self.LABELS, self.PREDICTIONS, self.OTHERS, lam=1, ddof=1)
        rest = self.LABELS - self.PREDICTIONS
        error = np.sqrt(rest.var(ddof=1) / 4 + self.OTHERS.var(ddof=1) / 6)
        assert means.estimate.standard_error == pytest.approx(error)

    def test_without_the_machine_it_is_the_classical_mean(self):
        means = prediction_powered_mean(self.LABELS, self.PREDICTIONS, self.OTHERS, lam=0)
        for field in ("value", "low", "high", "standard_error", "n"):
            expected = getattr(means.classical, field)
            assert getattr(means.estimate, field) == pytest.approx(expected)

    def test_confidence_level(self):
        arguments = self.LABELS, self.PREDICTIONS, self.OTHERS
        wide = prediction_powered_mean(*arguments, confidence_level=0.99).estimate
        narrow = prediction_powered_mean(*arguments, confidence_level=0.8).estimate
        expected = NormalDist().inv_cdf(0.995) / NormalDist().inv_cdf(0.9)
        ratio = (wide.high - wide.low) / (narrow.high - narrow.low)
        assert ratio == pytest.approx(expected)


class TestLambda:
    def test_is_cut_at_both_ends(self):
        labels, predictions, others = sample(3)
        assert prediction_powered_mean(labels, -labels, -others).lam == 0
        assert prediction_powered_mean(10 * predictions, predictions, others).lam == 1

    def test_constant_predictions_are_not_believed(self):
        means = prediction_powered_mean([0.0, 1, 1], [0.1] * 3, [0.1] * 7)
        assert means.lam == 0
        assert means.estimate.value == means.classical.value
        assert means.estimate.low == pytest.approx(means.classical.low)

    def test_minimises_the_standard_error_of_shared_instances(self):
        rng = np.random.default_rng(5)
        labels, predictions, others = sample(4)
        clusters, rest = rng.integers(0, 20, size=60), rng.integers(10, 90, size=300)

        def error(lam):
            return prediction_powered_mean(
                labels, predictions, others, lam=lam, clusters=clusters, unlabelled_clusters=rest
            )

        tuned = error(None)
        assert 0 < tuned.lam < 1
        grid = [error(lam).estimate.standard_error for lam in np.linspace(0, 1, 201)]
        assert tuned.estimate.standard_error <= min(grid) + 1e-12
        assert abs(np.linspace(0, 1, 201)[np.argmin(grid)] - tuned.lam) <= 0.005


def assert_same_numbers(actual, expected):
    """Compare approximately, because sums over arrays of different lengths round differently."""
    for name in ("value", "low", "high", "standard_error"):
        wanted = getattr(expected.estimate, name)
        assert getattr(actual.estimate, name) == pytest.approx(wanted, rel=1e-12), name
    assert actual.estimate.n == expected.estimate.n
    assert actual.lam == pytest.approx(expected.lam)


class TestMissingMachineLabels:
    def test_leave_and_are_counted(self):
        labels, predictions, others = sample(2)
        holes, other_holes = predictions.copy(), others.copy()
        holes[:3], other_holes[:10] = np.nan, np.nan
        means = prediction_powered_mean(labels, holes, other_holes)
        expected = prediction_powered_mean(labels[3:], predictions[3:], others[10:])
        assert_same_numbers(means, expected)
        assert (means.unparsed_labelled, means.unparsed_unlabelled) == (3, 10)
        assert (means.n_labelled, means.n_unlabelled) == (57, 290)

    def test_do_not_take_human_labels_from_the_classical_mean(self):
        labels, predictions, others = sample(2)
        predictions[:3] = np.nan
        means = prediction_powered_mean(labels, predictions, others)
        assert means.classical.value == pytest.approx(labels.mean())
        assert means.classical.n == 60

    def test_all_of_them(self):
        means = prediction_powered_mean([1.0, 0, 1], [np.nan] * 3, [1.0, 0])
        assert (means.estimate.reason, means.estimate.is_defined) == (NO_PAIR, False)
        assert np.isnan(means.lam)
        assert means.classical.value == pytest.approx(2 / 3)
        means = prediction_powered_mean([1.0, 0, 1], [1.0, 0, 0], [np.nan], lam=1)
        assert (means.estimate.reason, means.lam) == (NO_UNLABELLED, 1)


class TestSharedInstances:
    def repeated(self, labels, predictions, others, **options):
        """Return the estimate if every unit occurs twice and both copies share an instance."""
        n, total = len(labels), len(labels) + len(others)
        return prediction_powered_mean(
            *(np.repeat(part, 2) for part in (labels, predictions, others)),
            clusters=np.repeat(np.arange(n), 2),
            unlabelled_clusters=np.repeat(np.arange(n, total), 2),
            **options,
        )

    @pytest.mark.parametrize("ddof", [0, 1])
    def test_repeated_units_bring_no_precision(self, ddof):
        parts = sample(3)
        once = prediction_powered_mean(*parts, lam=0.4, ddof=ddof)
        twice = self.repeated(*parts, lam=0.4, ddof=ddof)
        for name in ("estimate", "classical"):
            first, second = getattr(once, name), getattr(twice, name)
            assert second.value == pytest.approx(first.value)
            assert second.standard_error == pytest.approx(first.standard_error)
            assert "instance" in second.method
            assert "instance" not in first.method

    def test_unlabelled_units_of_one_instance_have_no_weight(self):
        """Among 60 labels of which half are right, one unlabelled unit must not decide the mean."""
        labels, clusters = np.repeat([1.0, 0.0], 30), np.repeat(np.arange(30), 2)
        for others in ([0.0], [0.0, 0.0]):
            of_one = np.full(len(others), 99)
            result = prediction_powered_mean(
                labels, labels, others, clusters=clusters, unlabelled_clusters=of_one
            )
            assert (result.lam, result.estimate.value) == (0, result.classical.value)

    def test_a_cluster_for_every_unit_is_none(self):
        labels, predictions, others = sample(3)
        names = np.array([f"i{k:04}" for k in np.random.default_rng(1).permutation(360)])
        means = prediction_powered_mean(
            labels, predictions, others, clusters=names[:60], unlabelled_clusters=names[60:]
        )
        expected = prediction_powered_mean(labels, predictions, others)
        assert means.estimate.standard_error == pytest.approx(expected.estimate.standard_error)
        assert (means.lam, means.estimate.method) == (expected.lam, expected.estimate.method)

    def test_by_hand(self):
        means = prediction_powered_mean(
            [1.0, 1, 0],
            [1.0, 0, 0],
            [1.0, 0, 0, 1],
            lam=1,
            clusters=["a", "a", "b"],
            unlabelled_clusters=["a", "c", "c", "c"],
        )
        rest, others = np.array([0, 1, 0]) - 1 / 3, np.array([1, 0, 0, 1]) - 1 / 2
        sums = (
            (rest[0] + rest[1]) / 3 + others[0] / 4,
            rest[2] / 3,
            (others[1] + others[2] + others[3]) / 4,
        )
        assert means.estimate.standard_error == pytest.approx(np.hypot.reduce(sums))
        classical = np.array([1, 1, 0]) - 2 / 3
        expected = np.hypot(classical[0] + classical[1], classical[2]) / 3
        assert means.classical.standard_error == pytest.approx(expected)

    def test_a_unit_on_both_sides_is_one_unit(self):
        labels, predictions, others = sample(4)
        everything = np.concatenate([predictions, others])
        rows = np.arange(360)
        means = prediction_powered_mean(
            labels, predictions, everything, lam=1, clusters=rows[:60], unlabelled_clusters=rows
        )
        naive = prediction_powered_mean(labels, predictions, everything, lam=1)
        assert means.estimate.value == naive.estimate.value
        rest = labels - predictions
        covariance = ((rest - rest.mean()) @ (predictions - everything.mean())) / (60 * 360)
        expected = naive.estimate.standard_error**2 + 2 * covariance
        assert means.estimate.standard_error**2 == pytest.approx(expected)


class TestWinRate:
    HUMANS = ((2, 0, 1), (0, 3, 0), (0, 1, 2), (1, 0, 0), (0, 0, 0), (0, 0, 0), (0, 0, 0))
    MACHINE = ((1, 0, 0), (1, 1, 0), (0, 0, 0), (0, 1, 1), (1, 0, 0), (0, 0, 2), (0, 0, 0))

    def test_units_weigh_alike_whatever_their_ratings(self):
        rates = prediction_powered_win_rate(self.HUMANS, self.MACHINE, lam=1)
        expected = prediction_powered_mean(
            [2 / 3, 1 / 2, 1 / 6, 1], [1, 3 / 4, np.nan, 1 / 4], [1, 0, np.nan], lam=1
        )
        assert_same_numbers(rates, expected)
        assert (rates.unparsed_labelled, rates.unparsed_unlabelled) == (1, 1)
        assert rates.classical.value == pytest.approx(7 / 12)

    def test_the_other_system_has_the_rest(self):
        one = prediction_powered_win_rate(self.HUMANS, self.MACHINE, ddof=1)
        other = prediction_powered_win_rate(
            np.array(self.HUMANS)[:, ::-1], np.array(self.MACHINE)[:, ::-1], ddof=1
        )
        assert other.lam == pytest.approx(one.lam)
        assert other.estimate.value == pytest.approx(1 - one.estimate.value)
        assert other.estimate.low == pytest.approx(1 - one.estimate.high)

    def test_classical_equals_the_win_rate_of_equally_rated_units(self):
        humans = np.random.default_rng(0).multinomial(3, [0.5, 0.2, 0.3], size=40)
        machine = np.eye(3, dtype=int)[np.random.default_rng(1).integers(0, 3, size=40)]
        rates = prediction_powered_win_rate(humans, machine)
        assert rates.classical.value == pytest.approx(win_rate(humans).value)
        assert rates.estimate.reason == NO_UNLABELLED

    def test_instances(self):
        clusters = ["a", "a", "b", "c", "a", "c", "d"]
        rates = prediction_powered_win_rate(self.HUMANS, self.MACHINE, lam=1, clusters=clusters)
        expected = prediction_powered_mean(
            [2 / 3, 1 / 2, 1 / 6, 1],
            [1, 3 / 4, np.nan, 1 / 4],
            [1, 0, np.nan],
            lam=1,
            clusters=clusters[:4],
            unlabelled_clusters=clusters[4:],
        )
        assert_same_numbers(rates, expected)

    def test_pandalm_with_unread_answers_missing(self):
        labels, machine = pandalm(), gpt_machine()
        humans = np.stack([(labels == label).sum(axis=1) for label in (1, 0, 2)], axis=1)
        humans[300:] = 0
        rates = prediction_powered_win_rate(
            humans, np.stack([machine == label for label in (1, 0, 2)], axis=1).astype(int)
        )
        assert rates.unparsed_labelled + rates.unparsed_unlabelled == (machine < 0).sum() > 0
        assert rates.n_labelled + rates.unparsed_labelled == 300
        truth = np.where(labels == 1, 1, np.where(labels == 0, 0.5, 0)).mean()
        assert rates.estimate.low < truth < rates.estimate.high


class TestDegenerate:
    def test_nothing_at_all(self):
        means = prediction_powered_mean([], [], [])
        assert (means.estimate.reason, means.classical.reason) == (NO_PAIR, NO_LABEL)
        assert (means.estimate.n, means.n_labelled) == (0, 0)
        empty = np.zeros((4, 3), dtype=int)
        assert prediction_powered_win_rate(empty, empty, clusters=[1, 1, 2, 2]).estimate.n == 0

    @pytest.mark.parametrize("ddof", [0, 1])
    def test_one_human_label_has_no_interval(self, ddof):
        means = prediction_powered_mean([1.0], [0.0], [0.0, 1, 1], lam=1, ddof=ddof)
        assert means.estimate.value == pytest.approx(5 / 3)
        for estimate in (means.estimate, means.classical):
            assert estimate.reason == ONE_INSTANCE
            assert np.isnan([estimate.low, estimate.high, estimate.standard_error]).all()

    def test_one_unlabelled_unit_has_no_interval(self):
        means = prediction_powered_mean([1.0, 0, 1], [0.0, 0, 1], [1.0], lam=1)
        assert (means.estimate.reason, means.classical.reason) == (ONE_INSTANCE, None)

    def test_one_instance_has_no_interval(self):
        means = prediction_powered_mean(
            [1.0, 0], [0.0, 0], [1.0, 1], clusters=["a", "a"], unlabelled_clusters=["a", "b"]
        )
        assert means.estimate.reason == means.classical.reason == ONE_INSTANCE

    def test_labels_that_do_not_vary_claim_no_certainty(self):
        means = prediction_powered_mean([0.1] * 7, [0.3] * 7, [0.3] * 9, lam=1)
        assert means.estimate.reason == means.classical.reason == NO_VARIATION
        assert means.estimate.value == pytest.approx(0.1)
        assert np.isnan(means.estimate.low)

    @pytest.mark.parametrize(
        ("change", "code", "name"),
        [
            ({"labels": [np.nan, 1.0]}, "not_finite", "labels"),
            ({"labels": [1.0]}, "lengths_differ", "predictions 2"),
            ({"labels": [[1.0, 0.0]]}, "wrong_shape", "labels"),
            ({"predictions": [np.inf, 1.0]}, "not_finite", "predictions"),
            ({"unlabelled": [-np.inf]}, "not_finite", "unlabelled"),
            ({"lam": 1.5}, "out_of_range", "lam"),
            ({"lam": np.nan}, "out_of_range", "lam"),
            ({"ddof": 2}, "unknown_choice", "ddof"),
            ({"confidence_level": 95}, "out_of_range", "confidence_level"),
            ({"clusters": [1, 2]}, "clusters_of_one_only", "unlabelled_clusters"),
            ({"clusters": [1], "unlabelled_clusters": [1]}, "wrong_length", "clusters"),
            (
                {"clusters": [1, 2], "unlabelled_clusters": [1, 2]},
                "wrong_length",
                "unlabelled_clusters",
            ),
        ],
    )
    def test_bad_arguments_are_named(self, change, code, name):
        arguments = {"labels": [1.0, 0.0], "predictions": [1.0, 1.0], "unlabelled": [1.0]}
        with refused(code, naming=name):
            prediction_powered_mean(**(arguments | change))

    @pytest.mark.parametrize(
        ("humans", "machine", "code", "name"),
        [
            ([[1, 0]], [[1, 0]], "wrong_shape", "humans"),
            ([[1, 0, 0]], [[1, 0]], "wrong_shape", "machine"),
            ([[1, 0, -1]], [[1, 0, 0]], "not_counts", "humans"),
            ([[1, 0, 0]], [[0.5, 0, 0]], "not_counts", "machine"),
            ([[1, 0, 0]], [[1, 0, 0]] * 2, "lengths_differ", "machine 2"),
        ],
    )
    def test_bad_counts_are_named(self, humans, machine, code, name):
        with refused(code, naming=name):
            prediction_powered_win_rate(humans, machine)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [1, 3])
@pytest.mark.parametrize("lam", [None, 1])
def test_intervals_cover(lam, shared):
    """Units share instances, and some instances are in both sets."""
    rng, hits, studies = np.random.default_rng(7), 0, 2000
    for _ in range(studies):
        instance = rng.normal(size=(150, 1))
        truth = (instance + rng.normal(size=(150, 3)))[:, :shared]
        machine = 0.5 * truth + 0.5 * instance + 0.5 * rng.normal(size=truth.shape)
        labelled = np.arange(truth.size) < truth.size // 3
        names = np.repeat(np.arange(150), shared)
        if shared > 1:
            labelled = rng.random(truth.size) < 0.4
        estimate = prediction_powered_mean(
            truth.ravel()[labelled],
            machine.ravel()[labelled],
            machine.ravel()[~labelled],
            lam=lam,
            clusters=names[labelled],
            unlabelled_clusters=names[~labelled],
        ).estimate
        hits += estimate.low <= 0 <= estimate.high
    assert 0.93 <= hits / studies <= 0.965
