"""Dry runs: bots take a copy of a study to its end, and say what annotators would have met."""

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

from annotation.counts import study_counts
from annotation.models import Assignment, Participation, Rater, Rating, ScreeningAttempt
from annotation.services.planning import plan_hits
from recruitment.forms import MAX_RATERS
from recruitment.services.cloning import clone_study
from recruitment.services.launch_checks import launch_checks
from recruitment.services.lifecycle import close_study, open_study
from recruitment.simulation.bots import Bot, Visit, Walk
from recruitment.simulation.raters import known_choices, known_labels, one_connection, walk_study
from studies.jobs import UNFINISHED, Progress, register_handler, send, stop_job
from studies.models import Job, Study
from tiebreak.errors import DomainError

DRY_RUN = " (dry run)"
# After so many raters in a row who filled no place, nobody will.
MAX_IDLE_RATERS = 10
# So many pages are one chunk: then the page that shows the progress has something to say.
PAGES_A_CHUNK = 20
# Names and sentences of one kind that are kept, most frequent first.
MAX_KEPT = 20
COUNTS = ("raters", "answers", "last_sentence")
COUNTERS = ("pages", "endings", "refusals", "problems")

Status = Participation.Status


@dataclass(frozen=True)
class DryRunOptions:
    """How many bots come at most, and how each of them rates."""

    raters: int = 50
    accuracy: float = 0.9
    position_bias: float = 0.0
    drop_out: float = 0.0
    malice: float = 0.0
    seconds: float = Bot.seconds
    hits: int | None = None
    seed: int = 0

    def bot(self, number: int) -> Bot:
        return Bot(
            name=f"rater-{number}",
            accuracy=self.accuracy,
            position_bias=self.position_bias,
            drop_out=self.drop_out,
            malice=self.malice,
            seconds=self.seconds,
            hits=self.hits,
        )


class Conclusion(TypedDict):
    """What a researcher should know of a run, as it is kept with the job."""

    code: str
    sentence: str


@dataclass
class Findings:
    """What the bots met in all, as it is kept with the job."""

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
    def kept_with(cls, job: Job) -> "Findings":
        """Those of a run that was broken off; empty ones before its first rater."""
        kept: dict[str, Any] = {name: job.result[name] for name in COUNTS if name in job.result}
        kept |= {name: Counter(dict(job.result.get(name, ()))) for name in COUNTERS}
        return cls(**kept)

    def as_json(self, conclusions: list[Conclusion] | None = None) -> dict[str, Any]:
        counts: dict[str, Any] = {name: getattr(self, name) for name in COUNTS}
        sentences = {name: getattr(self, name).most_common(MAX_KEPT) for name in COUNTERS}
        return counts | sentences | {"conclusions": conclusions}


def suggested_raters(study: Study) -> int:
    """Twice as many as fill every place, where the plan is known: some may fail a test."""
    hits = study.hits.main().count()
    each = min(study.hits_per_annotator or hits, hits)
    needed = ceil(study.ratings_per_hit * hits / each) if each else 0
    return min(MAX_RATERS, max(DryRunOptions.raters, 2 * needed))


def start_dry_run(*, study: Study, options: DryRunOptions, by: User | None = None) -> Job:
    """Copy the study and let bots take the copy, in a worker. One dry run of a study at a time."""
    job = prepare_dry_run(study=study, options=options, by=by)
    send(job)
    return job


@transaction.atomic
def prepare_dry_run(*, study: Study, options: DryRunOptions, by: User | None = None) -> Job:
    """The copy with its job, which nobody works on yet. Locks the study."""
    study = Study.objects.select_for_update().get(pk=study.pk)
    if study.dry_run_of_id is not None:
        raise DomainError("is_dry_run", "This is a dry run itself. Start one of its study instead.")
    if study.dataset is None:
        raise DomainError("no_dataset", "The study has no dataset. Choose one first.")
    if dry_runs_of(study).filter(status__in=UNFINISHED).exists():
        raise DomainError(
            "dry_run_unfinished",
            "A dry run of this study is not finished yet: let it end, or stop it.",
        )
    copy = clone_study(study=study).study
    room = Study._meta.get_field("title").max_length or 0
    copy.title = f"{study.title[: room - len(DRY_RUN)]}{DRY_RUN}"
    copy.dry_run_of = study
    copy.save(update_fields=["title", "dry_run_of"])
    # Bots come by the open link, which other ways in would close.
    copy.channels.all().delete()
    return Job.objects.create(
        study=copy,
        dataset=study.dataset,
        kind=Job.Kind.DRY_RUN,
        options=vars(options),
        created_by=by,
    )


def end_dry_run(*, job: Job) -> None:
    """Stop for good, and close the copy: nobody enters it any more."""
    stop_job(job=job)
    with suppress(DomainError):  # closed already, or never opened
        close_study(study=job.study)


@transaction.atomic
def remove_dry_run(*, job: Job) -> None:
    """Delete a dry run that has ended, with its copy and all that bots did there.

    Ratings of people are never deleted. These were made to be looked at, and stand in no study.
    """
    study = Study.objects.select_for_update().get(pk=job.study_id)
    if job.status in UNFINISHED:
        raise DomainError("dry_run_unfinished", "This dry run is not finished yet: stop it first.")
    if study.dry_run_of_id is None or study.participations.filter(simulated=False).exists():
        raise DomainError(
            "not_simulated", "Only what bots did can be deleted, and people were here."
        )
    raters = list(study.participations.values_list("rater", flat=True))
    own = Rating.objects.filter(unit__study=study)
    own._raw_delete(own.db)
    study.places.all().delete()
    Assignment.objects.filter(participation__study=study).delete()
    ScreeningAttempt.objects.filter(study=study).delete()
    study.participations.all().delete()
    Rater.objects.filter(pk__in=raters, participations__isnull=True).delete()
    study.hits.all().delete()
    study.delete()


