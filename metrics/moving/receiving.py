"""Brings a study from the file of another server into this one, whole or not at all."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any
from zipfile import ZipFile

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import DataError, IntegrityError, transaction
from django.db.models import AutoField, Model

from jobs.backup import (
    NO_MANIFEST,
    check_files,
    known_migrations,
    prepare_folders,
    restore_file,
)
from metrics.moving.belonging import (
    MATCHED,
    Kind,
    Relation,
    belongings,
    fields_of,
    label,
    relations,
)
from metrics.moving.sending import MovedManifest, file_of
from metrics.moving.stored_keys import renew_stored_keys
from studies.data.bundle_import import known_dataset_of
from studies.models import Dataset, Membership, Study, StudyEvent
from studies.models.lasting_key import add_keys
from studies.services import record_event
from tiebreak import __version__
from tiebreak.errors import DomainError
from tiebreak.formats.archive import opened
from tiebreak.formats.evidence import digest_of_file
from tiebreak.formats.limits import LIMITS, Limits

BATCH = 1000
NOT_MOVED = "{} is not a file that `manage.py move_study` wrote. Name another file."
OTHER_VERSION = (
    "The file is of Tiebreak {}, whose tables are not those of this server's version {}. Install the same"
    " version on both servers, run `manage.py migrate`, and move the study again."
)
IS_HERE = (
    "This server has the study {} already, so nothing was stored. Use that one, or receive the study in another"
    " database."
)
COLLISION = (
    "Something in the file has an id that this server uses already ({}). Nothing was stored. Receive the study"
    " in a database of its own."
)
DIFFERS = (
    "This server has {} {} already, and it differs from the file's in {}. Nothing was stored. Receive the study"
    " in a database of its own."
)
COUNTS_DIFFER = (
    "What would be stored differs from the file in the number of {}. Nothing was stored."
)
NO_OWNER = (
    "No owner of the study has an account on this server, with the same name and e-mail. Name one with --owner,"
    " or create the accounts first. Nothing was stored."
)


@dataclass(frozen=True)
class Received:
    """A study that came, and what it lost because accounts or other studies are not here.

    `left` counts the rows that need those, by table, and `emptied` the fields that named them.
    """

    study: Study
    manifest: MovedManifest
    left: Counter[str]
    emptied: Counter[str]


def receive_study(*, path: Path, owner: User | None = None, limits: Limits = LIMITS) -> Received:
    """Store the study of a file with new keys; `owner` becomes an owner of it. Raises `DomainError`."""
    digest = digest_of_file(path)
    with opened(path, limits, most=limits.rows) as checked, _refusing_other_rows(path):
        archive = checked.file
        manifest = _manifest(archive, path)
        tables = {file_of(model) for model in belongings().in_order()}
        _check(archive, manifest, tables)
        with transaction.atomic():
            arrival = _Arrival(archive, manifest, owner)
            arrival.store()
            add_keys(manifest.lasting_keys)
            study = Study.objects.get(pk=manifest.study)
            if owner is not None:
                role = {"role": Membership.Role.OWNER}
                Membership.objects.update_or_create(study=study, user=owner, defaults=role)
            if not study.memberships.filter(role=Membership.Role.OWNER).exists():
                raise DomainError("no_owner", NO_OWNER)
            details = {"sha256": digest, "rows": sum(manifest.rows.values())}
            record_event(study=study, verb=StudyEvent.Verb.RECEIVE, by=owner, details=details)
            prepare_folders()
            for name in manifest.files.keys() - tables:
                restore_file(archive, name)
    return Received(study, manifest, arrival.left, +arrival.emptied)


def _manifest(archive: ZipFile, path: Path) -> MovedManifest:
    try:
        return MovedManifest.read(archive)
    except NO_MANIFEST as error:
        raise DomainError("not_a_moved_study", NOT_MOVED.format(path)) from error


def _check(archive: ZipFile, manifest: MovedManifest, tables: set[str]) -> None:
    if set(manifest.migrations) != known_migrations() or not tables <= manifest.files.keys():
        sentence = OTHER_VERSION.format(manifest.version, __version__)
        raise DomainError("other_version", sentence)
    check_files(archive, manifest, apart_from=tables)
    if Study.objects.filter(pk=manifest.study).exists():
        raise DomainError("study_known", IS_HERE.format(manifest.study))


@contextmanager
def _refusing_other_rows(path: Path) -> Iterator[None]:
    """Refuse rows that are here already, and those that no server has written."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, ValidationError, DataError) as error:
        raise DomainError("not_a_moved_study", NOT_MOVED.format(path)) from error
    except IntegrityError as error:
        raise DomainError("collision", COLLISION.format(error)) from error


class _Differs(DomainError):
    """A row that several studies share is here, and is another one."""


