"""The page *Collect*: whether it runs, and whether it needs somebody."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from django.db.models import prefetch_related_objects
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.counts import StudyCounts, study_counts
from metrics.collecting.contested import contested_need
from metrics.collecting.facts import DRAFTS, Fact, finding, in_order, people_facts, progress_facts
from metrics.collecting.needs import Need, needs_of
from metrics.results.collection_figure import progress_figure, still_possible
from metrics.results.requested_report import Freshness, asked_for
from metrics.results.selectors import stored_counts, stored_moments, stored_plan
from recruitment.admission import OPEN_LINK
from recruitment.costs import Accounts, accounts, note_counted
from recruitment.people_table import first_people
from recruitment.views.channels import channel_links
from studies.access import Right, of_study, shows_study
from studies.design.steps import StudyFrame, StudyState, place_of, study_frame
from studies.models import Study

STOP_POLLING = 286  # htmx stops polling at this status
PEOPLE_SHOWN = 20
WITH_LINKS = {StudyState.OPEN, StudyState.STALLED}


@dataclass(frozen=True)
class Collecting:
    """What the page and its parts show of a study to somebody with a right in it."""

    request: HttpRequest
    study: Study

    @cached_property
    def frame(self) -> StudyFrame:
        return study_frame(self.study, self.request.user, place_of("overview"))

    @cached_property
    def freshness(self) -> Freshness:
        """The report of the whole study, which is requested anew if it is outdated."""
        return asked_for(self.study, QueryDict()).whole

    @cached_property
    def counts(self) -> StudyCounts:
        # The report has the ratings' counts, if it covers these ratings.
        whole = self.freshness
        counted = None if whole.is_stale else stored_counts(whole.snapshot)
        plan = stored_plan(whole.snapshot)
        return study_counts(self.study, whole.now, counted=counted, plan=plan)

    @cached_property
    def possible(self) -> int | None:
        return still_possible(self.study, self.counts, self.counts.hits)

    @cached_property
    def accounting(self) -> Accounts:
        return accounts(self.study)

    @property
    def sees_people(self) -> bool:
        return self.frame.right >= Right.READ

    @cached_property
    def moving_facts(self) -> list[Fact]:
        return progress_facts(self.study, self.counts)

    @cached_property
    def slow_facts(self) -> list[Fact]:
        return people_facts(self.study, self.accounting) if self.sees_people else []

    @property
    def moving(self) -> dict[str, Any]:
        """What changes with every answer."""
        freshness = self.freshness
        return {
            "study": self.study,
            "frame": self.frame,
            "freshness": freshness,
            "snapshot": freshness.snapshot,
            "progress": self.counts,
            "finding": finding(self.frame, self.counts, freshness.now, self.possible),
            "moving_facts": self.moving_facts,
        }

    @property
    def picture(self) -> dict[str, Any]:
        """The picture of progress; an import has none, for it has no pace."""
        moments = None if self.freshness.is_stale else stored_moments(self.freshness.snapshot)
        is_collected = not self.study.is_imported and self.counts.completed
        figure = (
            progress_figure(self.study, self.counts, moments, self.freshness.now, self.possible)
            if is_collected
            else None
        )
        # The page begins with the finding.
        titled = figure and replace(figure, finding="Progress and pace", sentence="")
        return {"figure": titled, "criterion": "all"}

    @property
    def needing(self) -> dict[str, Any]:
        """What needs somebody, and the money; only for those who see participants."""
        return {
            "study": self.study,
            "frame": self.frame,
            "is_owner": self.frame.right >= Right.OWN,
            "needs": [*needs_of(self.study, self.accounting), *self._contested],
            "slow_facts": self.slow_facts,
        }

    @property
    def _contested(self) -> list[Need]:
        """The contested items, once no more answers come that could decide them."""
        is_over = self.frame.state in {StudyState.CLOSED, StudyState.IMPORTED}
        can_settle = is_over and self.frame.can_change
        return contested_need(self.study, self.freshness.snapshot) if can_settle else []

    @property
    def people(self) -> dict[str, Any]:
        """The first participants, who is worth a look before the others, and where people enter."""
        entries = self.accounting.ledger
        total = entries.totals.participants
        has_links = self.frame.state in WITH_LINKS
        most = self.accounting.maximum
        links = channel_links(self.request, self.study, most) if has_links else []
        to_send = (link for link in links if link.url and link.name == OPEN_LINK)
        return {
            "total": total,
            "people": first_people(entries, PEOPLE_SHOWN) if total else [],
            "unverified": entries.totals.unverified,
            "links": links,
            # What is to be done until somebody enters.
            "shared": None if total else next(to_send, None),
        }


@require_safe
@of_study(Right.SEE)
def collect(request: HttpRequest, study: Study) -> HttpResponse:
    shown = Collecting(request, study)
    prefetch_related_objects([study], "channels")
    note_counted(study, shown.counts, shown.freshness.now)
    is_draft = shown.frame.state in DRAFTS
    facts = [] if is_draft else in_order(shown.moving_facts + shown.slow_facts)
    context = shown.moving | shown.picture | {"facts": facts}
    if shown.sees_people:
        context |= shown.needing | shown.people
    return render(request, "metrics/collecting/collect.html", context)


@require_safe
@of_study(Right.SEE)
def numbers(request: HttpRequest, study: Study) -> HttpResponse:
    """Return what has changed to a page that is out of date.

    Pages poll this view, so it compares the state of the ratings before it counts them.
    """
    shown = Collecting(request, study)
    freshness = shown.freshness
    if request.GET.get("shown") == freshness.token:
        is_final = study.status == Study.Status.CLOSED and not freshness.is_refreshing
        return HttpResponse(status=STOP_POLLING if is_final else 204)
    has_newer = request.GET.get("statistics") != freshness.snapshot.watermark
    context = shown.moving | {"has_newer": has_newer} | (shown.picture if has_newer else {})
    return render(request, "metrics/collecting/updates.html", context)


@shows_study
def attention(request: HttpRequest, study: Study) -> HttpResponse:
    """Return what needs a person and the money, which the page asks for once a minute."""
    prefetch_related_objects([study], "channels")
    shown = Collecting(request, study).needing
    return render(request, "metrics/collecting/attention.html", shown)
