"""Judges that may say that they cannot judge: offered, recognised, and counted as no answer."""

import json
from dataclasses import asdict
from math import log, nan

import pytest
from django.urls import reverse

from annotation.counts import FLAGS, rating_counts
from annotation.models import Rating
from machine_raters.exported_raters import machine_rater_rows
from machine_raters.judging.services import try_injections, try_judge
from machine_raters.juries.verdicts import possible_members
from machine_raters.kinds import KINDS
from machine_raters.services.machine_raters import (
    create_machine_rater,
    exclude_machine_rater,
    reinstate_machine_rater,
    start_machine_rater,
)
from studies.models import Study, Unit
from tests.annotation.tallies import recount, stored_tallies
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judging import judge_for
from tests.studies.factories import make_open_study
from tiebreak.asking.prompts import prompt_of

pytestmark = pytest.mark.django_db
__all__ = ["model"]

CANNOT, NO_LABEL = "cannot_say", (None, "cannot_say")
NUMBERS = {"scale": "interval"}
BY_PROBABILITY = {"answered_by": "probability"}


def study_with(nonresponses: str = CANNOT, **design) -> Study:
    design = {"instances": 1, "comparisons_per_hit": 1, "ratings_per_hit": 1} | design
    return make_open_study(nonresponses=nonresponses, **design)


def listed(study: Study):
    (judge,) = KINDS["judge"].listed(study)
    return judge


def start(study: Study, **settings) -> list[tuple[str | None, str]]:
    start_machine_rater(machine=judge_for(study, **settings))
    return list(Rating.objects.order_by("pk").values_list("label", "nonresponse"))


@pytest.mark.parametrize(
    ("design", "settings", "plain", "offer"),
    [
        ({}, {}, "A; No preference; B.", "A; No preference; B; cannot say."),
        (NUMBERS, {}, "is a number.", "is a number, or: cannot say."),
        ({}, BY_PROBABILITY, "C for No preference; B.", "B; D for cannot say."),
    ],
)
def test_only_a_study_that_allows_it_offers_it(design, settings, plain, offer):
    study = study_with(**design)
    question, unit = judge_for(study, **settings).questions.get(), Unit.objects.with_texts()[0]
    prompts = {}
    for study.nonresponses in Study.Nonresponses:
        question.judge.study = study
        prompts[study.nonresponses] = prompt_of(question, unit, "ab")
    assert prompts["none"] == prompts["broken"] != prompts[CANNOT] == prompts["both"]
    assert prompts["none"][0].content.endswith(plain)
    assert prompts[CANNOT][0].content.endswith(offer)


@pytest.mark.parametrize("reply", ["cannot say", "Both are poems.\n\n**Answer: Cannot say.**"])
@pytest.mark.parametrize("design", [{}, NUMBERS])
def test_it_is_stored_apart_from_labels_and_from_what_cannot_be_read(model, reply, design):
    study = study_with(**design)
    replies = iter([reply, "It depends on what one cannot say"])
    models = model(lambda request: next(replies, "A" if not design else "7"))
    assert start(study, prompt_price=1, answer_price=1)[:2] == [NO_LABEL, (None, "")]
    first = Rating.objects.order_by("pk")[0]
    assert (first.raw, first.probabilities) == (reply, None)
    judge, asked = listed(study), len(models.asked)
    assert (judge.answers, judge.unparsed, judge.nonresponses) == (asked, 1, 1)
    assert [problem.number for problem in judge.progress.unreadable] == [1]
    assert [row.unreadable for row in judge.progress.models] == [1]
    assert judge.progress.cost.tokens == 3 * asked
    (row,) = machine_rater_rows(study)
    assert [(a["unreadable"], a["nonresponses"]) for a in row["answers"]] == [(1, 1)]
    counts = asdict(rating_counts(Rating.objects.all()))
    assert (counts["unparsed"], counts["nonresponses"], counts["counted"]) == (1, 1, asked - 1)
    groups = ("counted", "nonresponses", "repeats", "training", "test", "gold", *FLAGS)
    assert sum(counts[group] for group in groups) == counts["rows"] == asked
    exclude_machine_rater(machine=judge, reason="a trial")
    reinstate_machine_rater(machine=judge)
    assert stored_tallies(study=study) == recount(study=study)
    assert stored_tallies(study=study).total() == asked - 1
    start_machine_rater(machine=judge)
    assert len(models.asked) == asked


