"""The invariants of a study hold for any interleaving of annotators, clocks and platforms.

Each HIT has exactly the places that were planned, mixed designs included, no answer counts twice, no acknowledged answer is lost,
and the stored tallies equal a recount.
"""

import os
from collections import Counter, defaultdict
from contextlib import suppress
from datetime import timedelta
from itertools import product

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from annotation.counts import progress_of
from annotation.models import Assignment, Participation, Place, Rating
from annotation.selectors import worksheet
from annotation.services.exclusion import OUT, exclude_work, reinstate_work, stop_work
from annotation.services.late_answers import accept_late_answers, decline_late_answers
from annotation.services.planning import grow_ratings_per_hit
from annotation.services.ratings import Answer
from recruitment.services.lifecycle import close_study, open_study, pause_study, reopen_study
from studies.models import Study
from tests.annotation.answers import submit_rating
from tests.annotation.places import take_place
from tests.annotation.tallies import recount, stored_tallies
from tests.conftest import is_postgresql
from tests.studies.factories import make_open_study, make_participation
from tiebreak.errors import DomainError

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases, pytest.mark.thorough]

# Fewer where they come again: most faults are those of the services, and not of a database.
EXAMPLES = 40 if is_postgresql() else 15
PEOPLE = st.integers(0, 3)
SHAPES = list(product([1, 2], [1, 2], [0.0, 0.5]))
Opened = dict[tuple[int, int, float], tuple[Study, list[Participation]]]


def opened_studies(abandoned: str) -> Opened:
    """Return a study and four annotators for each number of ratings and comparisons per HIT."""
    opened = {}
    for ratings, units, share in SHAPES:
        study = make_open_study(
            instances=2,
            ratings_per_hit=ratings,
            comparisons_per_hit=units,
            further_share=share,
            abandoned=abandoned,
        )
        opened[ratings, units, share] = study, [make_participation(study, name) for name in "abcd"]
    return opened


