"""The demo study, which is loaded once and rated by bots through the annotators' pages."""

from collections.abc import Callable, Iterator
from typing import Any

from django.contrib.auth.models import User

from annotation.imports.sample_files import DEMO_BUNDLE
from annotation.imports.study_import import import_study
from annotation.services.planning import plan_hits
from jobs.kinds import JobKind, Progress
from jobs.models import Job
from jobs.services import start_job
from metrics.results.services import refresh_report
from recruitment.services.lifecycle import open_study
from recruitment.simulation.raters import Bot, simulate_raters
from studies.instance_selection.scoring import score_separability
from studies.models import Study

# The bots take 60 of 72 places, which is enough for every statistic and leaves some for visitors.
BOTS = (
    Bot("careful-1", accuracy=0.85, hits=20),
    Bot("careful-2", accuracy=0.75, hits=20),
    Bot("hasty", accuracy=0.55, position_bias=0.2, hits=20),
)


def load_demo_study(*, owner: User, say: Callable[[str], None]) -> Study:
    """Return the demo study, which the first call creates."""
    existing = demo_study_of(owner)
    if existing is not None:
        return existing
    say("Loading the demo study…")
    study = import_study(path=DEMO_BUNDLE, owner=owner).study
    score_separability(study=study)
    plan_hits(study=study)
    study = open_study(study=study)
    assert study.dataset is not None
    n = study.dataset.instances.count()
    say(f"Bots are rating {n} instances through the annotators' pages…")
    simulate_raters(study=study, bots=BOTS, seed=0)
    refresh_report(study=study)
    study.dataset.notes = _NOTE
    study.dataset.save(update_fields=["notes"])
    return study


def demo_study_of(owner: User) -> Study | None:
    return Study.objects.filter(memberships__user=owner, dataset__notes=_NOTE).first()


def start_demo(*, by: User) -> Job:
    """Load the demo study in a worker. Raises `DomainError` if that is being done already."""
    return start_job(kind=DemoJob.name, exclusive_key=demo_key(by), by=by)


def demo_key(owner: User) -> str:
    return f"demo:{owner.pk}"


class DemoJob(JobKind):
    """Loads the demo study for the researcher who asked for it."""

    name = "demo"
    label = "load the demo study"
    # An interrupted attempt leaves a draft behind; a second one would leave another.
    max_attempts = 1

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        if job.created_by is not None:
            load_demo_study(owner=job.created_by, say=lambda _: None)
        yield Progress(1)


_NOTE = "The demo study's texts, and two small systems that summarise them."
