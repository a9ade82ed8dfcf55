"""Leave-one-out credits against manual values."""

import numpy as np
import pytest

from tiebreak.stats import leave_one_out
from tiebreak.stats.raters.leave_one_out import mode_credits, outer_credits


def test_modes_share_the_credit():
    rows = np.array([[2, 1, 0], [1, 1, 0], [0, 0, 0]])
    assert mode_credits(rows).tolist() == [[1, 0, 0], [0.5, 0.5, 0], [0, 0, 0]]
    assert mode_credits(rows, without=0).tolist() == [[0.5, 0.5, 0], [0, 1, 0], [0, 0, 0]]


def test_a_label_from_outside_is_held_against_every_subset():
    credits = outer_credits(np.array([[2, 1, 0], [1, 0, 0]]))
    assert credits[0] == pytest.approx([2 / 3, 1 / 3, 0])
    assert credits[1].tolist() == [0, 0, 0]


def test_the_value_is_the_mean_over_units_and_not_over_ratings():
    assert leave_one_out([[6, 0], [1, 1]]).value == 0.5
