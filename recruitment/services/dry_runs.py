"""Dry runs: bots work through a copy of a study and report what annotators would experience."""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from math import ceil
from typing import Any, TypedDict

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from annotation.counts import progress_of
from annotation.models import Assignment, Comment, Participation, Rater, Rating, ScreeningAttempt
from annotation.services.plan_checks import check_design
from annotation.services.planning import plan_hits
from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import UNFINISHED, Job
from jobs.services import create_job, send, stop_job
from recruitment.forms import MAX_RATERS
from recruitment.models import Payment
from recruitment.services.cloning import clone_study
from recruitment.services.launch_checks import launch_checks
from recruitment.services.lifecycle import close_study, open_study
from recruitment.simulation.bots import Bot, Visit, Walk
from recruitment.simulation.raters import known_choices, known_labels, one_connection, walk_study
from studies.models import Study
from tiebreak.digits import counted
from tiebreak.errors import DomainError

DRY_RUN = " (dry run)"
# After this many raters in a row who completed no place, more would not help.
MAX_IDLE_RATERS = 10
# After this many pages the progress is stored so that the page shows it.
PAGES_A_STEP = 20
# Names and sentences stored of each kind, most frequent first.
MAX_KEPT = 20
# Share of items on which a bot leaves a comment.
COMMENT_SHARE = 0.05
COUNTS = ("raters", "answers", "last_sentence")
COUNTERS = ("pages", "endings", "refusals", "problems")

Status = Participation.Status


@dataclass(frozen=True)
class DryRunOptions:
    """The largest number of bots, and how each of them rates."""

    raters: int = 50
    accuracy: float = 0.9
    position_bias: float = 0.0
    drop_out: float = 0.0
    malice: float = 0.0
    seconds: float = Bot.seconds
    hits: int | None = None
    seed: int = 0

    def bot(self, number: int) -> Bot:
        rates = {name: rate for name, rate in vars(self).items() if name not in {"raters", "seed"}}
        return Bot(f"rater-{number}", comments=COMMENT_SHARE, **rates)


class Conclusion(TypedDict):
    """One result of a run in a sentence, as it is stored with the job."""

    code: str
    sentence: str


@dataclass
class Findings:
    """Totals over all bots of a run, as they are stored with the job."""

    raters: int = 0
    answers: int = 0
    pages: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    problems: Counter[str] = field(default_factory=Counter)
    last_sentence: str = ""

    def add(self, visit: Visit) -> None:
        self.raters += 1
        self.answers += visit.answers
        self.pages.update(visit.pages)
        self.endings[visit.ending] += 1
        self.refusals.update(visit.refusals)
        self.last_sentence = visit.sentence
        if visit.problem:
            self.problems[visit.problem.removeprefix(f"{visit.bot} ")] += 1

    @classmethod
    def stored_with(cls, job: Job) -> "Findings":
        """Return the findings of an interrupted run; empty if no rater has finished yet."""
        stored: dict[str, Any] = {name: job.result[name] for name in COUNTS if name in job.result}
        stored |= {name: Counter(dict(job.result.get(name, ()))) for name in COUNTERS}
        return cls(**stored)

    def as_json(self, conclusions: list[Conclusion] | None = None) -> dict[str, Any]:
        counts: dict[str, Any] = {name: getattr(self, name) for name in COUNTS}
        sentences = {name: getattr(self, name).most_common(MAX_KEPT) for name in COUNTERS}
        return counts | sentences | {"conclusions": conclusions}


def suggested_raters(study: Study) -> int:
    """Return twice the number that fills every place of a planned study: some may fail a test."""
    hits = study.hits.main().count()
    hits_each = study.hits_each(hits)
    needed = ceil(study.places_of(hits) / hits_each) if hits_each else 0
    return min(MAX_RATERS, max(DryRunOptions.raters, 2 * needed))


def start_dry_run(*, study: Study, options: DryRunOptions, by: User | None = None) -> Job:
    """Copy the study and let bots rate the copy, in a worker. One dry run per study at a time."""
    job = prepare_dry_run(study=study, options=options, by=by)
    send(job)
    return job


