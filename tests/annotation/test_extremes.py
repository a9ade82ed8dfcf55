"""Every number at its lowest and highest allowed value works on every page that uses it."""

from decimal import Decimal

import pytest
from django.db import models
from django.urls import reverse

from annotation.models import Place, ScreeningAttempt
from annotation.services.planning import plan_hits
from metrics.results.services import refresh_report
from recruitment.services.lifecycle import open_study
from studies.models import Screening, Study
from tests.annotation.annotators import annotator
from tests.annotation.services.test_screening import study_with
from tests.architecture.test_bounds import bounds_of
from tests.pages import send_step
from tests.studies.factories import make_study

pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
NUMBERS = (models.IntegerField, models.FloatField, models.DecimalField)


def ends(model: type[models.Model], which: str) -> dict[str, object]:
    """Return the lowest or the highest allowed value of each numeric field."""
    values = {}
    for field in model._meta.concrete_fields:
        if isinstance(field, NUMBERS) and not field.primary_key:
            low, high = bounds_of(field._validators)
            values[field.name] = field.to_python(low if which == "low" else high)
    return values


def pages(study: Study) -> list[str]:
    return [
        reverse(name, args=[study.pk])
        for name in (
            *(
                "studies:task",
                "recruitment:size",
                "recruitment:ledger",
                "recruitment:channels",
                "recruitment:preview",
            ),
            *("metrics:dashboard", "metrics:generate-select", "metrics:report"),
        )
    ]


@pytest.mark.parametrize("which", ["low", "high"])
def test_a_study_of_extremes_is_opened_rated_and_looked_at(client, ruth, which):
    # These fields depend on others, because a HIT cannot have more comparisons than texts.
    sensible = {"comparisons_per_hit": 2, "repeats_per_hit": 0}
    study = make_study(instances=1, member=ruth, **(ends(Study, which) | sensible))
    study.full_clean(exclude=["dataset"])
    plan_hits(study=study)
    open_study(study=study, confirmed_warnings={"pay_not_claimable", "under_promise"})
    ann = annotator(study)
    while _rates(ann):
        pass
    assert Place.objects.filter(completed_at__isnull=False).count() == 1
    refresh_report(study=study)
    assert {page: client.get(page).status_code for page in pages(study)} == dict.fromkeys(
        pages(study), 200
    )
    for name in ("studies:task", "recruitment:size"):
        assert send_step(client, reverse(name, args=[study.pk])).status_code in {200, 302}


def _rates(ann) -> bool:
    """Answer the current unit, if there is one, and return whether there was one."""
    if 'name="assignment"' not in ann.here().content.decode():
        return False
    ann.choose()
    return True


@pytest.mark.parametrize("which", ["low", "high"])
def test_a_screening_of_extremes_is_taken(which):
    values = ends(Screening, which) | {"qualification_units": 1, "training_units": 0}
    values["pass_mark"] = 1
    study = study_with(test=values.pop("qualification_units"), gold=1, **_only_screening(values))
    Screening.objects.get().full_clean()
    ann = annotator(study)
    assert ann.here().status_code == 200
    ann.choose()
    assert ScreeningAttempt.objects.count() == 1
    assert ann.here().status_code in {200, 302}


def _only_screening(values: dict[str, object]) -> dict[str, object]:
    return {k: v for k, v in values.items() if k != "training_units"}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("lease_minutes", "1e300"),
        ("lease_minutes", "nan"),
        ("lease_minutes", "0"),
        ("promised_hourly_rate", "-1"),
        ("promised_hourly_rate", "1e300"),
        ("minutes_per_hit", "1e300"),
        ("reward", "-0.01"),
        ("reward", "NaN"),
        ("most_answers", "99999999999999999999"),
        ("hits_per_day", "0"),
        ("ratings_per_hit", "0"),
    ],
)
def test_a_number_beyond_its_ends_is_refused_on_the_page(client, ruth, field, value):
    study = make_study(instances=1, member=ruth)
    before = getattr(study, field)
    page = send_step(client, reverse("recruitment:size", args=[study.pk]), **{field: value})
    assert page.status_code == 200
    assert field in page.context["adminform"].form.errors
    study.refresh_from_db()
    assert getattr(study, field) == before


def test_ends_are_of_the_columns_own_kind():
    high = ends(Study, "high")
    assert isinstance(high["reward"], Decimal)
    assert isinstance(high["lease_minutes"], float)
    assert isinstance(high["ratings_per_hit"], int)
