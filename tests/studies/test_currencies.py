"""A study's currency, through every door: a code of ISO 4217, however it is typed."""

import json
from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from annotation.imports.study_import import import_study
from studies.models import Study
from studies.models.currencies import CURRENCIES
from tests.api.clients import at, program
from tests.pages import send_step
from tests.studies.factories import make_study
from tests.tiebreak.formats.bundles import make_bundle
from tiebreak.formats.errors import FormatError

pytestmark = pytest.mark.django_db
TYPED = [("eur", "EUR"), ("Usd", "USD"), ("XOF", "XOF")]
REFUSED = ["XYZ", "eu", "XXX", "DEM", "12€"]


@pytest.fixture
def ruth() -> User:
    return User.objects.create_user("ruth", is_staff=True)


def on_the_page(client, ruth, tmp_path, code: str) -> set[str]:
    study = make_study(instances=1, member=ruth)
    client.force_login(ruth)
    page = send_step(client, reverse("recruitment:size", args=[study.pk]), currency=code)
    if page.status_code == 302:
        return set()
    errors = page.context["adminform"].form.errors.as_data()
    return {error.code for error in errors["currency"]}


def by_the_interface(client, ruth, tmp_path, code: str) -> set[str]:
    study = make_study(instances=1, member=ruth)
    body = json.dumps({"currency": code})
    answer = program(ruth).generic(
        "PATCH", at("study-detail", study.pk), body, content_type="application/json"
    )
    return {problem["code"] for problem in answer.json().get("problems", [])}


def from_a_file(client, ruth, tmp_path, code: str) -> set[str]:
    folder = make_bundle(tmp_path / "b")
    spec = folder / "study.toml"
    spec.write_text(f'currency = "{code}"\n{spec.read_text()}')
    try:
        import_study(path=folder)
    except FormatError as refusal:
        return {problem.code for problem in refusal.problems}
    return set()


@pytest.fixture(params=[on_the_page, by_the_interface, from_a_file])
def through_the_door(request, client, ruth, tmp_path) -> Callable[[str], set[str]]:
    return lambda code: request.param(client, ruth, tmp_path, code)


@pytest.mark.parametrize(("typed", "stored"), TYPED)
def test_a_currency_is_stored_in_capital_letters(through_the_door, typed, stored):
    assert through_the_door(typed) == set()
    assert Study.objects.get().currency == stored


@pytest.mark.parametrize("typed", REFUSED)
def test_what_is_no_currency_is_refused(through_the_door, typed):
    assert through_the_door(typed) == {"not_a_currency"}


def test_an_object_has_the_code_that_its_row_has():
    study = make_study(instances=1, currency="chf")
    assert study.currency == Study.objects.get().currency == "CHF"


def test_the_codes_are_those_in_use():
    assert {"EUR", "GBP", "USD", "JPY", "INR", "ZAR", "XCG"} < CURRENCIES
    assert not {"DEM", "FRF", "HRK", "XAU", "XTS", "XXX"} & CURRENCIES
    assert all(len(code) == 3 and code.isalpha() and code.isupper() for code in CURRENCIES)
