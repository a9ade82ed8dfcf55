"""The pages of machine raters: what is done with one by clicks, whatever its kind."""

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from lxml.html import fromstring

from annotation.models import Rating
from jobs.models import Job
from machine_raters.kinds import KINDS
from machine_raters.models import MachineRater
from studies.models import Membership
from tests.confirming import post_confirmed
from tests.machine_raters.judging.scripted import model
from tests.machine_raters.machines import again, answered, create, idle, prepare, settings_of
from tests.machine_raters.sections import codes_of, section_on
from tests.machine_raters.synthetic.rag import make_rag_study
from tests.pages import codes_on, page_of

pytestmark = pytest.mark.django_db
__all__ = ["model"]
REASON = "the wrong settings"
ACTIONS = ("start", "exclude", "reinstate", "delete")
each_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def study(client):
    user = User.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    return make_rag_study(owner=user, protocol="rag-pairs")


@pytest.mark.parametrize("add", ["", *KINDS, "verdicts"])
def test_one_button_is_filled_whatever_is_added(client, study, model, add):
    model(lambda _: "A")
    page = fromstring(
        client.get(reverse("machine_raters:judges", args=[study.pk]), {"add": add}).content
    )
    assert len(page.xpath("//main//*[contains(@class, 'primary')]")) <= 1


def act_at(machine, action) -> str:
    return reverse("machine_raters:act", args=[machine.study_id, machine.public_id, action])


def act(client, machine, action, **data):
    return post_confirmed(client, act_at(machine, action), data)


def offered(client, machine) -> set[str]:
    """The actions that the page offers for a machine rater."""
    kind = KINDS[machine.kind]
    page = client.get(reverse(f"machine_raters:{kind.page}", args=[machine.study_id]))
    shown = page.content.decode()
    part = client.get(reverse(kind.part_url, args=[machine.study_id])).content.decode()
    actions = {action for action in ACTIONS if act_at(machine, action) in shown}
    assert {action for action in ACTIONS if act_at(machine, action) in part} == actions
    return actions


@each_kind
def test_one_is_created_by_its_form_and_a_refused_form_keeps_what_was_typed(
    client, study, model, kind
):
    prepare(kind, study, model)
    address, form = reverse(KINDS[kind].url, args=[study.pk]), KINDS[kind].form(study)
    shown = {field.name: field.initial for field in form if field.initial is not None}
    entered = shown | settings_of(kind)
    assert page_of(client.post(address, entered, follow=True)) == "machine_raters"
    assert MachineRater.objects.get(name="machine").kind == kind
    page = client.post(address, entered)
    assert (page.status_code, codes_of(page, kind)) == (400, ["name_taken"])
    assert section_on(page, kind)["form"]["name"].value() == "machine"
    assert [one["kind"].name for one in page.context["sections"] if one["form"].is_bound] == [kind]


@each_kind
def test_one_without_answers_is_deleted_after_a_confirmation(
    client, study, model, monkeypatch, kind
):
    made = idle(kind, study, model, monkeypatch)
    assert offered(client, made) == {"start", "delete"}
    assert page_of(client.post(act_at(made, "delete"))) == "confirm"
    assert again(made) == made
    assert page_of(act(client, made, "delete")) == "machine_raters"
    assert not MachineRater.objects.filter(name="machine").exists()
    for action in ACTIONS:
        assert codes_on(act(client, made, action)) == {"no_such_machine_rater"}


