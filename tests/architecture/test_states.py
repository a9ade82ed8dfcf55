"""Every page of a study in every state: what it offers works, and what it says of the state is true."""

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from urllib.parse import urljoin

import lxml.html
import pytest
from django.contrib.auth.models import User
from django.contrib.messages import get_messages
from django.db import transaction
from django.forms import BaseForm
from django.test import Client
from django.urls import get_resolver, reverse

from annotation.imports.study_import import import_study
from annotation.services.planning import plan_hits
from annotation.services.screening import begin_stage
from metrics.collecting.needs import needs_of
from recruitment.services.dry_runs import DryRunOptions, prepare_dry_run
from recruitment.services.lifecycle import close_study, pause_study
from studies.design.steps import place_of, study_frame
from studies.model_servers import FAKE
from studies.models import Generation, Screening, Study
from tests.annotation.annotators import annotator
from tests.annotation.services.test_screening import fresh, study_with
from tests.architecture.test_roles import addresses, member
from tests.architecture.test_urls import address, patterns
from tests.pages import codes_on
from tests.studies.factories import (
    make_open_study,
    make_participation,
    make_study,
    open_knowingly,
)
from tests.tiebreak.formats.bundles import make_bundle

pytestmark = [pytest.mark.django_db, pytest.mark.thorough]

# Something must be typed or chosen first.
NEEDS_INPUT = {"invalid", "no_reason", "no_number", "too_few_texts"}


def rated() -> Study:
    study = make_open_study(instances=1, comparisons_per_hit=1, ratings_per_hit=1, guidelines="")
    annotator(study).choose()
    return study


def entered() -> Study:
    study = make_open_study(instances=2)
    annotator(study).here()
    return study


def planned() -> Study:
    study = make_study(instances=2, minutes_per_hit=1)
    plan_hits(study=study)
    return study


def dry_run() -> Study:
    job = prepare_dry_run(study=planned(), options=DryRunOptions())
    return Study.objects.get(pk=job.owner)


def screened() -> Study:
    """Somebody has begun the training, and there are texts for more reference items."""
    study = study_with(training=2, test=2, pass_mark=1)
    begin_stage(participation=fresh(make_participation(study)))
    return study


STATES: dict[str, tuple[str, Callable[[], Study]]] = {
    "empty": ("unfinished draft", lambda: Study.objects.create(title="Empty")),
    "without texts": ("unfinished draft", lambda: make_study(instances=0)),
    "without preferences": ("unfinished draft", lambda: make_study(scale="ordinal:1..5")),
    "planned": ("ready draft", planned),
    "screened": ("open", screened),
    "open": ("open", lambda: make_open_study(instances=2)),
    "entered": ("open", entered),
    "full": ("open, and nobody can work", rated),
    "paused": ("paused", lambda: pause_study(study=entered())),
    "closed": ("closed", lambda: close_study(study=entered())),
    "dry run": ("dry run", dry_run),
    "imported": ("imported", lambda: None),
}


@pytest.fixture(params=STATES)
def case(request, tmp_path) -> tuple[str, Study]:
    state, make = STATES[request.param]
    imported = request.param == "imported" and make_bundle(tmp_path / "b", with_ratings=True)
    return state, import_study(path=imported).study if imported else make()


def pages(client: Client, study: Study) -> Iterator[tuple[str, str]]:
    for name, path in addresses(study):
        if not path.startswith("/api/"):
            page = client.get(path)
            # Where one thing is addressed that does not exist, or which is no page by itself.
            assert page.status_code in {200, 204, 286, 302, 404, 405}, name
            if page.status_code == 200 and "html" in page["Content-Type"]:
                yield path, page.content.decode()


