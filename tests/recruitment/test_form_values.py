"""A field of a channel's form that is left empty: no page or query may take it for a value."""

from decimal import Decimal

import pytest
from django.urls import reverse

from annotation.models import Participation
from jobs.clock import database_now
from recruitment.ledger import ledger
from recruitment.models import Channel, Submission
from recruitment.platforms import platforms
from studies.models import Study
from tests.annotation.annotators import annotator
from tests.studies.factories import make_open_study

pytestmark = pytest.mark.django_db

REQUIRED = {"people": "ann", "description": "Compare.", "panel_url": "https://panel.example/"}
OPTIONAL = {
    (name, empty): [
        field
        for field, of_form in platform.settings_form.base_fields.items()
        if not of_form.required and (empty == "" or hasattr(of_form, "decimal_places"))
    ]
    for name, platform in platforms().items()
    for empty in ("", "0")
}
MONEY_PAGES = ("admin:index", "recruitment:ledger", "recruitment:channels", "recruitment:size")


@pytest.fixture
def study(admin_client, django_user_model) -> Study:
    admin = django_user_model.objects.get(username="admin")
    study = make_open_study(instances=2, member=admin, reward=Decimal(2), hits_per_annotator=2)
    annotator(study)
    Participation.objects.update(status=Participation.Status.SCREENED_OUT)
    return study


def shown(admin_client, study: Study, name: str) -> dict[str, object]:
    """What the form on the page would send."""
    page = admin_client.get(reverse("recruitment:channels", args=[study.pk]))
    forms = [entry["form"] for entry in page.context["channels"] if entry["platform"].name == name]
    values = {field.html_name: field.value() for field in forms[0]}
    return {key: value for key, value in values.items() if value not in (None, False)}


def owed_for_the_test(study: Study) -> int:
    return ledger(study, database_now()).listed("screened_out").count()


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "empty"), [key for key, fields in OPTIONAL.items() if fields])
def test_an_empty_field_is_stored_nowhere_and_stays_empty(study, admin_client, name, empty):
    address, fields = (
        reverse("recruitment:save-channel", args=[study.pk, name]),
        OPTIONAL[name, empty],
    )
    for _ in range(2):  # what the page then shows is sent once more
        sent = REQUIRED | shown(admin_client, study, name) | dict.fromkeys(fields, empty)
        assert admin_client.post(address, sent).status_code == 302
    for settings in (dict.fromkeys(fields), dict.fromkeys(fields, ""), {}):
        send(admin_client.put, study, "channel", name, settings=settings)
    channel = Channel.objects.get(provider=name)
    assert not [value for value in channel.settings.values() if value in (None, "")]
    last = shown(admin_client, study, name)
    assert {last.get(field, "") for field in fields} <= {"", "0", "0.0"}
    Submission.objects.update(channel=channel)
    assert_money_pages(admin_client, study)
    assert owed_for_the_test(study) == 0


def send(method, study: Study, address: str, *names: str, **values: object) -> None:
    """Send it as a program does."""
    path = reverse(f"api:{address}-detail", args=[study.pk, *names])
    assert method(path, values, content_type="application/json").status_code == 200


def assert_money_pages(admin_client, study: Study) -> None:
    for page in MONEY_PAGES:
        address = reverse(page, args=[study.pk] if page != "admin:index" else [])
        assert admin_client.get(address).status_code == 200, page
    pay_all = reverse("recruitment:pay-many", args=[study.pk])
    assert admin_client.post(pay_all, {"list": "screened_out"}).status_code == 302  # owed nothing


@pytest.mark.sampled(1)
@pytest.mark.parametrize(
    "name", ["reward", "budget", "promised_hourly_rate", "minutes_per_hit", "hits_per_annotator"]
)
def test_an_emptied_setting_of_money_breaks_no_page(study, admin_client, name):
    send(admin_client.patch, study, "study", **{name: "300"})
    for sent in ({name: None}, {}):
        send(admin_client.patch, study, "study", **sent)
        assert getattr(Study.objects.get(), name) is None
        assert_money_pages(admin_client, study)
    part = reverse("recruitment:cost-part", args=[study.pk])
    assert admin_client.get(part, {name: ""}).status_code == 200


@pytest.mark.both_databases
def test_a_reward_for_the_screened_out_is_owed_and_an_emptied_one_is_not(study):
    channel = Channel.objects.create(
        study=study, provider="prolific", settings={"screen_out_reward": "0.50"}
    )
    Submission.objects.update(channel=channel)
    assert owed_for_the_test(study) == 1
    for empty in (None, ""):
        Channel.objects.update(settings={"screen_out_reward": empty, "keys": []})
        channel.refresh_from_db()
        assert channel.settings == {"keys": []}
        assert owed_for_the_test(study) == 0
