"""What a database contains: `fill` puts a row into every table, `facts` says what is to be kept.

Both run in a process of their own, on the database that the environment names:
`python -m tests.upgrades.contents fill` or `facts`.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.apps import apps  # noqa: E402  models need loaded apps
from django.contrib.auth.models import User  # noqa: E402
from django.db import models  # noqa: E402
from django.test.utils import setup_test_environment  # noqa: E402
from django.utils import timezone  # noqa: E402

from annotation.exports.ratings import rating_rows  # noqa: E402
from annotation.imports.study_import import import_study  # noqa: E402
from annotation.models import Rating  # noqa: E402
from metrics.results.selectors import stored_report  # noqa: E402
from metrics.results.services import refresh_report  # noqa: E402
from studies.models import Study  # noqa: E402
from tests.annotation.annotators import annotator  # noqa: E402
from tests.studies.factories import make_open_study  # noqa: E402
from tests.tiebreak.formats.bundles import make_bundle  # noqa: E402

Json = dict[str, Any]
EXAMPLES: dict[type, Any] = {
    models.JSONField: {},
    models.BooleanField: False,
    models.DateTimeField: timezone.now(),
    models.DateField: timezone.now().date(),
    models.FloatField: 0.5,
    models.DecimalField: 1,
    models.IntegerField: 1,
    models.BinaryField: b"",
}


def tables() -> list[type[models.Model]]:
    """Return the models of the platform and of accounts."""
    return [
        model
        for model in apps.get_models(include_auto_created=True)
        if not model.__module__.startswith(("django.contrib.ses", "django.contrib.con", "axes"))
        and model._meta.managed
    ]


def fill() -> None:
    """Fill all tables: two studies by the services, whatever they leave empty with one row each."""
    setup_test_environment()
    ada = User.objects.create_user("ada", "ada@example.org", "not a secret", is_staff=True)
    with tempfile.TemporaryDirectory() as folder:
        import_study(path=make_bundle(Path(folder) / "b", with_ratings=True), owner=ada)
    people = make_open_study(instances=3, member=ada)
    for _ in range(2):
        person = annotator(people)
        for _ in range(3):
            person.choose()
    for model in tables():
        if not model._base_manager.exists():
            _row_of(model)


def _row_of(model: type[models.Model]) -> models.Model:
    values = {}
    for field in model._meta.concrete_fields:
        if isinstance(field, models.ForeignKey):
            if not field.null:
                related = field.related_model._base_manager
                values[field.name] = related.last() or _row_of(field.related_model)
        elif not (
            field.has_default() or field.has_db_default() or field.null or field.auto_created
        ):
            values[field.name] = _value_of(field)
    return model._base_manager.create(**values)


def _value_of(field: Any) -> Any:
    if field.choices:
        return field.choices[0][0]
    for kind, example in EXAMPLES.items():
        if isinstance(field, kind):
            return example
    return f"{field.name}-1"[: field.max_length]


def facts() -> Json:
    """Return what an upgrade must keep: numbers of rows, reports and exported ratings."""
    studies = Study.objects.filter(units__ratings__isnull=False).distinct().order_by("pk")
    return {
        "rows": {model._meta.label: model._base_manager.count() for model in tables()},
        "reports": {study.pk: _report(study) for study in studies},
        "ratings": {study.pk: list(_exported(study)) for study in studies},
    }


def _report(study: Study) -> Json:
    report = stored_report(refresh_report(study=study))
    assert report
    criteria: Json = report.as_json()["criteria"]
    return criteria


def _exported(study: Study) -> Iterator[Json]:
    return rating_rows(study, Rating.objects.filter(unit__study=study).order_by("pk"))


if __name__ == "__main__":
    if sys.argv[1] == "fill":
        fill()
    else:
        print(json.dumps(facts(), default=str))
