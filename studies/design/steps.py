"""The frame of a study's pages: the steps to its launch, and the pages while it runs.

Apps register both in their modules `study_steps`, as they register kinds of jobs. A step says what
it needs to know as expressions so that the steps of one study, or of a whole page of studies, take
one statement.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, IntegerField, QuerySet, Subquery
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from django.urls import reverse

from studies.access import Right, held_role, right_of
from studies.models import Study

Facts = Mapping[str, Any]


class StepState(StrEnum):
    DONE = "done"
    OPEN = "open"
    NOT_NEEDED = "not needed"


class StudyState(StrEnum):
    """The state of a study, which every page asks `StudyFrame` for."""

    UNFINISHED = "unfinished draft"
    READY = "ready draft"
    DRY_RUN = "dry run"
    OPEN = "open"
    STALLED = "open, and nobody can work"
    PAUSED = "paused"
    CLOSED = "closed"
    IMPORTED = "imported"


@dataclass(frozen=True)
class StepStatus:
    """Whether a step is done, and a short sentence that says what is there or what is missing."""

    state: StepState
    sentence: str

    @property
    def is_open(self) -> bool:
        return self.state == StepState.OPEN


def done(sentence: str) -> StepStatus:
    return StepStatus(StepState.DONE, sentence)


def missing(sentence: str) -> StepStatus:
    return StepStatus(StepState.OPEN, sentence)


def not_needed(sentence: str) -> StepStatus:
    return StepStatus(StepState.NOT_NEEDED, sentence)


@dataclass(frozen=True)
class Step:
    """A step to the launch. `facts` are expressions on `Study`, whose values `status` is given.

    `guide` is what *Help* leads to: a document of `studies/guides.py`, optionally with an anchor.
    """

    slug: str
    title: str
    url_name: str
    position: int
    status: Callable[[Study, Facts], StepStatus]
    facts: Mapping[str, Combinable | Subquery] = field(default_factory=dict)
    guide: str = "index"


@dataclass(frozen=True)
class StudyPage:
    """A page of a study in addition to the steps, for members who have the right to see it.

    `waiting` is the expression on `Study` for how much waits there for a researcher.
    """

    slug: str
    title: str
    url_name: str
    position: int
    right: Right = Right.READ
    guide: str = "index"
    waiting: Combinable | None = None


_STEPS: dict[str, Step] = {}
_PAGES: dict[str, StudyPage] = {}


def register_step(step: Step) -> None:
    _STEPS[step.slug] = step


def register_page(page: StudyPage) -> None:
    _PAGES[page.slug] = page


def steps() -> list[Step]:
    return sorted(_STEPS.values(), key=lambda step: step.position)


def pages() -> list[StudyPage]:
    return sorted(_PAGES.values(), key=lambda page: page.position)


def guide_of(here: str, url_name: str) -> str:
    """Return the guide of the step or page with this slug or address; others have the index."""
    every: list[Step | StudyPage] = [*steps(), *pages()]
    for shown in every:
        if shown.slug == here or shown.url_name == url_name:
            return shown.guide
    return "index"


def count_of(rows: QuerySet[Any], study: str = "study") -> Coalesce:
    """Return the expression for the number of rows of a study, without a join."""
    counted = rows.order_by().values(study).annotate(n=Count("*")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


@dataclass(frozen=True)
class ShownStep:
    """A step of one study, with its status and the address of its page."""

    step: Step
    status: StepStatus
    url: str


@dataclass(frozen=True)
class Link:
    slug: str
    title: str
    url: str
    waiting: int = 0


@dataclass(frozen=True)
class StudyFrame:
    """What surrounds each page of a study, for a user with a right in it.

    `here` is the slug of the page's step, if it is one.
    """

    study: Study
    right: Right
    steps: tuple[ShownStep, ...]
    pages: tuple[Link, ...]
    here: str = ""

    @property
    def next_step(self) -> ShownStep | None:
        """Until the study was opened: the step after this one, else the first that is open."""
        if self.study.opened_at is not None or self.study.dry_run_of_id is not None:
            return None
        for shown, following in pairwise(self.steps):
            if shown.step.slug == self.here and not shown.status.is_open:
                return following
        return next((shown for shown in self.steps if shown.status.is_open), None)

    @property
    def missing(self) -> list[ShownStep]:
        """What is left to do before the launch, or for an open study to go on."""
        return [shown for shown in self.steps if shown.status.is_open]

    @property
    def state(self) -> StudyState:
        study, left = self.study, {shown.step.slug for shown in self.missing}
        if study.dry_run_of_id is not None:
            return StudyState.DRY_RUN
        if study.status == Study.Status.DRAFT:
            return StudyState.UNFINISHED if left - {"launch"} else StudyState.READY
        if study.is_imported:
            return StudyState.IMPORTED
        is_stalled = study.status == Study.Status.OPEN and left & {"recruit", "launch"}
        return StudyState.STALLED if is_stalled else StudyState(study.status)

    @property
    def can_change(self) -> bool:
        return self.right >= Right.CHANGE


def with_facts(studies: QuerySet[Study], user: User | AnonymousUser) -> QuerySet[Any]:
    """Return studies with all that their frames need, in one statement."""
    facts = {
        f"{step.slug}_{name}".replace("-", "_"): expression
        for step in steps()
        for name, expression in step.facts.items()
    }
    facts |= {f"{page.slug}_waiting": page.waiting for page in pages() if page.waiting is not None}
    return studies.annotate(role=held_role(user), **facts)


def study_frame(study: Study, user: User | AnonymousUser, here: str = "") -> StudyFrame:
    return frame_of(with_facts(Study.objects.filter(pk=study.pk), user).get(), user, here)


def missing_steps(study: Study) -> list[ShownStep]:
    known = with_facts(Study.objects.filter(pk=study.pk), AnonymousUser()).get()
    return [shown for step in steps() if (shown := _shown(step, known)).status.is_open]


def frame_of(study: Any, user: User | AnonymousUser, here: str = "") -> StudyFrame:
    """Return the frame of a study that was read `with_facts`."""
    right = right_of(user, study.role)
    shown = [_shown(step, study) for step in steps()] if right >= Right.READ else []
    return StudyFrame(
        study=study,
        right=right,
        steps=tuple(shown),
        pages=tuple(
            Link(
                page.slug,
                page.title,
                reverse(page.url_name, args=[study.pk]),
                getattr(study, f"{page.slug}_waiting", 0),
            )
            for page in pages()
            if right >= page.right
        ),
        here=here,
    )


def url_after(frame: StudyFrame, slug: str) -> str:
    """Return the address of the next step that is needed after a step, or else of the last one."""
    later = [shown for shown in frame.steps if shown.step.position > _STEPS[slug].position]
    return next(
        (shown.url for shown in later if shown.status.state != StepState.NOT_NEEDED),
        frame.steps[-1].url,
    )


def _shown(step: Step, study: Study) -> ShownStep:
    prefix = step.slug.replace("-", "_")
    facts = {name: getattr(study, f"{prefix}_{name}") for name in step.facts}
    url = reverse(step.url_name, args=[study.pk])
    status = step.status(study, facts)
    if status.is_open and study.status == Study.Status.CLOSED:
        status = not_needed("Nothing to do: the study is closed.")
    if status.is_open and study.dry_run_of_id is not None:
        status = not_needed("Nothing to do: only bots rate a dry run.")
    return ShownStep(step, status, url)
