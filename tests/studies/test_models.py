"""What the data model supports although no page uses it yet."""

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotation.models import HIT, Assignment, HITUnit, Participation, Rater, Rating
from studies.models import Unit, UnitText
from studies.services import record_version
from tests.annotation.tallies import recount, stored_tallies
from tests.studies.factories import make_open_study, make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


def rate(assignment: Assignment, unit: Unit, **values) -> Rating:
    criterion = values.pop("criterion", None) or assignment.hit.study.criteria.first()
    return Rating.objects.create(
        assignment=assignment,
        rater=assignment.rater,
        unit=unit,
        criterion=criterion,
        client_key="k",
        created_at=timezone.now(),
        **{"label": "1", **values},
    )


def refused(create) -> bool:
    try:
        with transaction.atomic():
            create()
    except IntegrityError:
        return True
    return False


def test_units_of_one_generation_with_ordinal_and_nominal_criteria():
    study = make_study(instances=1, unit_kind="generation", scale="ordinal:1..5")
    study.criteria.create(name="tone", question="Which tone?", scale="nominal:formal,casual")
    instance = study.dataset.instances.get()
    generation = instance.generations.first()
    texts = [UnitText.showing(generation)]
    (unit,) = Unit.objects.bulk_create([Unit.of(texts, study=study, key="one", instance=instance)])
    labels = [
        c.parsed_scale.parse_label(v)
        for c, v in zip(study.criteria.all(), ("4", "casual"), strict=True)
    ]
    assert labels == [4, "casual"]
    assert Unit.objects.get(pk=unit.pk).generations == [generation]


def test_a_machine_rates_a_hit_once_per_run_and_order_and_takes_no_place():
    study = make_open_study(instances=1)
    hit, machine = (
        study.hits.get(),
        Rater.objects.create(kind="machine", provider="m", external_id="judge"),
    )
    for run in ("1", "2"):
        for order in ("ab", "ba"):
            Assignment.objects.create(hit=hit, rater=machine, run=run, order=order)
    assert refused(lambda: Assignment.objects.create(hit=hit, rater=machine, run="1", order="ab"))
    assert study.places.filter(assignment__isnull=False).count() == 0


def test_an_unparsed_machine_answer_keeps_what_was_said():
    study = make_open_study(instances=1)
    machine = Rater.objects.create(kind="machine", provider="m", external_id="judge")
    assignment = Assignment.objects.create(hit=study.hits.get(), rater=machine, run="1")
    unit = study.units.first()
    assert rate(assignment, unit, label=None, raw="both are fine").label is None
    assert refused(lambda: rate(assignment, study.units.last(), label=None))


def test_a_planned_repeat_has_its_own_hit_unit_and_rating():
    study = make_open_study(instances=1)
    unit, hit = study.units.first(), study.hits.get()
    HITUnit.objects.create(hit=hit, unit=unit, repeat=1, side_bit=True)
    rater = Rater.objects.create(provider="p", external_id="ann")
    assignment = Assignment.objects.create(hit=hit, rater=rater)
    rate(assignment, unit)
    rate(assignment, unit, repeat=1)
    assert refused(lambda: rate(assignment, unit, repeat=1))
    assert sum(recount(study=study).values()) == 1
    assert stored_tallies(study=study) == {}  # only the services update tallies


def test_a_superseded_rating_makes_room_for_one_current_one():
    study = make_open_study(instances=1)
    assignment = Assignment.objects.create(
        hit=study.hits.get(), rater=Rater.objects.create(provider="p", external_id="ann")
    )
    unit = study.units.first()
    old = rate(assignment, unit)
    assert refused(lambda: rate(assignment, unit))
    old.superseded = True
    old.save(update_fields=["superseded"])
    assert rate(assignment, unit, supersedes=old).supersedes == old


def test_versions_are_recorded_when_texts_change_and_only_then():
    study = make_open_study(instances=1)
    assert record_version(study=study).number == 1
    study.consent = "Another text."
    study.save()
    assert record_version(study=study).number == 2
    assert record_version(study=study).number == 2


def test_one_participation_per_submission_of_a_platform():
    study = make_open_study(instances=1)
    rater = Rater.objects.create(provider="prolific", external_id="p1")
    values = {"study": study, "rater": rater, "provider": "prolific", "submission_id": "s1"}
    Participation.objects.create(**values)
    assert refused(lambda: Participation.objects.create(**values))


@pytest.mark.parametrize(
    ("probability", "is_refused"), [(0.25, False), (1.0, False), (0.0, True), (1.5, True)]
)
def test_inclusion_probabilities_lie_above_0(probability, is_refused):
    study = make_study(instances=1)
    assert (
        refused(
            lambda: Unit.objects.create(
                study=study, key="u", phase="control", inclusion_probability=probability
            )
        )
        == is_refused
    )


def test_a_hit_number_stands_for_the_random_order_of_the_plan():
    study = make_open_study(instances=5)
    assert sorted(study.hits.values_list("number", flat=True)) == [1, 2, 3, 4, 5]
    assert refused(lambda: HIT.objects.create(study=study, number=1))
