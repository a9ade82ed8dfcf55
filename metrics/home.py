"""The home page: three starts, and the list of studies."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import Case, Exists, OuterRef, Q, QuerySet, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jobs.clock import database_now
from jobs.models import UNFINISHED, Job
from metrics.collecting.needs import Need, of_channels, of_comments, of_lists
from metrics.demo import demo_key, start_demo
from metrics.messages import DEMO_STARTED
from recruitment.costs import Spending, completed_places, places_total, plan_counts, spending_of
from recruitment.ledger import listed_by_study
from studies.access import Right, researchers_only, studies_of, user_of
from studies.design.steps import StudyFrame, frame_of, with_facts
from studies.models import Study
from studies.refusals import told

PER_PAGE = 12
OWED = ("awaiting_payment", "screened_out")


class StudyCard(NamedTuple):
    """A study in the list, with what it needs first, and whether it is the first that needs something.

    `spending` is None for those who may not see payments.
    """

    frame: StudyFrame
    completed: int
    places: int
    spending: Spending | None
    need: Need | None
    leads: bool = False

    @property
    def verb(self) -> str:
        is_over = self.frame.study.status == Study.Status.CLOSED
        return "Read the results" if is_over else "See the progress"


def study_cards(user: User, number: str | None) -> Page[Any]:
    """Return a page of the user's studies, in as many statements for many studies as for one."""
    mine = studies_of(user).filter(dry_run_of=None)
    begun = mine.exclude(status=Study.Status.DRAFT).only("lease_minutes", "reward")
    listed = listed_by_study(begun, database_now())
    owing = [key for key, lists in listed.items() if any(lists[name] for name in OWED)]
    studies = with_facts(mine, user).annotate(has_namesake=_namesake(mine), **plan_counts())
    studies = studies.order_by(*_order(mine, user, owing))
    page = Paginator(studies.select_related("dataset"), PER_PAGE).get_page(number)
    shown = list(page)
    spending = spending_of(shown)
    cards = [_card(one, user, spending[one.pk], listed.get(one.pk, {})) for one in shown]
    first = next((n for n, card in enumerate(cards) if card.need and card.frame.can_change), -1)
    page.object_list = [card._replace(leads=n == first) for n, card in enumerate(cards)]
    return page


def _namesake(mine: QuerySet[Study]) -> Exists:
    """Return as an expression whether another of the user's studies has the same title."""
    return Exists(mine.filter(title=OuterRef("title")).exclude(pk=OuterRef("pk")))


def _order(mine: QuerySet[Study], user: User, owing: list[str]) -> tuple[Any, ...]:
    """Put the studies that need this member first, then open ones, and newer ones before older ones.

    Those that owe people money come first among those that need somebody.
    """
    is_open = Q(status=Study.Status.OPEN)
    frames = (frame_of(study, user) for study in with_facts(mine.filter(is_open), user))
    needing = Q(pk__in=[frame.study.pk for frame in frames if frame.needs_person])
    can_change = Q(pk__in=studies_of(user, Right.CHANGE).values("pk"))
    owes = can_change & Q(pk__in=owing)
    needing |= can_change & Q(opened_at=None)
    rank = Case(When(owes, then=0), When(needing, then=1), When(is_open, then=2), default=3)
    return rank, "-created_at", "pk"


def _card(study: Any, user: User, spending: Spending, listed: Mapping[str, int]) -> StudyCard:
    frame = frame_of(study, user)
    may_see_money = frame.right >= Right.READ and study.reward is not None
    need = next(_needs(frame, listed), None) if frame.right >= Right.READ else None
    shown = spending if may_see_money else None
    return StudyCard(frame, completed_places(study), places_total(study), shown, need)


def _needs(frame: StudyFrame, listed: Mapping[str, int]) -> Iterator[Need]:
    """Yield what is known without a further statement; Collect says all that a study needs."""
    study = frame.study
    if step := frame.next_step:
        opens = study.status == Study.Status.DRAFT and step.step.slug == "launch"
        button = "Review and open" if opens else step.step.title
        yield Need(step.step.slug, step.status.sentence, step.url, button)
    if study.status == Study.Status.DRAFT:
        return
    yield from of_lists(study, listed, {})
    if study.status == Study.Status.OPEN:
        yield from of_channels(study)
        for step in frame.missing:
            yield Need(step.step.slug, step.status.sentence, step.url, f"Go to {step.step.title}")
    waiting = {page.slug: page.waiting for page in frame.pages}
    yield from of_comments(study, waiting.get("comments", 0))


def is_demo_loading(user: User) -> bool:
    return Job.objects.filter(exclusive_key=demo_key(user), status__in=UNFINISHED).exists()


@require_POST
@researchers_only
def try_demo(request: HttpRequest) -> HttpResponse:
    with told(request):
        start_demo(by=user_of(request))
        messages.success(request, DEMO_STARTED)
    return redirect("admin:index")
