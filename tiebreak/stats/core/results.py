"""Estimates: values with intervals, or the reason why a value or an interval is undefined."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

JsonValue = float | int | str | dict[str, str] | list[dict[str, Any]] | None
Instances = Literal["new", "dataset", "selected", "these"]
Raters = Literal["new", "these"]
NAN = math.nan


@dataclass(frozen=True)
class Scope:
    """Population that an estimate generalises to.

    Attributes
    ----------
    instances : {"new", "dataset", "selected", "these"}
        Instances that the estimate applies to. ``"new"``: new instances like the rated instances;
        ``"dataset"``: the dataset that the instances were drawn from; ``"selected"``: the selected
        instances; ``"these"``: only the rated instances.
    raters : {"new", "these"}
        Raters that the estimate applies to. ``"new"``: new raters like the raters in the study;
        ``"these"``: only the raters in the study.
    """

    instances: Instances = "these"
    raters: Raters = "these"

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
    """Interval of the same value that generalises to less than the interval of the estimate.

    Attributes
    ----------
    low, high : float
        Ends of the interval.
    scope : Scope
        Population that the interval generalises to.
    method : str
        How the interval was computed.
    """

    low: float
    high: float
    scope: Scope
    method: str

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

    Attributes
    ----------
    value : float
        The statistic; NaN if it is undefined.
    low, high : float
        Ends of the interval; NaN if there is no interval.
    standard_error : float
        Standard error; NaN if it is undefined.
    n : int
        Number of units used.
    method : str
        How the interval was computed.
    reason : str or None
        Why the value is undefined or, if the value is defined, why it has no interval.
    stated_scope : Scope or None
        Scope, if it differs from the default.
    narrower : tuple of NarrowerInterval
        Shorter intervals of the same value that generalise to less, such as to these raters only.
    is_defined : bool
        Whether there is a value.
    has_interval : bool
        Whether there is an interval.
    scope : Scope
        Population that the estimate generalises to. The default is new instances if there is an
        interval, and only the rated instances otherwise.

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
    low: float = NAN
    high: float = NAN
    standard_error: float = NAN
    n: int = 0
    method: str = "none"
    reason: str | None = None
    stated_scope: Scope | None = None
    narrower: tuple[NarrowerInterval, ...] = ()

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
        """Return the estimate as a dictionary that can be written as JSON.

        Returns
        -------
        dict of str to object
            The fields by name, with None in place of NaN.
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


def _nullable(number: float) -> float | None:
    return float(number) if math.isfinite(number) else None
