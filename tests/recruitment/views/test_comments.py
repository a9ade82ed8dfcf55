"""The page *Comments*: what was said, by whom, on which texts, and whether it is done."""

import re

import pytest
from django.urls import reverse

from annotation.models import Comment
from studies.design.steps import study_frame
from tests.annotation.annotators import annotator, texts_of
from tests.annotation.test_comments import HOSTILE, say
from tests.architecture.test_roles import member
from tests.pages import codes_on
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(client, admin_user):
    client.force_login(admin_user)
    return make_open_study(instances=2)


def waiting(study, user) -> int:
    return next(p.waiting for p in study_frame(study, user).pages if p.slug == "comments")


def test_it_shows_who_said_what_on_which_texts_and_marks_it_done(client, study, admin_user):
    person, address = annotator(study), reverse("recruitment:comments", args=[study.pk])
    shown = texts_of(person.here())
    say(person, HOSTILE)
    page = client.get(address).content.decode()
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert (
        reverse("recruitment:participant", args=[study.pk, person.participation.public_id]) in page
    )
    assert re.findall(r'aria-label="Text \d">(.*?)</p>', page) == shown
    assert waiting(study, admin_user) == 1
    mark = reverse("recruitment:mark-comment", args=[study.pk, Comment.objects.get().public_id])
    for sent, n, show in (({}, 0, "done"), ({"undo": "yes"}, 1, "open")):
        client.post(mark, sent)
        assert waiting(study, admin_user) == n
        assert Comment.objects.get().done_by == (None if n else admin_user)
        assert [c.text for c, *_ in client.get(f"{address}?show={show}").context["comments"]]
        assert not client.get(address).context["comments"] or n
    say(person, "Something else.")
    assert codes_on(client.post(mark, follow=True)) == {"comment_changed"}


def test_the_page_takes_as_few_statements_for_many_comments(
    client, study, django_assert_max_num_queries
):
    person = annotator(study)
    for _ in range(4):
        say(person, "Unclear.")
        person.choose()
    with django_assert_max_num_queries(12):
        assert len(client.get(f"/studies/{study.pk}/comments/").context["comments"]) == 4


@pytest.mark.parametrize(("role", "reads", "marks"), [("viewer", 403, 403), ("analyst", 200, 403)])
def test_viewers_read_none_and_analysts_mark_none(study, role, reads, marks):
    say(annotator(study), "Unclear.")
    client, public_id = member(study, role), Comment.objects.get().public_id
    page = client.get(f"/studies/{study.pk}/comments/")
    assert page.status_code == reads
    assert b'name="show"' not in page.content
    assert client.post(f"/studies/{study.pk}/comments/{public_id}/").status_code == marks
