"""Pages of studies that hold nothing yet: each says what to do with one button, to those who may do it."""

from typing import Any

import lxml.html
import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from metrics.results.services import refresh_report
from recruitment.launch.check import TASK
from recruitment.services.launch_checks import launch_checks
from studies.models import Membership, Study
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db

DATA, RECRUIT, QUALITY = "studies:data", "recruitment:channels", "recruitment:quality"
UPLOAD = "annotation:new-study"


def primary_links(client: Any, name: str, study: Study) -> list[str]:
    page = lxml.html.fromstring(client.get(reverse(name, args=[study.pk])).content)
    filled = page.xpath("//*[contains(concat(' ', @class, ' '), ' primary ')]")
    return [one.get("href", "").partition("?")[0].partition("#")[0] for one in filled]


def study_of(kind: str) -> Study:
    if kind == "nothing":
        return Study.objects.create(title="New")
    if kind == "no question":
        study = make_study(instances=2)
        study.criteria.all().delete()
        return study
    return make_open_study(instances=2)


@pytest.mark.parametrize(
    ("kind", "name", "leads_to"),
    [
        ("nothing", "annotation:data", UPLOAD),
        ("nothing", "metrics:generate-select", DATA),
        ("nothing", "metrics:data-and-report", DATA),
        ("nothing", "metrics:results", DATA),
        ("nothing", "recruitment:ledger", DATA),
        ("nothing", "metrics:licences", DATA),
        ("nothing", "machine_raters:example-sets", QUALITY),
        ("no question", "metrics:licences", TASK),
        ("no question", "metrics:results", TASK),
        ("no ratings", "metrics:results", RECRUIT),
        ("no ratings", "metrics:data-and-report", RECRUIT),
        ("no ratings", "recruitment:ledger", RECRUIT),
    ],
)
def test_a_page_without_data_has_one_filled_button_that_leads_on(client, kind, name, leads_to):
    study, ruth = study_of(kind), User.objects.create_user("ruth", is_staff=True)
    member = Membership.objects.create(study=study, user=ruth)
    client.force_login(ruth)
    refresh_report(study=study)
    arguments = [] if leads_to == UPLOAD else [study.pk]
    assert primary_links(client, name, study) == [reverse(leads_to, args=arguments)]
    # An analyst reads the page, and is offered nothing that others have to do.
    member.role = Membership.Role.ANALYST
    member.save()
    assert reverse(leads_to, args=arguments) not in primary_links(client, name, study)


def test_a_page_of_a_study_without_a_question_refuses_nothing_that_nobody_sent(client):
    study, ruth = study_of("no question"), User.objects.create_superuser("ruth")
    client.force_login(ruth)
    page = client.get(reverse("metrics:licences", args=[study.pk]))
    assert b"errorlist" not in page.content


@pytest.mark.parametrize("kind", ["nothing", "no question"])
def test_the_launch_says_once_that_a_question_is_missing_and_leads_to_where_it_is_added(kind):
    errors = [check for check in launch_checks(study_of(kind)) if check.is_error]
    (question,) = [check for check in errors if "criterion" in check.sentence]
    assert (question.code, question.where) == ("no_criteria", TASK)
    others = {check.code: check.where for check in errors if check is not question}
    assert others == ({"incomplete_design": DATA} if kind == "nothing" else {})