def offered(path: str, page: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the address of every button of a page, with the values of its form."""
    for form in lxml.html.fromstring(page).forms:
        for button in form.xpath(".//button") or [form]:
            target = urljoin(path, button.get("formaction") or form.action or "")
            pressed = {button.get("name"): button.get("value")} if button.get("name") else {}
            if form.method == "POST" and not re.search("/(preview|logout)/", target):
                roles = form.xpath(".//select[contains(@name, 'role')]/option")
                chosen = [{one.getparent().name: one.get("value")} for one in roles]
                for choice in chosen or [{}]:
                    yield target, {**dict(form.form_values()), **pressed, **choice}


def refusals(client: Client, target: str, values: dict[str, str]) -> set[str]:
    """Press a button and confirm what it asks; return the codes of refusals. Nothing is kept."""
    client.cookies.pop("messages", None)
    with transaction.atomic():
        answer = client.post(target, values)
        if answer.context is not None and "token" in answer.context:
            carried = dict(answer.context["carry"])
            answer = client.post(target, {**carried, "confirmed": answer.context["token"]})
        told = {m.extra_tags for m in get_messages(answer.wsgi_request) if m.level_tag == "error"}
        transaction.set_rollback(True)
    if answer.status_code != 302:
        shown = [value for one in answer.context or () for d in one for value in d.values()]
        forms = [getattr(one, "form", one) for one in shown]  # the admin wraps its form
        forms = [form for form in forms if isinstance(form, BaseForm)]
        told |= {error.code for form in forms for error in form.non_field_errors().as_data()}
        told |= codes_on(answer) if answer.status_code >= 400 else set()
    return {code for code in told if code} - NEEDS_INPUT


def test_what_pages_offer_is_not_refused_and_all_say_the_same_state(case):
    state, study = case
    client = member(study, "owner")
    refused, said, pressed = {}, [], set()
    for path, page in pages(client, study):
        if "state-chip" in page:
            said.append(lxml.html.fromstring(page).xpath("string(//header//@data-state)"))
        for target, values in offered(path, page):
            chosen = [v for name, v in values.items() if "role" in name or name.startswith("_")]
            if (button := (target, *values, *chosen)) not in pressed:
                pressed.add(button)
                if codes := refusals(client, target, values):
                    refused[target.replace(study.pk, "…")] = codes
    assert refused == {}
    assert len(said) > 20
    assert set(said) == {state}


def test_what_was_offered_and_is_no_more_is_refused():
    study = planned()
    Screening.objects.create(study=study)
    study.criteria.update(position=0)
    Generation.objects.update(params={"server": "lab"})  # not imported, so that more can be made
    client = member(study, "owner")
    before, compared = buttons(client, study), set()
    for change in (open_knowingly, lambda s: pause_study(study=s), lambda s: close_study(study=s)):
        with transaction.atomic():
            change(Study.objects.get(pk=study.pk))
            after = buttons(client, study)
            transaction.set_rollback(True)
        gone = before.keys() - after.keys()
        assert gone
        pressed = {one: pressed_at(client, one[0], before[one]) for one in gone}
        change(Study.objects.get(pk=study.pk))
        for one, (at_first, called) in pressed.items():
            codes = refusals(client, one[0], before[one])
            assert codes - at_first, one
            if "gone_meanwhile" in codes:  # fields are gone, and the button may still be there
                continue
            for method, path in endpoints_calling(called, study):
                assert {code_of_api(client, method, path, before[one])} == codes, (one, path)
                compared.add(path)
        before = after
    assert len(compared) >= 5


def pressed_at(client: Client, target: str, values: dict[str, str]) -> tuple[set[str], set[object]]:
    """Press a button; return the codes of refusals, and the code of all functions called."""
    called: set[object] = set()
    sys.setprofile(lambda frame, event, _: called.add(frame.f_code) if event == "call" else None)
    try:
        return refusals(client, target, values), called
    finally:
        sys.setprofile(None)


def endpoints_calling(called: set[object], study: Study) -> Iterator[tuple[str, str]]:
    """Yield the methods and paths of the API that name a service which was called."""
    for name, route, pattern in patterns(get_resolver()):
        actions = getattr(pattern.callback, "actions", {})
        if not name.startswith("api:") or "study_id" not in route:
            continue
        for method in {"post", "put", "patch", "delete"} & actions.keys():
            handler = inspect.unwrap(getattr(pattern.callback.cls, actions[method]))
            named = [handler.__globals__.get(one) for one in handler.__code__.co_names]
            if any(is_service(one) and inspect.unwrap(one).__code__ in called for one in named):
                yield method, address(route, study.pk)


def is_service(named: object) -> bool:
    """Whether something does what a verb says to a study: its arguments have names only."""
    if not inspect.isfunction(named):
        return False
    study = inspect.signature(named).parameters.get("study")
    return study is not None and study.kind == study.KEYWORD_ONLY


def code_of_api(client: Client, method: str, path: str, values: dict[str, str]) -> str | None:
    """Send what of a form's values an endpoint of the API knows; return the code of its refusal."""
    body = {name: value for name, value in values.items() if value}
    for _ in range(2):
        with transaction.atomic():
            send = getattr(client, method)
            answer = send(path, body, content_type="application/json").json()
            transaction.set_rollback(True)
        unknown = [one for one in answer.get("problems", ()) if one["code"] == "unknown_field"]
        for one in unknown:
            del body[one["field"]]
    return answer.get("code")


def buttons(client: Client, study: Study) -> dict[tuple[str, ...], dict[str, str]]:
    """Return what the study's pages offer, by its address and the names of what is sent."""
    return {
        (target, *values): values | ({"server": FAKE} if "server" in values else {})
        for path, page in pages(client, study)
        for target, values in offered(path, page)
    }


def test_what_is_missing_is_said_in_one_voice(case):
    state, study = case
    frame = study_frame(study, User.objects.create_superuser("ada"), place_of("data"))
    assert frame.state == state
    if state == "unfinished draft":
        needs = {need.code for need in needs_of(study)}
        assert needs >= {shown.step.slug for shown in frame.missing} > {"launch"}
    if state in {"closed", "imported", "dry run"}:
        assert (frame.missing, frame.next_step) == ([], None)


def test_pages_say_only_of_studies_that_go_on_who_will_enter_and_what_will_come(case):
    state, study = case
    client = member(study, "owner")
    names = ("recruitment:launch", "metrics:dashboard", "metrics:collecting-numbers")
    launch, collect, numbers = (
        client.get(reverse(name, args=[study.pk])).content.decode() for name in names
    )
    assert ("entry-link" in launch) == (state not in {"closed", "imported", "dry run"})
    other = "later" if study.status == "open" else "now"
    assert f'data-enter="{other}"' not in launch + collect
    goes_on = study.status != "closed" and study.places.filter(completed_at=None).exists()
    assert ("data-expected" in numbers) == goes_on
