"""Juries by vote, mean probability and Dawid and Skene's method, beside counting by hand."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from tests.refusals import refused
from tiebreak.stats import dawid_skene, jury
from tiebreak.stats.machines.jury import RULES

A, B, TURNED = [1.0, 0.0], [0.0, 1.0], [0.5, 0.5]
NONE = [np.nan, np.nan]


@pytest.mark.parametrize(
    ("members", "vote", "mean"),
    [
        ([A, A, B], 0, 0),
        ([A, TURNED, TURNED], 0, 0),
        ([A, B, TURNED], -1, -1),
        ([A, B], -1, -1),
        ([NONE, B, B], 1, 1),
        ([NONE, NONE, A], 0, 0),
        ([NONE, NONE], -1, -1),
        # Two who are hardly sure outvote one who is, and have the smaller mean.
        ([[0.55, 0.45], [0.55, 0.45], [0.05, 0.95]], 0, 1),
    ],
)
def test_one_unit(members, vote, mean):
    answers = [[member] for member in members]
    assert jury(answers).labels.tolist() == [vote]
    assert jury(answers, rule="mean_probability").labels.tolist() == [mean]


def test_the_shares_are_those_that_decided():
    answers = [[A, A], [B, NONE], [TURNED, [0.9, 0.1]]]
    assert jury(answers).shares.tolist() == [[0.5, 0.5], [1, 0]]
    means = jury(answers, rule="mean_probability").shares
    np.testing.assert_allclose(means, [[0.5, 0.5], [0.95, 0.05]])


def test_votes_by_dawid_and_skene_are_those_of_the_model():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=200)
    votes = [np.where(rng.random(200) < accuracy, truth, 1 - truth) for accuracy in (0.9, 0.9, 0.5)]
    answers = np.eye(2)[np.array(votes)]
    member, unit = np.indices((3, 200)).reshape(2, -1)
    fit = dawid_skene(unit, member, np.concatenate(votes), n_units=200, n_raters=3, n_labels=2)
    result = jury(answers, rule="dawid_skene")
    np.testing.assert_array_equal(result.shares, fit.posterior)
    by_vote = jury(answers).labels
    assert (result.labels == truth).mean() > (by_vote == truth).mean()


@pytest.mark.thorough
@given(arrays(float, (3, 4, 3), elements=st.floats(0.01, 1)), st.sampled_from(RULES))
def test_the_order_of_members_and_of_units_does_not_matter(weights, rule):
    answers = weights / weights.sum(axis=2, keepdims=True)
    shares = jury(answers, rule=rule).shares
    np.testing.assert_allclose(jury(answers[::-1], rule=rule).shares, shares, atol=1e-6)
    np.testing.assert_allclose(jury(answers[:, ::-1], rule=rule).shares, shares[::-1], atol=1e-6)


def test_bad_input():
    with refused("few_members"):
        jury([[A]])
    with refused("not_probabilities"):
        jury([[A], [[0.5, 0.4]]])
    with refused("not_probabilities"):
        jury([[A], [[np.nan, 1.0]]])
    with refused("unknown_choice"):
        jury([[A], [B]], rule="loudest")  # type: ignore[arg-type]
