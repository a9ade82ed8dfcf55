"""Comparing estimates of one statistic that was computed in two ways."""

from dataclasses import replace

import pytest

from tiebreak.stats import Estimate


def equal_but_for_rounding(one: Estimate, other: Estimate) -> bool:
    """Return whether two estimates differ in the last digits at most.

    Which digits a product of matrices rounds to depends on the processor and on the number of rows.
    """
    numbers = ("value", "low", "high", "standard_error")
    assert [getattr(one, name) for name in numbers] == pytest.approx(
        [getattr(other, name) for name in numbers], rel=1e-12, abs=1e-12, nan_ok=True
    )
    return one == replace(other, **{name: getattr(one, name) for name in numbers})
