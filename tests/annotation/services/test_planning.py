from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from annotation.models import HITUnit, Participation, Place
from annotation.selectors import is_a_first, worksheet
from annotation.services.places import NoWorkLeft
from annotation.services.planning import grow_ratings_per_hit, plan_hits
from annotation.services.ratings import Answer
from recruitment.services.lifecycle import open_study
from studies.models import Generation, Instance, Study, StudySystem, Unit
from tests.annotation.answers import submit_rating
from tests.annotation.places import take_place
from tests.annotation.tallies import recount, stored_tallies
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation, make_study
from tiebreak.formats.cells import check_id

pytestmark = pytest.mark.django_db


def first_sides(study: Study) -> Counter[tuple[int, bool]]:
    """Count over the places how often each unit shows system A first and second."""
    shown: Counter[tuple[int, bool]] = Counter()
    for hit_unit in HITUnit.objects.filter(hit__study=study):
        for place in hit_unit.hit.places.all():
            shown[hit_unit.unit_id, int(hit_unit.side_bit) ^ place.parity == 0] += 1
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
        hit_units = HITUnit.objects.filter(hit__study=study).order_by("hit__number", "pk")
        draws = study.places.order_by("hit__number", "number").values_list("draw", flat=True)
        return list(hit_units.values_list("hit__number", "unit__key", "side_bit")), list(draws)

    first = plan()
    assert plan() == first
    study.seed = "another"
    study.save()
    assert plan() != first


def test_sample_k_meets_sample_k_of_the_other_system():
    study = make_study(instances=3, samples=8, comparisons_per_hit=4)
    plan_hits(study=study)
    for unit in study.units.all():
        assert unit.text_a.sample == unit.text_b.sample
        assert unit.text_a.generation.sample_index == unit.text_a.sample
        assert unit.text_a.generation.system_id == unit.text_a.system_id
        assert unit.text_b.generation.system_id == unit.text_b.system_id
    assert study.units.count() == 12


