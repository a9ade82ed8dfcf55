"""The pass mark counts units. A unit is right if all answers with a known label are right."""

import random
import re
from collections.abc import Callable

import pytest
from django.test import Client

from annotation.models import HIT, Assignment, HITUnit, Participation, Rater, ScreeningAttempt
from annotation.selectors import worksheet
from annotation.services.planning import plan_hits
from annotation.services.ratings import Answer
from annotation.services.reference_units import degrade_copies
from annotation.services.screening import begin_stage, check_record
from studies.models import Criterion, Generation, Screening, Study, Unit
from tests.annotation.annotators import annotator, form_of
from tests.annotation.answers import submit_unit
from tests.annotation.places import take_place
from tests.pages import numbers_in, page_of, prose_of
from tests.refusals import refused
from tests.studies.factories import make_participation, make_study, open_knowingly

pytestmark = pytest.mark.django_db

PROSE = "The committee met on Tuesday to discuss the budget. It agreed to spend more on roads."
Says = Callable[
    [int, Criterion], bool
]  # whether to answer this unit (by number) and criterion correctly


def study_of_two_criteria(
    *, test: int = 0, training: int = 0, gold: int = 0, scale: str = "preference:tie", **screening
) -> Study:
    """Return an open study with reference units that have a known label on both criteria."""
    study = make_study(instances=14, comparisons_per_hit=1, scale=scale)
    Criterion.objects.create(
        study=study, name="fluency", question="Which reads better?", scale=scale, position=1
    )
    Generation.objects.update(text=PROSE)
    for role, n in (("gold", gold), ("training", training), ("qualification", test)):
        if n:
            degrade_copies(study=study, role=Unit.Role(role), n=n)
    plan_hits(study=study)
    Screening.objects.create(
        study=study, training_units=training, qualification_units=test, **screening
    )
    return open_knowingly(study)


def fresh(participation: Participation) -> Participation:
    return Participation.objects.select_related("study").get(pk=participation.pk)


def known_label(assignment: Assignment, hit_unit: HITUnit) -> int:
    """Return the label, as shown, that prefers system A (the original of a degraded copy)."""
    return -1 if int(hit_unit.side_bit) ^ assignment.parity == 0 else 1


def say(assignment: Assignment, hit_unit: HITUnit, criterion: Criterion, *, right: bool) -> None:
    known = known_label(assignment, hit_unit)
    key = f"{hit_unit.unit_id}-{criterion.pk}-{right}"
    answer = Answer(str(known if right else -known), client_key=key)
    submit_unit(assignment=assignment, hit_unit=hit_unit, answers={criterion: answer})


def work(assignment: Assignment, is_right: Says) -> None:
    sheet = worksheet(assignment)
    for number, hit_unit in sheet.hit_units.items():
        for criterion in sheet.criteria:
            say(assignment, hit_unit, criterion, right=is_right(number, criterion))


def take_test(study: Study, name: str, is_right: Says) -> ScreeningAttempt:
    participation = fresh(make_participation(study, name))
    test = begin_stage(participation=participation)
    assert test is not None
    work(test, is_right)
    return ScreeningAttempt.objects.get(participation=participation)


def test_it_works():
    study = study_of_two_criteria(test=10, pass_mark=9)
    attempt = take_test(study, "ann", lambda number, _: number != 3)
    assert (attempt.correct, attempt.of, attempt.is_passed) == (9, 10, True)


def test_half_of_every_unit_right_is_no_unit_right():
    study = study_of_two_criteria(test=10, pass_mark=9)
    attempt = take_test(study, "ann", lambda _, criterion: criterion.name == "fluency")
    assert (attempt.correct, attempt.of, attempt.is_passed) == (0, 10, False)
    assert attempt.participation.status == "screened_out"


def test_one_wrong_criterion_spoils_its_unit_only():
    study = study_of_two_criteria(test=10, pass_mark=9)
    two_slips = {(1, "fluency"), (2, "preference")}
    attempt = take_test(study, "ann", lambda number, c: (number, c.name) not in two_slips)
    assert (attempt.correct, attempt.of, attempt.is_passed) == (8, 10, False)


def test_a_criterion_that_a_unit_does_not_know_is_not_judged():
    study = study_of_two_criteria(test=3, pass_mark=3)
    Unit.objects.filter(role="qualification").update(known_labels={"fluency": "-1"})
    attempt = take_test(study, "ann", lambda _, criterion: criterion.name == "fluency")
    assert (attempt.correct, attempt.of, attempt.is_passed) == (3, 3, True)


@pytest.mark.parametrize("scale", ["preference", "preference:tie"])
@pytest.mark.slow
def test_random_bots_fail_a_test_of_two_criteria_and_perfect_ones_pass(scale):
    study = study_of_two_criteria(test=10, pass_mark=9, scale=scale)
    rng = random.Random(7)
    bots = [take_test(study, f"bot-{i}", lambda *_: rng.random() < 0.5) for i in range(12)]
    people = [take_test(study, f"person-{i}", lambda *_: True) for i in range(3)]
    assert not any(attempt.is_passed for attempt in bots)
    assert all(attempt.is_passed for attempt in people)


