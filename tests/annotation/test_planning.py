from collections import Counter

import pytest

from annotation.models import HITUnit, Place
from annotation.services.lifecycle import open_study
from annotation.services.planning import grow_ratings_per_hit, plan_hits
from studies.errors import DomainError
from studies.models import Generation, Study, StudySystem, Unit
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db


def first_sides(study: Study) -> Counter[tuple[int, bool]]:
    """How often each unit shows system A first, over its places."""
    shown: Counter[tuple[int, bool]] = Counter()
    for seat in HITUnit.objects.filter(hit__study=study):
        for place in seat.hit.places.all():
            shown[seat.unit_id, int(seat.side_bit) ^ place.parity == 0] += 1
    return shown


def test_it_works():
    study = make_study(instances=4)
    plan = plan_hits(study=study)
    assert (plan.hits, plan.units, plan.places) == (4, 20, 12)
    assert study.units.count() == 20
    assert {hit.units.count() for hit in study.hits.all()} == {5}
    assert set(study.units.values_list("inclusion_probability", flat=True)) == {1.0}


def test_the_same_seed_gives_the_same_plan():
    study = make_study(instances=6, samples=7)

    def plan():
        plan_hits(study=study)
        seats = HITUnit.objects.filter(hit__study=study).order_by("hit__number", "pk")
        draws = study.places.order_by("hit__number", "number").values_list("draw", flat=True)
        return list(seats.values_list("hit__number", "unit__key", "side_bit")), list(draws)

    first = plan()
    assert plan() == first
    study.seed = "another"
    study.save()
    assert plan() != first


def test_sample_k_meets_sample_k_of_the_other_system():
    study = make_study(instances=3, samples=8, comparisons_per_hit=4)
    plan_hits(study=study)
    for unit in study.units.all():
        assert unit.sample_a == unit.sample_b
        assert unit.generation_a.sample_index == unit.sample_a
        assert unit.generation_a.system_id == unit.system_a_id
        assert unit.generation_b.system_id == unit.system_b_id
    assert study.units.count() == 12


def test_every_pair_of_three_systems_is_compared_in_canonical_order():
    study = make_study(instances=2, systems=3)
    plan_hits(study=study)
    pairs = Counter(study.units.values_list("system_a__name", "system_b__name"))
    assert pairs == {
        ("system-0", "system-1"): 10,
        ("system-0", "system-2"): 10,
        ("system-1", "system-2"): 10,
    }


@pytest.mark.parametrize("ratings_per_hit", [2, 4])
def test_over_an_even_r_every_unit_is_seen_in_both_orders_equally_often(ratings_per_hit):
    study = make_study(instances=3, ratings_per_hit=ratings_per_hit)
    plan_hits(study=study)
    assert set(first_sides(study).values()) == {ratings_per_hit // 2}


@pytest.mark.parametrize(("instances", "n"), [(6, 5), (7, 5), (7, 1), (5, 4)])
def test_over_an_odd_r_sides_balance_to_one_per_system_pair(instances, n):
    study = make_study(instances=instances, systems=3, ratings_per_hit=3, comparisons_per_hit=n)
    plan_hits(study=study)
    for pair in set(study.units.values_list("system_a", "system_b")):
        units = set(
            study.units.filter(system_a=pair[0], system_b=pair[1]).values_list("pk", flat=True)
        )
        shown = Counter()
        for (unit, first), times in first_sides(study).items():
            if unit in units:
                shown[first] += times
        assert abs(shown[True] - shown[False]) <= 1


def test_inside_a_hit_the_bits_split_evenly():
    study = make_study(instances=8)
    plan_hits(study=study)
    for hit in study.hits.all():
        assert hit.hit_units.filter(side_bit=True).count() in {2, 3}


def test_a_dataset_without_common_generations_is_refused():
    study = make_study(instances=1)
    Generation.objects.filter(system__name="system-1").delete()
    with pytest.raises(DomainError, match="Import generations"):
        plan_hits(study=study)


def test_what_is_missing_is_named():
    study = make_study()
    study.criteria.all().delete()
    StudySystem.objects.filter(study=study, position=1).delete()
    with pytest.raises(DomainError, match="two systems and a criterion"):
        plan_hits(study=study)


def test_an_open_study_keeps_its_plan():
    study = make_open_study()
    with pytest.raises(DomainError, match="Clone it"):
        plan_hits(study=study)


def test_planning_again_replaces_the_plan():
    study = make_study(instances=2)
    plan_hits(study=study)
    study.comparisons_per_hit = 2
    study.save()
    plan_hits(study=study)
    assert Unit.objects.count() == 4
    assert Place.objects.count() == 6


def test_a_plan_is_needed_to_open():
    with pytest.raises(DomainError, match="Plan the HITs"):
        open_study(study=make_study())


def test_r_grows_and_never_shrinks():
    study = make_open_study(instances=2, ratings_per_hit=2)
    assert grow_ratings_per_hit(study=study, ratings_per_hit=4) == 4
    study.refresh_from_db()
    assert study.ratings_per_hit == 4
    assert {hit.places.count() for hit in study.hits.all()} == {4}
    with pytest.raises(DomainError, match="only grow"):
        grow_ratings_per_hit(study=study, ratings_per_hit=3)


def test_units_of_one_generation():
    study = make_study(instances=2, unit_kind="generation", scale="ordinal:1..5", samples=3)
    plan = plan_hits(study=study)
    assert plan.units == 12
    assert plan.hits == 4
    assert not study.units.filter(generation_b__isnull=False).exists()
