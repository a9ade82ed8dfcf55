"""The axis of all charts: from values to shares of its length, with round ticks."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

STEPS = (1, 2, 2.5, 5, 10)
MAX_TICKS = 6


@dataclass(frozen=True)
class Axis:
    """A linear axis from the values `low` to `high`, on which positions are shares of its length.

    Values outside it are drawn at its ends. An axis of counts has ticks at whole numbers only.
    """

    low: float
    high: float
    is_of_counts: bool = False

    def at(self, value: float) -> float:
        clipped = min(max(value, self.low), self.high)
        return float((clipped - self.low) / ((self.high - self.low) or 1.0))

    def ticks(self) -> list[float]:
        """Return at most `MAX_TICKS` + 1 round values on the axis."""
        step = self._step
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [n * step for n in range(first, last + 1)]

    @property
    def _step(self) -> float:
        step = round_step(self.high - self.low)
        return math.ceil(step) if self.is_of_counts else step

    def tick_name(self, value: float) -> str:
        """Return a tick as text, with as many decimals as the ticks need to differ."""
        step = self._step
        decimals = max(0, -math.floor(math.log10(step) + 1e-9))
        if round(step * 10**decimals, 6) % 1:
            decimals += 1
        # As numbers are told everywhere: counts have a comma, and other values, such as Elo ratings, none.
        comma = "," if self.is_of_counts else ""
        return f"{value:{comma}.{decimals}f}".replace("-", "−")


def round_step(span: float, steps: int = MAX_TICKS) -> float:
    """Return a round step that divides the span into at most about this number of steps."""
    rough = (span or 1.0) / steps
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * step for step in STEPS if power * step >= rough * (1 - 1e-9))


def are_counts(values: Iterable[float]) -> bool:
    """Whether these are whole numbers above 0, and not all of them 1, as shares can be."""
    known = list(values)
    return all(value >= 0 and value % 1 == 0 for value in known) and max(known, default=0) > 1


def padded(
    values: list[float], *, include: float | None = None, least: float = 0.0
) -> tuple[float, float]:
    """Return the round ticks between which the finite values lie, and ``include``.

    What is drawn is at least as long as ``least``.
    """
    finite = [value for value in values if math.isfinite(value)]
    if include is not None:
        finite.append(include)
    low, high = (min(finite), max(finite)) if finite else (0.0, 1.0)
    margin = max(0.0, least - (high - low)) / 2 or (0.05 if low == high else 0.0)
    return _between_ticks(low - margin, high + margin)


def _between_ticks(low: float, high: float) -> tuple[float, float]:
    """Return the next ticks at or outside two ends; a longer axis may have longer steps."""
    step = round_step(high - low)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    ends = first * step, last * step
    return ends if round_step(ends[1] - ends[0]) == step else _between_ticks(*ends)
