"""A study with a row in every table that can belong to one, and what is to be the same elsewhere."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection, models
from django.test import Client

from annotation.exports.ratings import rating_rows
from annotation.models import Rating
from api.models import Webhook, WebhookDelivery
from machine_raters.kinds import KINDS
from metrics.demo import demo_study_of, load_demo
from metrics.moving.belonging import MATCHED, Kind, belongings, label, relations
from metrics.moving.sending import file_of
from metrics.moving.stored_keys import STORED
from metrics.results.selectors import stored_report
from metrics.results.services import ensure_fresh, refresh_report
from recruitment.ledger import ledger
from studies.models import Study
from tests.architecture.test_roles import addresses
from tests.pages import prose_of
from tests.upgrades.contents import _value_of

Json = dict[str, Any]
KIND_OF = {kind.model: name for name, kind in KINDS.items()}


def whole_study(owner: User) -> Study:
    """The demo's finished study, with a dry run and a report."""
    load_demo(owner=owner, say=lambda _: None)
    study = demo_study_of(owner)
    assert study is not None
    about = ContentType.objects.get_for_model(Study)
    LogEntry.objects.create(user=owner, content_type=about, object_id=study.pk, action_flag=CHANGE)
    Study.objects.create(title="Dry run", dataset=study.dataset, dry_run_of=study)
    refresh_report(study=study)
    return study


def fill_tables(study: Study) -> None:
    """Give the study a row in each table of which it has none."""
    for model in belongings().in_order():
        if model not in MATCHED and not belongings().rows(model, [study.pk]).exists():
            _add_row(model, study)
    event, place = study.events.last(), study.places.last()
    assert event
    assert place
    Webhook.objects.filter(study=study).update(after_event=event.pk)
    WebhookDelivery.objects.filter(webhook__study=study).update(key=f"place:{place.pk}:2026")


def _add_row(model: Kind, study: Study) -> None:
    """Store a row whose relations, needed or not, lead to others of the study."""
    values = {"name": model._meta.model_name, "kind": KIND_OF.get(model)}
    for field in model._meta.concrete_fields:
        if isinstance(field, models.ForeignKey):
            known = belongings().rows(field.related_model, [study.pk]).last()
            is_free = not (field.remote_field.parent_link or (field.unique and field.null))
            values[field.name] = known if is_free else None
        elif not (
            field.has_default() or field.has_db_default() or field.null or field.auto_created
        ):
            values[field.name] = values.get(field.name) or _value_of(field)
    names = {field.name for field in model._meta.concrete_fields}
    given = {name: one for name, one in values.items() if one is not None and name in names}
    model._base_manager.create(**given)


def start_keys_at(first: int) -> None:
    """Let the tables' next keys be high, so that no other number looks like one."""
    with connection.cursor() as cursor:
        for model in belongings().in_order():
            table, key = model._meta.db_table, model._meta.pk
            if not isinstance(key, models.AutoField):
                continue
            if connection.vendor == "postgresql":
                cursor.execute(
                    "SELECT setval(pg_get_serial_sequence(%s, %s), %s)", [table, key.column, first]
                )
            else:
                cursor.execute("DELETE FROM sqlite_sequence WHERE name = %s", [table])
                cursor.execute("INSERT INTO sqlite_sequence VALUES (%s, %s)", [table, first])


def rows_of_file(path: Path) -> dict[str, list[Json]]:
    """The rows of each table of a file, with ordinal numbers for keys that each server gives anew."""
    with ZipFile(path) as archive:
        lines = {
            model: [json.loads(line) for line in archive.read(file_of(model)).splitlines()]
            for model in belongings().in_order()
        }
    numbers: dict[Kind, dict[Any, Any]] = {
        model: {row[model._meta.pk.attname]: n for n, row in enumerate(rows)}
        for model, rows in lines.items()
        if isinstance(model._meta.pk, models.AutoField)
    }
    return {
        label(model): [dict(_numbered(model, row, numbers)) for row in rows]
        for model, rows in lines.items()
    }


def _numbered(model: Kind, row: Json, numbers: dict[Kind, dict[Any, Any]]) -> Iterator[Any]:
    leads = {one.attname: one.related_model for one in relations(model)}
    for name, value in row.items():
        of = _root(leads.get(name, model if name == model._meta.pk.attname else None))
        if (renewed := STORED.get((label(model), name))) is not None:
            yield name, renewed(numbers, value)
        else:
            yield name, numbers[of][value] if of in numbers and value is not None else value


def _root(model: Kind | None) -> Kind | None:
    """The model whose table counts the keys: a machine rater's for a judge."""
    while model is not None and model._meta.parents:
        model = next(iter(model._meta.parents))
    return model


def facts(study: Study, owner: User) -> Json:
    """What reports, exports, the ledger and all pages of a study show."""
    snapshot = ensure_fresh(study=study)
    report = stored_report(snapshot)
    assert report
    ratings = Rating.objects.filter(unit__study=study).order_by("pk")
    return {
        "is_current": not snapshot.requested,
        "report": report.as_json(),
        "ratings": list(rating_rows(study, ratings)),
        "ledger": [str(row) for row in ledger(study).rows],
        "pages": dict(_pages(study, owner)),
    }


def _pages(study: Study, owner: User) -> Iterator[tuple[str, Any]]:
    client = Client()
    client.force_login(owner)
    for name, path in addresses(study):
        answer = client.get(path)
        is_html = answer.get("Content-Type", "").startswith("text/html")
        yield name, (answer.status_code, prose_of(answer) if is_html else b"")
