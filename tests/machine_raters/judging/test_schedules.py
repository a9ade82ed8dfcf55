"""Which comparisons a judge is asked about: all, symmetric, without repeats or at random."""

import re
from collections import Counter

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotation.models import Rating
from machine_raters.judging.passes import Items, answered, comparisons_of
from machine_raters.services.machine_raters import start_machine_rater
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judging import judge_for
from tests.refusals import refused
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db
__all__ = ["model"]


@pytest.fixture
def study():
    return make_open_study(instances=30, comparisons_per_hit=1, ratings_per_hit=1)


def orders(study, **options) -> Counter:
    drawn = comparisons_of(judge_for(study, **options))
    return Counter(drawn.values())


def test_all_asks_about_every_pair_in_both_orders(study):
    assert orders(study) == {("ab", "ba"): 30}


def test_symmetric_spends_its_budget_on_pairs_in_both_orders(study):
    assert orders(study, comparisons="symmetric", budget=20) == {("ab", "ba"): 10}


def test_no_repeat_asks_about_each_pair_once_in_an_order_at_random(study):
    counts = orders(study, comparisons="no-repeat", budget=20)
    assert counts.total() == 20
    assert set(counts) == {("ab",), ("ba",)}


def test_random_draws_pairs_and_orders_together(study):
    counts = orders(study, comparisons="random", budget=20)
    assert sum(len(shown) * number for shown, number in counts.items()) == 20
    assert set(counts) == {("ab",), ("ba",), ("ab", "ba")}


def test_what_was_answered_is_looked_up_by_item(study):
    """Or each part of a job would read all that the judge has rated so far."""
    [question] = judge_for(study).questions.all()
    with CaptureQueriesContext(connection) as captured:
        assert answered(question, {1, 2}) == set()
    sql, explain = captured[-1]["sql"], "EXPLAIN QUERY PLAN"
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":  # it would read a small table as a whole
            cursor.execute("SET LOCAL enable_seqscan = off")
            explain = "EXPLAIN"
        cursor.execute(f"{explain} {sql}")
        plan = str(cursor.fetchall())
    assert re.search(r"annotation_rating.*(Index Cond: .|\()unit_id", plan)
    assert not re.search(r"(rater|criterion)_id ?=", plan)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("options", "number"),
    [
        ({}, 60),
        ({"comparisons": "symmetric", "budget": 20}, 20),
        ({"comparisons": "no-repeat", "budget": 20}, 20),
        ({"comparisons": "random", "budget": 20}, 20),
        ({"comparisons": "symmetric", "budget": 1000}, 60),
        ({"comparisons": "no-repeat", "budget": 1000}, 30),
        ({"comparisons": "no-repeat"}, 30),
        ({"comparisons": "random"}, 60),
    ],
)
def test_the_page_tells_as_many_as_are_asked(study, model, options, number):
    models = model(lambda request: "A")
    judge = judge_for(study, **options)
    job = start_machine_rater(machine=judge)
    job.refresh_from_db()
    assert len(models.asked) == Items.of(study).passes(judge) == job.total == number
    assert Rating.objects.count() == number
    start_machine_rater(machine=judge)
    assert len(models.asked) == number


def test_judges_with_the_same_seed_get_the_same_comparisons(study):
    options = {"comparisons": "random", "budget": 20}
    draws = [
        comparisons_of(judge_for(study, name=name, seed=seed, **options))
        for name, seed in (("one", 1), ("two", 1), ("three", 2))
    ]
    assert draws[0] == draws[1] != draws[2]


def test_every_pair_is_drawn_about_as_often(study):
    counts = Counter()
    for seed in range(60):
        judge = judge_for(study, name=str(seed), seed=seed, comparisons="symmetric", budget=30)
        counts.update(comparisons_of(judge).keys())
    # 60 draws with probability ½ have a standard deviation of 3.9.
    assert set(counts) == set(study.units.values_list("pk", flat=True))
    assert all(10 < number < 50 for number in counts.values())


def test_single_texts_are_drawn_by_every_schedule():
    study = make_open_study(
        instances=6, samples=1, scale="ordinal:1..5", unit_kind="generation", ratings_per_hit=1
    )
    for kind in ("symmetric", "no-repeat", "random"):
        judge = judge_for(study, name=kind, comparisons=kind, budget=4)
        assert Counter(comparisons_of(judge).values()) == {("",): 4}
        assert Items.of(study).passes(judge) == 4


def test_a_budget_needs_a_schedule_and_a_symmetric_one_is_even(study):
    with refused("budget_of_all"):
        judge_for(study, budget=10)
    with refused("odd_budget"):
        judge_for(study, comparisons="symmetric", budget=11)
