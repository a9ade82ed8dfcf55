"""The frame of a study's pages: three rooms, of which *Design* has the steps to the launch.

Apps register both in their modules `study_steps`, as they register kinds of jobs. A step says what
it needs to know as expressions so that the steps of one study, or of a whole page of studies, take
one statement.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Protocol

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Count, Exists, IntegerField, OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.expressions import Combinable
from django.db.models.functions import Coalesce
from django.urls import ResolverMatch, reverse

from studies.access import Right, held_role, right_of
from studies.models import Study, Unit

Facts = Mapping[str, Any]


class Room(StrEnum):
    """A part of a study's pages. What is seldom needed is behind a gear and in no room."""

    DESIGN = "Design"
    COLLECT = "Collect"
    RESULTS = "Results"
    GEAR = "More"


ROOMS = (Room.DESIGN, Room.COLLECT, Room.RESULTS)


class StepState(StrEnum):
    DONE = "done"
    OPEN = "open"
    WARNED = "warned"
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
    """Whether a step is done, and a short sentence that says what is there or what is missing.

    The list of steps has the `note` instead, where the sentence takes more than a line there.
    """

    state: StepState
    sentence: str
    note: str = ""

    @property
    def is_open(self) -> bool:
        return self.state == StepState.OPEN


def done(sentence: str, note: str = "") -> StepStatus:
    return StepStatus(StepState.DONE, sentence, note)


def missing(sentence: str, note: str = "") -> StepStatus:
    return StepStatus(StepState.OPEN, sentence, note)


def warned(sentence: str) -> StepStatus:
    return StepStatus(StepState.WARNED, f"{sentence} See the warning.", "See the warning.")


def not_needed(sentence: str, note: str = "") -> StepStatus:
    return StepStatus(StepState.NOT_NEEDED, sentence, note)


