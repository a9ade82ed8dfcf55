"""Draws of instances from scored ones, as the server, the command and the check of exports make them."""

from dataclasses import dataclass, fields
from typing import Any, cast

import numpy as np

from tiebreak.errors import DomainError
from tiebreak.stats.core.bootstrap import generator_for
from tiebreak.stats.core.results import Estimate
from tiebreak.stats.core.validation import FloatArray
from tiebreak.stats.design.selection import (
    Design,
    Selection,
    floored_weights,
    logistic_weights,
    select,
)

# What designs draw from that need no scores.
WITHOUT_SCORES = {
    "doubt": "instances that machine raters rated",
    "length": "instances with texts of both systems",
}
SCORE_OR_FEWER = "Score the remaining instances, or ask for fewer."
LOGISTIC, FLOORED = "logistic", "floored"
MAX_FLOOR = 100
FLOOR_TOO_HIGH = (
    f"With a floor above {MAX_FLOOR}, separability (δ) has no effect. Enter a lower floor, or draw"
    " at random."
)
NO_SCALE = (
    "All instances are equally separable, so logistic weights are undefined. Please choose the weights"
    " “separability (δ) itself, with a floor”."
)


@dataclass(frozen=True, eq=False)
class SamplingFrame:
    """The instances of one system pair that can be drawn, with one array element per instance.

    `instances` holds their ids, `raw` their separability (δ), and `delta` their normalised δ. A frame
    with weights of another kind has them in `densities`, and no δ; `note` and `gain` say what a pilot
    shows of a draw with them.
    """

    name: str
    instances: np.ndarray[Any, Any]
    raw: FloatArray
    delta: FloatArray
    densities: FloatArray | None = None
    note: str = ""
    gain: Estimate | None = None

    @classmethod
    def of_scores(
        cls,
        pair: tuple[str, str],
        instances: np.ndarray[Any, Any],
        raw: FloatArray,
        delta: FloatArray,
    ) -> "SamplingFrame":
        """Return the frame of a pair's scored instances; those without δ cannot be drawn."""
        known = ~np.isnan(raw)
        return cls(" ".join(pair), instances[known], raw[known], delta[known])


@dataclass(frozen=True)
class Draw:
    """A design with its seed, which is all that a draw from a frame depends on."""

    design: str
    instances: int
    control_share: float
    weights: str
    floor: float
    seed: int

    @classmethod
    def of(cls, design: Any) -> "Draw":
        """Return a draw with the settings of a design that is stored with others."""
        return cls(*(getattr(design, setting.name) for setting in fields(cls)))


def drawn_from(design: str) -> str:
    """Return what a design draws from, in words."""
    return WITHOUT_SCORES.get(design, "scored instances")


def draw_from(frame: SamplingFrame, design: Draw) -> Selection:
    """Draw from a sampling frame. The same design and seed always give the same selection."""
    if not design.floor <= MAX_FLOOR:
        raise DomainError("odd_floor", FLOOR_TOO_HIGH)
    if design.instances > len(frame.instances):
        known = drawn_from(design.design)
        advice = "Ask for fewer." if design.design in WITHOUT_SCORES else SCORE_OR_FEWER
        raise DomainError(
            "too_many",
            f"You asked for {design.instances} instances, but the number of {known} is"
            f" {len(frame.instances)}. {advice}",
        )
    drawn_by, values, weights = cast(Design, design.design), frame.raw, None
    if frame.densities is not None:
        drawn_by, values, weights = "proportional", frame.densities, frame.densities
    elif drawn_by == "proportional":
        weights = _weights(frame, design)
    return select(
        values,
        design.instances,
        design=drawn_by,
        rng=generator_for(design.seed, "selection", frame.name),
        weights=weights,
        control_share=design.control_share,
    )


def _weights(frame: SamplingFrame, design: Draw) -> FloatArray:
    if design.weights != LOGISTIC:
        return floored_weights(frame.raw, floor=design.floor)
    if not np.isfinite(frame.delta).all():
        raise DomainError("no_scale", NO_SCALE)
    return logistic_weights(frame.delta)
