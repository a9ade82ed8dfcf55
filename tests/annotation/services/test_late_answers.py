import pytest
from django.contrib.auth.models import User

from annotation.models import Assignment, Place, Rating
from annotation.services.exclusion import exclude_work, reinstate_work
from annotation.services.late_answers import (
    DECLINED,
    accept_late_answers,
    decline_late_answers,
    late_answers,
    pending,
)
from metrics.results.services import watermark
from recruitment.confirmations import quality
from recruitment.ledger import ledger
from recruitment.services.lifecycle import close_study, reopen_study
from studies.models import Study, StudyEvent
from studies.models.event import AppendOnly
from tests.annotation.places import hit_units_of, take_place
from tests.annotation.services.test_ratings import LATER, START, answer, answer_all, check_counts
from tests.studies.factories import make_open_study, make_participation
from tiebreak.errors import DomainError

pytestmark = pytest.mark.django_db


def closed_midway(label: str = "1", **design) -> tuple[Study, Assignment]:
    """Return a study that closed after one answer to its only HIT, and four late answers."""
    design = {"instances": 1, "ratings_per_hit": 1, **design}
    study = make_open_study(**design)
    assignment = take_place(participation=make_participation(study), now=START)
    first, *others = hit_units_of(assignment)
    answer(assignment, first, label)
    study = close_study(study=study)
    for hit_unit in others:
        answer(assignment, hit_unit, label)
    return study, assignment


def refusal(do, study: Study) -> str:
    with pytest.raises(DomainError) as refused:
        do(study=study)
    return refused.value.code


def test_a_closed_study_is_reopened_and_late_answers_stay_out():
    study, _ = closed_midway()
    study = reopen_study(study=study)
    assert (study.status, study.closed_at) == ("open", None)
    assert Rating.objects.counted().count() == 1
    assert pending(study).count() == 4
    assert Place.objects.get().completed_at is None
    check_counts(study)


def test_superseded_late_answers_stay_in_the_ledger():
    study, assignment = closed_midway()
    study = reopen_study(study=study)
    assert [entry.participation.pk for entry in ledger(study).rows_on("late")] == [
        assignment.participation_id
    ]


@pytest.mark.parametrize("decide", [accept_late_answers, decline_late_answers])
def test_a_decision_on_late_answers_makes_the_report_old(decide):
    study, _ = closed_midway()
    study = reopen_study(study=study)
    before = watermark(study)
    decide(study=study)
    assert watermark(study) != before


@pytest.mark.parametrize("abandoned", ["whole_hit", "units"])
def test_accepted_answers_count_and_complete_their_place(abandoned):
    study, assignment = closed_midway(abandoned=abandoned)
    study = reopen_study(study=study)
    assert accept_late_answers(study=study) == 4
    assert Rating.objects.counted().count() == 5
    assert Place.objects.get().completed_at is not None
    assignment.refresh_from_db()
    assert assignment.status == "completed"
    check_counts(study)
    assert refusal(accept_late_answers, study) == "nothing_late"


def test_declined_answers_stay_out_for_good_and_their_place_is_free():
    study, _ = closed_midway()
    study = reopen_study(study=study)
    assert decline_late_answers(study=study) == 4
    assert Rating.objects.filter(late=True, excluded_reason=DECLINED).count() == 4
    assert refusal(accept_late_answers, study) == "nothing_late"
    other = take_place(participation=make_participation(study, "bob"), now=LATER)
    answer_all(other, now=LATER)
    assert Rating.objects.counted().count() == 5
    assert set(Rating.objects.counted().values_list("rater", flat=True)) == {other.rater_id}
    check_counts(study)


@pytest.mark.parametrize("abandoned", ["whole_hit", "units"])
def test_what_finds_its_place_taken_is_surplus_so_that_r_stays_exact(abandoned):
    study, _ = closed_midway(abandoned=abandoned)
    study = reopen_study(study=study)
    other = take_place(participation=make_participation(study, "bob"), now=LATER)
    answer_all(other, now=LATER)
    accept_late_answers(study=study, now=LATER)
    assert Rating.objects.counted().count() == 5
    assert Rating.objects.filter(surplus=True).exists()
    check_counts(study)