def dry_runs_of(study: Study) -> QuerySet[Job]:
    """The jobs of the study's dry runs, newest first; each job's study is its copy."""
    own = Job.objects.filter(kind=Job.Kind.DRY_RUN, study__dry_run_of=study)
    return own.select_related("study").order_by("-pk")


@register_handler(Job.Kind.DRY_RUN)
def take_dry_run(job: Job) -> Iterator[Progress]:
    """Plan and open the copy, send bots until every place is filled or no bot fills one, close it.

    A run that was broken off goes on with further bots: what earlier ones did stands.
    """
    options = DryRunOptions(**job.options)
    study = _opened(job.study)
    findings = Findings.kept_with(job)
    yield _progress(study)
    with one_connection():
        for walk in _walks(study, options):
            for number, _ in enumerate(walk.pages(), start=1):
                if number % PAGES_A_CHUNK == 0:
                    yield _progress(study)
            findings.add(walk.visit)
            _keep(job, findings)
            yield _progress(study)
    _keep(job, findings, conclusions(study, options, findings))
    close_study(study=study)
    yield _progress(study)


def _opened(study: Study) -> Study:
    """The copy as it would be opened: what blocks that ends the run, warnings do not."""
    if study.status == Study.Status.OPEN:
        return study
    if not study.hits.main().exists():
        plan_hits(study=study)
    return open_study(study=study, confirmed_warnings=[c.code for c in launch_checks(study)])


def _walks(study: Study, options: DryRunOptions) -> Iterator[Walk]:
    """One bot after another, as long as there is a place to fill and somebody fills one."""
    known = known_labels(study) | known_choices(study)
    idle = 0
    for number in count(study.participations.count() + 1):
        before = _places_done(study)
        if before == study.places.count() or number > options.raters or idle >= MAX_IDLE_RATERS:
            return
        bot = options.bot(number)
        yield walk_study(
            study=study,
            bot=bot,
            rng=random.Random(f"{options.seed}:{bot.name}"),
            known=known,
            # Each from an address of its own, as people are.
            address=f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}",
        )
        idle = 0 if _places_done(study) > before else idle + 1


def _places_done(study: Study) -> int:
    return study.places.filter(completed_at__isnull=False).count()


def _progress(study: Study) -> Progress:
    return Progress(done=_places_done(study), total=study.places.count())


def _keep(job: Job, findings: Findings, told: list[Conclusion] | None = None) -> None:
    Job.objects.filter(pk=job.pk).update(result=findings.as_json(told))


def conclusions(study: Study, options: DryRunOptions, findings: Findings) -> list[Conclusion]:
    """What a researcher should know before people come, the gravest first."""
    told = [
        *_of_a_stage(
            study, ScreeningAttempt.Stage.COMPREHENSION, "the questions about the guidelines"
        ),
        *_of_a_stage(study, ScreeningAttempt.Stage.QUALIFICATION, "the test"),
        *_of_places(study, options, findings),
        *_of_exclusions(study),
        *(
            ("raters_stuck", f"{_raters(n)} came to no end: {said}")
            for said, n in findings.problems.most_common()
        ),
    ]
    return [Conclusion(code=code, sentence=sentence) for code, sentence in told]


def _of_a_stage(
    study: Study, stage: ScreeningAttempt.Stage, words: str
) -> Iterator[tuple[str, str]]:
    screening_attempts = ScreeningAttempt.objects.filter(study=study, stage=stage)
    tried = screening_attempts.values("participation").distinct().count()
    passed = screening_attempts.filter(is_passed=True).values("participation").distinct().count()
    if tried and not passed:
        sentence = f"Nobody could pass {words}: {_raters(tried)} tried, and none did."
        yield f"nobody_passed_{stage.value}", sentence
    elif passed < tried / 2:
        yield f"few_passed_{stage.value}", f"Only {passed} of {_raters(tried)} passed {words}."


def _of_places(
    study: Study, options: DryRunOptions, findings: Findings
) -> Iterator[tuple[str, str]]:
    found = study_counts(study)
    if not found.remaining:
        return
    if findings.raters >= options.raters:
        why = f"only {_raters(options.raters)} came. Let more come, or see what kept these"
    elif found.live:
        why = f"raters who left hold {found.live} of them until their time is over"
    else:
        why = f"the last {_raters(MAX_IDLE_RATERS)} got none. They read: “{findings.last_sentence}”"
    sentence = f"{found.remaining} of {found.places} places could not be filled, because {why}."
    yield "places_unfilled", sentence


def _of_exclusions(study: Study) -> Iterator[tuple[str, str]]:
    ended = study.participations.filter(status__in=[Status.STOPPED, Status.EXCLUDED]).count()
    if ended:
        yield "ended_by_checks", f"The checks ended the part of {_raters(ended)}."


def _raters(n: int) -> str:
    return f"{n} rater{'' if n == 1 else 's'}"
