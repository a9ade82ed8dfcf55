"""Contested items are settled one after another, beside the ratings and never among them."""

import json

import pytest
from django.urls import reverse

from annotation.exports.study_export import export_study
from annotation.imports.study_import import import_study
from annotation.models import Rating, Settlement
from annotation.services.settling import settle_item
from metrics.collecting.contested import queues_of
from metrics.models import ReportSnapshot
from metrics.results.services import refresh_report
from studies.models import Study
from tests.architecture.test_roles import member
from tests.pages import codes_on
from tests.refusals import refused
from tests.tiebreak.formats.bundles import make_bundle, ratings, write_lines

pytestmark = pytest.mark.django_db

CONTESTED = ("i0/0", "i1/0")


@pytest.fixture
def study(tmp_path) -> Study:
    bundle = make_bundle(tmp_path / "b", with_ratings=True)
    rows = [
        row | {"label": -1 if row["unit"] in CONTESTED and row["rater"] == "r0" else 1}
        for row in ratings()
    ]
    write_lines(bundle / "ratings.jsonl", rows)
    study = import_study(path=bundle).study
    refresh_report(study=study)
    return study


def at(study: Study, item: str = "") -> str:
    address = reverse("metrics:contested", args=[study.pk])
    return f"{address}?criterion=preference&item={item}" if item else address


def rated(study: Study) -> list[tuple]:
    fields = [field.attname for field in Rating._meta.concrete_fields]
    return list(Rating.objects.filter(unit__study=study).order_by("pk").values_list(*fields))


def test_one_item_after_the_other_is_settled_and_no_rating_changes(study):
    client, before = member(study, "owner"), rated(study)
    report = ReportSnapshot.objects.get(study=study, digest="").watermark
    first = client.get(at(study))
    assert first.context["item"].unit.key in CONTESTED
    assert {value for value, _ in first.context["labels"]} == {"-1", "0", "1"}
    key = first.context["item"].unit.key
    second = client.post(
        at(study, key), {"label": "1", "reason": "It leaves nothing out."}, follow=True
    )
    (other,) = {*CONTESTED} - {key}
    assert second.context["item"].unit.key == other
    client.post(at(study, other), {"label": "", "reason": "Both are right."})
    assert dict(Settlement.objects.values_list("unit__key", "label")) == {key: "1", other: ""}
    (queue,) = queues_of(study, ReportSnapshot.objects.get(study=study, digest=""))
    assert (queue.left, len(queue.items)) == ([], 2)
    refresh_report(study=study)
    assert rated(study) == before
    assert ReportSnapshot.objects.get(study=study, digest="").watermark == report


def test_who_decides_sees_neither_systems_nor_answers_before_and_each_label_keeps_its_text(study):
    client, orders = member(study, "owner"), set()
    for key in CONTESTED:
        page = client.get(at(study, key))
        item, systems = page.context["item"], dict(page.context["systems"])
        decided, revealed = page.text.split("<details", 1)
        for system, text in item.texts:
            name = next(name for name, shown in page.context["texts"] if shown == text)
            assert systems[name] == system
            label = "-1" if system == item.unit.system_names[0] else "1"
            assert dict(page.context["labels"])[label] == name
            assert f">{system}<" not in decided
            assert system in revealed
        orders.add(tuple(systems.values()) == item.unit.system_names)
        assert [words for _, words in page.context["labels"]] == ["Text 1", "tie", "Text 2"]
    assert orders == {True, False}
    settle_item(study=study, unit=key, criterion="preference", label="1", reason="Clear.", by=None)
    assert "systems" not in client.get(at(study, key)).context


def test_a_decision_that_is_replaced_stays_as_history_and_in_the_export(study, tmp_path):
    decision = {"study": study, "unit": "i0/0", "criterion": "preference", "by": None}
    settle_item(**decision, label="1", reason="At first sight.")
    settle_item(**decision, label="-1.0", reason="After reading again.")
    export_study(study=study, out=tmp_path / "out")
    lines = (tmp_path / "out" / "settled.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    assert [(row["unit"], row["label"], "replaced_at" in row) for row in rows] == [
        ("i0/0", "1", True),
        ("i0/0", "-1", False),
    ]
    assert "settled.jsonl" in str(import_study(path=tmp_path / "out").not_stored)


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"reason": " "}, "no_reason"),
        ({"reason": "x" * 2001}, "no_reason"),
        ({"unit": "i99/0"}, "no_such_item"),
        ({"criterion": "ease"}, "no_such_item"),
        ({"label": "5"}, "label_not_on_scale"),
    ],
)
def test_what_cannot_be_kept_is_refused(study, changed, code):
    decision = {"unit": "i0/0", "criterion": "preference", "label": "1", "reason": "Clear."}
    with refused(code):
        settle_item(study=study, by=None, **(decision | changed))
    assert not Settlement.objects.exists()


def test_a_refused_decision_keeps_what_was_typed(study):
    answer = member(study, "owner").post(at(study, "i0/0"), {"label": "5", "reason": "Clear."})
    assert (answer.context["typed"], answer.context["item"].unit.key) == ("Clear.", "i0/0")
    assert codes_on(answer)


@pytest.mark.parametrize(
    ("role", "reads", "settles"),
    [("viewer", 403, 403), ("analyst", 200, 403), ("editor", 200, 302)],
)
def test_who_may_change_a_study_settles(study, role, reads, settles):
    client = member(study, role)
    page = client.get(at(study))
    assert page.status_code == reads
    assert ('id="settle"' in page.text) == (settles == 302)
    posted = client.post(at(study, "i0/0"), {"label": "1", "reason": "Clear."})
    assert posted.status_code == settles
    collect = client.get(reverse("metrics:dashboard", args=[study.pk])).text
    assert (at(study) in collect) == (settles == 302)