def test_every_pair_of_three_systems_is_compared_in_canonical_order():
    study = make_study(instances=2, systems=3)
    plan_hits(study=study)
    pairs = Counter(study.units.values_list("text_a__system__name", "text_b__system__name"))
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
    for pair in set(study.units.values_list("text_a__system", "text_b__system")):
        units = set(
            study.units.filter(text_a__system=pair[0], text_b__system=pair[1]).values_list(
                "pk", flat=True
            )
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
    with refused("nothing_to_plan"):
        plan_hits(study=study)


def test_what_is_missing_is_named():
    study = make_study()
    study.criteria.all().delete()
    StudySystem.objects.filter(study=study, position=1).delete()
    with refused("incomplete_design") as told:
        plan_hits(study=study)
    assert told.value.missing == ("systems", "criterion")


def test_an_open_study_keeps_its_plan():
    study = make_open_study()
    with refused("not_a_draft"):
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
    with refused("not_planned"):
        open_study(study=make_study())


def test_r_grows_and_never_shrinks():
    study = make_open_study(instances=2, ratings_per_hit=2)
    assert grow_ratings_per_hit(study=study, ratings_per_hit=4) == 4
    study.refresh_from_db()
    assert study.ratings_per_hit == 4
    assert {hit.places.count() for hit in study.hits.all()} == {4}
    with refused("ratings_per_hit_shrinks"):
        grow_ratings_per_hit(study=study, ratings_per_hit=3)


def test_units_of_one_generation():
    study = make_study(instances=2, unit_kind="generation", scale="ordinal:1..5", samples=3)
    plan = plan_hits(study=study)
    assert plan.units == 12
    assert plan.hits == 4
    assert not study.units.filter(text_b__generation__isnull=False).exists()


def test_mixed_hits_hold_every_pair_as_often_and_no_instance_twice():
    study = make_study(
        instances=10, systems=3, comparisons_per_hit=6, bundling="mixed", ratings_per_hit=3
    )
    plan = plan_hits(study=study)
    assert (plan.hits, plan.units) == (5, 30)
    shown: Counter = Counter()
    for hit in study.hits.all():
        hit_units = list(hit.hit_units.select_related("unit"))
        assert len({hit_unit.unit.instance_id for hit_unit in hit_units}) == 6
        pairs = Counter(
            (hit_unit.unit.text_a.system_id, hit_unit.unit.text_b.system_id)
            for hit_unit in hit_units
        )
        assert set(pairs.values()) == {2}
        assert sum(hit_unit.side_bit for hit_unit in hit_units) == 3
        for hit_unit in hit_units:
            shown[hit_unit.unit.text_a.system_id, hit_unit.unit.text_b.system_id] += (
                2 * hit_unit.side_bit - 1
            )
    assert all(abs(balance) <= 1 for balance in shown.values())


def test_a_repeat_is_shown_later_and_with_the_sides_swapped():
    study = make_open_study(instances=6, repeats_per_hit=2, repeat_distance=4)
    assert study.places.count() == 18
    for name in "abc":
        for _ in range(6):
            ann = make_participation(study, name)
            assignment = take_place(participation=ann)
            sheet = worksheet(assignment)
            assert len(sheet.hit_units) == 7
            at = {(hit_unit.unit_id, hit_unit.repeat): n for n, hit_unit in sheet.hit_units.items()}
            for (unit, repeat), n in at.items():
                if repeat:
                    assert n - at[unit, 0] >= 4
                    first, again = sheet.hit_units[at[unit, 0]], sheet.hit_units[n]
                    assert is_a_first(assignment, first) != is_a_first(assignment, again)
            for hit_unit in sheet.hit_units.values():
                submit_rating(
                    assignment=assignment,
                    hit_unit=hit_unit,
                    criterion=sheet.criteria[0],
                    answer=Answer("0", client_key=f"k{hit_unit.pk}"),
                )
    assert study.places.filter(completed_at__isnull=False).count() == 18
    assert sum(stored_tallies(study=study).values()) == 6 * 5 * 3  # repeats are not in the tallies
    assert stored_tallies(study=study) == +recount(study=study)


def test_repeats_that_do_not_fit_are_refused():
    study = make_study(comparisons_per_hit=2, repeats_per_hit=1, repeat_distance=3)
    with refused("repeats_do_not_fit"):
        plan_hits(study=study)


def finish(assignment, now) -> None:
    sheet = worksheet(assignment)
    for hit_unit in sheet.hit_units.values():
        submit_rating(
            assignment=assignment,
            hit_unit=hit_unit,
            criterion=sheet.criteria[0],
            answer=Answer("0", client_key=f"k{hit_unit.pk}"),
            now=now,
        )


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_days_limit_ends_at_midnight():
    study = make_open_study(instances=4, hits_per_day=2)
    ann = make_participation(study)
    for _ in range(2):
        finish(take_place(participation=ann, now=NOON), NOON)
    with refused("daily_limit"):
        take_place(participation=ann, now=NOON)
    assert take_place(participation=ann, now=NOON + timedelta(hours=12))


@pytest.mark.parametrize(
    ("limit", "code"),
    [("most_answers", "budget_spent"), ("most_answers_per_day", "daily_budget_spent")],
)
def test_the_study_gives_out_no_more_places_than_its_budget(limit, code):
    study = make_open_study(instances=4, **{limit: 3})
    people = [make_participation(study, name) for name in "abcd"]
    held = [take_place(participation=ann, now=NOON) for ann in people[:3]]
    with refused(code):
        take_place(participation=people[3], now=NOON)
    for assignment in held[:2]:
        finish(assignment, NOON)
    # The third lease runs out, so its place is offered again within the budget.
    later = NOON + timedelta(hours=1)
    finish(take_place(participation=people[3], now=later), later)
    with refused(code):
        take_place(participation=people[0], now=later)
    tomorrow = NOON + timedelta(days=1)
    if limit == "most_answers_per_day":
        assert take_place(participation=people[0], now=tomorrow)


def test_unverified_annotators_hold_a_limited_number_of_places_at_once():
    study = make_open_study(instances=6, unconfirmed_leases=2)
    people = [make_participation(study, name) for name in "abc"]
    for ann in people:
        Participation.objects.filter(pk=ann.pk).update(address=f"of {ann.pk}")
    held = [take_place(participation=ann) for ann in people[:2]]
    with pytest.raises(NoWorkLeft) as refused:
        take_place(participation=people[2])
    assert refused.value.code == "too_many_at_once"
    assert take_place(participation=people[0]) == held[0]
    Participation.objects.filter(pk=people[2].pk).update(
        address=""
    )  # a platform confirms this annotator
    assert take_place(participation=people[2])


def test_units_of_the_longest_names_are_told_apart_and_leave_in_files():
    study = make_study(instances=2, samples=2, comparisons_per_hit=2)
    for n, instance in enumerate(Instance.objects.order_by("pk")):
        Instance.objects.filter(pk=instance.pk).update(key="é" * 199 + str(n))
    plan_hits(study=study)
    keys = list(study.units.values_list("key", flat=True))
    assert len(set(keys)) == 4
    assert [check_id("unit", key) for key in keys] == keys
