"""What each way of choosing instances would have gained in a pilot, compared with a draw at random."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass

import numpy as np

from annotation.pilot_doubts import HUMANS, RatedPair, checked_pilot, frames_for, rated_pairs
from studies.models import InstanceSelection, Study
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.stats import Estimate, draw_gain, undefined
from tiebreak.stats.design.drawing import Draw, SamplingFrame, draw_from

NOT_RATED = "No annotator rated these instances in the pilot."


@dataclass(frozen=True)
class PilotGain:
    """How many times the instances a draw at random would need, by pair of systems, for one way.

    A way that could not be drawn has a `refusal` instead.
    """

    design: str
    gains: dict[tuple[int, int], Estimate]
    refusal: str = ""


def pilot_gains(study: Study, design: InstanceSelection) -> Iterator[PilotGain]:
    """Yield what each way to draw as many instances would gain. Reads only.

    Raises `DomainError` if there is no pilot that could tell.
    """
    rated = rated_pairs(checked_pilot(study, design))
    for name, title in InstanceSelection.Design.choices:
        way = copy(design)
        way.design = name
        try:
            frames = frames_for(study, way)
            found = {p: _gain(frames[p], way, rated.get(p, RatedPair())) for p in frames}
            yield PilotGain(title, found)
        except (DomainError, InvalidInput) as refusal:
            yield PilotGain(title, {}, refusal.message)


def _gain(frame: SamplingFrame, design: InstanceSelection, rated: RatedPair) -> Estimate:
    if frame.gain is not None:
        return frame.gain
    drawn = draw_from(frame, Draw.of(design))
    density = drawn.inclusion * len(drawn.inclusion) / design.instances
    densities = dict(zip(frame.instances.tolist(), density.tolist(), strict=True))
    labels: dict[int, list[float]] = {}
    for (instance, _), share in zip(
        rated.instances.values(), rated.shares(HUMANS).tolist(), strict=True
    ):
        if instance in densities and not np.isnan(share):
            labels.setdefault(instance, []).append(share)
    if not labels:
        return undefined(NOT_RATED)
    means = [float(np.mean(of)) for of in labels.values()]
    return draw_gain(means, [densities[instance] for instance in labels])
