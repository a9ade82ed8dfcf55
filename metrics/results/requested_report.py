"""Which report an address asks for, of a study or of a part of it, and how fresh it is."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.http import HttpResponse

from annotation.filters import EVERYTHING, Filter
from metrics.messages import EMPTY_PART, OF_A_PART
from metrics.models import ReportSnapshot
from metrics.results.filters import FilterForm, Part, asked_values
from metrics.results.services import ensure_fresh, watermark_now
from studies.models import Study
from tiebreak.errors import DomainError

# While a report that was asked for so long ago is being made, pages ask more often whether it is there.
SOON, POLL_MS, POLL_MS_SOON = timedelta(seconds=5), 500, 250


@dataclass(frozen=True)
class Freshness:
    """The newest report, the state of the study's ratings, and why no newer report was requested."""

    snapshot: ReportSnapshot
    state: str
    status: str
    problem: DomainError | None
    now: datetime

    @property
    def is_stale(self) -> bool:
        return self.snapshot.watermark != self.state

    @property
    def is_refreshing(self) -> bool:
        return self.is_stale and bool(self.snapshot.requested)

    @property
    def poll_ms(self) -> int:
        """After how many milliseconds a page asks for news."""
        asked_at = self.snapshot.requested_at
        is_soon = self.is_refreshing and asked_at is not None and self.now - asked_at < SOON
        return POLL_MS_SOON if is_soon else POLL_MS

    @property
    def token(self) -> str:
        """Digest of everything that the page depends on; equal tokens mean an equal page."""
        problem = self.problem.code if self.problem else ""
        told = (self.status, self.is_refreshing, self.poll_ms, problem)
        parts = (self.state, self.snapshot.watermark, *told)
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Asked:
    """What an address asks for: the form with its filter, and the report of that part.

    `whole` is the report of the whole study, and `part` is None if the filter is refused.
    """

    whole: Freshness
    freshness: Freshness
    form: FilterForm
    part: Part | None
    values: Mapping[str, str] = field(default_factory=dict)

    @property
    def problems(self) -> list[str]:
        """Why the filter is refused."""
        return self.form.problems if self.part is None else []

    @property
    def query(self) -> str:
        """What other pages need at the end of their address to show the same part."""
        address = "" if self.part is None else urlencode(self.values)
        return f"?{address}" if address else ""

    @property
    def chosen(self) -> Filter:
        return self.part.chosen if self.part else EVERYTHING

    @property
    def context(self) -> dict[str, Any]:
        """What every page says about the part of the ratings that it shows."""
        return {
            "part": self.part or Part(),
            "of_a_part": OF_A_PART,
            "empty_part": EMPTY_PART,
            "filter_query": self.query,
            "filter_more": self.query.replace("?", "&", 1),
        }

    def filtering(self, criterion: str) -> dict[str, Any]:
        """Return what a page shows of the filter: the form, what it chose, and why it is refused."""
        return {
            "filter_form": self.form if self.whole.snapshot.choices else None,
            "problems": self.problems,
            "chips": (self.part or Part()).chips(criterion),
            **self.context,
        }

    def refusal(self) -> HttpResponse:
        """Return the answer to an address whose filter is refused, where no page shows the filter."""
        sentences = "\n".join(self.problems)
        return HttpResponse(sentences, status=HTTPStatus.BAD_REQUEST, content_type="text/plain")


def asked_for(study: Study, query: Mapping[str, str]) -> Asked:
    """Return the report that an address asks for, and request a newer one if it is outdated.

    Which filters there are is known once the whole study has a report so that one comes first.
    """
    whole = _freshness_of(study, EVERYTHING, *watermark_now(study))
    form = FilterForm(whole.snapshot.choices, query)
    values = asked_values(query)
    if not values:
        return Asked(whole, whole, form, Part())
    nothing = replace(whole, snapshot=ReportSnapshot(requested=whole.snapshot.requested))
    if not whole.snapshot.choices:
        return Asked(whole, nothing, form, Part(), values)
    if not form.is_valid():
        return Asked(whole, nothing, form, None)
    part = Part(form.filter)
    freshness = _freshness_of(study, part.chosen, whole.state, whole.now)
    return Asked(whole, freshness, form, part, part.chosen.values)


def _freshness_of(study: Study, chosen: Filter, state: str, now: datetime) -> Freshness:
    problem = None
    try:
        snapshot = ensure_fresh(study=study, chosen=chosen, state=state, now=now)
    except DomainError as error:
        snapshot, problem = ReportSnapshot.objects.get(study=study, digest=chosen.digest), error
    return Freshness(snapshot, state, study.status, problem, now)