class StepCheck(Protocol):
    """What the launch will say about a step: `where` is the name of the step's address."""

    @property
    def code(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def where(self) -> str: ...


Checks = Callable[[Study], Sequence[StepCheck]]


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
    room = Room.DESIGN
    argument = under = ""

    def url_of(self, study: Study) -> str:
        return reverse(self.url_name, args=[study.pk])


@dataclass(frozen=True)
class StudyPage:
    """A page of a study in addition to the steps, for members who have the right to see it.

    `waiting` is the expression on `Study` for how much waits there for a researcher. `argument` is
    what the address needs in addition to the study. A page `under` a step or another page is reached
    from that one, which stays marked in the room's list. Phones show its `short` title, if it has one.
    """

    slug: str
    title: str
    url_name: str
    position: int
    right: Right = Right.READ
    guide: str = "index"
    waiting: Combinable | None = None
    room: Room = Room.GEAR
    argument: str = ""
    under: str = ""
    short: str = ""

    def url_of(self, study: Study) -> str:
        return reverse(self.url_name, args=[study.pk, *filter(None, [self.argument])])


_STEPS: dict[str, Step] = {}
_PAGES: dict[str, StudyPage] = {}
_CHECKS: list[Checks] = []
_SIMULATED: dict[str, Combinable | Q] = {}


def register_step(step: Step) -> None:
    _STEPS[step.slug] = step


def register_page(page: StudyPage) -> None:
    _PAGES[page.slug] = page


def register_checks(checks: Checks) -> None:
    """Let the steps of a draft show what the launch will say, as far as that is found quickly."""
    _CHECKS.append(checks)


def register_simulated(expression: Combinable | Q) -> None:
    """Say by an expression on `Study` whether programs gave ratings of it."""
    _SIMULATED["is_simulated"] = expression


def steps() -> list[Step]:
    return sorted(_STEPS.values(), key=lambda step: step.position)


def pages() -> list[StudyPage]:
    return sorted(_PAGES.values(), key=lambda page: page.position)


def place_of(here: str, match: ResolverMatch | None = None) -> Step | StudyPage | None:
    """Return the step or page with this slug, or else with this address."""
    every: dict[str, Step | StudyPage] = {**_STEPS, **_PAGES}
    if here in every or match is None:
        return every.get(here)
    for place in every.values():
        argument = match.kwargs.get("slug", "")
        if place.url_name == match.view_name and (not place.argument or place.argument == argument):
            return place
    return None


def count_of(rows: QuerySet[Any], number: Count | None = None) -> Coalesce:
    """Return the expression for the number of rows of a study, without a join.

    All are one group: to group them by the study would compare each row's.
    """
    whole = rows.order_by().annotate(all=Value(1)).values("all")
    counted = whole.annotate(n=number or Count("*")).values("n")
    return Coalesce(Subquery(counted, output_field=IntegerField()), 0)


@dataclass(frozen=True)
class ShownStep:
    """A step of one study, with its status and the address of its page."""

    step: Step
    status: StepStatus
    url: str
    checks: tuple[StepCheck, ...] = ()


@dataclass(frozen=True)
class Link:
    slug: str
    title: str
    url: str
    room: Room
    short: str
    waiting: int = 0


@dataclass(frozen=True)
class RoomLink:
    title: Room
    url: str
    is_current: bool


# The steps that tell of an open study whether anybody can work.
STALLING = {"recruit", "launch"}


@dataclass(frozen=True)
class StudyFrame:
    """What surrounds each page of a study, for a user with a right in it.

    `pages` are those in the lists of rooms and behind the gear. `place` is the step or page itself,
    and `here` the slug of the one that is marked in a list.
    """

    study: Any  # a `Study` that was read `with_facts`
    right: Right
    steps: tuple[ShownStep, ...]
    pages: tuple[Link, ...]
    place: Step | StudyPage | None = None

    @property
    def here(self) -> str:
        return (self.place.under or self.place.slug) if self.place else ""

    @property
    def room(self) -> Room | None:
        return self.place.room if self.place else None

    @property
    def rooms(self) -> list[RoomLink]:
        """The rooms of the study; those without an address cannot be entered yet."""
        addresses = {page.room: page.url for page in reversed(self.pages)} if self.has_begun else {}
        if self.steps:
            addresses[Room.DESIGN] = (self.next_step or self.steps[-1]).url
        return [RoomLink(room, addresses.get(room, ""), room == self.room) for room in ROOMS]

    @property
    def listed(self) -> list[Link]:
        """The pages of this room."""
        return [page for page in self.pages if page.room == self.room != Room.GEAR]

    @property
    def gear(self) -> list[Link]:
        return [page for page in self.pages if page.room == Room.GEAR]

    @property
    def has_begun(self) -> bool:
        """Whether there may be something to collect and to read."""
        return self.study.status != Study.Status.DRAFT or bool(self.study.has_units)

    @property
    def url(self) -> str:
        """The address at which the study opens: what it is about in its state."""
        rooms = {room.title: room.url for room in self.rooms}
        if self.next_step is not None and self.steps:
            return self.next_step.url
        first = Room.RESULTS if self.study.status == Study.Status.CLOSED else Room.COLLECT
        return rooms[first] or rooms[Room.RESULTS] or rooms[Room.DESIGN]

    @property
    def n_done(self) -> int:
        return sum(shown.status.state == StepState.DONE for shown in self.steps)

    @property
    def next_step(self) -> ShownStep | None:
        """Until the study was opened: the next step that is not done, optional or not, in the list's order.

        After the last, and on pages that are no step, it is the first in which something is missing.
        Button, *Save and continue* and the list of studies use this.
        """
        if self.study.opened_at is not None or self.study.dry_run_of_id is not None:
            return None
        slugs = [shown.step.slug for shown in self.steps]
        n = slugs.index(self.here) + 1 if self.here in slugs else len(slugs)
        later = (one for one in self.steps[n:] if one.status.state != StepState.DONE)
        return next(later, None) or next(iter(self.missing), None)

    @property
    def may_skip(self) -> bool:
        """Whether this is an optional step of a draft in which nothing was asked for."""
        here = (one.status.state for one in self.steps if one.step.slug == self.here)
        return self.study.opened_at is None and StepState.NOT_NEEDED in here

    @property
    def checks(self) -> tuple[StepCheck, ...]:
        """What the launch will say about this step."""
        return next((one.checks for one in self.steps if one.step.slug == self.here), ())

    @property
    def missing(self) -> list[ShownStep]:
        """What is left to do before the launch, or for an open study to go on."""
        return [shown for shown in self.steps if shown.status.is_open]

    @property
    def needs_person(self) -> bool:
        """Whether this member can go on with what is missing, or something waits for a researcher."""
        waits = any(page.waiting for page in self.pages)
        return self.can_change and bool(self.missing or waits)

    @property
    def state(self) -> StudyState:
        study, left = self.study, {shown.step.slug for shown in self.missing}
        if study.dry_run_of_id is not None:
            return StudyState.DRY_RUN
        if study.status == Study.Status.DRAFT:
            return StudyState.UNFINISHED if left - {"launch"} else StudyState.READY
        if study.is_imported:
            return StudyState.IMPORTED
        is_stalled = study.status == Study.Status.OPEN and left & STALLING
        return StudyState.STALLED if is_stalled else StudyState(study.status)

    @property
    def is_simulated(self) -> bool:
        return bool(getattr(self.study, "is_simulated", False))

    @property
    def can_change(self) -> bool:
        return self.right >= Right.CHANGE

    @property
    def delete_url(self) -> str:
        """The page that deletes a draft, or says whether an opened study can be deleted."""
        if self.right < Right.OWN or self.study.dry_run_of_id is not None:
            return ""
        is_draft = self.study.status == Study.Status.DRAFT
        name = "admin:studies_study_delete" if is_draft else "metrics:remove-study"
        return reverse(name, args=[self.study.pk])


def with_facts(
    studies: QuerySet[Study], user: User | AnonymousUser, shown: Sequence[Step] | None = None
) -> QuerySet[Any]:
    """Return studies with all that their frames need, in one statement; of these steps, or of all."""
    facts: dict[str, Any] = {
        f"{step.slug}_{name}".replace("-", "_"): expression
        for step in (steps() if shown is None else shown)
        for name, expression in step.facts.items()
    }
    facts |= {f"{page.slug}_waiting": page.waiting for page in pages() if page.waiting is not None}
    planned = Unit.objects.filter(study=OuterRef("pk"), role=Unit.Role.MAIN)
    facts |= _SIMULATED
    return studies.annotate(role=held_role(user), has_units=Exists(planned), **facts)


def study_frame(
    study: Study, user: User | AnonymousUser, place: Step | StudyPage | None = None
) -> StudyFrame:
    """Return the frame of one study; in the room of its steps, these also have their checks.

    Elsewhere, an opened study has of its steps only those that tell whether anybody can work.
    """
    is_elsewhere = place is not None and place.room != Room.DESIGN and study.opened_at is not None
    asked = [one for one in steps() if not is_elsewhere or one.slug in STALLING]
    known = with_facts(Study.objects.filter(pk=study.pk), user, asked).get()
    frame = frame_of(known, user, place, asked)
    is_draft = frame.study.opened_at is None and frame.study.dry_run_of_id is None
    if frame.room != Room.DESIGN or not is_draft or not frame.steps:
        return frame
    found = [check for checks in _CHECKS for check in checks(frame.study)]
    return replace(frame, steps=tuple(_checked(shown, found) for shown in frame.steps))


def _checked(shown: ShownStep, found: Sequence[StepCheck]) -> ShownStep:
    """Return a step with its checks: one that the launch warns of is not done."""
    checks = tuple(check for check in found if check.where == shown.step.url_name)
    status = shown.status
    if checks and status.state == StepState.DONE:
        status = warned(status.sentence)
    return replace(shown, status=status, checks=checks)


def missing_steps(study: Study) -> list[ShownStep]:
    known = with_facts(Study.objects.filter(pk=study.pk), AnonymousUser()).get()
    return [shown for step in steps() if (shown := _shown(step, known)).status.is_open]


def frame_of(
    study: Any,
    user: User | AnonymousUser,
    place: Step | StudyPage | None = None,
    asked: Sequence[Step] | None = None,
) -> StudyFrame:
    """Return the frame of a study that was read `with_facts`, of the same steps."""
    right = right_of(user, study.role)
    asked = steps() if asked is None else asked
    shown = [_shown(step, study) for step in asked] if right >= Right.READ else []
    links = (
        Link(
            page.slug,
            page.title,
            page.url_of(study),
            page.room,
            page.short,
            getattr(study, f"{page.slug}_waiting", 0),
        )
        for page in pages()
        if right >= page.right and not page.under
    )
    return StudyFrame(study, right, tuple(shown), tuple(links), place)


def _shown(step: Step, study: Study) -> ShownStep:
    prefix = step.slug.replace("-", "_")
    facts = {name: getattr(study, f"{prefix}_{name}") for name in step.facts}
    status = step.status(study, facts)
    if status.state == StepState.NOT_NEEDED and study.opened_at is None:
        status = not_needed(
            *(said and f"Optional. {said}" for said in (status.sentence, status.note))
        )
    if status.is_open and study.status == Study.Status.CLOSED:
        status = not_needed("Nothing to do: the study is closed.")
    if status.is_open and study.dry_run_of_id is not None:
        status = not_needed("Nothing to do: only bots rate a dry run.")
    return ShownStep(step, status, step.url_of(study))
