"""Named sets of examples: which training items a judge reads, in which order, and that it stays so."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.models import HIT, Assignment, Rating
from jobs.clock import database_now
from machine_raters.exported_raters import machine_rater_rows
from machine_raters.judging.example_sets import add_example_set, delete_example_set
from machine_raters.judging.services import copy_judge
from machine_raters.models import ExampleSet, Judge, JudgeCriterion
from machine_raters.services.machine_raters import start_machine_rater
from recruitment.services.cloning import clone_study
from studies.models import Unit
from tests.machine_raters.judging.scripted import add_training_item, model
from tests.machine_raters.judging.test_judging import judge_for
from tests.pages import codes_on
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation

pytestmark = pytest.mark.django_db
__all__ = ["model"]


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    study = make_open_study(instances=2, comparisons_per_hit=1, ratings_per_hit=1, member=user)
    for number, label in enumerate(["1", "0", "-1"], 1):
        add_training_item(study, label)
        item = study.units.filter(key="training-1")
        item.update(key=f"item-{number}", explanation=f"Reason {number}.")
    return study


def add_reason(study, item: str, label: str, reason: str, **flags) -> None:
    """Store the answer of another annotator in practice, with its reason."""
    person = make_participation(study, f"person {Rating.objects.count()}")
    hit = HIT.objects.filter(study=study).first()
    assignment = Assignment.objects.create(hit=hit, rater=person.rater, position=1)
    Rating.objects.create(
        assignment=assignment,
        rater=person.rater,
        unit=study.units.get(key=item),
        criterion=study.criteria.get(),
        label=label,
        reason=reason,
        created_at=database_now(),
        **flags,
    )


def examples_in(models) -> list[str]:
    return [turn.content for turn in models.asked[0].prompt if turn.role == "assistant"]


def test_a_judge_reads_the_items_of_its_set_in_their_order(study, model):
    models = model(lambda request: "A")
    chosen = add_example_set(study=study, name="two", items=["item-3", "item-1"])
    start_machine_rater(machine=judge_for(study, example_set=chosen))
    assert examples_in(models) == ["Reason 3.\n\nA", "Reason 1.\n\nB"]


def test_the_name_and_the_hash_of_what_is_read_are_kept_and_exported(study):
    one = add_example_set(study=study, name="one", items=["item-1", "item-2"])
    same = add_example_set(study=study, name="same", items=["item-1", "item-2"])
    turned = add_example_set(study=study, name="turned", items=["item-2", "item-1"])
    judges = [
        judge_for(study, name=str(number), example_set=chosen, seed=number)
        for number, chosen in enumerate([one, same, turned, None])
    ]
    hashes = [judge.questions.get().examples_sha256 for judge in judges]
    # Neither the set's name nor the judge's seed is a part of what is read; the order is.
    assert hashes[0] == hashes[1] != hashes[2]
    assert hashes[3] == ""
    settings = {row["rater"]: row["settings"] for row in machine_rater_rows(study)}
    assert settings["0"]["example_set"] == "one"
    assert settings["0"]["examples_sha256"] == hashes[0]
    assert settings["3"]["example_set"] is None


@pytest.mark.parametrize("answered_by", ["text", "probability"])
def test_a_judge_may_read_the_first_reason_for_the_same_answer(client, study, model, answered_by):
    models = model(lambda request: "A" if answered_by == "text" else {"A": 0.0, "B": -9.0, "C": -9})
    add_example_set(study=study, name="two", items=["item-1", "item-3"])
    add_reason(study, "item-1", "0", "Another answer.")
    for flag in ("simulated", "excluded"):
        add_reason(study, "item-1", "1", f"A {flag} one.", **{flag: True})
    add_reason(study, "item-1", "1", "B is\n{question}")
    add_reason(study, "item-1", "1", "The second one.")
    judge = {"kind": "judge", "criterion": "preference", "server": "here", "language_model": "tiny"}
    judge |= {"answered_by": answered_by, "example_set": "two"}
    judges = reverse("api:machine-rater-list", args=[study.pk])
    for name in ("plain", "reasons"):
        new = judge | {"name": name, "with_reasons": name == "reasons"}
        assert client.post(judges, new, content_type="application/json").status_code == 201
    add_reason(study, "item-3", "-1", "Given after the judges were created.")
    prompts = {}
    for created in Judge.objects.all():
        models.asked.clear()
        start_machine_rater(machine=created)
        prompts[created.name] = models.asked[0].prompt
    for plain, other in zip(prompts["plain"], prompts["reasons"], strict=True):
        added = other.content.removesuffix(plain.content)
        assert plain.role == other.role
        reason = (
            r"\[an annotator's reason for this answer (\w{12})\]\nB is\n{question}\n\[end \1\]\n\n"
        )
        assert re.fullmatch(reason if other is prompts["reasons"][3] else "", added)
    assert len({*JudgeCriterion.objects.values_list("examples_sha256", flat=True)}) == 2


@pytest.mark.parametrize("by_number", [True, False])
def test_a_judge_whose_examples_have_changed_does_not_start(study, model, by_number):
    models = model(lambda request: "A")
    chosen = add_example_set(study=study, name="one", items=["item-1"])
    options = {"examples": 1} if by_number else {"example_set": chosen}
    judge = judge_for(study, **options)
    Unit.objects.filter(key="item-1").update(explanation="Another reason.")
    with refused("examples_changed"):
        start_machine_rater(machine=judge)
    assert models.asked == []


@pytest.mark.parametrize(
    ("items", "code"),
    [
        (["item-1", "nothing"], "not_a_training_item"),
        (["item-1", "item-1"], "repeated_item"),
    ],
)
def test_a_set_has_training_items_once(study, items, code):
    with refused(code):
        add_example_set(study=study, name="one", items=items)


def test_an_item_whose_answer_people_rate_is_no_example(study):
    main = study.units.filter(role="main").first()
    with refused("not_a_training_item"):
        add_example_set(study=study, name="one", items=[main.key])


def test_names_are_not_used_twice(study):
    add_example_set(study=study, name="one", items=["item-1"])
    with refused("name_taken"):
        add_example_set(study=study, name="one", items=["item-2"])


def test_each_item_of_a_set_needs_an_answer_to_the_judges_question(study):
    chosen = add_example_set(study=study, name="one", items=["item-1", "item-2"])
    Unit.objects.filter(key="item-2").update(known_labels={"beauty": "1"})
    with refused("example_without_label"):
        judge_for(study, example_set=chosen)


def test_a_set_and_a_number_of_items_exclude_each_other(study):
    chosen = add_example_set(study=study, name="one", items=["item-1"])
    with refused("examples_twice"):
        judge_for(study, example_set=chosen, examples=1)


def test_a_set_that_a_judge_uses_stays(study):
    chosen = add_example_set(study=study, name="one", items=["item-1"])
    judge_for(study, example_set=chosen)
    with refused("example_set_in_use"):
        delete_example_set(example_set=chosen)
    assert [event.verb for event in study.events.filter(verb__endswith="examples")] == [
        "add-examples"
    ]


def test_sets_are_added_chosen_and_deleted_on_pages(client, study, model):
    model(lambda request: "A")
    address = reverse("machine_raters:example-sets", args=[study.pk])
    client.post(address, {"name": "one", "items": "item-2\n\n item-1 \n"})
    client.post(address, {"name": "two", "items": "item-3"})
    one, two = ExampleSet.objects.order_by("pk")
    assert one.items == ["item-2", "item-1"]
    judge_for(study, example_set=one)
    page = client.get(reverse("machine_raters:judges", args=[study.pk])).content.decode()
    assert f"examples: one (SHA-256 {JudgeCriterion.objects.get().examples_sha256[:12]}" in page
    for chosen, codes in ((one, {"example_set_in_use"}), (two, set())):
        delete = reverse("machine_raters:delete-example-set", args=[study.pk, chosen.public_id])
        assert codes_on(client.post(delete, follow=True)) >= codes
    assert ExampleSet.objects.get() == one
    assert client.post(address, {"name": "three", "items": "nothing"}).status_code == 400


def test_a_program_names_a_set(client, study, model):
    model(lambda request: "A")
    add_example_set(study=study, name="one", items=["item-2", "item-1"])
    judge = {"kind": "judge", "name": "gpt", "criterion": "preference", "example_set": "one"}
    judge |= {"server": "here", "language_model": "tiny"}
    judges = reverse("api:machine-rater-list", args=[study.pk])
    created = client.post(judges, judge, content_type="application/json")
    assert (created.status_code, created.json()["example_set"]) == (201, "one")
    assert len(created.json()["criteria"][0]["examples_sha256"]) == 64
    unknown = client.post(
        judges, judge | {"name": "b", "example_set": "x"}, content_type="application/json"
    )
    assert unknown.status_code == 400


def test_a_copy_of_a_judge_reads_the_same_examples(study):
    chosen = add_example_set(study=study, name="two", items=["item-3", "item-1"])
    judge = judge_for(study, example_set=chosen)
    copy = copy_judge(judge=judge, study=clone_study(study=study).study)
    assert copy.example_set.study == copy.study != study
    hashes = [one.questions.get().examples_sha256 for one in (copy, judge)]
    assert (copy.example_set.items, hashes[0]) == (chosen.items, hashes[1])
