"""Annotators' comments: what is saved, what a page shows, and what leaves with an export."""

import csv
import re

import pytest

from annotation.exports.study_export import export_study
from annotation.models import Comment
from annotation.selectors import is_a_first, units_by_position
from annotation.services.comments import mark_done, save_comment
from tests.annotation.annotators import Annotator, annotator, form_of, texts_of
from tests.annotation.test_gold_checks import study_with_checks
from tests.pages import codes_on
from tests.refusals import refused
from tests.studies.factories import make_open_study, make_participation

pytestmark = pytest.mark.django_db

HOSTILE = '<script>alert(1)</script>"\u202e\u2067=HYPERLINK("http://evil.example")'


def say(person: Annotator, text: str, page=None, **headers):
    page = page or person.here()
    return person.client.post(
        person.at("comment"), form_of(page).hidden | {"comment": text}, headers=headers
    )


def box_of(page) -> str:
    return re.search(r"<textarea[^>]*>(.*?)</textarea>", page.content.decode(), re.S)[1]


def test_a_comment_is_saved_with_its_item_and_the_sides_and_sent_again_replaced():
    person = annotator(make_open_study(instances=2))
    page = person.here()
    again = say(person, " The left one\r\nis cut. ", page)
    assert texts_of(again) == texts_of(page)
    assert box_of(again) == box_of(person.here()) == "The left one\nis cut."
    comment = Comment.objects.get()
    hit_unit = units_by_position(comment.assignment)[1]
    assert (comment.unit_id, comment.participation) == (hit_unit.unit_id, person.participation)
    assert (comment.side_a == "left") == is_a_first(comment.assignment, hit_unit)
    assert b"comment_saved" in say(person, "Both are cut.", hx_request="true").content
    assert Comment.objects.get().text == "Both are cut."
    assert say(person, "", hx_request="true").status_code == 200
    assert not Comment.objects.exists()
    assert box_of(person.here()) == ""


def test_what_a_researcher_dealt_with_is_not_removed_and_opened_by_another_text(admin_user):
    participation = make_participation(make_open_study(instances=1))
    study, first = participation.study, save_comment(participation=participation, text="One.")
    mark_done(study=study, public_id=first.public_id, by=admin_user)
    with refused("comment_read"):
        save_comment(participation=participation, text=" ")
    assert save_comment(participation=participation, text="One.").done_by == admin_user
    second = save_comment(participation=participation, text="Two.")
    assert (second.pk, second.done_at, second.done_by) == (first.pk, None, None)
    with refused("comment_changed"):
        mark_done(study=study, public_id=first.public_id, by=admin_user)


@pytest.mark.parametrize("is_htmx", [True, False])
def test_what_is_refused_stays_in_the_box(is_htmx):
    person, long = annotator(make_open_study(instances=1)), "ab" * 50_000
    headers = {"hx_request": "true"} if is_htmx else {}
    page = say(person, long, **headers)
    assert (page.status_code, codes_on(page)) == (400, {"comment_too_long"})
    assert is_htmx or box_of(page) == long
    opened = person.here()
    person.study.comments = False
    person.study.save()
    assert codes_on(say(person, "Late.", opened, **headers)) == {"comments_off"}
    assert b'id="comment"' not in person.here().content
    assert not Comment.objects.exists()
    stranger = annotator(make_open_study(instances=1))
    assert say(stranger, "Mine?", opened).status_code == 404


def test_the_box_looks_alike_on_checks_and_other_items_and_leads_back_to_the_same():
    person = annotator(study_with_checks(gold=3, instances=3, repeats_per_hit=1))
    boxes = set()
    for number in range(1, 6):
        page = person.here()
        said = say(person, f"On item {number}.", page)
        assert (texts_of(said), box_of(said)) == (texts_of(page), f"On item {number}.")
        box = re.search(r'<details class="comment".*?</details>', page.content.decode(), re.S)[0]
        boxes.add(re.sub(r'value="[^"]*"', "", box))
        person.choose()
        assert texts_of(say(person, f"After item {number}.", page)) == texts_of(page)
    roles = Comment.objects.values_list("unit__role", "repeat")
    assert {("gold", 0), ("main", 0), ("main", 1)} == set(roles)
    assert len(boxes) == 1


def test_the_end_takes_a_comment_on_the_study_and_still_shows_the_code():
    person = annotator(make_open_study(instances=1, comparisons_per_hit=1, hits_per_annotator=1))
    person.choose()
    person.here()
    for text, status in ((HOSTILE, 303), ("x" * 2001, 400), ("", 303)):
        page = person.client.post(person.at("end"), {"comment": text})
        assert page.status_code == status
        shown = page if status == 400 else person.here()
        assert person.participation.submission.completion_code in shown.content.decode()
        assert b"<script>alert" not in shown.content
        assert Comment.objects.filter(assignment=None).count() == (0 if text == "" else 1)


def test_an_export_has_comments_only_where_they_are_asked_for(tmp_path):
    person = annotator(make_open_study(instances=1))
    say(person, '=HYPERLINK("http://evil.example")')
    save_comment(participation=person.participation, text=HOSTILE)
    export_study(study=person.study, out=tmp_path / "plain", formats=["csv", "parquet"])
    assert not list((tmp_path / "plain").glob("comments*"))
    out = tmp_path / "out"
    formats = ["jsonl", "csv", "parquet"]
    export_study(study=person.study, out=out, formats=formats, with_comments=True)
    assert len(list(out.glob("comments*"))) == 3
    with (out / "comments.csv").open(encoding="utf-8-sig", newline="") as file:
        item, study = csv.DictReader(file)
    assert item["text"] == '\'=HYPERLINK("http://evil.example")'
    assert (item["unit"], item["done"]) == (Comment.objects.last().unit.key, "false")
    assert (study["unit"], study["text"]) == ("", HOSTILE)
    assert item["participation"] == study["participation"] == person.participation.public_id
    assert item["rater"] == person.participation.rater.pseudonym
