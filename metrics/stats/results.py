"""What a statistic returns: a value with its interval, or why there is none."""

import math
from dataclasses import dataclass

JsonValue = float | int | str | None
NAN = math.nan


@dataclass(frozen=True)
class Estimate:
    """One number of a report.

    ``n`` counts the units that entered. Undefined is NaN, and ``reason`` says why: for the value,
    or, where the value stands, for the interval alone.
    """

    value: float
    low: float = NAN
    high: float = NAN
    standard_error: float = NAN
    n: int = 0
    method: str = "none"
    reason: str | None = None

    @property
    def is_defined(self) -> bool:
        return not math.isnan(self.value)

    def as_json(self) -> dict[str, JsonValue]:
        """For JSON: NaN becomes null, the reason stays."""
        return {
            "value": _nullable(self.value),
            "low": _nullable(self.low),
            "high": _nullable(self.high),
            "n": self.n,
            "reason": self.reason,
            "standard_error": _nullable(self.standard_error),
            "method": self.method,
        }


def undefined(reason: str, n: int = 0) -> Estimate:
    """The estimate that does not exist, with the sentence that says why."""
    return Estimate(value=NAN, n=n, reason=reason)


def _nullable(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
