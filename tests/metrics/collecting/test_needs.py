"""What of a study needs a person, on the page Collect."""

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from lxml.html import fromstring

from annotation.models import Comment, Rating
from annotation.services.late_answers import DECLINED
from jobs.models import Job
from metrics.collecting.needs import needs_of
from recruitment.models import Channel, Payment, encrypted
from recruitment.services.lifecycle import close_study, pause_study
from studies.models import Membership, Study
from tests.annotation.annotators import annotator
from tests.architecture.test_roles import member
from tests.studies.factories import make_open_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]


@pytest.fixture
def study() -> Study:
    return make_open_study(instances=1, comparisons_per_hit=1, reward=Decimal(2))


def codes(study: Study) -> list[str]:
    return [need.code for need in needs_of(study)]


def test_nothing_needs_a_person_at_first(study):
    assert codes(study) == []


def test_until_somebody_enters_the_link_is_what_is_to_be_copied(admin_client, study):
    def primary() -> list[str]:
        page = fromstring(admin_client.get(reverse("metrics:dashboard", args=[study.pk])).text)
        return page.xpath("//main//*[contains(@class, 'primary')]/@data-copy")

    assert primary() == ["entry-open-link"]
    Job.objects.create(kind="export", owner=study.pk, status=Job.Status.FAILED)
    assert primary() == []  # what needs a person comes first
    Job.objects.all().delete()
    annotator(study)
    assert primary() == []


def test_finished_and_unpaid_work_does(study):
    annotator(study).choose()
    Study.objects.update(status="closed")
    study.participations.update(status="finished")
    assert codes(study) == ["awaiting_payment"]


def test_an_open_study_that_collects_nothing_does(study):
    prolific = Channel.objects.create(
        study=study, provider="prolific", external_id="s1", external_status="UNPUBLISHED"
    )
    assert codes(study) == ["not_published"]
    prolific.external_status = "ACTIVE"
    prolific.save()
    assert codes(study) == []
    Channel.objects.update(closed_at=timezone.now())
    assert codes(study) == ["no_open_channel"]


