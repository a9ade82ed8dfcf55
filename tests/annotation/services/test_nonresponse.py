"""Answers that are no label, and reasons: saved, counted, replaced and kept out of statistics."""

import pytest
from django.contrib.auth.models import User

from annotation.counts import rating_counts
from annotation.exports.ratings import rating_rows
from annotation.models import Assignment, Place, Rating
from annotation.selectors import worksheet
from annotation.services.exclusion import exclude_work, reinstate_work
from annotation.services.items import set_item_aside, unlabelled_items
from annotation.services.places import NoWorkLeft
from annotation.services.ratings import Answer, RatingResult, submit_ratings
from annotation.services.screening import check_record
from studies.models import Criterion, Study
from tests.annotation.places import take_place
from tests.annotation.tallies import recount, stored_tallies
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]

BOTH = Study.Nonresponses.BOTH
REPLACED = Study.UnlabelledTasks.REPLACED


def study_with(*, reason: str = "none", criteria: tuple[str, ...] = ("preference",), **design):
    study = make_open_study(**{"instances": 1, "ratings_per_hit": 1, "nonresponses": BOTH} | design)
    study.criteria.update(reason=reason)
    for position, name in enumerate(criteria[1:], start=1):
        Criterion.objects.create(study=study, name=name, position=position, reason=reason)
    return study


def give(assignment: Assignment, position: int = 1, **answer: str) -> RatingResult:
    sheet = worksheet(assignment)
    given = Answer(**{"shown_label": "", "client_key": f"{position}-{answer}"} | answer)
    return submit_ratings(sheet=sheet, position=position, answers={sheet.criteria[0]: given})


def give_all(assignment: Assignment, **answer: str) -> RatingResult:
    for position in worksheet(assignment).hit_units:
        result = give(assignment, position, **answer)
    return result


def place_of(study: Study, name: str = "ann") -> Assignment:
    return take_place(participation=make_participation(study, name))


def check_tallies(study: Study) -> None:
    assert stored_tallies(study=study) == +recount(study=study)


def test_an_item_without_a_label_is_complete_and_in_no_statistic():
    study = study_with()
    result = give_all(place_of(study), nonresponse="cannot_say")
    assert result.progress.answered == result.progress.of
    assert Place.objects.get().completed_at is not None
    assert Rating.objects.counted().count() == 5
    assert not Rating.objects.in_statistics().exists()
    assert not stored_tallies(study=study)


def test_a_broken_item_is_broken_for_every_criterion():
    study = study_with(criteria=("preference", "fluency"))
    assignment = place_of(study)
    assert give(assignment, nonresponse="broken").progress.is_answered
    stored = Rating.objects.values_list("criterion__name", "nonresponse", "label")
    assert set(stored) == {("preference", "broken", None), ("fluency", "broken", None)}
    assert not give(assignment, 2, nonresponse="cannot_say").progress.is_answered


def test_a_label_supersedes_a_nonresponse_and_the_other_way_round():
    study = study_with()
    assignment = place_of(study)
    for answer in (
        {"shown_label": "1"},
        {"nonresponse": "broken"},
        {"shown_label": "1", "client_key": "again"},
    ):
        give(assignment, **answer)
        check_tallies(study)
    assert Rating.objects.count() == 3
    assert Rating.objects.in_statistics().count() == 1


@pytest.mark.parametrize("allowed", ["none", "cannot_say"])
def test_what_the_study_does_not_allow_is_refused(allowed):
    assignment = place_of(study_with(nonresponses=allowed))
    for nonresponse in ("broken", "made up"):
        with refused("not_a_label"):
            give(assignment, nonresponse=nonresponse)
    assert not Rating.objects.exists()


def test_a_required_reason_has_a_minimum_length_and_a_nonresponse_needs_none():
    assignment = place_of(study_with(reason="required"))
    with refused("reason_too_short"):
        give(assignment, shown_label="1", reason="x" * 19)
    give(assignment, shown_label="1", reason="x" * 20)
    give(assignment, 2, nonresponse="cannot_say")
    with refused("reason_too_long"):
        give(assignment, 3, shown_label="1", reason="x" * 2001)
    assert list(Rating.objects.values_list("reason", flat=True)) == ["x" * 20, ""]


def test_a_changed_reason_supersedes_and_the_same_one_does_not():
    assignment = place_of(study_with(reason="optional"))
    for reason in ("short", "short", "longer"):
        give(assignment, shown_label="1", reason=reason)
    stored = Rating.objects.order_by("pk").values_list("reason", "superseded")
    assert list(stored) == [("short", True), ("longer", False)]


def test_no_reason_is_kept_that_nobody_asked_for():
    assignment = place_of(study_with())
    give(assignment, shown_label="1", reason="because")
    assert Rating.objects.get().reason == ""


@pytest.mark.parametrize("abandoned", Study.Abandoned.values)
def test_a_task_without_a_label_is_offered_again_if_the_study_says_so(abandoned):
    study = study_with(unlabelled_tasks=REPLACED, abandoned=abandoned)
    first = place_of(study)
    give_all(first, nonresponse="cannot_say")
    first.refresh_from_db()
    assert first.status == Assignment.Status.COMPLETED  # and paid
    assert Place.objects.get().completed_at is None
    with pytest.raises(NoWorkLeft):
        take_place(participation=first.participation)
    second = place_of(study, "bob")
    give_all(second, shown_label="1")
    assert Place.objects.get().assignment == second
    assert Place.objects.get().completed_at is not None
    assert Rating.objects.counted().count() == 10
    assert Rating.objects.in_statistics().count() == 5
    check_tallies(study)


