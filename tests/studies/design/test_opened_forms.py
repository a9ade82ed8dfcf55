"""Two people on one form: the later save takes nothing back, and loses nothing."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from html import unescape
from time import monotonic, sleep

import pytest
from django.contrib import admin
from django.contrib.auth.models import Group, User
from django.db import connection, transaction
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils.timezone import now
from lxml.html import fromstring

from annotation.services.planning import plan_hits
from jobs.models import Job
from recruitment.models import Channel, Eligibility
from recruitment.platforms import platforms
from recruitment.platforms.base import OfferedFilter
from recruitment.services.eligibility import choose_filters
from studies.models import ComprehensionQuestion, Membership, Screening, Study, Unit
from tests.architecture.test_urls import address, patterns
from tests.conftest import is_postgresql
from tests.metrics.planning.test_expert_weights import survey
from tests.metrics.planning.test_scores_study import scoring
from tests.stored import stored_rows
from tests.studies.data.test_perturbed_copies import TYPOS
from tests.studies.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]
MAX_IN_VAIN = 2
EDITED = {"text", "number", "textarea", "select", "several", "checkbox"}


def forms_on(url, page):
    """The forms of a page that are sent by POST, with what a browser would send."""
    text = getattr(page, "content", b"").decode(errors="replace")
    if page.status_code not in {200, 400} or "<form" not in text:
        return []
    sending = [form for form in fromstring(text).forms if form.method == "POST"]
    for form in sending:
        form.to = form.get("action") or url
        form.data = {}
        for name, value in form.form_values():
            form.data.setdefault(name, []).append(value.strip())
    return sending


def forms_of(client, url):
    return forms_on(url, client.get(url))


def addresses(study):
    """Every address of the server about a study, and every page of the admin about an object."""
    for _, route, _ in patterns(get_resolver()):
        if not route.startswith(("s/", "rate/", "admin/", "api/")):
            for platform in platforms().values() if "<slug:provider>" in route else [None]:
                known = route.replace("<slug:provider>", platform.name) if platform else route
                named = "?system=system-0" if route.endswith("/systems/") else ""
                yield address(known, study.pk) + named
    for model in admin.site._registry:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_change"
        yield from (reverse(name, args=[row.pk]) for row in model.objects.all()[:1])


def other_values(form, name):
    """Two more values of a field, as two people would enter them; one of what is ticked or not."""
    field, stored = form.inputs[name], form.data.get(name, [])
    if kind_of(form, name) == "checkbox":
        return [[] if stored else ["on"]]
    if hasattr(field, "value_options"):
        return [[value] for value in field.value_options if value and [value] != stored][:2]
    if kind_of(form, name) == "number" or field.get("inputmode") == "decimal":
        number = float("".join(stored) or 1)
        return [[str(number + n).removesuffix(".0")] for n in (1, 2)]
    return [[f"{' '.join(stored)} by {name}".strip()] for name in ("Omar", "Ruth")]


def kind_of(form, name):
    field = form.inputs[name]
    return getattr(field, "type", None) or getattr(field, "tag", "several")


def same_form(forms, name, form):
    """The form for the same thing, which may have gained rows."""
    return next((one for one in forms if one.to == form.to and name in one.fields), None)


def choose_age(channel):
    offered = asdict(OfferedFilter("age", "Age", choices={key: key for key in ("12", "45", "78")}))
    Eligibility.objects.create(channel=channel, offered=[offered], asked_at=now())
    choose_filters(channel=channel, chosen=[{"filter_id": "age", "selected_values": ["12"]}])


@pytest.fixture
def study():
    study = make_study(instances=3, target_width=0.1)  # for any rule of stopping
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
        channel = Channel.objects.create(study=study, provider=platform.name)
        if platform.supports("offered_filters"):
            choose_age(channel)
    with_other_studies(study)
    plan_hits(study=study)  # or a dry run would, and suggest another number of bots afterwards
    return study


def with_other_studies(study):
    """Give the study two studies of scores and two surveys to choose from."""
    for _ in range(2):
        scoring(study)
        survey()
    study.systems.filter(name="system-1").update(perturbation=TYPOS)
    # The admin's list, of which one is walked, begins with the newest.
    Study.objects.exclude(pk=study.pk).update(created_at="2020-01-01T00:00Z")


def browser(name):
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def edits(study, ruth, omar):
    """Yield each form that edits something stored, once for each kind of field that Omar saved."""
    for url in dict.fromkeys(addresses(study)):
        for first in forms_of(ruth, url):
            seen, in_vain = set(), 0
            for name in first.fields:
                kind = kind_of(first, name)
                if kind not in EDITED - seen or "__prefix__" in name or in_vain > MAX_IN_VAIN:
                    continue
                opened = same_form(forms_of(ruth, url), name, first)
                values = other_values(opened, name) if opened is not None else []
                if not values:
                    continue
                n_jobs = Job.objects.count()
                omar.post(opened.to, opened.data | {name: values[0]})
                if (
                    Job.objects.count() > n_jobs
                ):  # it starts something, and keeps what was asked for
                    in_vain += not seen
                    continue
                saved = same_form(forms_of(ruth, url), name, first)
                if saved is None or saved.data.get(name, []) != values[0]:
                    in_vain += not seen  # it edits nothing that is stored, or takes no such value
                    continue
                seen.add(kind)
                yield url, opened, name, values


def test_no_form_takes_back_what_another_saved_meanwhile(study):
    ruth, edited = browser("ruth"), set()
    for url, opened, name, values in edits(study, ruth, browser("omar")):
        edited |= {opened.to.rstrip("/").split("/")[-1], kind_of(opened, name)}
        check_stale(ruth, url, opened, name, values)
    pages = {"change", "data", "task", "quality", "size", "prolific", "panel", "mturk"}
    pages |= {"eligibility", "expert-weights", "scores-study"}
    assert edited >= EDITED | pages


def check_stale(ruth, url, opened, name, values):
    """A form was opened, and another saved the first value of a field meanwhile."""
    theirs, mine = values[0], values[-1]
    before = stored_rows()
    bare = {field: sent for field, sent in opened.data.items() if not field.endswith("opened")}
    if theirs:
        ruth.post(opened.to, bare | {name: mine if mine != theirs else []})
        assert stored_rows() == before, (url, name)
    if mine != theirs:
        refused = ruth.post(opened.to, opened.data | {name: mine}, follow=True)
        assert stored_rows() == before, (url, name)
        check_both_shown(refused, opened, name, values)
    ruth.post(opened.to, opened.data)
    assert value_now(ruth, url, opened, name) == theirs, (url, name)
    again = same_form(forms_on(url, refused), name, opened) if mine != theirs else None
    if again is not None and again.data[name] == mine:
        ruth.post(again.to, again.data)
        assert value_now(ruth, url, opened, name) == mine, (url, name)


def value_now(client, url, form, name):
    return same_form(forms_of(client, url), name, form).data.get(name, [])


def check_both_shown(page, form, name, values):
    shown = unescape(page.content.decode())
    assert all(value in shown for (value,) in values), (form.to, name)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(not is_postgresql(), reason="SQLite writes one at a time: there is no race.")
def test_of_two_saves_at_the_same_instant_one_is_refused(study):
    clients, pages = [browser("ruth"), browser("omar")], set()
    for url, form, name, both in edits(study, *clients):
        if len(both) < 2 or (page := (form.to, url)) in pages:
            continue
        opened = same_form(forms_of(clients[0], url), name, form)
        values = other_values(opened, name)
        if len(values) < 2:  # of a choice between two, now that one is stored
            continue
        pages.add(page)
        answers = saved_at_once(clients, opened, [{name: value} for value in values])
        kept = values.index(value_now(clients[0], url, form, name))
        check_both_shown(answers[1 - kept], opened, name, values)
    assert len(pages) > 10


def saved_at_once(clients, form, changes):
    """Both save as soon as what they wait for is free, and none of them may wait for nothing."""

    def save(client, change):
        try:
            return client.post(form.to, form.data | change, follow=True)
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        with transaction.atomic():
            for model in admin.site._registry:
                list(model._base_manager.select_for_update(no_key=True))
            saves = [pool.submit(save, *of_one) for of_one in zip(clients, changes, strict=True)]
            wait_for_two(form.to)
        return [one.result(timeout=60) for one in saves]


def wait_for_two(place):
    deadline = monotonic() + 20
    with connection.cursor() as cursor:
        while monotonic() < deadline:
            cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
            if cursor.fetchone() == (2,):
                return
            sleep(0.02)
    pytest.fail(f"Saving {place} waits for nobody.")
