"""What a judge costs is told from tokens and prices, and is unknown where one of them is."""

from decimal import Decimal

import pytest
from django.urls import reverse

from machine_raters.judging.costs import NO_PRICES, NO_TOKENS, cost_of
from machine_raters.judging.services import try_judge
from machine_raters.kinds import KINDS
from machine_raters.models import Verdict
from machine_raters.services.machine_raters import start_machine_rater
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judging import judge_for
from tests.studies.factories import make_open_study
from tiebreak.gateway import LabelLogprobs, Sample, Sampled

pytestmark = pytest.mark.django_db
__all__ = ["model"]

PRICES = {"prompt_price": Decimal("2.5"), "answer_price": Decimal(10)}


@pytest.fixture
def study():
    return make_open_study(instances=3, comparisons_per_hit=1, ratings_per_hit=1)


def tokens_of(request, prompt, answer) -> Sampled:
    sample = Sample("A", "stop", request.seed, answer)
    return Sampled(request.id, (sample,), "tiny-1", prompt_tokens=prompt)


def with_tokens(prompt, answer):
    return lambda request: tokens_of(request, prompt, answer)


def test_tokens_of_prompts_and_answers_are_kept_apart_and_priced_apart(study, model):
    model(with_tokens(1000, 100))
    start_machine_rater(machine=judge_for(study, **PRICES))
    assert set(Verdict.objects.values_list("prompt_tokens", "tokens")) == {(1000, 100)}
    [judge] = KINDS["judge"].listed(study)
    cost = judge.progress.cost
    # 6 requests at 1,000 × 2.50 and 100 × 10.00 per million.
    assert (cost.prompt_tokens, cost.tokens, cost.amount) == (6000, 600, "0.0210")


def test_tokens_of_answers_by_probability_are_kept(study, model):
    model(
        lambda request: LabelLogprobs(
            request.id, {"A": -0.1, "C": -3.0, "B": -4.0}, "tiny-1", 1000, 1
        )
    )
    start_machine_rater(machine=judge_for(study, answered_by="probability", **PRICES))
    assert set(Verdict.objects.values_list("prompt_tokens", "tokens")) == {(1000, 1)}


@pytest.mark.parametrize(
    ("prices", "tokens", "reason"),
    [
        ({}, (1000, 100), NO_PRICES),
        ({"prompt_price": Decimal(1)}, (1000, 100), NO_PRICES),
        (PRICES, (None, 100), NO_TOKENS),
        (PRICES, (1000, None), NO_TOKENS),
    ],
)
def test_a_cost_that_is_not_known_is_never_0(study, model, prices, tokens, reason):
    model(with_tokens(*tokens))
    start_machine_rater(machine=judge_for(study, **prices))
    [judge] = KINDS["judge"].listed(study)
    assert (judge.progress.cost.amount, judge.progress.cost.unknown_because) == (None, reason)


def test_a_sum_over_some_answers_only_is_not_told(study, model):
    lengths = iter([1000, None, 1000, 1000, 1000, 1000])
    model(lambda request: tokens_of(request, next(lengths), 100))
    start_machine_rater(machine=judge_for(study, **PRICES))
    [judge] = KINDS["judge"].listed(study)
    assert (judge.progress.cost.prompt_tokens, judge.progress.cost.tokens) == (None, 600)


def test_a_model_that_costs_nothing_costs_0(study):
    judge = judge_for(study, prompt_price=Decimal(0), answer_price=Decimal(0))
    assert cost_of(judge, 10**6, 10**6).amount == "0.0000"


def test_a_dry_run_tells_tokens_cost_and_time_of_the_whole(study, model, client, admin_user):
    study.currency = "EUR"
    study.save(update_fields=["currency"])
    model(with_tokens(1000, 100))
    job = try_judge(judge=judge_for(study, **PRICES))
    job.refresh_from_db()
    assert len(job.result["answers"]) == 3
    whole = job.result["whole"]
    assert (whole["prompt_tokens"], whole["tokens"], whole["amount"]) == (6000, 600, "0.0210")
    assert whole["minutes"] > 0
    client.force_login(admin_user)
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert "would cost about 0.0210 EUR" in page
