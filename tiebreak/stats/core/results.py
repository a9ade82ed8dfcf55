"""Estimates: values with intervals, or the reason why a value or an interval is undefined."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, Self

JsonValue = float | int | str | dict[str, str] | list[dict[str, Any]] | None
Instances = Literal["new", "dataset", "selected", "these"]
Raters = Literal["new", "these"]
NAN = math.nan


@dataclass(frozen=True)
class Scope:
    """Population that an estimate generalises to."""

    instances: Instances = "these"
    """Instances that the estimate applies to. ``"new"``: new instances like the rated instances;
    ``"dataset"``: the dataset that the instances were drawn from; ``"selected"``: the selected
    instances; ``"these"``: only the rated instances."""
    raters: Raters = "these"
    """Raters that the estimate applies to. ``"new"``: new raters like the raters in the study;
    ``"these"``: only the raters in the study."""

    def as_json(self) -> dict[str, str]:
        """Return the scope as a dictionary that can be written as JSON.

        Returns
        -------
        dict of str to str
            Values of ``instances`` and ``raters``.
        """
        return {"instances": self.instances, "raters": self.raters}


THESE = Scope()
NEW_INSTANCES = Scope("new")
NEW_RATERS = Scope("new", "new")


@dataclass(frozen=True)
class NarrowerInterval:
    """Interval of the same value that generalises to less than the interval of the estimate."""

    low: float
    high: float
    """Ends of the interval."""
    scope: Scope
    """Population that the interval generalises to."""
    method: str
    """How the interval was computed."""

    def as_json(self) -> dict[str, Any]:
        """Return the interval as a dictionary that can be written as JSON.

        Returns
        -------
        dict of str to object
            The fields by name.
        """
        scope = self.scope.as_json()
        return {"low": self.low, "high": self.high, "scope": scope, "method": self.method}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return an interval that was written as JSON.

        Parameters
        ----------
        data : mapping of str to object
            What `as_json` returned.

        Returns
        -------
        NarrowerInterval
            The interval.
        """
        return cls(data["low"], data["high"], Scope(**data["scope"]), data["method"])


@dataclass(frozen=True)
class Estimate:
    """Value of a statistic with its interval, or the reason why it is undefined.

    See Also
    --------
    undefined : Returns an undefined estimate.

    Examples
    --------
    >>> Estimate(0.6, low=0.5, high=0.7, n=40).scope.instances
    'new'
    >>> undefined("No unit has two ratings.").as_json()["value"] is None
    True
    """

    value: float
    """The statistic; NaN if it is undefined."""
    low: float = NAN
    high: float = NAN
    """Ends of the interval; NaN if there is no interval."""
    standard_error: float = NAN
    """Standard error; NaN if it is undefined."""
    n: int = 0
    """Number of units used."""
    method: str = "none"
    """How the interval was computed."""
    reason: str | None = None
    """Why the value is undefined or, if the value is defined, why it has no interval."""
    stated_scope: Scope | None = None
    """Scope, if it differs from the default."""
    narrower: tuple[NarrowerInterval, ...] = ()
    """Shorter intervals of the same value that generalise to less, such as to these raters only."""

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
        """Population that the estimate generalises to.

        The default is new instances if there is an interval, and only the rated instances otherwise.
        """
        return self.stated_scope or (NEW_INSTANCES if self.has_interval else THESE)

    def as_json(self) -> dict[str, JsonValue]:
        """Return the estimate as a dictionary that can be written as JSON.

        Returns
        -------
        dict of str to object
            The fields by name, with None in place of NaN.
        """
        return {
            "value": none_if_nan(self.value),
            "low": none_if_nan(self.low),
            "high": none_if_nan(self.high),
            "n": self.n,
            "reason": self.reason,
            "standard_error": none_if_nan(self.standard_error),
            "method": self.method,
            "scope": self.scope.as_json(),
            "narrower": [interval.as_json() for interval in self.narrower],
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return an estimate that was written as JSON.

        Parameters
        ----------
        data : mapping of str to object
            What `as_json` returned.

        Returns
        -------
        Estimate
            The estimate, with NaN in place of None.
        """
        value, low, high, standard_error = (
            NAN if data[name] is None else data[name]
            for name in ("value", "low", "high", "standard_error")
        )
        scope = Scope(**data["scope"])
        narrower = tuple(map(NarrowerInterval.from_json, data.get("narrower", ())))
        how = data["n"], data["method"], data["reason"]
        return cls(value, low, high, standard_error, *how, scope, narrower)


@dataclass(frozen=True)
class NamedEstimates:
    """Statistics of which each field has the estimate of one."""

    def estimates(self) -> dict[str, Estimate]:
        """Return the estimates by name.

        Returns
        -------
        dict of str to Estimate
            One entry for each field.
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}


def mapped(estimate: Estimate, function: Callable[[float], float]) -> Estimate:
    """Return an increasing function of an estimate, with its interval."""
    if not estimate.is_defined:
        return estimate
    narrower = tuple(
        replace(one, low=function(one.low), high=function(one.high)) for one in estimate.narrower
    )
    ends = (
        (function(estimate.low), function(estimate.high)) if estimate.has_interval else (NAN, NAN)
    )
    return replace(
        estimate,
        value=function(estimate.value),
        low=ends[0],
        high=ends[1],
        standard_error=NAN,
        narrower=narrower,
    )


def undefined(reason: str, n: int = 0) -> Estimate:
    """Return an undefined estimate.

    Parameters
    ----------
    reason : str
        A sentence that says why the value is undefined.
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


def none_if_nan(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