class Collecting(RuleBasedStateMachine):
    """A small study on which four annotators work while everything goes wrong."""

    def __init__(self, opened: Opened):
        super().__init__()
        self.opened = opened
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        self.now = timezone.now()
        self.acknowledged: dict[tuple[int, int, int], str] = {}

    def teardown(self):
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    @initialize(shape=st.sampled_from(SHAPES))
    def begin(self, shape):
        study, self.people = self.opened[shape]
        self.study = Study.objects.get(pk=study.pk)
        self.planned = Counter(study.places.values_list("hit", flat=True))
        with_further = self.study.further_share > 0
        assert sorted(self.planned.values()) == [shape[0], shape[0] + with_further]

    def person(self, index: int) -> Participation:
        return Participation.objects.get(pk=self.people[index].pk)

    @rule(index=PEOPLE)
    def take(self, index):
        with suppress(DomainError):
            take_place(participation=self.person(index), now=self.now)

    @rule(index=PEOPLE, which=st.integers(0, 3), label=st.sampled_from(["-1", "0", "1"]))
    def answer(self, index, which, label):
        """Answer any unit of any HIT that the annotator ever had, even after the lease ran out."""
        work = Assignment.objects.filter(participation=self.people[index]).order_by("pk")
        assignments = list(work.select_related("hit__study", "participation", "rater"))
        if not assignments:
            return
        sheet = worksheet(assignments[which % len(assignments)])
        if sheet.hit_units:
            hit_unit = list(sheet.hit_units.values())[which % len(sheet.hit_units)]
            self.submit(sheet.assignment, hit_unit, which, label)

    @rule(index=PEOPLE, label=st.sampled_from(["-1", "1"]))
    def finish(self, index, label):
        """Answer all units of the current HIT."""
        work = Assignment.objects.filter(participation=self.people[index], status="active")
        for assignment in work.select_related("hit__study", "participation", "rater"):
            for hit_unit in list(worksheet(assignment).hit_units.values()):
                self.submit(assignment, hit_unit, 0, label)

    def submit(self, assignment, hit_unit, which, label):
        criterion = self.study.criteria.get()
        shown = Answer(shown_label=label, client_key=f"{which}-{label}")
        for _ in range(1 + which % 2):
            rating = submit_rating(
                assignment=assignment,
                hit_unit=hit_unit,
                criterion=criterion,
                answer=shown,
                now=self.now,
            )
        self.acknowledged[assignment.pk, hit_unit.unit_id, rating.pk] = rating.label

    @rule(minutes=st.sampled_from([1, 29, 31]))
    def wait(self, minutes):
        self.now += timedelta(minutes=minutes)

    @rule(index=PEOPLE, status=st.sampled_from([status.value for status in OUT]))
    def platform_takes_out(self, index, status):
        exclude_work(participation=self.people[index], status=status, now=self.now)

    @rule(index=PEOPLE)
    def researcher_stops(self, index):
        stop_work(participation=self.people[index], status="stopped", now=self.now)

    @rule(index=PEOPLE)
    def platform_takes_back(self, index):
        reinstate_work(participation=self.people[index], now=self.now)

    @rule()
    def pause_or_open(self):
        study = Study.objects.get(pk=self.study.pk)
        if study.status == "open":
            pause_study(study=study)
        elif study.status == "paused":
            open_study(study=study)

    @precondition(lambda self: self.study.ratings_per_hit < 3)
    @rule()
    def grow(self):
        grow_ratings_per_hit(study=self.study, ratings_per_hit=self.study.ratings_per_hit + 1)
        self.study.refresh_from_db()
        self.planned = Counter({hit: n + 1 for hit, n in self.planned.items()})

    @precondition(lambda self: len(self.acknowledged) > 6)
    @rule()
    def close(self):
        if Study.objects.get(pk=self.study.pk).status != "closed":
            close_study(study=self.study)

    @rule()
    def reopen(self):
        if Study.objects.get(pk=self.study.pk).status == "closed":
            reopen_study(study=self.study)

    @rule(accept=st.booleans())
    def decide_on_late_answers(self, accept):
        with suppress(DomainError):
            if accept:
                accept_late_answers(study=self.study, now=self.now)
            else:
                decline_late_answers(study=self.study)

    @invariant()
    def no_unit_counts_more_often_than_planned(self):
        counted = Rating.objects.counted().values_list("place", "unit", "criterion")
        per_unit = Counter(Rating.objects.counted().values_list("place__hit", "unit", "criterion"))
        assert all(n <= self.planned[hit] for (hit, *_), n in per_unit.items())
        assert all(n == 1 for n in Counter(counted).values())
        assert None not in {place for place, *_ in counted}

    @invariant()
    def places_are_those_planned_and_know_how_many_lack(self):
        places = defaultdict(list)
        for place in Place.objects.filter(hit__study=self.study):
            places[place.hit_id].append(place)
        assert set(places) == set(self.study.hits.values_list("pk", flat=True))
        for of_hit in places.values():
            assert len(of_hit) == self.planned[of_hit[0].hit_id]
            completed = sum(place.completed_at is not None for place in of_hit)
            lacking = self.study.most_ratings - completed
            assert {place.remaining for place in of_hit} == {lacking}
            holders = [place.assignment_id for place in of_hit if place.assignment_id]
            assert len(holders) == len(set(holders))

    @invariant()
    def progress_is_that_of_the_places(self):
        places = list(Place.objects.filter(hit__study=self.study))
        done = sorted(place.completed_at for place in places if place.completed_at)
        left = [place for place in places if not place.completed_at and place.lease_until]
        progress = progress_of(self.study, self.now)
        assert (progress.places, progress.completed) == (len(places), len(done))
        assert progress.live == sum(place.lease_until > self.now for place in left)
        since = self.now - timedelta(hours=1)
        assert progress.completed_last_hour == sum(moment >= since for moment in done)
        first_and_last = (progress.first_completed_at, progress.last_completed_at)
        assert first_and_last == ((done[0], done[-1]) if done else (None, None))

    @invariant()
    def a_completed_place_has_all_its_answers(self):
        completed = Place.objects.filter(completed_at__isnull=False)
        asked, answered, raters = defaultdict(set), defaultdict(set), defaultdict(set)
        for place, unit in completed.values_list("pk", "hit__hit_units__unit"):
            asked[place].add(unit)
        of_completed = Rating.objects.counted().filter(place__in=completed)
        for place, unit, rater in of_completed.values_list("place", "unit", "rater"):
            answered[place].add(unit)
            raters[place].add(rater)
        assert answered == asked
        if self.study.abandoned == "whole_hit":
            assert all(len(holders) == 1 for holders in raters.values())

    @invariant()
    def nothing_acknowledged_is_lost(self):
        rows = dict(Rating.objects.values_list("pk", "label"))
        for (_, _, pk), label in self.acknowledged.items():
            assert rows[pk] == label

    @invariant()
    def counts_equal_a_recount(self):
        assert stored_tallies(study=self.study) == +recount(study=self.study)


@pytest.mark.parametrize("abandoned", ["whole_hit", "units"])
def test_every_interleaving_keeps_the_promises(abandoned):
    opened = opened_studies(abandoned)
    run_state_machine_as_test(
        lambda: Collecting(opened),
        settings=settings(
            max_examples=int(os.environ.get("TIEBREAK_TEST_EXAMPLES", EXAMPLES)),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
