"""The alternative annotator test: against the procedure written out, and at its edges."""

import numpy as np
import pytest
import scipy.stats

from tests.refusals import refused
from tiebreak.stats import alternative_annotator_test, hajek_estimate
from tiebreak.stats.machines.alternative_annotators import TOO_FEW_INSTANCES, coin_winning_rates


def by_hand(table, answers, *, epsilon, score, instance_of=None, least=30):
    """Perform the test rating by rating on a table (units × raters, NaN if missing)."""
    instances = instance_of or range(len(table))
    p_values, advantages = [], []
    for rater in range(table.shape[1]):
        won, difference = {}, {}
        for unit, labels in enumerate(table):
            others = np.delete(labels, rater)
            others = others[~np.isnan(others)]
            if np.isnan(labels[rater]) or not len(others):
                continue
            human, machine = score(labels[rater], others), score(answers[unit], others)
            won.setdefault(instances[unit], []).append(machine >= human)
            difference.setdefault(instances[unit], []).append(
                float(human >= machine) - float(machine >= human)
            )
        if len(won) >= least:
            means = [np.mean(values) for values in difference.values()]
            p_values.append(scipy.stats.ttest_1samp(means, epsilon, alternative="less").pvalue)
            advantages.append(np.mean([np.mean(values) for values in won.values()]))
    m = len(p_values)
    thresholds = 0.05 * np.arange(1, m + 1) / m / sum(1 / k for k in range(1, m + 1))
    passed = np.flatnonzero(np.sort(p_values) <= thresholds)
    return (0 if not len(passed) else passed[-1] + 1) / m, np.mean(advantages), m


def agreement(label, others):
    return np.mean(others == label)


def neg_rmse(label, others):
    return -np.sqrt(np.mean((others - label) ** 2))


def long(table):
    unit, rater = np.nonzero(~np.isnan(table))
    return unit, rater, table[unit, rater].astype(int)


def counts(answers, labels):
    return np.eye(labels, dtype=int)[answers]


