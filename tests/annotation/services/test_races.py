"""Many simultaneous annotators on PostgreSQL, where each HIT still gets exactly R responses."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal
from threading import Barrier, Thread

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from annotation.hot_path_sql import find_work_of
from annotation.models import Assignment, Participation, Place, Rating
from annotation.services import ratings
from annotation.services.exclusion import exclude_work
from annotation.services.places import NoWorkLeft
from annotation.services.ratings import Answer
from recruitment.services.entry import Entrant, give_consent
from studies.models import Study
from tests.annotation.answers import submit_rating
from tests.annotation.places import hit_units_of, take_place
from tests.annotation.tallies import recount, stored_tallies
from tests.conftest import is_postgresql
from tests.studies.factories import make_open_study, make_participation

pytestmark = [
    pytest.mark.postgresql,
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        not is_postgresql(), reason="SQLite writes one at a time: there is no race."
    ),
]

THREADS = 40
NOW = timezone.now()
LATER = NOW + timedelta(minutes=31)


def race(work: Callable[[int], object], threads: int = THREADS) -> list[object]:
    """Start all threads at the same moment, and return what each of them returned or raised."""
    barrier, results = Barrier(threads), [None] * threads

    def run(index: int) -> None:
        try:
            barrier.wait(timeout=30)
            results[index] = work(index)
        except Exception as error:
            results[index] = error
        finally:
            connection.close()

    started = [Thread(target=run, args=(index,)) for index in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join(timeout=60)
    return results


def annotators(study: Study, count: int = THREADS) -> list[Participation]:
    return [make_participation(study, f"ann-{index}") for index in range(count)]


def take(participations: list[Participation], now=NOW) -> tuple[list[Assignment], list[object]]:
    results = race(lambda i: take_place(participation=participations[i], now=now))
    taken = [result for result in results if isinstance(result, Assignment)]
    return taken, [result for result in results if not isinstance(result, Assignment)]


def answer_all(assignment: Assignment, now=NOW) -> None:
    criterion = assignment.hit.study.criteria.get()
    for hit_unit in hit_units_of(assignment):
        answer = Answer(shown_label="1", client_key=f"{assignment.pk}-{hit_unit.pk}")
        submit_rating(
            assignment=assignment, hit_unit=hit_unit, criterion=criterion, answer=answer, now=now
        )


@pytest.mark.parametrize(("hits", "ratings_per_hit"), [(1, 10), (10, 1), (5, 2)])
def test_forty_annotators_race_for_ten_places(hits, ratings_per_hit):
    study = make_open_study(instances=hits, ratings_per_hit=ratings_per_hit)
    taken, refused = take(annotators(study))
    assert len(taken) == 10
    assert {type(error) for error in refused} == {NoWorkLeft}
    assert Assignment.objects.count() == 10
    assert Place.objects.filter(lease_until__gt=NOW).count() == 10


def test_forty_race_for_ten_lapsed_places():
    study = make_open_study(instances=5, ratings_per_hit=2)
    first, _ = take(annotators(study, THREADS))
    held = {assignment.rater_id for assignment in first}
    newcomers = [make_participation(study, f"new-{index}") for index in range(THREADS)]
    taken, refused = take(newcomers, now=LATER)
    assert len(taken) == 10
    assert {type(error) for error in refused} == {NoWorkLeft}
    assert not held & {assignment.rater_id for assignment in taken}
    assert Assignment.objects.filter(status="abandoned").count() == 10


@pytest.mark.parametrize("abandoned", ["whole_hit", "units"])
def test_late_answers_race_with_the_new_holders_of_the_places(abandoned):
    study = make_open_study(instances=5, ratings_per_hit=2, abandoned=abandoned)
    late, _ = take(annotators(study, THREADS))
    newcomers = [make_participation(study, f"new-{index}") for index in range(THREADS - 10)]

    def work(index: int) -> None:
        if index < 10:
            answer_all(late[index], now=LATER)
        else:
            answer_all(take_place(participation=newcomers[index - 10], now=LATER), now=LATER)

    errors = [error for error in race(work) if error is not None]
    assert {type(error) for error in errors} <= {NoWorkLeft}
    assert Place.objects.filter(completed_at__isnull=True).count() == 0
    assert Rating.objects.counted().count() == 5 * 5 * 2
    assert stored_tallies(study=study) == recount(study=study)
    for unit in study.units.all():
        assert Rating.objects.counted().filter(unit=unit).count() == 2


def test_one_annotator_in_forty_tabs_gets_one_place():
    study = make_open_study(instances=5, ratings_per_hit=2)
    participation = make_participation(study)
    taken, _ = take([participation] * THREADS)
    assert len({assignment.pk for assignment in taken}) == 1
    assert len(taken) == THREADS


def test_fifty_parallel_posts_of_one_answer_make_one_row():
    study = make_open_study(instances=1, ratings_per_hit=1)
    assignment = take_place(participation=make_participation(study), now=NOW)
    hit_unit, criterion = hit_units_of(assignment)[0], study.criteria.get()
    answer = Answer(shown_label="1", client_key="one")
    results = race(
        lambda _: submit_rating(
            assignment=assignment, hit_unit=hit_unit, criterion=criterion, answer=answer, now=NOW
        ),
        threads=50,
    )
    assert {result.pk for result in results} == {Rating.objects.get().pk}
    assert sum(stored_tallies(study=study).values()) == 1


def test_fifty_annotators_race_for_the_last_place_and_the_others_are_told():
    study = make_open_study(instances=1, ratings_per_hit=1)
    taken, refused = take(annotators(study, 50))
    assert len(taken) == 1
    assert {error.code for error in refused} == {"no_work_left"}


def test_an_answer_repeated_after_a_database_failure_is_stored_once(monkeypatch):
    study = make_open_study(instances=1, comparisons_per_hit=1)
    assignment = take_place(participation=make_participation(study), now=NOW)
    hit_unit, criterion = hit_units_of(assignment)[0], study.criteria.get()
    answer = Answer(shown_label="1", client_key="one")
    shift = ratings.apply_tally_deltas

    def die(shifts):
        shift(shifts)
        connection.cursor().execute("SELECT pg_terminate_backend(pg_backend_pid())")

    monkeypatch.setattr(ratings, "apply_tally_deltas", die)
    with pytest.raises(OperationalError):
        submit_rating(
            assignment=assignment, hit_unit=hit_unit, criterion=criterion, answer=answer, now=NOW
        )
    connection.close()
    assert not Rating.objects.exists()
    assert not stored_tallies(study=study)
    monkeypatch.undo()
    for _ in range(2):
        submit_rating(
            assignment=assignment, hit_unit=hit_unit, criterion=criterion, answer=answer, now=NOW
        )
    assert Rating.objects.count() == 1
    assert stored_tallies(study=study) == recount(study=study)
    assert Place.objects.filter(completed_at__isnull=False).count() == 1


def test_corrections_of_an_earlier_task_race_with_an_exclusion_and_with_each_other():
    study = make_open_study(instances=2, ratings_per_hit=1, comparisons_per_hit=1)
    ann = make_participation(study)
    earlier = take_place(participation=ann)
    answer_all(earlier)
    take_place(participation=ann)
    hit_unit, criterion = hit_units_of(earlier)[0], study.criteria.get()

    def work(index: int) -> None:
        if index == THREADS // 2:
            exclude_work(participation=ann, status="excluded")
            return
        answer = Answer(shown_label=str(index % 3 - 1), client_key=f"key-{index}")
        fresh = find_work_of(earlier.public_id, ann.public_id, study.pk)
        submit_rating(assignment=fresh, hit_unit=hit_unit, criterion=criterion, answer=answer)

    assert {error for error in race(work) if error is not None} == set()
    assert Rating.objects.filter(superseded=False).count() == 1
    assert not Rating.objects.counted().exists()
    assert not Place.objects.filter(completed_at__isnull=False).exists()
    assert stored_tallies(study=study) == +recount(study=study)


def test_a_channel_admits_its_maximum_of_people_and_nobody_else():
    study = make_open_study(
        instances=3, ratings_per_hit=1, hits_per_annotator=1, reward=Decimal("1.00")
    )

    def enter(index: int) -> Participation:
        name = str(index)
        entrant = Entrant(provider="open-link", external_id=name, submission_id=name)
        return give_consent(study=study, entrant=entrant)

    results = race(enter, threads=12)
    assert sum(isinstance(result, Participation) for result in results) == 4
    refusals = [result for result in results if not isinstance(result, Participation)]
    assert {refusal.code for refusal in refusals} == {"channel_full"}
