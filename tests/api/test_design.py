"""The design of a draft: settings, criteria, systems, screening, templates, clones, datasets."""

import json

import pytest

from studies.models import Criterion, Dataset, Membership, Study
from tests.api.clients import at, problem_of, program
from tests.studies.factories import make_dataset, make_open_study, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(ruth):
    return program(ruth)


@pytest.fixture
def draft(ruth) -> Study:
    return make_study(instances=2, systems=3, member=ruth)


def send(client, method: str, url: str, body: object = None):
    return client.generic(method, url, json.dumps(body), content_type="application/json")


def change(client, study: Study, **body):
    return send(client, "PATCH", at("study-detail", study.pk), body)


def test_settings_of_a_draft_are_changed_and_the_rest_stays(client, draft):
    answer = change(client, draft, ratings_per_hit=4, pairing="baseline", reward="1.25")
    assert answer.status_code == 200, answer.content
    design = answer.json()["study"]["design"]
    assert (design["ratings_per_hit"], design["pairing"], design["reward"]) == (
        4,
        "baseline",
        1.25,
    )
    assert design["guidelines"] == draft.guidelines
    assert answer.json()["added_places"] is None


def test_null_takes_a_limit_away(client, draft):
    change(client, draft, hits_per_day=3)
    change(client, draft, hits_per_day=None)
    draft.refresh_from_db()
    assert draft.hits_per_day is None


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"ratings_per_hit": 0}, "ratings_per_hit"),
        ({"currency": "XYZ"}, "currency"),
        ({"fields": "passage | Passage | nobody"}, "fields"),
        ({"pairing": "magic"}, "pairing"),
        ({"similarity": "magic"}, "similarity"),
        ({"ratings_per_hit": 3, "pairing": "symmetric"}, "ratings_per_hit"),
        ({"pairing": "symmetric"}, "pairing"),
        ({"criteria": [{"name": "x", "question": "?", "scale": "magic"}]}, "criteria.0.scale"),
        (
            {"criteria": [{"name": "x", "question": "?"}, {"name": "x", "question": "?"}]},
            "",
        ),
        ({"comprehension": [{"text": "?", "choices": "one"}]}, "comprehension.0.choices"),
        ({"screening": {"qualification_units": 5, "pass_mark": 6}}, "screening.pass_mark"),
    ],
)
def test_what_the_pages_refuse_is_refused_with_its_field(client, draft, body, field):
    answer = change(client, draft, **body)
    assert problem_of(answer) == (400, "invalid")
    assert [problem["field"] for problem in answer.json()["problems"]] == [field]
    assert draft.criteria.count() == 1


def test_all_parts_of_a_design_are_replaced_together(client, draft):
    criteria = [
        {"name": "clarity", "question": "Clearer?", "scale": "preference"},
        {"name": "truth", "question": "Truer?", "scale": "preference:tie"},
    ]
    given = criteria[1] | {"reason": "required"}
    stored = [{**one, "reason": "none", "reason_length": 20} for one in criteria]
    criteria[1], stored[1]["reason"] = given, "required"
    questions = [{"text": "Is longer better?", "choices": "yes\nno", "answer": 2}]
    answer = change(
        client,
        draft,
        title="Another",
        criteria=criteria,
        systems=["system-2", "system-0"],
        screening={"training_units": 2},
        comprehension=questions,
    )
    assert answer.status_code == 200, answer.content
    study = answer.json()["study"]
    assert study["title"] == "Another"
    assert study["design"]["criteria"] == stored
    assert study["design"]["systems"] == ["system-2", "system-0"]
    assert study["screening"]["training_units"] == 2
    assert study["comprehension"][0]["answer"] == 2
    assert change(client, draft, screening=None).json()["study"]["screening"] is None


def test_a_refused_part_leaves_everything_as_it_was(client, draft):
    refusal = change(client, draft, title="Another", systems=["nobody"])
    assert problem_of(refusal) == (409, "unknown_system")
    draft.refresh_from_db()
    assert draft.title != "Another"


