"""Writes a study with everything that belongs to it to one file, for another server."""

import json
import tempfile
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.db import connection, transaction
from django.db.models import QuerySet
from django.db.models.functions import Now

from annotation.exports.export_jobs import export_file
from annotation.models import Place
from jobs.backup import MANIFEST, Manifest, add, add_file, digest_of_key, known_migrations
from jobs.clock import database_now
from jobs.models import UNFINISHED, Job
from metrics.moving.belonging import Kind, belongings, fields_of, label
from recruitment.services.lifecycle import close_study
from studies.ciphers import Encrypted
from studies.data.bundle_import import content_digest_now
from studies.models import Study, StudyEvent
from studies.models.lasting_key import stored_keys
from studies.services import record_event
from tiebreak import __version__
from tiebreak.digits import counted
from tiebreak.errors import DomainError
from tiebreak.formats.evidence import digest_of_file

CHUNK = 2000
IS_DRY_RUN = "This is a dry run, which moves with its study. Name the study {}."
IS_OPEN = (
    "The study is open, and people must not rate it on two servers. Pause it, wait until nobody is at work,"
    " and move it then."
)
AT_WORK = (
    "{} still at work. Wait until the tasks are completed or their places are free again, at most {:g}"
    " minutes, and move the study then."
)
JOBS_RUNNING = "A job of this study is not finished: {}. Stop it, or wait until it ends."


@dataclass(frozen=True)
class MovedManifest(Manifest):
    """What the file of a moved study has; `content` is a digest of the texts of its dataset.

    `lasting_keys` are those of the server, as it stores them: only with its secret key can they be read.
    """

    study: str
    title: str
    content: str
    lasting_keys: list[str] = field(default_factory=list)


def move_study(*, study: Study, path: Path) -> tuple[MovedManifest, str]:
    """Write a study to a file that only its owner can read; return its manifest and its SHA-256.

    The study is closed here, and its log says where it went. Raises `DomainError` while somebody or
    something may change it.
    """
    is_outermost = not connection.in_atomic_block
    with (
        tempfile.TemporaryDirectory(prefix=".moving-", dir=path.parent) as folder,
        transaction.atomic(),
    ):
        if connection.vendor == "postgresql" and is_outermost:
            connection.cursor().execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        study = Study.objects.select_for_update().get(pk=study.pk)
        studies = [study.pk, *study.dry_runs.values_list("pk", flat=True)]
        _check(study, studies)
        partial = Path(folder) / path.name
        manifest = _write(study, studies, partial)
        digest = digest_of_file(partial)
        if study.status == Study.Status.PAUSED:
            close_study(study=study)
        record_event(study=study, verb=StudyEvent.Verb.MOVE, details={"sha256": digest})
        partial.chmod(0o600)
        partial.replace(path)
    return manifest, digest


def _check(study: Study, studies: Collection[str]) -> None:
    if study.dry_run_of_id is not None:
        raise DomainError("is_dry_run", IS_DRY_RUN.format(study.dry_run_of_id))
    if study.status == Study.Status.OPEN:
        raise DomainError("study_open", IS_OPEN)
    for job in Job.objects.filter(owner__in=studies, status__in=UNFINISHED):
        raise DomainError("job_unfinished", JOBS_RUNNING.format(job))
    at_work = Place.objects.filter(study__in=studies, completed_at=None, lease_until__gt=Now())
    if n := at_work.count():
        people = counted(n, "annotator is", "annotators are")
        raise DomainError("people_at_work", AT_WORK.format(people, study.lease_minutes))


@dataclass
class _Lines:
    """The rows of a table as lines of JSON, which are counted on the way, without secrets."""

    rows: QuerySet[Any]
    model: Kind
    n: int = 0

    def __iter__(self) -> Iterator[bytes]:
        carried = fields_of(self.model)
        secrets = {one.attname: "" for one in carried if isinstance(one, Encrypted)}
        names = [one.attname for one in carried]
        for row in self.rows.values(*names).iterator(chunk_size=CHUNK):
            self.n += 1
            yield json.dumps(row | secrets, default=_as_text).encode() + b"\n"


def _as_text(value: object) -> str:
    if not isinstance(value, date | Decimal):
        raise TypeError(f"A file of a study has no form for {value!r}.")
    return str(value)


def file_of(model: Kind) -> str:
    return f"rows/{label(model)}.jsonl"


def _write(study: Study, studies: Collection[str], path: Path) -> MovedManifest:
    rows: dict[str, int] = {}
    files: dict[str, str] = {}
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=1) as archive:
        for model in belongings().in_order():
            lines = _Lines(belongings().rows(model, studies), model)
            files[file_of(model)] = add(archive, file_of(model), lines)
            rows[label(model)] = lines.n
        for job in Job.objects.filter(owner__in=studies):
            with suppress(FileNotFoundError):
                name = f"exports/{export_file(job).name}"
                files[name] = add_file(archive, name, export_file(job))
        manifest = MovedManifest(
            version=__version__,
            made_at=database_now().isoformat(),
            database=connection.vendor,
            key=digest_of_key(),
            migrations=sorted(known_migrations()),
            rows=rows,
            files=files,
            study=study.pk,
            title=study.title,
            content=content_digest_now(study.dataset) if study.dataset else "",
            lasting_keys=stored_keys(),
        )
        archive.writestr(MANIFEST, json.dumps(asdict(manifest), indent=1))
    return manifest