def simulated(seed, labels=4, raters=5, units=90):
    """Return labels around a true one, with gaps, and the answers of a machine."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(labels, size=units)
    noisy = np.clip(truth[:, None] + rng.integers(-1, 2, size=(units, raters)), 0, labels - 1)
    table = np.where(rng.random((units, raters)) < 0.3, np.nan, noisy)
    answers = np.where(rng.random(units) < 0.75, truth, rng.integers(labels, size=units))
    return table, answers


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("level", "score"), [("nominal", agreement), ("ordinal", neg_rmse)])
def test_it_equals_the_procedure_written_out(seed, level, score):
    table, answers = simulated(seed)
    test = alternative_annotator_test(*long(table), counts(answers, 4), level=level, epsilon=0.15)
    rate, advantage, annotators = by_hand(table, answers, epsilon=0.15, score=score)
    assert (test.winning_rate, test.annotators) == (rate, annotators)
    assert test.advantage_probability == pytest.approx(advantage, abs=1e-12)
    assert test.passes == (rate >= 0.5)
    assert test.score == {"nominal": "agreement", "ordinal": "neg_rmse"}[level]


def test_simulated_machines_may_replace_some_annotators_and_not_others():
    """The comparison above would prove little if every winning rate were 0 or 1."""
    rates = {by_hand(*simulated(seed), epsilon=0.15, score=neg_rmse)[0] for seed in range(6)}
    assert len(rates) > 1


def test_values_that_are_not_evenly_spaced_count_as_they_are():
    table, answers = simulated(1)
    values = np.array([0, 0.1, 0.7, 5])
    test = alternative_annotator_test(
        *long(table), counts(answers, 4), level="ratio", values=values
    )
    spread = np.full(table.shape, np.nan)
    rated = ~np.isnan(table)
    spread[rated] = values[table[rated].astype(int)]
    rate, advantage, _ = by_hand(spread, values[answers], epsilon=0.1, score=neg_rmse)
    assert test.winning_rate == rate
    assert test.advantage_probability == pytest.approx(advantage, abs=1e-12)


def test_units_of_an_instance_are_one_observation():
    table, answers = simulated(2, units=120)
    instance_of = [unit // 3 for unit in range(120)]
    test = alternative_annotator_test(*long(table), counts(answers, 4), clusters=instance_of)
    rate, advantage, annotators = by_hand(
        table, answers, epsilon=0.1, score=agreement, instance_of=instance_of
    )
    assert (test.winning_rate, test.annotators) == (rate, annotators)
    assert test.advantage_probability == pytest.approx(advantage, abs=1e-12)
    assert annotators == 5


def test_thirty_units_of_ten_instances_are_too_few():
    table, answers = simulated(2, units=30)
    test = alternative_annotator_test(
        *long(table), counts(answers, 4), clusters=[unit // 3 for unit in range(30)]
    )
    assert (test.annotators, test.left_out, test.passes) == (0, 5, None)
    assert np.isnan(test.winning_rate)
    assert np.isnan(test.advantage_probability)
    assert test.reason == TOO_FEW_INSTANCES.format(least=30)


def test_annotators_with_few_instances_are_left_out_but_still_among_the_others():
    labels = np.zeros((40, 3))
    labels[:20, 2] = np.nan
    test = alternative_annotator_test(*long(labels), counts(np.zeros(40, int), 2))
    assert (test.annotators, test.left_out, test.winning_rate) == (2, 1, 1)


def test_ratings_that_nobody_else_gave_do_not_enter():
    labels = np.full((70, 3), np.nan)
    labels[:40, :2] = 0
    labels[40:, 2] = 0
    test = alternative_annotator_test(*long(labels), counts(np.zeros(70, int), 2))
    assert (test.annotators, test.left_out) == (2, 1)


def test_a_tie_of_the_machines_answers_counts_half():
    """Annotators say 0, and the machine 0 and 1 equally often: half the time it agrees."""
    labels = np.zeros((40, 3))
    test = alternative_annotator_test(*long(labels), np.ones((40, 2), int))
    assert test.advantage_probability == 0.5
    assert test.winning_rate == 0


def test_unparsed_answers_disagree_on_nominal_scales_and_are_missing_on_others():
    labels, machine = np.zeros((80, 3)), counts(np.zeros(80, int), 2)
    machine[:40] = 0
    unparsed = (machine.sum(axis=1) == 0).astype(int)
    nominal = alternative_annotator_test(*long(labels), machine, unparsed=unparsed)
    ordinal = alternative_annotator_test(*long(labels), machine, unparsed=unparsed, level="ordinal")
    assert nominal.advantage_probability == 0.5
    assert ordinal.advantage_probability == 1


def test_a_machine_that_others_never_agree_with_replaces_nobody():
    labels = np.zeros((40, 3))
    test = alternative_annotator_test(*long(labels), counts(np.ones(40, int), 2))
    assert (test.winning_rate, test.advantage_probability, test.passes) == (0, 0, False)


@pytest.mark.parametrize(
    ("options", "code", "name"),
    [
        ({"epsilon": 1.5}, "out_of_range", "epsilon"),
        ({"level": "cardinal"}, "unknown_choice", "level"),
        ({"unparsed": [1]}, "wrong_length", "unparsed"),
        ({"clusters": [1]}, "wrong_length", "clusters"),
    ],
)
def test_bad_options_are_refused_by_name(options, code, name):
    with refused(code, naming=name):
        alternative_annotator_test([0, 0, 1], [0, 1, 0], [0, 1, 0], [[1, 0], [0, 1]], **options)


def test_a_rater_rates_a_unit_once():
    with refused("rated_twice"):
        alternative_annotator_test([0, 0], [0, 0], [0, 1], [[1, 0]])


def test_equal_distances_are_equal_whatever_their_digits():
    """The machine's 0.5 is as far from 0.3 as the first annotator's 0.1, but not in binary digits."""
    labels = np.tile([0.0, 1.0], (40, 1))
    test = alternative_annotator_test(
        *long(labels), counts(np.full(40, 2), 3), level="interval", values=[0.1, 0.3, 0.5]
    )
    assert test.advantage_probability == 0.5  # always as good as the first, never as the second


def of_table(table, answers, **options):
    return alternative_annotator_test(*long(table), counts(answers, 4), **options)


@pytest.mark.parametrize("seed", range(6))
def test_weighted_it_equals_hajek_estimates_of_each_annotators_instances(seed):
    table, answers = simulated(seed)
    weights = np.random.default_rng(seed).choice([1.0, 4.0], size=len(table))
    means, freedom, advantages = [], [], []
    for rater in range(table.shape[1]):
        others = np.delete(table, rater, axis=1)
        used = ~np.isnan(table[:, rater]) & ~np.isnan(others).all(axis=1)
        human, machine = (
            np.array([agreement(label, rest[~np.isnan(rest)]) for label, rest in pairs])
            for pairs in (
                zip(table[used, rater], others[used], strict=True),
                zip(answers[used], others[used], strict=True),
            )
        )
        w = weights[used]
        behind = (human >= machine).astype(float) - (machine >= human)
        means.append(hajek_estimate(behind, 0.1 / w))
        freedom.append(w.sum() ** 2 / (w**2).sum() - 1)
        advantages.append(np.average(machine >= human, weights=w))
    for epsilon in np.linspace(0, 0.6, 61):
        t = [(mean.value - epsilon) / mean.standard_error for mean in means]
        adjusted = scipy.stats.false_discovery_control(scipy.stats.t.cdf(t, freedom), method="by")
        test = of_table(table, answers, weights=weights, epsilon=epsilon)
        assert test.winning_rate == (adjusted <= 0.05).mean()
        assert test.advantage_probability == pytest.approx(np.mean(advantages))


@pytest.mark.parametrize("seed", range(3))
def test_equal_weights_change_nothing(seed):
    table, answers = simulated(seed)
    plain = of_table(table, answers, epsilon=0.2)
    weighted = of_table(table, answers, epsilon=0.2, weights=np.full(len(table), 3.0))
    assert weighted.advantage_probability == pytest.approx(plain.advantage_probability)
    assert (weighted.winning_rate, weighted.annotators) == (plain.winning_rate, plain.annotators)


def test_instances_are_counted_by_their_weights():
    table, answers = np.zeros((40, 3)), np.zeros(40, dtype=int)
    for weight in (0.1, 0.7, 3):
        equal = np.full(30, weight)
        assert of_table(table[:30], answers[:30], weights=equal).annotators == 3
    one_stands_for_all = np.where(np.arange(40) == 0, 1000.0, 1.0)
    assert of_table(table, answers, weights=one_stands_for_all).reason


@pytest.mark.parametrize(
    ("weights", "code"), [([1.0] * 39, "wrong_length"), ([0.0] * 40, "out_of_range")]
)
def test_bad_weights_are_refused(weights, code):
    with refused(code):
        of_table(np.zeros((40, 3)), np.zeros(40, dtype=int), weights=weights)


@pytest.mark.parametrize("level", ["nominal", "ordinal"])
def test_each_coin_has_the_winning_rates_of_a_machine_with_its_labels(level):
    table, answers = simulated(3, units=120)
    faces, epsilons = np.array([1, 2]), [0.6, 0.4, 0.3]
    machine = counts(answers, 4)
    machine[:5] = 0
    options = {"level": level, "clusters": np.arange(120) // 2, "weights": np.arange(120) % 3 + 1.0}
    rates = coin_winning_rates(
        *(*long(table), machine),
        **{**options, "faces": faces, "epsilons": epsilons, "rng": np.random.default_rng(0)},
        **{"unparsed": None, "values": None, "coins": 30},
    )
    items = np.flatnonzero(machine.any(axis=1) & ((~np.isnan(table)).sum(axis=1) > 1))
    thrown = faces[np.random.default_rng(0).integers(2, size=(30, len(items)))]
    for labels, of_coin in zip(thrown, rates.T, strict=True):
        coin = np.zeros((120, 4), dtype=int)
        coin[items, labels] = 1
        for epsilon, rate in zip(epsilons, of_coin, strict=True):
            test = alternative_annotator_test(*long(table), coin, epsilon=epsilon, **options)
            assert rate == test.winning_rate
    assert len(np.unique(rates)) > 2