def test_an_open_study_takes_limits_and_places_and_keeps_what_ratings_mean(client, ruth):
    study = make_open_study(instances=2, ratings_per_hit=2, member=ruth)
    grown = change(client, study, ratings_per_hit=3, hits_per_day=9)
    assert grown.json()["added_places"] == study.hits.main().count()
    assert problem_of(change(client, study, ratings_per_hit=1)) == (400, "invalid")
    assert problem_of(change(client, study, comparisons_per_hit=1)) == (409, "frozen_design")
    assert problem_of(change(client, study, criteria=[])) == (409, "frozen_design")
    assert study.criteria.count() == 1


def test_a_test_of_another_study_counts_only_if_one_may_see_it(client, draft, omar):
    other = make_study(instances=1, member=omar)
    refusal = change(client, draft, screening={"accepts_from": other.pk})
    assert problem_of(refusal) == (404, "unknown_study")


def test_a_dataset_of_others_is_not_there(client, draft, omar):
    other = make_study(instances=1, member=omar)
    refusal = change(client, draft, dataset=other.dataset_id)
    assert problem_of(refusal) == (404, "no_such_dataset")


def test_a_draft_is_made_for_a_dataset(client, ruth):
    dataset = make_dataset()
    Dataset.objects.filter(pk=dataset.pk).update(created_by=ruth)
    body = {"title": "Notes", "dataset": dataset.pk, "unit_kind": "comparison"}
    answer = send(client, "POST", at("study-without-file"), body)
    assert answer.status_code == 201, answer.content
    study = Study.objects.get(pk=answer.json()["id"])
    assert answer["Location"] == at("study-detail", study.pk)
    assert len(study.ordered_systems()) == 2
    assert Criterion.objects.filter(study=study).exists()
    assert Membership.objects.get(study=study).user == ruth


def test_what_writes_a_systems_texts_is_described(client, draft):
    row = {"name": "system-1", "language_model": "m", "decoding": {"temperature": 0.5}}
    answer = send(client, "PATCH", at("study-systems", draft.pk), [row])
    assert answer.status_code == 200, answer.content
    assert draft.dataset.systems.get(name="system-1").decoding == {"temperature": 0.5}
    wrong = send(client, "PATCH", at("study-systems", draft.pk), [{**row, "decoding": {"heat": 1}}])
    assert problem_of(wrong) == (400, "invalid")


def test_a_system_is_added_and_removed(client, draft):
    row = {"name": "new", "language_model": "m", "decoding": {"samples": 2, "seed": 1}}
    answer = send(client, "POST", at("study-systems", draft.pk), row)
    assert answer.status_code == 201, answer.content
    assert answer.json()["decoding"] == row["decoding"]
    assert draft.ordered_systems()[-1].name == "new"
    again = send(client, "POST", at("study-systems", draft.pk), row)
    assert problem_of(again) == (409, "name_taken")
    unknown = {"name": "newer", "prompt_template": "{source} {topic}"}
    answer = send(client, "POST", at("study-systems", draft.pk), unknown)
    assert problem_of(answer) == (400, "unknown_placeholder")
    named = at("study-systems", draft.pk) + "?name=new"
    assert client.delete(named).status_code == 204
    assert not draft.dataset.systems.filter(name="new").exists()
    assert problem_of(client.delete(named)) == (409, "unknown_system")


def test_a_clone_is_a_draft_of_its_own(client, ruth, draft):
    answer = send(client, "POST", at("study-clone", draft.pk))
    assert answer.status_code == 201, answer.content
    assert Study.objects.get(pk=answer.json()["study"]).status == "draft"
    few = program(ruth, studies=[draft])
    assert problem_of(send(few, "POST", at("study-clone", draft.pk))) == (403, "needs_all_studies")


def test_a_draft_is_deleted_and_an_opened_study_is_kept(client, ruth, draft):
    assert client.delete(at("study-detail", draft.pk)).status_code == 204
    assert not Study.objects.filter(pk=draft.pk).exists()
    opened = make_open_study(instances=1, member=ruth)
    assert problem_of(client.delete(at("study-detail", opened.pk))) == (409, "not_a_draft")


def test_a_pass_mark_that_is_left_out_follows_the_items_of_the_test(client, draft):
    for screening, mark in (({}, 2), ({"pass_mark": 1}, 1)):
        answer = change(client, draft, screening={"qualification_units": 2, **screening})
        assert answer.json()["study"]["screening"]["pass_mark"] == mark