@pytest.mark.parametrize("allowed", ["none", "broken"])
def test_where_it_is_not_allowed_it_cannot_be_read(model, allowed):
    study = study_with(allowed)
    model(lambda request: "cannot say")
    assert set(start(study)) == {(None, "")}
    assert (listed(study).unparsed, listed(study).nonresponses) == (2, 0)


@pytest.mark.parametrize(
    ("design", "answers", "stored"),
    [
        ({}, ("A", "No preference", "B", "cannot say"), NO_LABEL),
        ({"scale": "nominal:yes,cannot say"}, ("yes", "cannot say"), ("cannot say", "")),
    ],
)
def test_a_constrained_judge_may_write_it_once_and_a_label_stays_one(
    model, design, answers, stored
):
    models = model(lambda request: "cannot say")
    assert set(start(study_with(**design), constraint="where_possible")) == {stored}
    assert models.asked[0].choices == answers


@pytest.mark.parametrize(
    ("shares", "answer", "probabilities"),
    [
        ({"A": 0.2, "B": 0.1, "C": 0.1, "D": 0.6}, NO_LABEL, None),
        ({"A": 0.4, "B": 0.1, "C": 0.0, "D": 0.4}, ("-1", ""), {"-1": 0.8, "1": 0.2, "0": 0.0}),
        ({"A": 0.3, "B": 0.1, "C": 0.1, "D": nan}, ("-1", ""), {"-1": 0.6, "1": 0.2, "0": 0.2}),
        ({"A": nan, "B": nan, "C": nan, "D": 0.999}, NO_LABEL, None),
        ({"A": nan, "B": nan, "C": nan, "D": 0.6}, (None, ""), None),
    ],
)
def test_probabilities_are_those_of_the_labels_alone(model, shares, answer, probabilities):
    models = model(lambda _: {sign: log(p) if p else -999.0 for sign, p in shares.items()})
    start(study_with(), **BY_PROBABILITY)
    assert {request.labels for request in models.asked} == {("A", "C", "B", "D")}
    rating = Rating.objects.get(assignment__order="ab")
    assert (rating.label, rating.nonresponse) == answer
    assert rating.probabilities == (probabilities and pytest.approx(probabilities))
    assert json.loads(rating.raw).keys() == {"A", "B", "C", "D"}


def test_beside_twenty_labels_there_is_no_character_left(model):
    models = model(lambda request: dict.fromkeys(request.labels, log(0.05)))
    assert (None, "") not in start(study_with(scale="ordinal:0..19"), **BY_PROBABILITY)
    assert {len(request.labels) for request in models.asked} == {20}
    assert "cannot say" not in models.asked[0].prompt[0].content


def test_a_member_of_a_jury_has_no_vote_then(model):
    study = study_with()
    for name, reply in (("silent", "cannot say"), ("decided", "B")):
        model(lambda request, reply=reply: reply)
        start(study, name=name, comparisons="no-repeat")
    design = {"name": "jury", "criterion": study.criteria.get(), "rule": "vote"}
    members = list(possible_members(study))
    jury = create_machine_rater(kind="jury", study=study, members=members, **design)
    (decided,) = members[0].ratings.all()
    rating = Rating.objects.get(rater=jury.rater)
    assert (rating.label, rating.probabilities[rating.label]) == (decided.label, 1)


def test_a_trial_and_hidden_instructions_tell_it_from_what_cannot_be_read(
    model, client, admin_user
):
    study = study_with()
    judge = judge_for(study)
    model(lambda request: "A" if "Ignore" not in request.prompt[-1].content else "cannot say")
    job = try_injections(judge=judge)
    job.refresh_from_db()
    assert job.result["tried"] > job.result["unreadable"] == 0
    model(lambda request: "cannot say")
    job = try_judge(judge=judge)
    job.refresh_from_db()
    assert {answer["label"] for answer in job.result["answers"]} == {"cannot say"}
    start_machine_rater(machine=judge)
    client.force_login(admin_user)
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert "could not be read" not in page
    assert "say “cannot say”" in page
