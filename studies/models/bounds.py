"""Bounds for numbers that come from forms, bundles or platforms."""

import math
from decimal import Decimal
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator

# The ranges of PostgreSQL's integer and bigint columns, which limit the values of seeds.
MAX_SEED = 2**31 - 1
MIN_BIG_SEED, MAX_BIG_SEED = -(2**63), 2**63 - 1
# Larger than any study so far, and small enough to compute with.
MAX_COUNT = 100_000_000
MAX_POSITION = 10_000
# Characters of what annotators write in their own words.
MAX_REASON = 2000
MAX_LEASE_MINUTES = 100_000
MAX_MINUTES_PER_HIT = 10_080
MAX_VALID_DAYS = 36_500
MAX_REWARD = Decimal(1_000_000)
MAX_BUDGET = Decimal(1_000_000_000)
MAX_HOURLY_RATE = Decimal(100_000)
# No similarity gives a separability (δ) further from 0.
MAX_DELTA = 1e6


def validate_finite(value: Any) -> None:
    """Reject NaN and infinity, because NaN would pass the minimum and maximum validators.

    Integers are always finite, and may have more digits than `isfinite` accepts.
    """
    if not isinstance(value, int) and not math.isfinite(value):
        raise ValidationError("Enter a finite number.", code="not_finite")


def between(low: Any, high: Any) -> list[Any]:
    """Return validators for a number from ``low`` to ``high``, inclusive."""
    return [validate_finite, MinValueValidator(low), MaxValueValidator(high)]
