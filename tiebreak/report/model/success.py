"""Success rates of systems that are rated text by text."""

from dataclasses import dataclass

from tiebreak.report.model.fields import Estimates
from tiebreak.stats import Estimate


@dataclass(frozen=True)
class MachineSuccess:
    """A system's success rate by one machine, alone and corrected by human ratings."""

    alone: Estimate
    """Share of the machine's ratings that are successes, without any correction."""
    powered: Estimate
    """Prediction-powered rate, in which the weight λ of the machine's ratings is tuned."""
    powered_lambda_1: Estimate
    """Prediction-powered rate in which they have full weight."""
    n_labelled: int
    n_unlabelled: int
    """Number of units with a machine rating that have a human rating, and that have none."""


@dataclass(frozen=True)
class SystemSuccess:
    """How often the texts of a system are a success, where texts are rated one by one."""

    human: Estimate
    """Share of the human ratings that are successes."""
    machines: dict[str, MachineSuccess]
    """The rate by each machine."""


@dataclass(frozen=True)
class KnownOrder:
    """Kendall's τ-b of success or win rates with an order of systems known from elsewhere."""

    order: tuple[str, ...]
    """The systems in the known order, best first."""
    missing: tuple[str, ...]
    """Those of them without a rate by humans, which are left out."""
    human: Estimate
    """τ of the rates by human ratings."""
    machines: Estimates
    powered: Estimates
    powered_lambda_1: Estimates
    """τ of the rates by each machine: alone, and corrected by human ratings
    with tuned and full weight."""


@dataclass(frozen=True)
class SuccessRates:
    """Success rates of systems whose texts are rated one by one with two labels."""

    success: str
    """The label that counts as a success."""
    systems: dict[str, SystemSuccess]
    """The rates of each system."""
    known_order: KnownOrder | None = None
    """Agreement with a known order of the systems, if there is one."""