@transaction.atomic
def prepare_dry_run(*, study: Study, options: DryRunOptions, by: User | None = None) -> Job:
    """Create the copy and its job without starting it. Locks the study."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.dry_run_of_id is not None:
        raise DomainError(
            "is_dry_run", "This study is itself a dry run. Start one from the original study."
        )
    if study.dataset is None:
        raise DomainError("no_dataset", "This study has no dataset. Please choose one first.")
    if dry_runs_of(study).filter(status__in=UNFINISHED).exists():
        raise DomainError(
            "dry_run_unfinished",
            "A dry run of this study is still running. Wait until it ends, or stop it.",
        )
    copy = clone_study(study=study).study
    room = Study._meta.get_field("title").max_length or 0
    copy.title = f"{study.title[: room - len(DRY_RUN)]}{DRY_RUN}"
    copy.dry_run_of = study
    copy.save(update_fields=["title", "dry_run_of"])
    check_design(copy)
    # Bots enter through the open link, which exists only while there is no other channel.
    copy.channels.all().delete()
    return create_job(kind=DryRunJob.name, owner=copy.pk, options=vars(options), by=by)


def end_dry_run(*, job: Job) -> None:
    """Stop the run and close the copy."""
    stop_job(job=job)
    with suppress(DomainError):  # closed already, or never opened
        close_study(study=copy_of(job))


@transaction.atomic
def remove_dry_run(*, job: Job) -> None:
    """Delete a dry run that has ended, with its copy and everything the bots did there.

    People's ratings are never deleted: raises `DomainError` if a person took part in the copy.
    """
    study = Study.objects.select_for_update().get(pk=job.owner)
    if job.status in UNFINISHED:
        raise DomainError("dry_run_unfinished", "This dry run is still running. Stop it first.")
    if study.dry_run_of_id is None or study.participations.filter(simulated=False).exists():
        raise DomainError(
            "not_simulated",
            "People have already taken part in this study, so it cannot be deleted. Only dry runs"
            " can be deleted.",
        )
    delete_with_answers(study)
    job.delete()


def delete_with_answers(study: Study) -> None:
    """Delete a study with the answers of programs, which nothing else may refer to."""
    raters = list(Assignment.objects.filter(hit__study=study).values_list("rater", flat=True))
    raters += study.participations.values_list("rater", flat=True)
    # Without a join: PostgreSQL plans one badly before it has counted rows that are new.
    ratings = Rating.objects.filter(unit__in=study.units.all())
    ratings._raw_delete(ratings.db)
    study.places.all().delete()
    Comment.objects.filter(participation__study=study).delete()
    Assignment.objects.filter(hit__study=study).delete()
    ScreeningAttempt.objects.filter(study=study).delete()
    Payment.objects.filter(participation__study=study).delete()
    study.participations.all().delete()
    study.hits.all().delete()
    study.delete()
    here = {"participations": None, "assignments": None, "screening_attempts": None}
    Rater.objects.filter(**here, pk__in=raters, machine_rater=None, ratings=None).delete()


def dry_runs_of(study: Study) -> QuerySet[Job]:
    """Return the jobs of the study's dry runs, newest first; a job's owner is the copy."""
    return Job.objects.filter(kind=DryRunJob.name, owner__in=study.dry_runs.values("pk"))


def copy_of(job: Job) -> Study:
    """Return the copy that the bots of a dry run rate."""
    return Study.objects.get(pk=job.owner)


class DryRunJob(JobKind):
    """Plans and opens the copy, sends bots until every place is completed or none can be, closes it.

    An interrupted run continues with further bots; the work of earlier ones is kept.
    """

    name = "dry_run"
    label = "do a dry run"

    def summary(self, job: Job) -> str:
        return f"up to {job.options.get('raters', DryRunOptions.raters)} bots"

    def page_of(self, job: Job) -> str:
        study = Study.objects.filter(pk=job.owner).first()
        return reverse("recruitment:dry-runs", args=[study.dry_run_of_id]) if study else ""

    def plan(self, job: Job) -> list[ChunkPlan]:  # noqa: ARG002  as every kind
        return [ChunkPlan(0)]  # one after another, because bots take places from each other

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:  # noqa: ARG002
        options = DryRunOptions(**job.options)
        study = _opened(copy_of(job))
        findings = Findings.stored_with(job)
        yield _progress(study)
        with one_connection():
            for walk in _walks(study, options):
                for number, _ in enumerate(walk.pages(), start=1):
                    if number % PAGES_A_STEP == 0:
                        yield _progress(study)
                findings.add(walk.visit)
                _store(job, findings)
                yield _progress(study)
        _store(job, findings, conclusions(study, options, findings))
        close_study(study=study)
        yield _progress(study)


def _opened(study: Study) -> Study:
    """Open the dry run's copy with the checks of the original. Errors end the run, warnings do not."""
    if study.status == Study.Status.OPEN:
        return study
    if not study.hits.main().exists():
        plan_hits(study=study)
    return open_study(study=study, confirmed_warnings=[c.code for c in launch_checks(study)])


