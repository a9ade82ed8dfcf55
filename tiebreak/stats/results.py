"""Estimates: a value with its interval, or the reason why there is none."""

import math
from dataclasses import dataclass
from typing import Literal

JsonValue = float | int | str | dict[str, str] | None
Instances = Literal["new", "dataset", "selected", "these"]
Raters = Literal["new", "these"]
NAN = math.nan


@dataclass(frozen=True)
class Scope:
    """Whom a number speaks of: which instances, and which raters."""

    instances: Instances = "these"
    raters: Raters = "these"

    def as_json(self) -> dict[str, str]:
        return {"instances": self.instances, "raters": self.raters}


THESE = Scope()
NEW_INSTANCES = Scope("new")


@dataclass(frozen=True)
class Estimate:
    """One number of a report.

    ``n`` counts the units that entered. Undefined is NaN, and ``reason`` says why: for the value,
    or, where the value stands, for the interval alone. ``stated_scope`` is whom it speaks of
    where that is not the rule: an interval over instances speaks of new ones, a value without an
    interval of these.
    """

    value: float
    low: float = NAN
    high: float = NAN
    standard_error: float = NAN
    n: int = 0
    method: str = "none"
    reason: str | None = None
    stated_scope: Scope | None = None

    @property
    def is_defined(self) -> bool:
        return not math.isnan(self.value)

    @property
    def has_interval(self) -> bool:
        return not math.isnan(self.low)

    @property
    def scope(self) -> Scope:
        return self.stated_scope or (NEW_INSTANCES if self.has_interval else THESE)

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
            "scope": self.scope.as_json(),
        }


def undefined(reason: str, n: int = 0) -> Estimate:
    """The estimate that does not exist, with the sentence that says why."""
    return Estimate(value=NAN, n=n, reason=reason)


def _nullable(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
