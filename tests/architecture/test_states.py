"""Every page of a study in every state: what it offers works, and what it says of the state is true."""

from collections.abc import Callable, Iterator
from urllib.parse import urljoin

import lxml.html
import pytest
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from annotation.importing import import_study
from annotation.services.planning import plan_hits
from metrics.attention import attention_of
from recruitment.services.dry_runs import DryRunOptions, prepare_dry_run
from recruitment.services.lifecycle import close_study, pause_study
from studies.models import Study
from studies.steps import study_frame
from tests.annotation.annotators import annotator
from tests.architecture.test_roles import addresses, member
from tests.confirming import post_confirmed
from tests.pages import codes_on
from tests.studies.factories import make_open_study, make_study
from tests.tiebreak.formats.bundles import make_bundle

pytestmark = pytest.mark.django_db

# What somebody must type first, and what a crowd platform or a model server says.
NEEDS_INPUT = {"invalid", "no_server"}


def rated() -> Study:
    study = make_open_study(instances=1, comparisons_per_hit=1, ratings_per_hit=1)
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


STATES: dict[str, tuple[str, Callable[[], Study]]] = {
    "empty": ("unfinished draft", lambda: Study.objects.create(title="Empty")),
    "without texts": ("unfinished draft", lambda: make_study(instances=0)),
    "planned": ("unfinished draft", planned),
    "open": ("open", lambda: make_open_study(instances=2)),
    "entered": ("open", entered),
    "full": ("open, and nobody can work", rated),
    "paused": ("paused", lambda: pause_study(study=entered())),
    "closed": ("closed", lambda: close_study(study=rated())),
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


def offered(client: Client, study: Study) -> dict[tuple[str, ...], dict[str, str]]:
    """Return every button of the study's pages with the values of its form."""
    found = {}
    for path, page in pages(client, study):
        for form in lxml.html.fromstring(page).forms:
            for button in form.xpath(".//button") or [form]:
                target = urljoin(path, button.get("formaction") or form.action or "")
                pressed = {button.get("name"): button.get("value")} if button.get("name") else {}
                if form.method == "POST" and "/preview/" not in target:
                    found[target, *pressed.items()] = {**dict(form.form_values()), **pressed}
    return found


def test_what_pages_offer_is_not_refused(case):
    _, study = case
    client = member(study, "owner")
    refused = {}
    for (target, *_), values in offered(client, study).items():
        with transaction.atomic():
            answer = post_confirmed(client, target, values)
            transaction.set_rollback(True)
        if codes := codes_on(answer) - NEEDS_INPUT:
            refused[target.replace(study.pk, "…")] = codes
    assert refused == {}


def test_every_page_says_the_same_state(case):
    state, study = case
    client = member(study, "owner")
    frame = study_frame(study, User.objects.get())
    assert frame.state == state
    needs = {need.code for need in attention_of(study).needs}
    assert (
        state == "dry run"
        or {step.step.slug for step in frame.missing if study.status == "draft"} <= needs
    )
    assert state not in {"closed", "imported"} or frame.missing == []
    shown = [
        lxml.html.fromstring(page).xpath("string(//header//@data-state)")
        for _, page in pages(client, study)
        if "study-header" in page
    ]
    assert len(shown) > 20
    assert set(shown) == {state}
