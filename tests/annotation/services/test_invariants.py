"""Any interleaving of what annotators, clocks and platforms do keeps what a study promises.

Completed and live places never exceed R; no answer counts twice; nothing acknowledged is lost;
what is kept of counts equals a recount.
"""

import os
from collections import Counter
from contextlib import suppress
from datetime import timedelta

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from annotation.models import Assignment, Participation, Place, Rating
from annotation.selectors import worksheet
from annotation.services.exclusion import OUT, exclude_work, reinstate_work, stop_work
from annotation.services.late_answers import accept_late_answers, decline_late_answers
from annotation.services.places import take_place
from annotation.services.planning import grow_ratings_per_hit
from annotation.services.ratings import Answer, submit_rating
from annotation.services.tallies import recount, stored_tallies
from recruitment.services.lifecycle import close_study, open_study, pause_study, reopen_study
from studies.models import Study
from tests.studies.factories import make_open_study, make_participation
from tiebreak.errors import DomainError

pytestmark = pytest.mark.django_db

PEOPLE = st.integers(0, 3)


class Collecting(RuleBasedStateMachine):
    """A small study that four annotators work on while everything goes wrong."""

    abandoned = "whole_hit"

    def __init__(self):
        super().__init__()
        self.savepoint = transaction.atomic()
        self.savepoint.__enter__()
        self.now = timezone.now()
        self.acknowledged: dict[tuple[int, int, int], str] = {}

    def teardown(self):
        transaction.set_rollback(True)
        self.savepoint.__exit__(None, None, None)

    @initialize(ratings=st.integers(1, 2), units=st.integers(1, 2))
    def begin(self, ratings, units):
        self.study = make_open_study(
            instances=2,
            ratings_per_hit=ratings,
            comparisons_per_hit=units,
            abandoned=self.abandoned,
        )
        self.people = [make_participation(self.study, name) for name in "abcd"]

    def person(self, index: int) -> Participation:
        return Participation.objects.get(pk=self.people[index].pk)

    @rule(index=PEOPLE)
    def take(self, index):
        with suppress(DomainError):
            take_place(participation=self.person(index), now=self.now)

    @rule(index=PEOPLE, which=st.integers(0, 3), label=st.sampled_from(["-1", "0", "1"]))
    def answer(self, index, which, label):
        """Any unit of any HIT they ever met, their lease over or not."""
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
        """All that is still open of the HIT at hand."""
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

    @rule(index=PEOPLE, status=st.sampled_from([each.value for each in OUT]))
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
    def no_unit_counts_more_than_r_times(self):
        counted = Rating.objects.counted()
        per_unit = Counter(counted.values_list("unit", "criterion"))
        assert all(n <= self.study.ratings_per_hit for n in per_unit.values())
        per_place = Counter(counted.values_list("place", "unit", "criterion"))
        assert not [key for key, n in per_place.items() if n > 1]
        assert None not in {place for place, *_ in per_place}

    @invariant()
    def places_are_r_and_know_how_many_lack(self):
        for hit in self.study.hits.all():
            places = list(Place.objects.filter(hit=hit))
            assert len(places) == self.study.ratings_per_hit
            lacking = sum(place.completed_at is None for place in places)
            assert {place.remaining for place in places} == {lacking}
            holders = [place.assignment_id for place in places if place.assignment_id]
            assert len(holders) == len(set(holders))

    @invariant()
    def a_completed_place_has_all_its_answers(self):
        counted = Rating.objects.counted()
        for place in Place.objects.filter(completed_at__isnull=False).select_related("hit"):
            answered = set(counted.filter(place=place).values_list("unit", flat=True))
            assert answered == set(place.hit.hit_units.values_list("unit", flat=True))
            if self.abandoned == "whole_hit":
                raters = set(counted.filter(place=place).values_list("rater", flat=True))
                assert len(raters) == 1

    @invariant()
    def nothing_acknowledged_is_lost(self):
        rows = dict(Rating.objects.values_list("pk", "label"))
        for (_, _, pk), label in self.acknowledged.items():
            assert rows[pk] == label

    @invariant()
    def counts_equal_a_recount(self):
        assert stored_tallies(study=self.study) == +recount(study=self.study)


class CollectingByUnits(Collecting):
    abandoned = "units"


@pytest.mark.parametrize("machine", [Collecting, CollectingByUnits])
def test_every_interleaving_keeps_the_promises(machine):
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=int(os.environ.get("TIEBREAK_TEST_EXAMPLES", "40")),
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
