"""The pairs of systems that a design compares: their balance, and what is refused."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from annotation.models import HITUnit
from annotation.pairing import PairSchedule, blocks, unconnected_groups
from annotation.services.planning import forecast_plan, grow_ratings_per_hit, plan_hits
from recruitment.services.launch_checks import launch_checks
from studies.models import Generation, Study
from tests.refusals import refused
from tests.studies.factories import make_study

DRAWN = ("random", "no-repeat", "symmetric")


def spread(counts: Counter[int], keys: range) -> int:
    values = [counts[key] for key in keys]
    return max(values) - min(values)


@pytest.mark.parametrize("n", range(2, 16))
def test_blocks_contain_each_pair_once_and_are_balanced_after_any_pair(n):
    sequence = [pair for block in blocks(n) for pair in block]
    assert sorted(sequence) == list(combinations(range(n), 2))
    counts: Counter[int] = Counter()
    for pair in sequence:
        counts.update(pair)
        assert spread(counts, range(n)) <= 1


def draws(pairing: str, n: int, budget: int, instances: int, seed: str = "x") -> list[list]:
    study = Study(pairing=pairing, pairs_per_instance=budget, seed=seed)
    schedule = PairSchedule(study, n)
    return [schedule.pairs_for(set(schedule.pairs)) for _ in range(instances)]


@given(
    st.sampled_from(DRAWN),
    st.integers(2, 12),
    st.integers(1, 70),
    st.integers(1, 40),
    st.integers(0, 9),
)
def test_every_system_is_compared_equally_often(pairing, n, budget, instances, seed):
    drawn = draws(pairing, n, budget, instances, str(seed))
    available = n * (n - 1) // 2
    assert all(len(set(pairs)) == len(pairs) == min(budget, available) for pairs in drawn)
    counts = Counter(system for pairs in drawn for pair in pairs for system in pair)
    assert spread(counts, range(n)) <= 1
    if pairing != "random":
        of_pairs = Counter(pair for pairs in drawn for pair in pairs)
        assert max(of_pairs.values()) - min(of_pairs[p] for p in combinations(range(n), 2)) <= 1


@given(st.sampled_from(DRAWN), st.integers(3, 8), st.integers(1, 10), st.data())
def test_only_pairs_with_texts_are_drawn(pairing, n, budget, data):
    schedule = PairSchedule(Study(pairing=pairing, pairs_per_instance=budget, seed="x"), n)
    for _ in range(6):
        available = data.draw(st.sets(st.sampled_from(schedule.pairs)))
        drawn = schedule.pairs_for(available)
        assert len(set(drawn)) == len(drawn) == min(budget, len(available))
        assert set(drawn) <= available


@pytest.mark.parametrize("seed", "abcdefgh")
def test_a_pair_that_one_instance_lacks_comes_with_the_next(seed):
    schedule = PairSchedule(Study(pairing="no-repeat", pairs_per_instance=2, seed=seed), 5)
    drawn = schedule.pairs_for(set(combinations(range(4), 2)))
    for _ in range(4):
        drawn += schedule.pairs_for(set(schedule.pairs))
    assert sorted(drawn) == schedule.pairs


def test_a_random_design_repeats_pairs_before_all_were_drawn_and_the_others_do_not():
    n = 10
    for pairing in DRAWN:
        pairs = [pair for drawn in draws(pairing, n, 5, 9) for pair in drawn]
        assert (len(set(pairs)) == 45) == (pairing != "random")


def test_the_same_seed_draws_the_same_pairs_and_another_seed_others():
    first, again, other = (draws("no-repeat", 8, 4, 20, seed) for seed in "aab")
    assert first == again != other


def pairs_of(study: Study) -> Counter:
    return Counter(study.units.values_list("text_a__system__name", "text_b__system__name"))


@pytest.mark.django_db
class TestPlanning:
    def test_ten_systems_need_not_mean_45_pairs(self):
        study = make_study(instances=9, systems=10, samples=1, pairing="no-repeat")
        plan = plan_hits(study=study)
        assert plan.units == forecast_plan(study=study, selected=()).units == 45
        assert set(pairs_of(study).values()) == {1}
        systems = Counter(name for pair in pairs_of(study).elements() for name in pair)
        assert set(systems.values()) == {9}

    def test_a_baseline_is_compared_with_each_other_system(self):
        study = make_study(
            instances=3, systems=4, samples=1, pairing="baseline", baseline_system="system-2"
        )
        plan_hits(study=study)
        assert pairs_of(study) == {
            ("system-0", "system-2"): 3,
            ("system-1", "system-2"): 3,
            ("system-2", "system-3"): 3,
        }
        study.baseline_system = ""
        study.save()
        plan_hits(study=study)
        assert {a for a, _ in pairs_of(study)} == {"system-0"}

    @pytest.mark.parametrize("pairing", ["all", "baseline", *DRAWN])
    @pytest.mark.parametrize("bundling", ["instance", "mixed"])
    def test_sides_are_balanced_for_each_pair_and_hit(self, pairing, bundling):
        study = make_study(
            instances=12,
            systems=5,
            samples=4,
            pairing=pairing,
            bundling=bundling,
            ratings_per_hit=2,
            comparisons_per_hit=4,
        )
        plan_hits(study=study)
        for group in (("unit__text_a__system", "unit__text_b__system"), ("hit",)):
            of: dict = {}
            for *key, bit in HITUnit.objects.values_list(*group, "side_bit"):
                of.setdefault(tuple(key), []).append(1 if bit else -1)
            assert all(abs(sum(bits)) <= 1 for bits in of.values()), group

    def test_the_same_seed_plans_the_same_pairs(self):
        study = make_study(instances=6, systems=5, samples=1, pairing="random")
        plan_hits(study=study)
        before = list(study.units.order_by("key").values_list("key", flat=True))
        plan_hits(study=study)
        assert list(study.units.order_by("key").values_list("key", flat=True)) == before

    def test_an_instance_without_all_texts_is_compared_in_the_pairs_it_has(self):
        study = make_study(
            instances=4, systems=4, samples=1, pairing="no-repeat", pairs_per_instance=2
        )
        Generation.objects.filter(instance__key="note-0", system__name="system-3").delete()
        plan_hits(study=study)
        first = study.units.filter(instance__key="note-0")
        assert first.count() == 2
        assert not first.filter(text_b__system__name="system-3").exists()
        assert study.units.count() == 8

    def test_an_unknown_baseline_is_refused(self):
        study = make_study(instances=1, pairing="baseline", baseline_system="nobody")
        with refused("unknown_baseline"):
            plan_hits(study=study)

    def test_a_symmetric_design_needs_an_even_number_of_ratings(self):
        study = make_study(instances=2, systems=3, pairing="symmetric", ratings_per_hit=3)
        with refused("symmetric_needs_even_ratings"):
            plan_hits(study=study)
        study.ratings_per_hit = 2
        study.save()
        plan_hits(study=study)
        with refused("symmetric_needs_even_ratings"):
            grow_ratings_per_hit(study=study, ratings_per_hit=3)
        assert grow_ratings_per_hit(study=study, ratings_per_hit=4) > 0

    def test_drawn_instances_and_drawn_pairs_exclude_each_other(self):
        study = make_study(instances=2, systems=3, pairing="random")
        a, b = study.system_pairs()[0]
        study.selected.create(
            instance=study.dataset.instances.first(),
            system_a=a,
            system_b=b,
            phase="uniform",
            inclusion_probability=0.5,
            conditional_inclusion_probability=0.5,
        )
        with refused("draw_and_budget"):
            plan_hits(study=study)

    def test_systems_without_a_chain_of_comparisons_are_warned_of(self):
        study = make_study(
            instances=2, systems=6, samples=1, pairing="no-repeat", pairs_per_instance=1
        )
        plan_hits(study=study)
        codes = [check.code for check in launch_checks(study)]
        assert "systems_not_connected" in codes
        study.pairing = "baseline"
        study.save()
        plan_hits(study=study)
        assert "systems_not_connected" not in [check.code for check in launch_checks(study)]


def test_groups_of_systems_without_comparisons_between_them():
    assert unconnected_groups([4, 5, 6, 7], [(4, 5), (6, 5)]) == [[4, 5, 6], [7]]
    assert unconnected_groups([4, 5], [(4, 5)]) == [[4, 5]]