class _Arrival:
    """Stores the rows of a file, table by table, and knows the keys that they have here."""

    def __init__(self, archive: ZipFile, manifest: MovedManifest, owner: User | None) -> None:
        self.left, self.emptied = Counter[str](), Counter[str]()
        self._archive, self._manifest, self._owner = archive, manifest, owner
        self._keys: dict[Kind, dict[Any, Any]] = defaultdict(dict)
        self._names: dict[Any, str] = {}  # of accounts there
        self._known: Dataset | None = None
        # Relations within a table to rows that were not there yet: the row's key, and the other's.
        self._later: list[tuple[Any, Relation, Any]] = []

    def store(self) -> None:
        of_dataset = belongings().of_dataset
        others = [one for one in belongings().in_order() if one not in of_dataset]
        for model in MATCHED:
            self._match(model)
        self._store_dataset([one for one in belongings().in_order() if one in of_dataset])
        for model in others:
            if model not in MATCHED:
                self._store(model)
        studies = [*self._keys[Study]]
        renew_stored_keys(self._keys, studies)
        self._compare_counts(others, studies)

    def _lines(self, model: Kind) -> Iterator[dict[str, Any]]:
        with self._archive.open(file_of(model)) as file:
            yield from map(json.loads, file)

    def _match(self, model: Kind) -> None:
        """Find the rows of which each server has its own."""
        names = MATCHED[model]
        for line in self._lines(model):
            found = model._base_manager.filter(**{name: line[name] for name in names}).first()
            self._keys[model][line["id"]] = found.pk if found else None
            if model is User:
                self._names[line["id"]] = line["username"]

    def _store_dataset(self, models: list[Kind]) -> None:
        """Store the dataset, unless it or one of its owner with the same content is here."""
        ids = [one["public_id"] for one in self._lines(Dataset)]
        same = Dataset.objects.filter(pk__in=ids).first()
        for known in (same or self._dataset_of_owner(), None):
            self._known = known
            try:
                with transaction.atomic():
                    for model in models:
                        self._store(model)
            except _Differs:
                if same is not None:
                    raise
                for model in models:  # it has the same texts, and differs elsewhere
                    self._keys[model].clear()
                self._later.clear()
            else:
                return

    def _dataset_of_owner(self) -> Dataset | None:
        """Return a dataset with the same texts, as imports find it."""
        for line in self._lines(Dataset):
            creator = self._keys[User].get(line["created_by_id"])
            by = User.objects.filter(pk=creator or 0).first() or self._owner
            return known_dataset_of(self._manifest.content, by, "use")
        return None

    def _store(self, model: Kind) -> None:
        rows = self._rows(model)
        while batch := list(islice(rows, BATCH)):
            if model._meta.parents:
                for _, row in batch:
                    row.save_base(raw=True, force_insert=True)
            else:
                model._base_manager.bulk_create([row for _, row in batch])
            self._keys[model] |= {key: row.pk for key, row in batch}
        for key, relation, old in self._later:
            new = self._key(model, old)
            self.emptied[str(relation)] += new is None
            stored = model._base_manager.filter(pk=self._keys[model][key])
            stored.update(**{relation.attname: new})
        self._later.clear()

    def _rows(self, model: Kind) -> Iterator[tuple[Any, Model]]:
        """Yield the rows that are to be stored, each with its former key."""
        pk = model._meta.pk.attname
        for line in self._lines(model):
            key = line[pk]
            if not self._renew(model, key, line):
                self.left[label(model)] += 1
                continue
            values = {
                one.attname: line[one.attname]
                if one.is_relation
                else one.to_python(line[one.attname])
                for one in fields_of(model)
                if not isinstance(one, AutoField)
            }
            if (found := self._found(model, values)) is not None:
                self._keys[model][key] = found.pk
            else:
                yield key, model(**values)

    def _renew(self, model: Kind, key: Any, line: dict[str, Any]) -> bool:
        """Put the keys of this server into a row's relations; False if it needs a row that is not here."""
        for one in relations(model):
            if (old := line[one.attname]) is None:
                continue
            line[one.attname] = new = self._key(one.related_model, old)
            if new is None and not one.null:
                return False
            if new is None and one.related_model is model:
                self._later.append((key, one, old))
            elif new is None:
                self.emptied[str(one)] += 1
                if (name := f"{one.name}_name") in line:  # which the log keeps
                    line[name] = self._names[old]
        return True

    def _key(self, model: Kind, old: Any) -> Any:
        """Return the key that a row has here; None if it is not here. Studies have the same one everywhere."""
        if model is Study and old not in self._keys[Study]:
            return old if Study.objects.filter(pk=old).exists() else None
        return self._keys[model].get(old)

    def _found(self, model: Kind, values: dict[str, Any]) -> Model | None:
        """Return the row of several studies that is here already. Raises `DomainError` if it differs."""
        if model is Dataset:
            return self._known
        is_known = self._known is not None and model in belongings().of_dataset
        if not is_known and model not in belongings().shared:
            return None
        (once,) = model._meta.total_unique_constraints
        own = {one.name: one for one in fields_of(model)}
        same = {name: values[own[name].attname] for name in once.fields}
        found = model._base_manager.filter(**same).first()
        for one in own.values() if found else ():
            is_time = one.get_internal_type() == "DateTimeField"
            if one.primary_key or one.is_relation or is_time:
                continue
            if getattr(found, one.attname) != values[one.attname]:
                about = (model._meta.verbose_name, found, one.verbose_name)
                raise _Differs("differs", DIFFERS.format(*about))
        return found

    def _compare_counts(self, models: list[Kind], studies: list[str]) -> None:
        """Raise `DomainError` unless this server has as many rows as the file, but those that were left."""
        for model in models:
            expected = self._manifest.rows[label(model)] - self.left[label(model)]
            if (
                model in belongings().of_study
                and belongings().rows(model, studies).count() != expected
            ):
                raise DomainError("counts_differ", COUNTS_DIFFER.format(label(model)))
