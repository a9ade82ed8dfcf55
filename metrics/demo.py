"""The demo: a finished study and the same one half-way, made from a stored bundle.

Bots once rated the bundle's study through the annotators' pages. Importing it gives the ratings;
`metrics/demo_replay.py` adds what an import does not carry.
"""

import csv
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.imports.sample_files import DEMO_BUNDLE
from annotation.imports.study_import import import_study
from jobs.clock import database_now
from jobs.kinds import JobKind, Progress
from jobs.models import Job
from jobs.services import start_job
from metrics.demo_replay import replay
from metrics.licensing.by_kind import refresh_with_report
from metrics.results.services import ensure_fresh, refresh_report
from studies.instance_selection.scoring import score_separability
from studies.models import Study
from tiebreak.errors import DomainError

_RATINGS = "ratings.csv"
_NOTE = (
    "The demo's texts: invented minutes, and summaries that three invented systems made of them."
)


@dataclass(frozen=True)
class _Part:
    """How much of the stored study is shown: the first `people`, or all of them if it is finished.

    The last answer was given `ago`, and the last `unpaid` people and `unread` comments are waiting.
    """

    title: str
    ago: timedelta
    people: int | None = None
    unpaid: int = 0
    unread: int = 0

    @property
    def is_finished(self) -> bool:
        return self.people is None


FINISHED = _Part("Summaries of council minutes", ago=timedelta(days=1))
HALF_WAY = _Part(
    "Summaries of council minutes, half-way", timedelta(minutes=10), people=7, unpaid=2, unread=1
)


def load_demo(*, owner: User, say: Callable[[str], None]) -> Study:
    """Return the finished study of the demo; the first call creates it and the one half-way."""
    existing = demo_study_of(owner)
    if existing is not None:
        return existing
    say("Loading the demo: a finished study, and the same study half-way…")
    began = monotonic()
    with transaction.atomic():
        finished, half_way = (_load(part, owner) for part in (FINISHED, HALF_WAY))
    refresh_with_report(study=finished, report=refresh_report(study=finished))
    with suppress(DomainError):  # without a broker, its first page asks again
        ensure_fresh(study=half_way)
    say(f"Loaded in {monotonic() - began:.0f} s.")
    return finished


def demo_study_of(owner: User) -> Study | None:
    """Return the finished study."""
    return _study_of(owner, FINISHED)


def half_way_demo_of(owner: User) -> Study | None:
    return _study_of(owner, HALF_WAY)


def _study_of(owner: User, part: _Part) -> Study | None:
    # A researcher may have drafts of the same texts and title, from the sample bundle or by cloning.
    opened = Study.objects.exclude(status=Study.Status.DRAFT).filter(title=part.title)
    mine = opened.filter(memberships__user=owner, dataset__notes=_NOTE, dry_run_of=None)
    return mine.order_by("created_at").first()


def _load(part: _Part, owner: User) -> Study:
    with tempfile.TemporaryDirectory(prefix="tiebreak-") as folder:
        bundle = Path(folder) / "bundle"
        shutil.copytree(DEMO_BUNDLE, bundle)
        _write_part(bundle / _RATINGS, part, database_now())
        study = import_study(path=bundle, owner=owner).study
    study.title = part.title
    study.save(update_fields=["title"])
    assert study.dataset is not None
    study.dataset.notes = _NOTE
    study.dataset.save(update_fields=["notes"])
    score_separability(study=study)
    return replay(
        study=study,
        by=owner,
        is_finished=part.is_finished,
        unpaid=part.unpaid,
        unread=part.unread,
    )


def _write_part(file: Path, part: _Part, now: datetime) -> None:
    """Keep the ratings of the first people and of all machines, as if they ended a while ago."""
    with file.open(encoding="utf-8", newline="") as stored:
        rows = list(csv.DictReader(stored))
    people = dict.fromkeys(row["participation"] for row in rows if row["kind"] == "human")
    kept = {"", *list(people)[: part.people]}
    rows = [row for row in rows if row["participation"] in kept]
    times = [datetime.fromisoformat(row["created_at"]) for row in rows if row["created_at"]]
    later = now - part.ago - max(times)
    for row in rows:
        row["simulated"] = "true"  # the judges are invented, too
        if row["created_at"]:
            row["created_at"] = (datetime.fromisoformat(row["created_at"]) + later).isoformat()
    with file.open("w", encoding="utf-8", newline="") as shown:
        writer = csv.DictWriter(shown, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def start_demo(*, by: User) -> Job:
    """Load the demo in a worker. Raises `DomainError` if that is being done already."""
    return start_job(kind=DemoJob.name, exclusive_key=demo_key(by), by=by)


def demo_key(owner: User) -> str:
    return f"demo:{owner.pk}"


class DemoJob(JobKind):
    """Loads the demo for the researcher who asked for it."""

    name = "demo"
    label = "load the demo"

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        if job.created_by is not None:
            load_demo(owner=job.created_by, say=lambda _: None)
        yield Progress(1)
