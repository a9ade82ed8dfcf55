"""The home page: three starts, and the list of studies."""

from typing import Any, NamedTuple, cast

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Page, Paginator
from django.db.models import Case, Q, QuerySet, When
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from jobs.models import UNFINISHED, Job
from metrics.demo import demo_key, start_demo
from metrics.messages import DEMO_STARTED
from recruitment.costs import Spending, completed_places, plan_counts, spending_of
from studies.access import Right, researchers_only, studies_of
from studies.design.steps import StudyFrame, frame_of, with_facts
from studies.models import Study
from studies.refusals import told

PER_PAGE = 12


class StudyCard(NamedTuple):
    """A study in the list. `spending` is None for those who may not see payments."""

    frame: StudyFrame
    completed: int
    places: int
    spending: Spending | None

    @property
    def verb(self) -> str:
        is_over = self.frame.study.status == Study.Status.CLOSED
        return "Read the results" if is_over else "See the progress"

    @property
    def sees_needs(self) -> bool:
        """Whether the page asks Collect what needs this member, which takes many statements."""
        return self.frame.has_begun and self.frame.right >= Right.READ


def study_cards(user: User, number: str | None) -> Page[Any]:
    """Return a page of the user's studies, in as many statements for many studies as for one."""
    mine = studies_of(user).filter(dry_run_of=None)
    studies = with_facts(mine, user).annotate(**plan_counts()).order_by(*_order(mine, user))
    page = Paginator(studies.select_related("dataset"), PER_PAGE).get_page(number)
    shown = list(page)
    spending = spending_of(shown)
    page.object_list = [_card(study, user, spending[study.pk]) for study in shown]
    return page


def _order(mine: QuerySet[Study], user: User) -> tuple[Any, ...]:
    """Put the studies that need this member first, then open ones, and newer ones before older ones."""
    is_open = Q(status=Study.Status.OPEN)
    frames = (frame_of(study, user) for study in with_facts(mine.filter(is_open), user))
    needing = Q(pk__in=[frame.study.pk for frame in frames if frame.needs_person])
    to_launch = Q(opened_at=None, pk__in=studies_of(user, Right.CHANGE).values("pk"))
    rank = Case(When(needing | to_launch, then=0), When(is_open, then=1), default=2)
    return rank, "-created_at", "pk"


def _card(study: Any, user: User, spending: Spending) -> StudyCard:
    frame = frame_of(study, user)
    may_see_money = frame.right >= Right.READ and study.reward is not None
    return StudyCard(
        frame, completed_places(study), study.places_total, spending if may_see_money else None
    )


def is_demo_loading(user: User) -> bool:
    return Job.objects.filter(exclusive_key=demo_key(user), status__in=UNFINISHED).exists()


@require_POST
@researchers_only
def try_demo(request: HttpRequest) -> HttpResponse:
    with told(request):
        start_demo(by=cast(User, request.user))
        messages.success(request, DEMO_STARTED)
    return redirect("admin:index")