def test_who_comes_back_before_the_decision_answers_anew_and_that_stands():
    study, assignment = closed_midway("1")
    study = reopen_study(study=study)
    again = take_place(participation=assignment.participation, now=START)
    assert again.pk == assignment.pk
    for hit_unit in hit_units_of(again)[1:]:
        answer(again, hit_unit, "-1", key=f"new-{hit_unit.pk}")
    assert Place.objects.get().completed_at is not None
    assert accept_late_answers(study=study) == 0
    assert Rating.objects.counted().count() == 5
    check_counts(study)


def test_a_late_correction_is_taken_over_what_was_said_in_time():
    study = make_open_study(instances=1, ratings_per_hit=1)
    assignment = take_place(participation=make_participation(study), now=START)
    answer_all(assignment)
    study = close_study(study=study)
    first = hit_units_of(assignment)[0]
    before = Rating.objects.get(unit=first.unit)
    opposite = str(-int(answer(assignment, first, "-1").label))
    assert before.label == opposite
    study = reopen_study(study=study)
    assert accept_late_answers(study=study) == 1
    now = Rating.objects.counted().get(unit=first.unit)
    assert now.label == str(-int(before.label))
    assert Rating.objects.counted().count() == 5
    check_counts(study)


def test_of_two_late_answers_to_a_unit_the_last_one_is_taken():
    study, assignment = closed_midway()
    last = hit_units_of(assignment)[-1]
    changed = answer(assignment, last, "-1", key="changed")
    study = reopen_study(study=study)
    assert late_answers(study).answers == 4
    accept_late_answers(study=study)
    assert Rating.objects.counted().get(unit=last.unit).pk == changed.pk
    check_counts(study)


def test_answers_of_somebody_who_was_excluded_come_back_only_with_them():
    study, assignment = closed_midway()
    study = reopen_study(study=study)
    exclude_work(participation=assignment.participation, status="excluded")
    accept_late_answers(study=study)
    assert not Rating.objects.counted().exists()
    check_counts(study)
    reinstate_work(participation=assignment.participation)
    assert Rating.objects.counted().count() == 5
    check_counts(study)


def test_nothing_is_decided_while_the_study_is_closed_and_answers_may_still_come():
    study, _ = closed_midway()
    assert refusal(accept_late_answers, study) == "still_closed"
    assert refusal(decline_late_answers, study) == "still_closed"
    study = reopen_study(study=study)
    study = close_study(study=study)
    assert refusal(accept_late_answers, study) == "still_closed"
    study = reopen_study(study=study)
    assert accept_late_answers(study=study) == 4


def test_what_is_known_before_deciding_is_quality_and_not_the_outcome():
    sentences = {}
    for label in ("1", "-1"):
        study, _ = closed_midway(label, ratings_per_hit=2)
        reopen_study(study=study)
        late = late_answers(study)
        assert (late.answers, late.people, late.hits) == (4, 1, 1)
        sentences[label] = quality(late)
    assert sentences["1"] == sentences["-1"]
    assert not {"system-0", "system-1", "-1"} & set(" ".join(sentences["1"]).split())


def test_agreement_of_late_answers_is_with_other_people():
    study = make_open_study(instances=1, ratings_per_hit=2)
    bob = take_place(participation=make_participation(study, "bob"), now=START)
    ann = take_place(participation=make_participation(study, "ann"), now=START)
    for hit_unit in hit_units_of(bob):
        shown = "1" if bob.parity == ann.parity else "-1"
        answer(bob, hit_unit, shown)
    study = close_study(study=study)
    hit_units = hit_units_of(ann)
    for hit_unit in hit_units[:3]:
        answer(ann, hit_unit, "1")
    answer(ann, hit_units[3], "0")
    late = late_answers(study)
    assert (late.answers, late.agreement, late.usual_agreement) == (4, 0.75, None)


def test_each_step_is_logged_with_who_and_how_many():
    ruth = User.objects.create_user("ruth", is_staff=True)
    study, _ = closed_midway()
    reopen_study(study=study, by=ruth)
    accept_late_answers(study=study, by=ruth)
    log = [(event.verb, event.by) for event in study.events.order_by("pk")]
    assert log[-2:] == [("reopen", ruth), ("accept-late", ruth)]
    assert [verb for verb, _ in log] == ["open", "close", "reopen", "accept-late"]
    assert study.events.first().details == {"answers": 4, "people": 1}


def test_the_log_is_append_only():
    event = make_open_study(instances=1).events.get()
    event.verb = StudyEvent.Verb.CLOSE
    with pytest.raises(AppendOnly):
        event.save()
    with pytest.raises(AppendOnly):
        event.delete()