def test_training_is_recorded_by_unit():
    study = study_of_two_criteria(training=2)
    participation = fresh(make_participation(study))
    training = begin_stage(participation=participation)
    work(training, lambda number, criterion: number == 1 or criterion.name == "fluency")
    attempt = ScreeningAttempt.objects.get()
    assert (attempt.correct, attempt.of) == (1, 2)


def check_in_work(study: Study) -> tuple[Assignment, HITUnit]:
    assignment = take_place(participation=make_participation(study))
    hit_units = worksheet(assignment).hit_units.values()
    return assignment, next(
        hit_unit for hit_unit in hit_units if hit_unit.unit_id == assignment.check_unit_id
    )


def test_a_failed_check_counts_once_however_many_criteria_were_wrong():
    study = study_of_two_criteria(gold=2, check_rate=1, check_action="stop", checks_failed=2)
    assignment, hit_unit = check_in_work(study)
    for criterion in worksheet(assignment).criteria:
        say(assignment, hit_unit, criterion, right=False)
    participation = fresh(assignment.participation)
    record = check_record(participation)
    assert (record.right, record.failed, participation.status) == (0, 1, "active")


def test_a_check_enters_the_record_when_all_its_criteria_were_answered():
    study = study_of_two_criteria(gold=2, check_rate=1)
    assignment, hit_unit = check_in_work(study)
    first, second = worksheet(assignment).criteria
    say(assignment, hit_unit, first, right=True)
    assert check_record(fresh(assignment.participation)).of == 0
    say(assignment, hit_unit, second, right=False)
    record = check_record(fresh(assignment.participation))
    assert (record.right, record.failed) == (0, 1)


def test_the_result_says_units_and_not_answers():
    study = study_of_two_criteria(test=3, pass_mark=2, qualification_tries=2)
    page = annotator(study)
    test = begin_stage(participation=fresh(page.participation))
    work(test, lambda _, criterion: criterion.name == "fluency")
    shown = page.here()
    assert (page_of(shown), shown.context["attempt"].correct, shown.context["attempt"].of) == (
        "test_failed",
        0,
        3,
    )
    assert {"0", "3"} <= numbers_in(prose_of(shown))


def test_the_test_says_how_many_items_it_has_and_how_many_have_to_be_right():
    study = study_of_two_criteria(test=3, pass_mark=2)
    shown = annotator(study).here()
    assert stage_of(shown) == ("qualification", {"3", "2"})


def stage_of(page) -> tuple[str, set[str]]:
    """Return the stage that a page belongs to, and the numbers in its line about the stage."""
    line = re.search(r'<p class="task stage"[^>]*>(.*?)</p>', page.content.decode())[1]
    return page.context["progress"].stage, numbers_in(line)


def take_units_away(study: Study) -> None:
    """Require more units than there are, which no page allows but old rows may do."""
    Screening.objects.filter(study=study).update(qualification_units=5, pass_mark=5)


def test_who_could_never_pass_is_not_asked_for_consent():
    study = study_of_two_criteria(test=3, pass_mark=2)
    take_units_away(study)
    client = Client()
    response = client.get(f"/s/{study.pk}/")
    assert response.status_code == 409
    assert 'value="agree"' not in response.content.decode()
    client.post(f"/s/{study.pk}/", {"choice": "agree", "version": 1})
    assert not Participation.objects.exists()
    assert not Rater.objects.exists()


def test_who_agreed_before_is_told_to_come_back_and_keeps_their_part():
    study = study_of_two_criteria(test=3, pass_mark=2)
    participation = make_participation(study)
    take_units_away(study)
    with refused("screening_incomplete"):
        begin_stage(participation=fresh(participation))
    assert fresh(participation).status == "active"


def test_a_test_draws_no_unit_whose_answer_is_not_known():
    study = study_of_two_criteria(test=10, pass_mark=1)
    known = Unit.objects.filter(role="qualification").first()
    Unit.objects.exclude(pk=known.pk).update(known_labels={})
    Screening.objects.update(qualification_units=1)
    test = begin_stage(participation=fresh(make_participation(study)))
    assert [hit_unit.unit_id for hit_unit in worksheet(test).hit_units.values()] == [known.pk]
    assert HIT.objects.get(kind="qualification").units.count() == 10


def test_the_stages_are_named_on_their_pages():
    study = study_of_two_criteria(training=2, test=3, pass_mark=2)
    page = annotator(study)
    assert stage_of(page.here()) == ("training", {"2"})
    assert form_of(page.here()).choices.keys() == {"criterion-preference", "criterion-fluency"}
