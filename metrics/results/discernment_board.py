"""Raters by their discernment in several studies, each of which is a task."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser, User

from annotation.filters import EVERYTHING
from metrics.models import SectionSnapshot
from metrics.results.sections import stored_section
from studies.access import Right, studies_of
from studies.models import Study
from tiebreak.digits import counted
from tiebreak.reading.shown import Number, number
from tiebreak.report.model.discernment import DiscernmentSection
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import undefined

MAX_STUDIES = 50
NOT_HERE = "This rater has no discernment in this study."
NOT_IN_ALL = "The rater lacks a study, so its mean would not be comparable."


@dataclass(frozen=True)
class BoardRow:
    """A rater with its average D in each study, and their mean."""

    rater: str
    scores: tuple[Estimate, ...]

    @property
    def mean(self) -> Estimate:
        if not all(one.is_defined for one in self.scores):
            return undefined(NOT_IN_ALL)
        return Estimate(
            sum(one.value for one in self.scores) / len(self.scores), n=len(self.scores)
        )

    @property
    def numbers(self) -> list[Number]:
        return [number(one) for one in (*self.scores, self.mean)]


def board_of(study: Study, chosen: Collection[str], user: User | AnonymousUser) -> dict[str, Any]:
    """Return the other studies with stored discernment that the user sees, and the board of those chosen."""
    seen = studies_of(user, Right.SEE)
    snapshots = SectionSnapshot.objects.filter(
        name="discernment", report__study__in=seen, report__digest=EVERYTHING.digest
    )
    stored = {
        snapshot.report.study: section
        for snapshot in snapshots.select_related("report__study").order_by("pk")[:MAX_STUDIES]
        if (section := _section(snapshot)) is not None
    }
    shown = {one: s for one, s in stored.items() if one == study or one.pk in chosen}
    others = [(one, one in shown) for one in stored if one != study]
    heads = [*(f"{one} ({counted(_texts(s), 'text')})" for one, s in shown.items()), "Mean"]
    rows = [(row.rater, zip(heads, row.numbers, strict=True)) for row in rows_of(shown)]
    return {"others": others, "board": {"heads": heads, "rows": rows} if len(shown) > 1 else None}


def rows_of(sections: dict[Study, DiscernmentSection]) -> list[BoardRow]:
    """Return the raters, those with the highest mean first; those that lack a study come last."""
    raters = dict.fromkeys(rater for section in sections.values() for rater in section.all_criteria)
    rows = [
        BoardRow(rater, tuple(_average(section, rater) for section in sections.values()))
        for rater in raters
    ]
    return sorted(rows, key=lambda row: (not row.mean.is_defined, -row.mean.value, row.rater))


def _average(section: DiscernmentSection, rater: str) -> Estimate:
    of = section.all_criteria.get(rater)
    return of.average if of else undefined(NOT_HERE)


def _section(snapshot: SectionSnapshot) -> DiscernmentSection | None:
    """Return what is stored of any criterion: over all criteria, they all say the same."""
    found: Iterator[Any] = (stored_section(snapshot, name) for name in snapshot.content or ())
    return next((one.part for one in found if one and one.part is not None), None)


def _texts(section: DiscernmentSection) -> int:
    tests = [test for one in section.raters.values() for test in one.tests.values()]
    return max((test.pairs for test in tests), default=0)