def _walks(study: Study, options: DryRunOptions) -> Iterator[Walk]:
    """Yield one bot's walk after another until every place is completed or no bot gets one."""
    known = known_labels(study) | known_choices(study)
    idle = 0
    for number in count(study.participations.count() + 1):
        before = _places_completed(study)
        if before == study.places.count() or number > options.raters or idle >= MAX_IDLE_RATERS:
            return
        bot = options.bot(number)
        yield walk_study(
            study=study,
            bot=bot,
            rng=random.Random(f"{options.seed}:{bot.name}"),
            known=known,
            # A different address for each bot, as for people.
            address=f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
        )
        idle = 0 if _places_completed(study) > before else idle + 1


def _places_completed(study: Study) -> int:
    return study.places.filter(completed_at__isnull=False).count()


def _progress(study: Study) -> Progress:
    return Progress(done=_places_completed(study), size=study.places.count())


def _store(job: Job, findings: Findings, results: list[Conclusion] | None = None) -> None:
    Job.objects.filter(pk=job.pk).update(result=findings.as_json(results))


def conclusions(study: Study, options: DryRunOptions, findings: Findings) -> list[Conclusion]:
    """Return what a researcher should know before recruiting people, most serious first."""
    ended = study.participations.filter(status__in=[Status.STOPPED, Status.EXCLUDED]).count()
    exclusion = f"The gold checks ended the participation of {counted(ended, 'rater')}."
    results = [
        *_screening_results(
            study, ScreeningAttempt.Stage.COMPREHENSION, "the questions about the guidelines"
        ),
        *_screening_results(study, ScreeningAttempt.Stage.QUALIFICATION, "the test"),
        *_unfilled_places(study, options, findings),
        *([("ended_by_checks", exclusion)] if ended else []),
        *(
            ("raters_stuck", f"{counted(n, 'rater')} could not continue: {problem}")
            for problem, n in findings.problems.most_common()
        ),
    ]
    return [Conclusion(code=code, sentence=sentence) for code, sentence in results]


def _screening_results(
    study: Study, stage: ScreeningAttempt.Stage, name: str
) -> Iterator[tuple[str, str]]:
    attempts = ScreeningAttempt.objects.filter(study=study, stage=stage)
    tried = attempts.values("participation").distinct().count()
    passed = attempts.filter(is_passed=True).values("participation").distinct().count()
    if tried and not passed:
        yield f"nobody_passed_{stage.value}", f"None of {counted(tried, 'rater')} passed {name}."
    elif passed < tried / 2:
        yield (
            f"few_passed_{stage.value}",
            f"Only {passed} of {counted(tried, 'rater')} passed {name}.",
        )


def _unfilled_places(
    study: Study, options: DryRunOptions, findings: Findings
) -> Iterator[tuple[str, str]]:
    counts = progress_of(study)
    if not counts.remaining:
        return
    if findings.raters >= options.raters:
        why = f"only {counted(options.raters, 'rater')} took part. Try again with more"
    elif counts.live:
        why = f"raters who left still hold {counts.live} of them until their lease ends"
    else:
        why = f"the last {counted(MAX_IDLE_RATERS, 'rater')} got none. They read: “{findings.last_sentence}”"
    sentence = f"{counts.remaining:,} of {counts.places:,} responses were not collected: {why}."
    yield "places_unfilled", sentence
