"""Bounds for numbers that a person, a bundle or a platform can set."""

import math
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import BaseValidator, MaxValueValidator, MinValueValidator

# What a column of its kind holds on PostgreSQL; a seed may be any of them.
MAX_SEED = 2**31 - 1
MIN_BIG_SEED, MAX_BIG_SEED = -(2**63), 2**63 - 1
# More than any study had so far, few enough for a page to count with.
MAX_COUNT = 100_000_000
MAX_POSITION = 10_000
MAX_LEASE_MINUTES = 100_000
MAX_MINUTES_PER_HIT = 10_080
MAX_VALID_DAYS = 36_500
MAX_REWARD = Decimal(1_000_000)
MAX_HOURLY_RATE = Decimal(100_000)
# Further away from 0, no similarity's δ is a measurement any more.
MAX_DELTA = 1e6


def validate_finite(value: Any) -> None:
    """NaN is neither below nor above any bound, so that comparing alone lets it through.

    A whole number is finite, and may have more digits than `isfinite` can take.
    """
    if not isinstance(value, int) and not math.isfinite(value):
        raise ValidationError("Enter a finite number.", code="not_finite")


def between(low: Any, high: Any) -> list[Any]:
    """The validators of a number from ``low`` to ``high``, both allowed."""
    return [validate_finite, MinValueValidator(low), MaxValueValidator(high)]


def bounds_of(validators: list[Any]) -> tuple[Any, Any]:
    """(low, high) as `between` or two validators state them; None where there is none."""
    stated = [each for each in validators if isinstance(each, BaseValidator)]
    low = [each.limit_value for each in stated if isinstance(each, MinValueValidator)]
    high = [each.limit_value for each in stated if isinstance(each, MaxValueValidator)]
    return max(low, default=None), min(high, default=None)