def test_one_label_completes_a_task():
    study = study_with(unlabelled_tasks=REPLACED)
    assignment = place_of(study)
    give(assignment, 1, shown_label="1")
    for position in range(2, 6):
        give(assignment, position, nonresponse="broken")
    assert Place.objects.get().completed_at is not None


def test_a_late_label_for_a_task_that_was_offered_again_is_surplus():
    study = study_with(unlabelled_tasks=REPLACED)
    first = place_of(study)
    give_all(first, nonresponse="cannot_say")
    give_all(place_of(study, "bob"), shown_label="1")
    give(first, shown_label="1")
    assert Rating.objects.in_statistics().count() == 5
    assert Rating.objects.get(surplus=True).rater == first.rater
    check_tallies(study)


def test_a_gold_check_without_a_label_counts_neither_way():
    study = study_with()
    unit = study.units.first()
    assignment = place_of(study)
    give_all(assignment, nonresponse="cannot_say")
    study.units.filter(pk=unit.pk).update(role="gold", known_labels={"preference": "1"})
    assert check_record(assignment.participation).of == 0


def test_what_was_set_aside_enters_no_statistic_and_is_exported_as_excluded():
    study = study_with()
    give_all(place_of(study), shown_label="1")
    unit = study.units.first()
    user = User.objects.create_user("ada")
    set_item_aside(study=study, key=unit.key, aside=True, by=user)
    assert Rating.objects.in_statistics().count() == 4
    counts = rating_counts(Rating.objects.all())
    assert (counts.rows, counts.counted, counts.excluded) == (5, 4, 1)
    (row,) = [row for row in rating_rows(study) if row["excluded"]]
    assert (row["unit"], row["excluded_reason"]) == (unit.key, "item set aside")
    set_item_aside(study=study, key=unit.key, aside=False, by=user)
    assert not any(row["excluded"] for row in rating_rows(study))
    assert set(study.events.values_list("verb", flat=True)) >= {"set-aside", "put-back"}
    with refused("unknown_item"):
        set_item_aside(study=study, key=unit.key, aside=False, by=user)


def test_every_rating_is_in_one_group():
    study = study_with()
    assignment = place_of(study)
    give(assignment, 1, shown_label="1")
    give(assignment, 2, nonresponse="broken")
    counts = rating_counts(Rating.objects.all())
    assert (counts.rows, counts.counted, counts.nonresponses) == (2, 1, 1)


def test_units_without_a_label_are_listed_by_how_often():
    study = study_with(ratings_per_hit=2)
    assignment = place_of(study)
    give(assignment, 2, nonresponse="cannot_say")
    give(assignment, 1, nonresponse="broken")
    units = list(unlabelled_items(study))
    assert [(unit.broken, unit.cannot_say, unit.people) for unit in units] == [
        (1, 0, 1),
        (0, 1, 1),
    ]


def test_a_label_takes_the_place_back_while_nobody_has_it():
    study = study_with(unlabelled_tasks=REPLACED)
    first = place_of(study)
    give_all(first, nonresponse="cannot_say")
    give(first, shown_label="1")
    assert Place.objects.get().assignment == first
    assert Place.objects.get().completed_at is not None
    assert not Rating.objects.filter(surplus=True).exists()
    assert Rating.objects.in_statistics().count() == 1
    check_tallies(study)


@pytest.mark.parametrize("abandoned", Study.Abandoned.values)
def test_broken_after_a_label_on_another_question_leaves_no_label(abandoned):
    study = study_with(
        criteria=("preference", "fluency"), unlabelled_tasks=REPLACED, abandoned=abandoned
    )
    assignment = place_of(study)
    for position in range(2, 6):
        give(assignment, position, nonresponse="broken")
    sheet = worksheet(assignment)
    label = Answer(shown_label="1", client_key="fluent-1")
    submit_ratings(sheet=sheet, position=1, answers={sheet.criteria[1]: label})
    give(assignment, 1, nonresponse="broken")
    assert Place.objects.get().completed_at is None
    assert not Rating.objects.in_statistics().exists()
    give_all(place_of(study, "bob"), nonresponse="broken")
    check_tallies(study)


def test_a_reinstated_person_without_a_label_takes_no_place():
    study = study_with(unlabelled_tasks=REPLACED)
    first = place_of(study)
    give_all(first, nonresponse="cannot_say")
    exclude_work(participation=first.participation, status="returned")
    reinstate_work(participation=first.participation)
    assert Place.objects.get().completed_at is None
    assert Rating.objects.counted().count() == 5


def test_a_wrong_answer_fails_a_check_though_another_is_missing():
    study = study_with(criteria=("preference", "fluency"))
    assignment = place_of(study)
    sheet = worksheet(assignment)
    given = {
        sheet.criteria[0]: Answer("1", "wrong-key"),
        sheet.criteria[1]: Answer("", "none-key", "cannot_say"),
    }
    submit_ratings(sheet=sheet, position=1, answers=given)
    rating = Rating.objects.get(criterion__name="preference")
    known = {"preference": str(-int(rating.label)), "fluency": "1"}
    study.units.filter(pk=rating.unit_id).update(role="gold", known_labels=known)
    assert check_record(assignment.participation).failed == 1
    known["preference"] = rating.label
    study.units.filter(pk=rating.unit_id).update(known_labels=known)
    assert check_record(assignment.participation).of == 0
