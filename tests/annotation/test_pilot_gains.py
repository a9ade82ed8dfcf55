"""Ways of choosing instances beside each other on one pilot, and the draw by length."""

import numpy as np
import pytest

from annotation.pilot_doubts import frames_for
from annotation.pilot_gains import pilot_gains
from annotation.services.planning import draw_and_plan
from studies.models import Generation, InstanceSelection, SeparabilityScore
from tests.annotation.pilots import N, by_doubt, draft_of, import_pilot
from tests.refusals import refused
from tests.studies.factories import make_study
from tiebreak.stats.design.pilot_gains import AT_RANDOM, LEFT_OUT

pytestmark = pytest.mark.django_db
Design = InstanceSelection.Design


@pytest.fixture
def pilot(tmp_path):
    """Return a pilot with δ of every instance in steps from 0 to 1."""
    pilot = import_pilot(tmp_path)
    ((a, b),) = pilot.system_pairs()
    SeparabilityScore.objects.bulk_create(
        SeparabilityScore(
            **{"instance": instance, "system_a": a, "system_b": b, "samples_a": 2, "samples_b": 2},
            **{"similarity": pilot.similarity, "delta": step / N, "self_alignment_a": step / N},
            **{"self_alignment_b": 0, "cross_alignment": 0},
        )
        for step, instance in enumerate(pilot.dataset.instances.order_by("pk"))
    )
    return pilot


def make_long(pilot, instances: int) -> set[str]:
    """Give the first instances a text of one system that is ten times as long as the other's."""
    keys = [f"i{n}" for n in range(instances)]
    of_new = Generation.objects.filter(system__name="new", instance__key__in=keys)
    for text in of_new:
        text.text = "new " * 20
        text.save()
    return set(keys)


def test_every_way_of_choosing_is_compared_and_a_draw_at_random_gains_nothing(pilot):
    draft, design = draft_of(pilot), by_doubt(pilot)
    ways = {way.design: way for way in pilot_gains(draft, design)}
    assert list(ways) == [title for _, title in Design.choices]
    ((a, b),) = draft.system_pairs()
    gains = {title: way.gains[a.pk, b.pk] for title, way in ways.items()}
    (frame,) = frames_for(draft, design).values()
    assert gains[Design.DOUBT.label] == frame.gain
    assert gains[Design.UNIFORM.label].value == 1
    assert gains[Design.UNIFORM.label].reason == AT_RANDOM
    assert gains[Design.PROPORTIONAL.label].has_interval
    # Without a control sample, the most separable say nothing of the dataset.
    design.control_share = 0
    without = {way.design: way.gains[a.pk, b.pk] for way in pilot_gains(draft, design)}
    assert without[Design.TOP.label].reason == LEFT_OUT


def test_a_way_that_cannot_be_drawn_has_its_reason(pilot):
    SeparabilityScore.objects.all().delete()
    draft = draft_of(pilot)
    ways = {way.design: way for way in pilot_gains(draft, by_doubt(pilot))}
    assert ways[Design.PROPORTIONAL.label].refusal
    assert not ways[Design.PROPORTIONAL.label].gains
    assert ways[Design.LENGTH.label].gains
    assert not ways[Design.LENGTH.label].refusal


def test_a_pilot_is_needed():
    with refused("no_pilot"):
        list(pilot_gains(make_study(instances=3), InstanceSelection(instances=2)))


def test_texts_that_differ_in_length_are_drawn_more_often_and_none_hardly_ever(pilot):
    long = make_long(pilot, N // 4)
    draft = draft_of(pilot)
    SeparabilityScore.objects.all().delete()  # which the draw does not need
    design = InstanceSelection(design="length", instances=40, control_share=0.25)
    drawn, plan = draw_and_plan(study=draft, design=design)
    assert (drawn, plan.units) == (40, 40)
    chances = {row.instance.key: row.inclusion_probability for row in draft.selected.all()}
    of_long = [chance for key, chance in chances.items() if key in long]
    others = [chance for key, chance in chances.items() if key not in long]
    assert min(of_long) > 40 / N > max(others)
    assert min(others) > 0.9 * 40 / N


def test_lengths_are_means_over_a_systems_texts_and_need_texts_of_both():
    study = make_study(instances=3, samples=2)
    (frame,) = frames_for(study, InstanceSelection(design="length")).values()
    assert len(frame.instances) == 3
    assert np.mean(frame.densities) == pytest.approx(1)
    Generation.objects.filter(system=study.system_pairs()[0][1]).delete()
    with refused("no_texts"):
        frames_for(study, InstanceSelection(design="length"))
