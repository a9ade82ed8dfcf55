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
    """Population that an estimate generalises to.

    Attributes
    ----------
    instances : {"new", "dataset", "selected", "these"}
        New instances like these, the dataset that they were drawn from, the selected ones, or only
        the instances at hand.
    raters : {"new", "these"}
        New raters like these, or only the raters at hand.
    """

    instances: Instances = "these"
    raters: Raters = "these"

    def as_json(self) -> dict[str, str]:
        """Return the scope ready for JSON.

        Returns
        -------
        dict of str to str
            ``instances`` and ``raters``.
        """
        return {"instances": self.instances, "raters": self.raters}


THESE = Scope()
NEW_INSTANCES = Scope("new")


@dataclass(frozen=True)
class Estimate:
    """Value of a statistic with its interval, or the reason why it is undefined.

    Attributes
    ----------
    value : float
        The statistic; NaN if it is undefined.
    low, high : float
        Ends of the interval; NaN if there is none.
    standard_error : float
        Standard error; NaN if there is none.
    n : int
        Number of units that entered.
    method : str
        How the interval was made.
    reason : str or None
        Why the value is undefined, or, for a value that is defined, why it has no interval.
    stated_scope : Scope or None
        Scope, if it is not the default one.
    is_defined : bool
        Whether there is a value.
    has_interval : bool
        Whether there is an interval.
    scope : Scope
        Population that the estimate generalises to. By default new instances if there is an
        interval, and otherwise the instances at hand.

    See Also
    --------
    undefined : The estimate that does not exist.

    Examples
    --------
    >>> Estimate(0.6, low=0.5, high=0.7, n=40).scope.instances
    'new'
    >>> undefined("No unit has two ratings.").as_json()["value"] is None
    True
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
        """Whether there is a value."""
        return not math.isnan(self.value)

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval."""
        return not math.isnan(self.low)

    @property
    def scope(self) -> Scope:
        """Population that the estimate generalises to."""
        return self.stated_scope or (NEW_INSTANCES if self.has_interval else THESE)

    def as_json(self) -> dict[str, JsonValue]:
        """Return the estimate ready for JSON.

        Returns
        -------
        dict of str to object
            The fields by name; NaN becomes None.
        """
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
    """Return the estimate that does not exist.

    Parameters
    ----------
    reason : str
        A sentence that says why.
    n : int, default 0
        Number of units that would have entered.

    Returns
    -------
    Estimate
        An estimate whose value is NaN.

    Examples
    --------
    >>> undefined("Nobody rated.").reason
    'Nobody rated.'
    """
    return Estimate(value=NAN, n=n, reason=reason)


def _nullable(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
