"""Juries decide what all their members have answered, once, and are machine raters themselves."""

import json
import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import Rater, Rating
from machine_raters.juries.verdicts import possible_members
from machine_raters.models import Jury
from machine_raters.services.machine_raters import create_machine_rater, start_machine_rater
from machine_raters.uploads.ratings import add_machine_ratings
from tests.annotation.tallies import recount, stored_tallies
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.judging.test_judging import judge_for
from tests.pages import codes_on, page_of
from tests.refusals import refused
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db
__all__ = ["model"]


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    return make_open_study(instances=3, comparisons_per_hit=1, ratings_per_hit=1, member=user)


@pytest.fixture
def upload(study, tmp_path):
    """Add machine ratings: for each rater its labels of the first items, in both orders or in one."""

    def uploaded(**labels) -> None:
        units = list(study.units.order_by("pk"))
        rows = [
            {"unit": unit.key, "rater": rater, "kind": "machine", "order": order, **of_label(label)}
            for rater, answers in labels.items()
            for unit, answer in zip(units, answers, strict=False)
            for order, label in zip(("ab", "ba"), answer, strict=False)
        ]
        path = tmp_path / "ratings.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        add_machine_ratings(study=study, path=path)

    return uploaded


def of_label(label) -> dict:
    return {"label": None, "raw": "?"} if label is None else {"label": label}


def members(study, *names) -> list[Rater]:
    return list(possible_members(study).filter(pseudonym__in=names))


def jury_of(study, *names, rule="vote", name="jury") -> Jury:
    chosen = members(study, *names)
    return create_machine_rater(
        kind="jury",
        study=study,
        name=name,
        criterion=study.criteria.get(name="preference"),
        members=chosen,
        rule=rule,
    )


def decisions(jury) -> list[str | None]:
    rows = Rating.objects.filter(rater=jury.rater).order_by("unit")
    return list(rows.values_list("label", flat=True))


def test_members_vote_and_one_whose_answers_turn_abstains(study, upload):
    turned = [(1, -1)]
    upload(x=[(-1, -1), (1, 1), (-1, -1)], y=[(-1, -1), *turned, (1, 1)], z=turned * 3)
    jury = jury_of(study, "x", "y", "z")
    # The third is a tie, which the scale has.
    assert decisions(jury) == ["-1", "1", "0"]
    rating = Rating.objects.filter(rater=jury.rater).earliest("unit")
    assert rating.probabilities == {"-1": 1.0, "0": 0.0, "1": 0.0}
    assert stored_tallies(study=study) == recount(study=study)


def test_the_mean_counts_both_answers_of_a_member_that_turns(study, upload):
    upload(x=[(-1, 0)], y=[(-1, 1)], z=[(1, 1)])
    jury = jury_of(study, "x", "y", "z", rule="mean_probability")
    rating = Rating.objects.get(rater=jury.rater)
    assert rating.label == "1"
    assert rating.probabilities == pytest.approx({"-1": 1 / 3, "0": 1 / 6, "1": 1 / 2})


def test_the_mean_uses_probabilities_where_a_member_gave_them(study, tmp_path):
    unit = study.units.earliest("pk")
    row = {"unit": unit.key, "kind": "machine", "label": -1}
    sure = row | {"rater": "x", "probabilities": {"-1": 0.9, "0": 0.1, "1": 0.0}}
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(sure)}\n{json.dumps(row | {'rater': 'y', 'label': 1})}\n")
    add_machine_ratings(study=study, path=path)
    jury = jury_of(study, "x", "y", rule="mean_probability")
    rating = Rating.objects.get(rater=jury.rater)
    assert (rating.label, rating.raw) == ("1", "")
    assert rating.probabilities == pytest.approx({"-1": 0.45, "0": 0.05, "1": 0.5})