@each_kind
def test_one_with_answers_is_excluded_with_a_reason_and_reinstated(client, study, model, kind):
    made = answered(kind, study, model)
    assert offered(client, made) - {"start"} == {"exclude"}
    assert codes_on(act(client, made, "delete")) == {"has_ratings"}
    assert page_of(client.get(act_at(made, "exclude"))) == "exclude"
    without = act(client, made, "exclude", reason=" ")
    assert (without.status_code, page_of(without)) == (400, "exclude")
    Job.objects.update(status="paused")
    at_work = act(client, made, "exclude", reason=REASON)
    errors = at_work.context["form"].errors.as_data()["__all__"]
    assert [error.code for error in errors] == ["job_unfinished"]
    assert at_work.context["form"]["reason"].value() == REASON
    Job.objects.update(status="done")
    assert not again(made).excluded
    page = act(client, made, "exclude", reason=REASON)
    assert (page_of(page), REASON in page.content.decode()) == ("machine_raters", True)
    assert offered(client, made) == {"reinstate"}
    assert codes_on(act(client, made, "start")) == {"machine_rater_excluded"}
    assert REASON not in act(client, made, "reinstate").content.decode()
    assert not Rating.objects.filter(excluded=True).exists()
    assert not again(made).excluded


def test_the_page_says_which_juries_have_decided_with_it(client, study, model):
    made = answered("baseline", study, model)
    create(study, "baseline", settings_of("baseline", "other"))
    create(study, "jury", settings_of("jury", "the bench") | {"members": ["machine", "other"]})
    assert "the bench" in client.get(act_at(made, "exclude")).content.decode()


@pytest.mark.parametrize("action", ["try", "injections"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "judge"])
def test_only_judges_are_tried(  # noqa: PLR0917
    client, study, model, monkeypatch, kind, action
):
    made = idle(kind, study, model, monkeypatch)
    assert codes_on(act(client, made, action)) == {"no_such_machine_rater"}


def test_an_excluded_judge_is_neither_tried_nor_tested(client, study, model):
    create(study, "synthetic-set", settings_of("synthetic-set", "set"))
    judge = answered("judge", study, model)
    act(client, judge, "exclude", reason=REASON)
    for action in ("try", "injections"):
        assert codes_on(act(client, judge, action)) == {"machine_rater_excluded"}
    made = MachineRater.objects.get(name="set")
    where = [study.pk, made.public_id, judge.public_id]
    address = reverse("machine_raters:check-synthetic", args=where)
    assert (
        address
        not in client.get(reverse("machine_raters:synthetic", args=[study.pk])).content.decode()
    )


def test_nothing_but_an_exclusion_is_asked_for_by_an_address(client, study, model, monkeypatch):
    made = idle("judge", study, model, monkeypatch)
    assert client.get(act_at(made, "exclude")).status_code == 200
    for action in ("start", "try", "injections", "reinstate", "delete"):
        assert client.get(act_at(made, action)).status_code == 404
    assert client.post(act_at(made, "praise")).status_code == 404


@pytest.mark.parametrize(("role", "status"), [("analyst", 403), ("", 404)])
@each_kind
def test_who_may_not_change_the_study_changes_nothing(  # noqa: PLR0917
    client, study, model, monkeypatch, kind, role, status
):
    made = idle(kind, study, model, monkeypatch)
    eve = User.objects.create_user("eve", is_staff=True)
    if role:
        Membership.objects.create(study=study, user=eve, role=role)
    client.force_login(eve)
    for action in (*ACTIONS, "try", "injections"):
        assert act(client, made, action, reason=REASON).status_code == status
    values = settings_of(kind, "new")
    assert client.post(reverse(KINDS[kind].url, args=[study.pk]), values).status_code == status
    assert not again(made).excluded


@each_kind
def test_the_page_takes_as_many_statements_for_ten(  # noqa: PLR0917
    client, study, model, monkeypatch, django_assert_max_num_queries, kind
):
    idle(kind, study, model, monkeypatch)
    monkeypatch.setattr("jobs.services.enqueue", lambda *_, **__: None)
    for number in range(9):
        create(study, kind, settings_of(kind, f"machine {number}"))
    address = reverse(KINDS[kind].url, args=[study.pk])
    client.get(address)  # Django asks once in a process what the database can do.
    with django_assert_max_num_queries(19):
        page = client.get(address)
    assert len(section_on(page, kind)["rows"]) >= 10
