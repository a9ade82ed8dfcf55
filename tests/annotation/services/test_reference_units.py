"""The number of reference units that the screening needs before annotators may enter."""

import pytest

from annotation.services.planning import plan_hits
from annotation.services.reference_units import degrade_copies
from annotation.services.screening import (
    Shortfall,
    gold_checks_expected,
    screening_problems,
)
from studies.models import Generation, Screening, Study, Unit
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db

PROSE = "The committee met on Tuesday to discuss the budget. It agreed to spend more on roads."


def draft(*, gold: int = 0, test: int = 0, training: int = 0, **screening) -> Study:
    """Return a planned draft with these numbers of reference units."""
    study = make_study(instances=14, comparisons_per_hit=1)
    Generation.objects.update(text=PROSE)
    plan_hits(study=study)
    for role, n in (("gold", gold), ("training", training), ("qualification", test)):
        if n:
            degrade_copies(study=study, role=Unit.Role(role), n=n)
    Screening.objects.create(study=study, **screening)
    return study


def test_it_works():
    study = draft(test=5, qualification_units=10, training_units=2)
    assert screening_problems(study).shortfalls == [
        Shortfall(Unit.Role.TRAINING, needed=2, present=0),
        Shortfall(Unit.Role.QUALIFICATION, needed=10, present=5),
    ]


def test_a_screening_that_has_its_units_lacks_none():
    study = draft(test=10, training=2, gold=1, qualification_units=10, training_units=2)
    Screening.objects.update(check_rate=0.1)
    assert screening_problems(study).shortfalls == []
    Screening.objects.all().delete()
    assert screening_problems(study).shortfalls == []


def test_gold_checks_need_as_many_units_as_have_to_be_failed():
    study = draft(gold=1, check_rate=0.2, check_action="stop", checks_failed=2)
    assert screening_problems(study).shortfalls == [Shortfall(Unit.Role.GOLD, needed=2, present=1)]
    Screening.objects.update(check_action="record")
    assert screening_problems(study).shortfalls == []


def test_units_whose_known_labels_no_criterion_has_do_not_count():
    study = draft(test=3, qualification_units=3)
    study.criteria.update(name="quality")
    assert screening_problems(study).shortfalls == [
        Shortfall(Unit.Role.QUALIFICATION, needed=3, present=0)
    ]


def test_units_whose_known_label_is_not_on_the_scale_do_not_count():
    study = draft(test=3, qualification_units=3)
    study.criteria.update(scale="ordinal:1..5")
    assert screening_problems(study).shortfalls[0].present == 0


def test_a_pass_mark_above_the_units_of_a_try_cannot_be_reached():
    study = draft(test=5, qualification_units=3, pass_mark=4)
    assert screening_problems(study).is_pass_mark_too_high
    Screening.objects.update(pass_mark=3)
    assert not screening_problems(study).is_pass_mark_too_high


def test_the_checks_that_one_annotator_meets_follow_from_the_rate_and_the_limit():
    study = draft(gold=2, check_rate=0.5)
    assert gold_checks_expected(study) == 7
    Study.objects.update(hits_per_annotator=4)
    assert gold_checks_expected(Study.objects.get()) == 2
