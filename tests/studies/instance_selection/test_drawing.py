"""Drawing instances by separability, previewing the draw, and planning the drawn instances."""

import numpy as np
import pytest

from annotation.exports.ratings import rating_rows
from annotation.selectors import worksheet
from annotation.services.planning import plan_hits
from annotation.services.ratings import Answer
from recruitment.services.lifecycle import open_study
from studies.instance_selection.drawing import (
    draw_from,
    draw_instances,
    sampling_frames,
    selection_previews,
    take_all_instances,
)
from studies.instance_selection.scoring import score_separability
from studies.models import InstanceSelection, SelectedInstance, SeparabilityScore, Study
from studies.models.study import StudySystem
from tests.annotation.answers import submit_rating
from tests.annotation.places import take_place
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation, make_study
from tiebreak.stats.design.selection import ONLY_TOP

pytestmark = pytest.mark.django_db


def scored_study(instances: int = 40, **design) -> Study:
    """Create a study whose instances have separabilities (δ) from 0 to 1 in equal steps."""
    study = make_study(instances=instances, comparisons_per_hit=1, **design)
    systems = list(study.systems.order_by("name"))
    for step, instance in enumerate(study.dataset.instances.order_by("pk")):
        delta = step / (instances - 1)
        for i, a in enumerate(systems):
            for b in systems[i + 1 :]:
                SeparabilityScore.objects.create(
                    instance=instance,
                    system_a=a,
                    system_b=b,
                    similarity=study.similarity,
                    self_alignment_a=delta,
                    self_alignment_b=0,
                    cross_alignment=0,
                    delta=delta,
                    samples_a=5,
                    samples_b=5,
                )
    return study


def design_of(**changes) -> InstanceSelection:
    return InstanceSelection(**{"instances": 10, "design": "proportional", **changes})


def test_it_works():
    study = scored_study()
    assert draw_instances(study=study, design=design_of()) == 10
    rows = list(SelectedInstance.objects.filter(study=study))
    assert sum(row.phase == "control" for row in rows) == 2
    plan = plan_hits(study=study)
    assert (plan.hits, plan.units) == (10, 10)
    units = {unit.instance_id: unit for unit in study.units.all()}
    for row in rows:
        unit = units[row.instance_id]
        assert unit.phase == row.phase
        assert unit.inclusion_probability == pytest.approx(row.inclusion_probability)
        assert (unit.conditional_inclusion_probability is None) == (row.phase == "control")


def test_the_same_seed_draws_the_same_and_another_does_not():
    study = scored_study()

    def drawn(seed: int) -> set[int]:
        draw_instances(study=study, design=design_of(seed=seed))
        return set(study.selected.values_list("instance", flat=True))

    first = drawn(1)
    assert drawn(1) == first
    assert drawn(2) != first


@pytest.mark.parametrize("design", ["uniform", "proportional", "top", "strata"])
def test_what_is_shown_before_is_what_is_drawn(design):
    study = scored_study(systems=3, ratings_per_hit=3)
    wanted = design_of(design=design, instances=12)
    shown = selection_previews(study, wanted)
    assert len(shown) == 3
    assert draw_instances(study=study, design=wanted) == 36
    assert plan_hits(study=study).instances == len(
        set(study.selected.values_list("instance", flat=True))
    )
    assert sum(preview.instances for preview in shown.values()) == 36
    if design == "top":
        assert all(p.delta - p.uniform_delta > 0.02 for p in shown.values())


def test_scores_of_another_study_in_the_other_order_double_nothing():
    study = scored_study(systems=3)
    other = Study.objects.create(title="The other way round", dataset=study.dataset)
    for position, system in enumerate(reversed(study.ordered_systems())):
        StudySystem.objects.create(study=other, system=system, position=position)
    shown = selection_previews(study, design_of())
    assert score_separability(study=other) == 120
    assert list(sampling_frames(study)) == [(a.pk, b.pk) for a, b in study.system_pairs()]
    assert selection_previews(study, design_of()) == shown
    assert draw_instances(study=study, design=design_of()) == 30
    assert plan_hits(study=study).units == 30


def test_a_pair_without_scores_is_named_and_not_left_out():
    study = scored_study(systems=3)
    SeparabilityScore.objects.filter(system_b__name="system-2").delete()
    named = "system-0 and system-2; system-1 and system-2"
    with refused("pair_not_scored", naming=named):
        selection_previews(study, design_of())
    with refused("pair_not_scored", naming=named):
        draw_instances(study=study, design=design_of())
    assert not SelectedInstance.objects.exists()
    assert not InstanceSelection.objects.exists()


def test_top_alone_warns_that_it_speaks_of_the_selected_only():
    study = scored_study()
    shown = selection_previews(study, design_of(design="top", control_share=0))
    assert {preview.warning for preview in shown.values()} == {ONLY_TOP}
    assert all(
        preview.warning is None for preview in selection_previews(study, design_of()).values()
    )


@pytest.mark.thorough
def test_inclusion_probabilities_are_those_of_the_draw():
    """Over 300 seeds, each instance is drawn as often as its stored probability predicts."""
    study = scored_study(instances=20)
    (frame,) = sampling_frames(study).values()

    times, stated = np.zeros(20), np.zeros(20)
    for seed in range(300):
        selection = draw_from(frame, design_of(instances=8, seed=seed))
        times += selection.selected
        stated += selection.inclusion
    assert np.abs(times - stated).max() / 300 < 0.1
    assert stated.sum() / 300 == pytest.approx(8, abs=0.05)


def test_a_draw_is_a_drafts_and_can_be_forgotten():
    study = scored_study()
    draw_instances(study=study, design=design_of())
    take_all_instances(study=study)
    assert plan_hits(study=study).hits == 40
    study = open_study(study=study)
    with refused("not_a_draft"):
        draw_instances(study=study, design=design_of())


def test_what_cannot_be_drawn_says_what_to_do():
    with refused("not_scored"):
        draw_instances(study=make_study(), design=design_of())
    study = scored_study(instances=5)
    with refused("too_many", naming="5"):
        draw_instances(study=study, design=design_of(instances=6))
    SeparabilityScore.objects.update(self_alignment_a=0.5, delta=0.5, cross_alignment=0.5)
    SeparabilityScore.objects.update(self_alignment_b=0.5)
    with refused("no_scale"):
        draw_instances(study=study, design=design_of(instances=2))


def test_probabilities_are_exported():
    study = scored_study(ratings_per_hit=1)
    draw_instances(study=study, design=design_of(instances=4))
    plan_hits(study=study)
    study = open_study(study=study)
    ann = make_participation(study)
    for _ in range(4):
        assignment = take_place(participation=ann)
        sheet = worksheet(assignment)
        submit_rating(
            assignment=assignment,
            hit_unit=sheet.hit_units[1],
            criterion=sheet.criteria[0],
            answer=Answer("1", client_key="k"),
        )
    rows = list(rating_rows(study))
    assert {row["phase"] for row in rows} == {"control", "design"}
    assert all(0 < row["inclusion_probability"] < 1 for row in rows)


def test_without_a_draw_all_instances_are_taken():
    assert make_open_study(instances=3).hits.count() == 3
