"""Agreement of systems' rates with an order of the systems that is known from elsewhere."""

from collections.abc import Mapping, Sequence

import numpy as np
import scipy

from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.success import KnownOrder
from tiebreak.stats import Estimate, undefined

FEW_SYSTEMS = "Fewer than two systems of the known order have a rate."
ALL_EQUAL = "All systems of the known order have the same rate."
NO_INTERVAL = "It speaks of these systems and rates as they came out, so that it has no interval."

ByMachine = Mapping[str, Estimates]


def known_order_of(
    order: tuple[str, ...],
    human: Estimates,
    machines: ByMachine,
    powered: ByMachine,
    powered_lambda_1: ByMachine,
) -> KnownOrder | None:
    """Return how far the rates of each kind agree with an order, or None without an order."""
    if not order:
        return None

    def of(by_machine: ByMachine) -> Estimates:
        return {machine: kendall_with(order, rates) for machine, rates in by_machine.items()}

    return KnownOrder(
        order=order,
        missing=tuple(name for name in order if name not in human),
        human=kendall_with(order, human),
        machines=of(machines),
        powered=of(powered),
        powered_lambda_1=of(powered_lambda_1),
    )


def kendall_with(order: Sequence[str], rates: Estimates) -> Estimate:
    """Return Kendall's τ-b of rates with a known order of the systems, best first."""
    known = [name for name in order if name in rates and rates[name].is_defined]
    if len(known) < 2:
        return undefined(FEW_SYSTEMS, len(known))
    # Rates that are equal but for rounding are tied.
    values = [round(rates[name].value, 12) for name in known]
    if len({*values}) == 1:
        return undefined(ALL_EQUAL, len(known))
    tau = scipy.stats.kendalltau(-np.arange(len(known)), values, variant="b").statistic
    # Sums of pairs may differ from whole numbers in the last digit.
    return Estimate(round(float(tau), 12), n=len(known), reason=NO_INTERVAL)
