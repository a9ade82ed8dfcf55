"""Designs in which a share of the tasks gets further ratings."""

import random
from collections import Counter, defaultdict
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import (
    HealthCheck,
    Phase,
    example,
    given,
    settings as hypothesis_settings,
    strategies as st,
)
from hypothesis.extra.django import TestCase

from annotation.hot_path_sql import complete_place
from annotation.models import Assignment, HITUnit, Place
from annotation.services.places import NoWorkLeft
from annotation.services.planning import grow_ratings_per_hit, plan_hits
from jobs.clock import database_now
from recruitment.admission import collection_of
from recruitment.confirmations import opening
from recruitment.costs import accounts, forecast
from recruitment.services.cloning import clone_study
from recruitment.services.lifecycle import open_study
from recruitment.services.settings import save_settings
from studies.models import Study
from tests.annotation.places import take_place
from tests.annotation.services.test_planning import first_sides
from tests.pages import numbers_in
from tests.refusals import refused
from tests.studies.factories import (
    EVERY_WARNING,
    make_open_study,
    make_participation,
    make_study,
    open_knowingly,
)
from tiebreak.stats.design.design_grid import further_tasks

DESIGNS = st.fixed_dictionaries(
    {
        "instances": st.integers(2, 12),
        "systems": st.integers(2, 3),
        "samples": st.integers(1, 3),
        "comparisons_per_hit": st.integers(1, 3),
        "ratings_per_hit": st.integers(1, 3),
        "further_share": st.floats(0, 1),
        "further_ratings": st.integers(1, 3),
        "bundling": st.sampled_from(["instance", "mixed"]),
    }
)


LARGE = {"instances": 40, "systems": 3, "samples": 1, "comparisons_per_hit": 1}
LARGE |= {"ratings_per_hit": 1, "further_share": 0.4, "further_ratings": 1, "bundling": "instance"}


def places_of_hits(study: Study) -> Counter[int]:
    return Counter(study.places.values_list("hit", flat=True))


def collect(study: Study, rng: random.Random) -> None:
    """Let people come and go until nobody gets a task, and some of them leave one unfinished."""
    people = [make_participation(study, f"p{n}") for n in range(study.most_ratings + 2)]
    while people:
        person, now = rng.choice(people), database_now()
        try:
            assignment = take_place(participation=person)
        except NoWorkLeft:
            people.remove(person)
            continue
        place = Place.objects.get(assignment=assignment)
        if rng.random() < 0.2:
            Place.objects.filter(pk=place.pk).update(lease_until=now - timedelta(minutes=1))
            continue
        complete_place(place, now)
        Assignment.objects.filter(pk=assignment.pk).update(status="completed", completed_at=now)


class TestMixedDesigns(TestCase):
    @hypothesis_settings(
        max_examples=25,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        phases=[Phase.explicit, Phase.generate],
    )
    @example(design=LARGE, arrivals=0)
    @given(design=DESIGNS, arrivals=st.integers(0, 99))
    def test_each_task_gets_exactly_its_places_and_each_pair_its_share(self, design, arrivals):
        study = make_study(**design)
        plan = plan_hits(study=study)
        planned, r = places_of_hits(study), study.ratings_per_hit
        drawn = {hit for hit, n in planned.items() if n > r}
        assert len(drawn) == further_tasks(study.further_share, plan.hits)
        assert {n for n in planned.values() if n > r} <= {study.most_ratings}
        of_pairs, sides = defaultdict(list), defaultdict(Counter)
        shown = first_sides(study)
        for hit, unit, *pair in HITUnit.objects.values_list(
            "hit", "unit", "unit__text_a__system", "unit__text_b__system"
        ):
            of_pairs[tuple(pair)].append(hit in drawn)
            sides[tuple(pair)] += Counter({first: shown[unit, first] for first in (True, False)})
        units = (
            1 if study.bundling == "mixed" else min(design["samples"], study.comparisons_per_hit)
        )
        for pair, further in of_pairs.items():
            share = len(further) * len(drawn) / plan.hits
            assert abs(sum(further) - share) < units - 1e-9
            assert abs(sides[pair][True] - sides[pair][False]) <= 1
        collect(open_knowingly(study), random.Random(arrivals))
        completed = study.places.filter(completed_at__isnull=False)
        assert Counter(completed.values_list("hit", flat=True)) == planned


pytestmark = pytest.mark.django_db


def mixed(**design) -> Study:
    options = {"instances": 10, "samples": 1, "comparisons_per_hit": 1, "ratings_per_hit": 1}
    return make_open_study(**options | {"further_share": 0.25} | design)


def test_all_that_tell_how_much_is_collected_say_the_same():
    study = mixed(reward=Decimal(1), hits_per_annotator=5, minutes_per_hit=1)
    told = {
        study.places.count(),
        study.places_of(10),
        collection_of(study).responses,
        forecast(study, hits=10).responses,
        plan_hits(study=clone_study(study=study).study).places,
    }
    assert told == {13}
    assert forecast(study, hits=10).total == accounts(study).costs.total == Decimal("2.60")
    assert {"1", "2", "13"} <= numbers_in(" ".join(opening(study).sentences))


def test_raising_r_gives_all_tasks_as_many_more():
    study = mixed()
    before = places_of_hits(study)
    assert grow_ratings_per_hit(study=study, ratings_per_hit=3) == 20
    assert places_of_hits(study) == Counter({hit: n + 2 for hit, n in before.items()})


def test_a_draft_is_planned_again_if_other_tasks_would_get_further_ratings():
    study = make_study(instances=4, ratings_per_hit=1, further_share=0.5, further_ratings=3)
    plan_hits(study=study)
    Study.objects.filter(pk=study.pk).update(ratings_per_hit=2, further_ratings=1)
    study.refresh_from_db()
    before = study.places.count()
    open_study(study=study, confirmed_warnings=EVERY_WARNING, plan_first=True)
    assert study.places.count() == before == 10
    assert sorted(places_of_hits(study).values()) == [2, 2, 3, 3]


def test_further_ratings_are_frozen_and_even_where_both_orders_are_shown():
    study = mixed()
    study.further_share = 0.5
    with refused("frozen_design"):
        save_settings(study=study)
    symmetric = {"pairing": "symmetric", "ratings_per_hit": 2, "further_share": 0.5}
    with refused("symmetric_needs_even_ratings"):
        plan_hits(study=make_study(instances=2, **symmetric))
    plan_hits(study=make_study(instances=2, further_ratings=2, **symmetric))
