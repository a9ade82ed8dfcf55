"""Judges that answer by the probability of each label, from a script and from a real local server."""

import json
import re
from math import exp, log, nan

import pytest
from django.urls import reverse

from annotation.exports.ratings import rating_rows
from annotation.models import Rating
from machine_raters.judging.services import try_judge
from machine_raters.models import Judge, Verdict
from machine_raters.services.machine_raters import start_machine_rater
from studies.models import Unit
from tests.machine_raters.judging.scripted import add_training_item, material, model
from tests.machine_raters.judging.test_judging import judge_for
from tests.refusals import refused
from tests.studies.factories import make_open_study
from tests.tiebreak.gateway.stub_server import Fault
from tiebreak.asking.answers import MAX_SIGNS, signs
from tiebreak.asking.replies import most_probable, normalised
from tiebreak.asking.requests import NO_PROBABILITIES
from tiebreak.asking.tally import LOT_SIZE
from tiebreak.scales import PREFERENCES, Scale

pytestmark = pytest.mark.django_db
__all__ = ["model"]

TIE = Scale.parse("preference:tie")
# Twice as many requests as a server is sent at a time.
WINDOW = 64


def by_probability(study, **changes) -> Judge:
    return judge_for(study, answered_by="probability", **changes)


def first_of(text: str) -> str:
    return re.search(r"\[A \w+\]\nText \d (\d)", text)[1]


def likes_system_1(request) -> dict[str, float]:
    """Seven to two for system-1, and a tenth for a tie, whichever text is first."""
    a, b = (0.7, 0.2) if first_of(material(request)) == "1" else (0.2, 0.7)
    return {"A": log(a), "C": log(0.1), "B": log(b)}


def test_probabilities_are_stored_in_system_order_for_each_order(study, model):
    models = model(likes_system_1)
    job = start_machine_rater(machine=by_probability(study))
    job.refresh_from_db()
    assert (job.status, job.done, job.failed) == ("done", 8, 0)
    assert {request.labels for request in models.asked} == {("A", "C", "B")}
    for rating in Rating.objects.all():
        assert rating.label == "1"
        assert rating.probabilities == pytest.approx({"-1": 0.2, "0": 0.1, "1": 0.7})
    raws = {rating.assignment.order: json.loads(rating.raw) for rating in Rating.objects.all()}
    assert raws["ab"]["A"] == raws["ba"]["B"]  # as the server told, in the order of the screen
    assert raws["ab"]["A"] != raws["ba"]["A"]
    assert set(Verdict.objects.values_list("seed", "tokens")) == {(None, None)}


def test_the_prompt_asks_for_one_character_and_does_not_invite_to_think(study, model):
    models = model(likes_system_1)
    start_machine_rater(machine=by_probability(study))
    system = models.asked[0].prompt[0].content
    assert study.guidelines in system
    assert "these characters and nothing else: A; C for No preference; B." in system
    assert "think first" not in system


def test_examples_are_answered_with_the_character_alone(study, model):
    add_training_item(study, "0")
    models = model(likes_system_1)
    start_machine_rater(machine=by_probability(study, examples=1))
    assert models.asked[0].prompt[2].content == "C"


def test_what_the_server_leaves_open_is_not_guessed(study, model):
    model(lambda request: {"A": log(0.5), "B": nan, "C": nan})
    start_machine_rater(machine=by_probability(study))
    assert set(Rating.objects.values_list("label", "probabilities")) == {(None, None)}
    assert json.loads(Rating.objects.first().raw) == {"A": log(0.5), "B": None, "C": None}


def test_a_dry_run_shows_the_probabilities_by_system(study, model, client, admin_user):
    model(likes_system_1)
    job = try_judge(judge=by_probability(study))
    job.refresh_from_db()
    answer = job.result["answers"][0]
    assert answer["label"] == "system-1 is better"
    assert answer["probabilities"]["system-1 is better"] == pytest.approx(0.7)
    assert Rating.objects.count() == 0
    client.force_login(admin_user)
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert "<dt>system-1 is better</dt><dd>0.70</dd>" in page


def test_an_export_has_the_probabilities_of_machines_only(study, model):
    model(likes_system_1)
    start_machine_rater(machine=by_probability(study))
    rows = list(rating_rows(study))
    assert len(rows) == 8
    for row in rows:
        assert json.loads(row["probabilities"]) == pytest.approx({"-1": 0.2, "0": 0.1, "1": 0.7})


@pytest.mark.parametrize("changes", [{"runs": 2}, {"runs": 2, "temperature": 0.7}])
def test_the_same_probabilities_are_not_asked_for_twice(study, changes):
    with refused("equal_answers"):
        by_probability(study, **changes)


