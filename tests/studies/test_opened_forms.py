"""Two people on one form: the later save takes nothing back, and loses nothing."""

from html import unescape

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import get_resolver, reverse
from lxml.html import SelectElement, fromstring

from recruitment.models import Channel
from recruitment.platforms import platforms
from studies.models import ComprehensionQuestion, Membership, Screening, Unit
from tests.architecture.test_urls import address, patterns
from tests.stored import stored_rows
from tests.studies.factories import make_study

pytestmark = pytest.mark.django_db
MAX_IN_VAIN = 2
EDITED = {"text", "number", "textarea", "select"}


def forms_on(url, page):
    """The forms of a page that are sent by POST, with what a browser would send."""
    text = getattr(page, "content", b"").decode(errors="replace")
    if page.status_code not in {200, 400} or "<form" not in text:
        return []
    sending = [form for form in fromstring(text).forms if form.method == "POST"]
    for form in sending:
        form.to = form.get("action") or url
        form.data = {name: value.strip() for name, value in form.form_values()}
    return sending


def forms_of(client, url):
    return forms_on(url, client.get(url))


def addresses(study):
    """Every address of the server about a study, and every page of the admin about an object."""
    for _, route, _ in patterns(get_resolver()):
        if not route.startswith(("s/", "rate/", "admin/", "api/")):
            for platform in platforms().values() if "<slug:provider>" in route else [None]:
                known = route.replace("<slug:provider>", platform.name) if platform else route
                yield address(known, study.pk)
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        yield from (reverse(name, args=[row.pk]) for row in model.objects.all()[:1])


def other_values(form, name):
    """Two more values of a field, as two people would enter them."""
    field, stored = form.inputs[name], form.data.get(name, "")
    if isinstance(field, SelectElement):
        return [value for value in field.value_options if value not in {"", stored}][:2]
    if getattr(field, "type", "") == "number":
        return [str(float(stored or 1) + n).removesuffix(".0") for n in (1, 2)]
    return [f"{stored} by {name}".strip() for name in ("Omar", "Ruth")]


def kind_of(form, name):
    field = form.inputs[name]
    return getattr(field, "type", None) or getattr(field, "tag", "several")


def same_form(forms, name, form):
    """The form for the same thing, which may have gained rows."""
    return next((one for one in forms if one.to == form.to and name in one.fields), None)


@pytest.fixture
def study():
    study = make_study(instances=3)
    for name in ("ruth", "omar"):
        user = User.objects.create_superuser(name, password="a long password")
        Membership.objects.create(study=study, user=user, role=Membership.Role.OWNER)
    Group.objects.create(name="team")
    Screening.objects.create(study=study)
    ComprehensionQuestion.objects.create(
        study=study, text="?", choices="a\nb", answer=1, position=0
    )
    Unit.objects.create(study=study, key="gold", role=Unit.Role.GOLD, known_labels={})
    for platform in platforms().values():
        Channel.objects.create(study=study, provider=platform.name)
    return study


def browser(name):
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def test_no_form_takes_back_what_another_saved_meanwhile(study):
    ruth, omar, edited = browser("ruth"), browser("omar"), set()
    for url in dict.fromkeys(addresses(study)):
        for first in forms_of(ruth, url):
            seen, in_vain = set(), 0
            for name in first.fields:
                kind = kind_of(first, name)
                if kind not in EDITED - seen or "__prefix__" in name or in_vain > MAX_IN_VAIN:
                    continue
                opened = same_form(forms_of(ruth, url), name, first)
                values = other_values(opened, name) if opened is not None else []
                if len(values) < 2:
                    continue
                omar.post(opened.to, opened.data | {name: values[0]})
                now = same_form(forms_of(ruth, url), name, first)
                if now is None or now.data.get(name) != values[0]:
                    in_vain += not seen  # it edits nothing that is stored, or takes no such value
                    continue
                seen.add(kind)
                edited.add((first.to, name))
                check_stale(ruth, url, opened, name, values)
    pages = {url.rstrip("/").split("/")[-1] for url, _ in edited}
    assert {"change", "data", "task", "quality", "size", "prolific", "panel", "mturk"} <= pages


def check_stale(ruth, url, opened, name, values):
    """A form was opened, and another saved the first value of a field meanwhile."""
    theirs, mine = values
    before = stored_rows()
    refused = ruth.post(opened.to, opened.data | {name: mine}, follow=True)
    assert stored_rows() == before, (url, name)
    shown = unescape(refused.content.decode())
    assert mine in shown, (url, name)
    assert theirs in shown, (url, name)
    ruth.post(opened.to, opened.data)
    assert same_form(forms_of(ruth, url), name, opened).data[name] == theirs, (url, name)
    again = same_form(forms_on(url, refused), name, opened)
    if again.data[name] == mine:
        ruth.post(again.to, again.data)
        assert same_form(forms_of(ruth, url), name, opened).data[name] == mine, (url, name)
