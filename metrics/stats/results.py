"""Result objects: a value never travels without its interval, its n and its reason."""

import math
from dataclasses import dataclass
from typing import Any

NAN = math.nan


@dataclass(frozen=True)
class Estimate:
    """A statistic with its interval.

    `value`, `low`, `high` and `standard_error` are NaN where undefined, and `reason` then says
    why. `n` is the number of units (or sets) the value rests on.
    """

    value: float
    low: float = NAN
    high: float = NAN
    standard_error: float = NAN
    n: int = 0
    method: str = "none"
    reason: str | None = None

    def as_json(self) -> dict[str, Any]:
        """The report's shape; NaN is written as null."""
        return {
            "value": _null(self.value),
            "low": _null(self.low),
            "high": _null(self.high),
            "standard_error": _null(self.standard_error),
            "n": self.n,
            "method": self.method,
            "reason": self.reason,
        }


def undefined(reason: str, n: int = 0) -> Estimate:
    """An estimate without a value, and why."""
    return Estimate(NAN, n=n, reason=reason)


def _null(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