def test_people_who_left_early_do_once_the_others_cannot_give_all_responses():
    study = make_open_study(instances=2, comparisons_per_hit=1, reward=Decimal(2))
    each = study.hits.main().count()
    most = -(-study.places.count() // each)
    Channel.objects.create(study=study, provider="open-link", settings={"most_people": most})
    person = annotator(study)
    person.choose()
    assert "too_few_admitted" not in codes(study)
    study.participations.update(status="finished")
    need = next(need for need in needs_of(study) if need.code == "too_few_admitted")
    assert {str(most), str(most + 1)} <= set(re.findall(r"\d+", need.sentence))
    Channel.objects.update(settings={"most_people": most + 1})
    study = Study.objects.get(pk=study.pk)
    assert "too_few_admitted" not in codes(study)


def test_an_open_study_with_all_responses_does(study):
    for _ in range(2):
        annotator(study).choose()
    assert "all_completed" not in codes(study)
    annotator(study).choose()
    assert "all_completed" in codes(study)
    close_study(study=study)
    study.refresh_from_db()
    assert "all_completed" not in codes(study)


def test_a_paused_study_waits_to_be_opened_again_once_nothing_else_does(study):
    annotator(study).choose()
    study = pause_study(study=study)
    assert codes(study) == ["paused"]
    study.participations.update(status="finished")
    assert codes(study) == ["awaiting_payment", "paused"]


def test_late_answers_do_until_they_are_decided(study):
    annotator(study).choose()
    Rating.objects.update(late=True)
    assert "late" in codes(study)
    Rating.objects.update(excluded=True, excluded_reason=DECLINED)
    assert "late" not in codes(study)


def test_a_failed_job_does_until_it_was_done_again(study):
    Job.objects.create(kind="export", owner=study.pk, status=Job.Status.FAILED)
    assert codes(study) == ["failed_job"]
    Job.objects.create(kind="export", owner=study.pk, status=Job.Status.DONE)
    assert codes(study) == []


def test_open_comments_channels_that_fail_and_unconfirmed_payments_do(study):
    person = annotator(study)
    person.choose()
    now = timezone.now()
    comment = Comment.objects.create(
        participation=person.participation, text="A text is cut off.", created_at=now
    )
    channel = Channel.objects.create(study=study, provider="open-link", sync_problem="Refused.")
    payment = Payment.objects.create(
        participation=person.participation, amount=1, currency="GBP", created_at=now
    )
    assert codes(study) == ["sync_problem", "unconfirmed", "comments"]
    Comment.objects.filter(pk=comment.pk).update(done_at=now)
    Payment.objects.filter(pk=payment.pk).update(status=Payment.Status.REFUSED)
    Channel.objects.filter(pk=channel.pk).update(sync_problem="")
    assert codes(Study.objects.get()) == []


def test_who_waits_longest_for_pay_and_how_the_newest_comment_begins_are_told(study):
    now = timezone.now()
    for name, hours in (("ann", 7), ("bob", 3)):
        person, then = annotator(study), now - timedelta(hours=hours)
        person.choose()
        person.participation.assignments.update(completed_at=then)
        text = f"Odd, says {name}.\n" + "Very odd. " * 20
        Comment.objects.create(participation=person.participation, text=text, created_at=then)
    study.participations.update(status="finished")
    paid, comments = needs_of(study)
    assert (re.findall(r"\d+", paid.sentence), re.findall(r"\d+", paid.detail)) == (["2"], ["7"])
    assert paid.parts == (paid.sentence, paid.detail)
    assert "Odd, says bob." in comments.detail
    assert len(comments.detail) < 80
    study.participations.first().payments.create(
        amount=2, currency="GBP", status="paid", created_at=now
    )
    paid, _ = needs_of(study)
    assert (re.findall(r"\d+", paid.sentence), re.findall(r"\d+", paid.detail)) == (["1"], ["3"])


@pytest.mark.parametrize(("role", "pays"), [("owner", True), ("editor", False), ("analyst", False)])
def test_only_owners_get_a_button_that_pays(study, role, pays):
    annotator(study).choose()
    study.participations.update(status="finished")
    (need,) = needs_of(study)  # first the person is paid, by hand
    assert (need.pays, need.button) == ("", "See who to pay, 2.00 GBP")
    Channel.objects.create(study=study, provider="prolific", secret=encrypted("t"))
    need = next(one for one in needs_of(Study.objects.get()) if one.code == "awaiting_payment")
    assert (need.pays, need.button) == ("awaiting_payment", "Pay 1 person, 2.00 GBP…")
    page = member(study, role).get(reverse("metrics:dashboard", args=[study.pk])).text
    assert (reverse("recruitment:pay-many", args=[study.pk]) in page) == pays
    assert f"{reverse('recruitment:ledger', args=[study.pk])}?list=awaiting_payment" in page or pays


@pytest.mark.parametrize(("role", "is_told"), [("viewer", False), ("analyst", True)])
def test_only_who_sees_participants_is_told(client, study, role, is_told):
    user = User.objects.create_user("ruth", is_staff=True)
    Membership.objects.create(study=study, user=user, role=role)
    client.force_login(user)
    address = reverse("metrics:attention", args=[study.pk])
    assert (client.get(address).status_code == 200) == is_told
    page = client.get(reverse("metrics:dashboard", args=[study.pk])).text
    assert (address in page) == is_told


@pytest.mark.parametrize(("status", "is_shown"), [("open", True), ("paused", False)])
def test_the_link_for_annotators_is_shown_while_it_works(admin_client, study, status, is_shown):
    Study.objects.update(status=status)
    page = admin_client.get(reverse("metrics:dashboard", args=[study.pk])).text
    assert (f"http://testserver/s/{study.pk}/" in page) == is_shown
