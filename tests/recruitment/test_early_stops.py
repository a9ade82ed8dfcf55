"""What annotators are paid who stop early, as researchers and annotators read it beforehand."""

import re
from decimal import Decimal

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from lxml.html import fromstring

from recruitment.confirmations import opening
from recruitment.early_stops import NOT_AT_ALL, PER_TASK, WHOLE, early_stop_rules, failing_rules
from recruitment.models import Channel
from recruitment.services.leaving import leave_early
from recruitment.terms import owed
from recruitment.views.entry import about_channel
from studies.models import Screening, Study
from tests.annotation.annotators import annotator
from tests.pages import numbers_in
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db


def paying(tasks: int | None = 4, reward: str | None = "2.00", **design):
    values = {"instances": 6, "comparisons_per_hit": 1, "currency": "GBP"}
    amount = None if reward is None else Decimal(reward)
    return make_open_study(**values, hits_per_annotator=tasks, reward=amount, **design)


def rules(study) -> list[str]:
    return early_stop_rules(study, study.hits.main().count())


def test_by_the_open_link_each_completed_task_is_paid():
    assert rules(paying()) == [PER_TASK.format("0.50 GBP")]


def test_an_amount_that_does_not_divide_is_rounded_down_and_says_so():
    assert rules(paying(3)) == [PER_TASK.format("about 0.66 GBP")]


@pytest.mark.parametrize("study", [{"reward": None}, {"reward": "0.00"}, {"tasks": 1}])
def test_without_pay_or_with_one_task_there_is_nothing_to_say(study):
    assert rules(paying(**study)) == []


def test_without_a_number_of_tasks_the_whole_reward_is_paid():
    assert rules(paying(None)) == [WHOLE]


def test_channels_that_differ_are_named():
    study = paying()
    for provider in ("open-link", "invitation", "prolific"):
        Channel.objects.create(study=study, provider=provider)
    assert rules(study) == [
        f"Open link and Personal invitations: {PER_TASK.format('0.50 GBP')}",
        f"Prolific: {NOT_AT_ALL}",
    ]


def test_who_fails_the_test_is_told_of_before_the_study_opens():
    study = paying()
    assert failing_rules(study) == []
    Screening.objects.create(study=study, qualification_units=3, pass_mark=3)
    test, failing = failing_rules(study)
    assert numbers_in(test) == {"1", "3"}
    assert "is paid nothing" in failing
    Channel.objects.create(study=study, provider="prolific", settings={"screen_out_reward": "0.14"})
    assert "is paid 0.14 GBP" in failing_rules(study)[1]
    assert {test, failing_rules(study)[1]} <= set(opening(study).sentences)
    Study.objects.update(reward=None)
    study.refresh_from_db()
    assert "paid" not in failing_rules(study)[1]


@pytest.mark.parametrize(("reward", "said"), [(None, "no reward"), (Decimal(2), "paid nothing")])
def test_the_number_of_test_items_says_what_who_fails_gets(client, reward, said):
    client.force_login(ruth := User.objects.create_user("ruth", is_staff=True))
    study = make_study(member=ruth, reward=reward)
    page = fromstring(client.get(reverse("recruitment:quality", args=[study.pk])).text)
    (field,) = page.xpath("//*[@id='id_screening-0-qualification_units']/..")
    assert said in field.text_content()


def test_the_step_says_what_is_typed(client, django_user_model):
    ruth = django_user_model.objects.create_user("ruth", is_staff=True)
    client.force_login(ruth)
    study = paying(member=ruth)
    assert "data-early-stop" in client.get(reverse("recruitment:size", args=[study.pk])).text
    typed = {"reward": "4.00", "hits_per_annotator": "4"}
    part = client.get(reverse("recruitment:cost-part", args=[study.pk]), typed).text
    assert PER_TASK.format("1.00 GBP") in part
    assert "data-maximum" in part
    part = client.get(reverse("recruitment:cost-part", args=[study.pk]), {"reward": ""}).text
    assert "data-maximum" not in part


def test_the_welcome_page_says_the_amount_that_is_paid_later(client):
    study = paying()
    page = client.get(reverse("recruitment:welcome", args=[study.pk])).text
    (told,) = re.findall(r"data-in-short>(.*?)</ul>", page, re.S)
    assert "0.50 GBP for each task" in told
    assert "If you stop earlier" not in told
    Study.objects.update(promised_hourly_rate=Decimal(9))
    assert "If you stop earlier" in client.get(reverse("recruitment:welcome", args=[study.pk])).text
    ann = annotator(study)
    ann.choose()
    leave_early(participation=ann.participation)
    assert owed(ann.participation) == Decimal("0.50")


@pytest.mark.parametrize(("provider", "is_told"), [("invitation", True), ("panel", False)])
def test_where_one_payment_covers_all_tasks_no_share_is_told(provider, is_told):
    told = about_channel(Channel(study=paying(), provider=provider))["pay"]
    assert (told.per_task is not None) == is_told
