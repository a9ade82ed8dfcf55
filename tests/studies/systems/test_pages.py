"""The form of a system, which needs no JSON."""

import pytest
from django.urls import reverse

from studies.models import Generation, Membership, System
from studies.models.dataset import DECODING as KNOWN
from studies.systems.forms import DECODING
from studies.systems.presets import PRESETS
from tests.confirming import post_confirmed
from tests.pages import codes_on, page_of, send
from tests.studies.factories import make_open_study, make_study

pytestmark = pytest.mark.django_db
SERVERS = {"lab": {"provider": "http", "base_url": "http://lab:1/v1"}}


@pytest.fixture
def ada(client, django_user_model):
    user = django_user_model.objects.create_user("ada", is_staff=True)
    client.force_login(user)
    return user


@pytest.fixture
def study(ada, settings):
    settings.TIEBREAK_MODEL_SERVERS = SERVERS
    study = make_study(instances=3, member=ada)
    Generation.objects.all().delete()
    return study


def new(study) -> str:
    return reverse("studies:system", args=[study.pk])


def change(study, system) -> str:
    return f"{new(study)}?system={system.name}"


def errors_of(page, field: str) -> set[str]:
    return {error.code for error in page.context["form"].errors.as_data().get(field, [])}


ENTERED = {
    "name": "small",
    "server": "lab",
    "language_model": "tiny",
    "prompt_template": "Sum up {source}",
    "temperature": "0.3",
    "top_p": "0.9",
    "max_tokens": "64",
    "samples": "2",
    "seed": "7",
    "stop": "###\n\\n\\n",
}
DECODED = {"temperature": 0.3, "top_p": 0.9, "max_tokens": 64, "samples": 2, "seed": 7}


def test_every_setting_of_decoding_has_a_field():
    assert set(DECODING) == set(KNOWN)


def test_a_system_is_added_changed_and_copied_by_the_form(client, study):
    data = reverse("studies:data", args=[study.pk])
    assert client.post(new(study), ENTERED)["Location"] == data
    system = System.objects.get(name="small")
    assert (system.server, system.language_model) == ("lab", "tiny")
    assert system.decoding == DECODED | {"stop": ["###", "\n\n"]}
    page = client.get(data)
    assert (
        reverse("admin:studies_dataset_change", args=[study.dataset_id])
        not in page.content.decode()
    )
    assert f'href="{new(study)}?copy={system.name}"' in page.content.decode()

    address = change(study, system)
    shown = client.get(address).context["form"]
    assert {name: shown[name].value() for name in ("stop", "seed")} == {
        "stop": "###\n\\n\\n",
        "seed": 7,
    }
    send(client, address, ENTERED | {"stop": "", "seed": "", "samples": ""})
    system.refresh_from_db()
    assert system.decoding == {"temperature": 0.3, "top_p": 0.9, "max_tokens": 64}

    copy = client.get(f"{new(study)}?copy={system.name}").context["form"]
    kept = {name: copy[name].value() for name in ("name", "language_model", "prompt_template")}
    assert kept == {"name": "", "language_model": "", "prompt_template": "Sum up {source}"}
    assert copy["temperature"].value() == 0.3
    client.post(f"{new(study)}?copy={system.name}", ENTERED | {"name": "large"})
    assert study.ordered_systems()[-1].name == "large"


@pytest.mark.parametrize("task", PRESETS)
def test_a_task_fills_in_a_template_that_is_accepted(client, study, task):
    page = client.get(new(study), {"task": task, "name": "mine", "server": "lab"})
    values = {field.name: field.value() for field in page.context["form"]}
    assert values["name"] == "mine"
    filled = {name: value for name, value in values.items() if value is not None}
    client.post(new(study), filled | {"language_model": "tiny"})
    assert System.objects.get(name="mine").prompt_template == PRESETS[task]["prompt_template"]


@pytest.mark.parametrize(
    ("changed", "field", "code"),
    [
        ({"name": ""}, "name", "required"),
        ({"name": "system-0"}, "__all__", "name_taken"),
        ({"language_model": ""}, "__all__", "no_model"),
        ({"prompt_template": "{topic}"}, "__all__", "unknown_placeholder"),
        ({"temperature": "3"}, "temperature", "max_value"),
        ({"temperature": "0"}, "samples", "all_alike"),
        ({"samples": "51"}, "samples", "max_value"),
        ({"server": "http://169.254.169.254"}, "server", "invalid_choice"),
    ],
)
def test_a_refused_form_keeps_its_values(client, study, changed, field, code):
    page = client.post(new(study), ENTERED | changed)
    assert page.status_code == 400
    assert errors_of(page, field) == {code}
    assert page.context["form"]["max_tokens"].value() == "64"
    assert not System.objects.filter(name="small").exists()


def test_a_system_whose_texts_are_made_offers_a_copy_only(client, study):
    client.post(new(study), ENTERED)
    system = System.objects.get(name="small")
    text = {"instance": study.dataset.instances.first(), "system": system, "sample_index": 0}
    Generation.objects.create(text="T.", params={"server": "lab"}, **text)
    address = change(study, system)
    html = client.get(reverse("studies:data", args=[study.pk])).content.decode()
    assert f'href="{address}"' not in html
    assert f"?copy={system.name}" in html
    assert errors_of(send(client, address, ENTERED | {"seed": "8"}), "__all__") == {"texts_made"}


def test_an_opened_study_offers_no_change(client, study, ada):
    opened = make_open_study(instances=2, member=ada)
    html = client.get(reverse("studies:data", args=[opened.pk])).content.decode()
    assert new(opened) not in html
    for values in (ENTERED, {"name": ""}):
        assert errors_of(client.post(new(opened), values), "__all__") == {"not_a_draft"}


def test_a_system_of_another_dataset_is_not_found(client, study):
    other = make_study(instances=1, systems=3).ordered_systems()[2]
    assert client.get(change(study, other)).status_code == 404
    assert client.get(new(study), {"copy": other.name}).status_code == 404


def test_an_analyst_reads_which_systems_there_are(client, study):
    Membership.objects.update(role=Membership.Role.ANALYST)
    html = client.get(reverse("studies:data", args=[study.pk])).content.decode()
    assert "system-0" in html
    assert new(study) not in html
    assert client.post(new(study), ENTERED).status_code == 403


def test_a_system_is_removed_after_a_confirmation(client, study):
    address = reverse("annotation:remove-system", args=[study.pk])
    assert page_of(client.get(address, {"system": "system-1"})) == "confirm"
    assert study.systems.count() == 2
    post_confirmed(client, address, {"system": "system-1"})
    assert [system.name for system in study.dataset.systems.all()] == ["system-0"]
    gone = client.get(address, {"system": "system-1"}, follow=True)
    assert codes_on(gone) == {"unknown_system"}