def test_without_a_majority_or_an_answer_there_is_no_label(client, upload, tmp_path):
    study = make_open_study(
        instances=2, comparisons_per_hit=1, ratings_per_hit=1, scale="preference"
    )
    rows = [
        {"unit": unit.key, "rater": rater, "kind": "machine", **of_label(label)}
        for rater, labels in {"x": (-1, None), "y": (1, None)}.items()
        for unit, label in zip(study.units.order_by("pk"), labels, strict=True)
    ]
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    add_machine_ratings(study=study, path=path)
    jury = jury_of(study, "x", "y")
    assert decisions(jury) == [None, None]
    raws = Rating.objects.filter(rater=jury.rater).order_by("unit").values_list("raw", flat=True)
    assert list(raws) == ["no majority", "no readable answer that counts"]


def test_an_item_is_decided_once_all_members_have_answered_and_never_again(study, upload):
    upload(x=[(1,), (1,)], y=[(1,)])
    jury = jury_of(study, "x", "y")
    assert decisions(jury) == ["1"]
    with refused("nothing_to_decide"):
        start_machine_rater(machine=jury)
    upload(y=[(1,), (-1,)])
    start_machine_rater(machine=jury)
    assert decisions(jury) == ["1", "0"]


def test_dawid_and_skenes_method_waits_for_all_answers(study, upload):
    upload(x=[(1,)] * 2, y=[(1,)] * 2)
    with refused("answers_missing", naming="x") as refusal:
        jury_of(study, "x", "y", rule="dawid_skene")
    assert re.findall(r"\d+", refusal.value.message) == ["3", "1", "1"]
    assert not Jury.objects.exists()
    upload(x=[(1,)] * 3, y=[(1,)] * 3)
    assert decisions(jury_of(study, "x", "y", rule="dawid_skene")) == ["1"] * 3


def test_a_judge_whose_budget_is_too_small_cannot_be_a_member_for_dawid_and_skenes_method(
    study, upload, model
):
    upload(x=[(1,)] * 3)
    model(lambda request: "A")
    for budget, name in ((2, "small"), (6, "large")):
        judge = judge_for(study, name=name, comparisons="symmetric", budget=budget)
        start_machine_rater(machine=judge)
    with refused("member_has_budget", naming="small") as refusal:
        jury_of(study, "x", "small", rule="dawid_skene")
    assert re.findall(r"\d+", refusal.value.message) == ["3", "2"]
    assert len(decisions(jury_of(study, "x", "large", rule="dawid_skene"))) == 3
    assert len(decisions(jury_of(study, "x", "small", name="votes"))) == 1


def test_what_was_excluded_has_no_vote(study, upload):
    upload(x=[(1,)], y=[(1,)], z=[(-1,)])
    Rating.objects.filter(rater__pseudonym="x").update(excluded=True)
    with refused("nothing_to_decide"):
        jury_of(study, "x", "y")
    assert decisions(jury_of(study, "y", "z")) == ["0"]


def test_what_a_jury_needs(study, upload):
    upload(x=[(1,)], y=[(1,)])
    with refused("few_members"):
        jury_of(study, "x")
    study.criteria.create(name="length", question="How long?", scale="ratio", position=2)
    with refused("no_labels"):
        create_machine_rater(
            kind="jury",
            study=study,
            name="jury",
            criterion=study.criteria.get(name="length"),
            members=members(study, "x", "y"),
        )
    jury = jury_of(study, "x", "y")
    with refused("name_taken"):
        jury_of(study, "x", "y")
    assert jury.rater not in possible_members(study)


def test_the_page_adds_a_jury_by_clicks_and_says_what_it_did(client, study, upload):
    upload(x=[(1,)], y=[(1,)])
    address = reverse("machine_raters:juries", args=[study.pk])
    entered = {
        "name": "both",
        "criterion": "preference",
        "members": ["x", "y"],
        "rule": "vote",
    }
    alone = client.post(address, entered | {"members": entered["members"][:1]})
    assert alone.status_code == 400
    assert not Jury.objects.exists()
    page = client.post(address, entered, follow=True)
    assert page_of(page) == "machine_raters"
    assert "<strong>1 of 3</strong> items decided" in page.content.decode()
    jury = Jury.objects.get()
    again = client.post(
        reverse("machine_raters:act", args=[study.pk, jury.public_id, "start"]), follow=True
    )
    assert "nothing_to_decide" in codes_on(again)
    assert study.events.filter(verb="add-machine-rater").get().details["members"] == ["x", "y"]
