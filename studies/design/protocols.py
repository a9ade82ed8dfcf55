"""Templates of published protocols, which fill in the steps of a draft study.

A template is a file in `protocol_files/`, with the settings and texts of a study as study.toml has
them, and also screening, comprehension questions and the design of the selection.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.db import models, transaction

from studies.data.bundle_import import setting_value
from studies.models import (
    ComprehensionQuestion,
    Criterion,
    InstanceSelection,
    Membership,
    Screening,
    SelectedInstance,
    Study,
    StudyEvent,
)
from studies.services import is_frozen, record_event, replace_rows, usual_currency
from tiebreak.errors import DomainError

FOLDER = Path(__file__).parent / "protocol_files"
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Protocol:
    """A published protocol: where it comes from, what it is for, and what it fills in.

    `steps_left` are sentences about what the researcher still has to do.
    """

    slug: str
    title: str
    source: str
    use_for: str
    steps_left: tuple[str, ...]
    guidelines: str
    consent: str
    settings: Values
    criteria: tuple[Values, ...]
    screening: Values = field(default_factory=dict)
    comprehension: tuple[Values, ...] = ()
    selection: Values = field(default_factory=dict)


@cache
def protocols() -> tuple[Protocol, ...]:
    """Return all templates in the order of their titles."""
    read = [_read(path) for path in FOLDER.glob("*.toml")]
    return tuple(sorted(read, key=lambda protocol: protocol.title))


def protocol_named(slug: str) -> Protocol:
    """Return a template. Raises `DomainError` if there is none of that name."""
    for protocol in protocols():
        if protocol.slug == slug:
            return protocol
    raise DomainError(
        "no_such_template", "There is no such template. Choose one from the list.", status=404
    )


def _read(path: Path) -> Protocol:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    lists = {name: tuple(content.get(name, ())) for name in ("steps_left", "comprehension")}
    texts = {name: content[name].strip() for name in ("guidelines", "consent")}
    rows = {"criteria": tuple(content["criteria"])}
    return Protocol(**{"slug": path.stem} | content | lists | texts | rows)


@transaction.atomic
def create_from_protocol(*, protocol: Protocol, owner: User, title: str = "") -> Study:
    """Create a draft study without a dataset from a template."""
    study = Study.objects.create(title=title or protocol.title, currency=usual_currency(owner))
    Membership.objects.create(study=study, user=owner)
    return fill_in(study=study, protocol=protocol, by=owner)


@transaction.atomic
def fill_in(*, study: Study, protocol: Protocol, by: User | None = None) -> Study:
    """Replace a draft's texts, settings, criteria, screening and selection by a template's.

    Title, dataset, systems, members and channels stay. Raises `DomainError` if the study was opened
    or its HITs are planned, because they depend on the settings.
    """
    stored = Study.objects.select_for_update().get(pk=study.pk)
    check_can_fill_in(stored)
    settings = {name: setting_value(name, value) for name, value in protocol.settings.items()}
    texts = {"guidelines": protocol.guidelines, "consent": protocol.consent}
    for name, value in {**settings, **texts}.items():
        setattr(stored, name, value)
    stored.full_clean()
    stored.save()
    SelectedInstance.objects.filter(study=stored).delete()
    for model, rows in _rows(protocol).items():
        replace_rows(stored, model, rows)
    details = {"template": protocol.slug}
    record_event(study=stored, verb=StudyEvent.Verb.TEMPLATE, by=by, details=details)
    return stored


def check_can_fill_in(study: Study) -> None:
    if is_frozen(study):
        raise DomainError(
            "frozen_design",
            f"The study is {study.status}, so its design cannot change. Clone it, or create a new"
            " study from the template.",
        )
    if study.units.exists():
        raise DomainError(
            "already_planned",
            "The study has tasks or reference items, which depend on its criteria. Create a new study"
            " from the template.",
        )


def _rows(protocol: Protocol) -> dict[type[models.Model], list[Values]]:
    return {
        Criterion: _numbered(protocol.criteria),
        Screening: [protocol.screening] if protocol.screening else [],
        ComprehensionQuestion: _numbered(protocol.comprehension),
        InstanceSelection: [protocol.selection] if protocol.selection else [],
    }


def _numbered(rows: tuple[Values, ...]) -> list[Values]:
    return [{**row, "position": position} for position, row in enumerate(rows)]