@pytest.mark.parametrize("spec", ["interval:0..100", "ratio"])
def test_a_scale_has_few_labels(spec):
    study = make_open_study(scale=spec, instances=1, unit_kind="generation", samples=1)
    with refused("too_many_labels"):
        by_probability(study)
    assert judge_for(study)


@pytest.mark.parametrize(
    "spec",
    [
        *PREFERENCES,
        *(f"{name}+bad" for name in PREFERENCES),
        *("nominal:yes,no,A", "ordinal:1..5", "ordinal:0..19"),
    ],
)
def test_each_label_has_a_character_of_its_own(spec):
    scale = Scale.parse(spec)
    characters = signs(scale)
    assert set(characters) == set(scale.labels)
    assert len({*characters.values()}) == len(scale.labels) <= MAX_SIGNS
    assert {len(character) for character in characters.values()} == {1}
    if scale.kind == "preference" and "A" in characters.values():
        assert (characters[-1], characters[1]) == ("A", "B")


def test_strengths_are_never_called_a_and_b():
    assert signs(Scale.parse("preference:5")) == {-2: "C", -1: "D", 0: "E", 1: "F", 2: "G"}


@pytest.mark.parametrize(
    ("spec", "probabilities", "label"),
    [
        ("preference:tie", {-1: 0.4, 0: 0.2, 1: 0.4}, 0),
        ("preference", {-1: 0.5, 1: 0.5}, -1),
        ("preference:tie", {-1: 0.2, 0: 0.4, 1: 0.4}, 0),
        ("preference:tie", {-1: 0.39, 0: 0.2, 1: 0.41}, 1),
        ("nominal:no,yes", {"yes": 0.5, "no": 0.5}, "no"),
    ],
)
def test_equal_probabilities_are_a_tie_or_the_first_by_name(spec, probabilities, label):
    assert most_probable(probabilities, Scale.parse(spec)) == label


def test_labels_that_are_hardly_possible_count_as_zero():
    shares = normalised({"A": log(0.8), "B": log(0.195), "C": nan})
    assert shares == pytest.approx({"A": 0.8 / 0.995, "B": 0.195 / 0.995, "C": 0.0})
    assert normalised({"A": log(0.8), "B": log(0.1), "C": nan}) == {}
    assert normalised({"A": nan, "B": nan}) == {}
    assert normalised({"A": log(0.02), "B": log(0.02)}) == pytest.approx({"A": 0.5, "B": 0.5})


def test_a_real_server_is_asked_for_the_labels_own_tokens(study, server):
    def prefers_system_1(text: str, word: str) -> float:
        return -0.5 if word == ("A" if first_of(text) == "1" else "B") else -2.0

    server.logprob_after = prefers_system_1
    job = start_machine_rater(machine=by_probability(study))
    job.refresh_from_db()
    assert (job.status, job.done) == ("done", 8)
    high, low = exp(-0.5), exp(-2)
    for rating in Rating.objects.all():
        assert rating.label == "1"
        assert rating.probabilities["1"] == pytest.approx(high / (high + 2 * low))
    assert {len(body["logprob_token_ids"]) for body in server.generations} == {3}


def test_equal_tokens_of_a_real_server_are_ties(study, server):
    start_machine_rater(machine=by_probability(study))
    assert set(Rating.objects.values_list("label", flat=True)) == {"0"}


@pytest.mark.parametrize("kind", ["no_logprobs", "400"])
def test_a_server_without_probabilities_is_named_with_what_to_do(
    study, server, kind, client, admin_user
):
    server.always = Fault(kind, message="logprobs are not supported by this model")
    job = start_machine_rater(machine=by_probability(study))
    job.refresh_from_db()
    assert Rating.objects.count() == 0
    assert job.problem.endswith(NO_PROBABILITIES)
    client.force_login(admin_user)
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert "create a judge with written answers and several" in page


@pytest.mark.thorough
def test_a_server_that_refuses_probabilities_is_not_asked_on(server):
    study = make_open_study(instances=50, comparisons_per_hit=2, ratings_per_hit=1)
    server.always = Fault("400")
    job = start_machine_rater(machine=by_probability(study))
    job.refresh_from_db()
    assert job.status == "failed"
    in_both_orders = 2 * Unit.objects.filter(study=study).count()
    # A lot of refusals is read while at most a window of requests is on its way.
    assert len(server.generations) <= LOT_SIZE + WINDOW < in_both_orders


def test_dummy_models_answer_by_probability_too(study, settings):
    settings.TIEBREAK_MODEL_SERVERS = {"here": {"provider": "fake"}}
    start_machine_rater(machine=by_probability(study))
    ratings = list(Rating.objects.all())
    assert len(ratings) == 8
    for rating in ratings:
        assert sum(rating.probabilities.values()) == pytest.approx(1)
        assert rating.probabilities[rating.label] == max(rating.probabilities.values())
