"""Draws from scored instances, which studies of earlier versions and their exports depend on."""

import numpy as np
import pytest

from tests.refusals import refused
from tiebreak.stats import generator_for, logistic_weights, select
from tiebreak.stats.design.drawing import MAX_FLOOR, Draw, SamplingFrame, draw_from

RAW = np.array([0.1, np.nan, 0.4, 0.2, 0.9, 0.3, 0.0, 0.5])


def frame(delta: np.ndarray) -> SamplingFrame:
    return SamplingFrame.of_scores(("x", "y"), np.arange(len(RAW)), RAW, delta)


def design(**changes: object) -> Draw:
    usual = {"design": "proportional", "instances": 4, "control_share": 0.25, "seed": 3}
    return Draw(**{"weights": "logistic", "floor": 0.1} | usual | changes)


def test_the_seed_of_a_draw_belongs_to_its_pair_and_instances_without_a_value_stay_out():
    drawn, known = draw_from(frame(RAW / 2), design()), ~np.isnan(RAW)
    again = select(
        RAW[known],
        4,
        design="proportional",
        rng=generator_for(3, "selection", "x y"),
        weights=logistic_weights(RAW[known] / 2),
        control_share=0.25,
    )
    assert drawn.phase.tolist() == again.phase.tolist()
    assert drawn.inclusion.tolist() == again.inclusion.tolist()
    assert frame(RAW).instances.tolist() == [0, 2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("name", ["uniform", "top", "strata", "proportional"])
def test_only_a_draw_by_logistic_weights_needs_a_scale(name):
    without = frame(np.full(len(RAW), np.nan))
    if name == "proportional":
        with refused("no_scale"):
            draw_from(without, design(design=name))
    floored = draw_from(without, design(design=name, weights="floored"))
    assert int(floored.selected.sum()) == 4
    if name != "proportional":
        assert int(draw_from(without, design(design=name)).selected.sum()) == 4


def test_what_cannot_be_drawn_is_refused():
    with refused("too_many", naming="7"):
        draw_from(frame(RAW), design(instances=8))
    for floor in (MAX_FLOOR + 1, np.nan):
        with refused("odd_floor"):
            draw_from(frame(RAW), design(floor=floor))
