"""A study's ratings as a table, in the format of the export, and its stored report."""

from datetime import datetime
from itertools import chain
from typing import Any

from annotation.counts import CountedRatings, PlanCounts, RatingCounts
from annotation.exports.ratings import rating_batches, rating_rows
from annotation.filters import EVERYTHING, Filter, ratings_in, separability_ends
from annotation.pilot_doubts import pilot_machine_rows
from machine_raters.models import MachineRater
from metrics.models import ReportSnapshot
from metrics.results.rater_rows import put_back
from studies.design.analysis_plan import PLAN
from studies.models import Study
from tiebreak.formats import FormatError, RatingTable
from tiebreak.formats.lines import Batch
from tiebreak.formats.ratings import canonical_digest, ratings_of
from tiebreak.report import REPORT_VERSION, Report
from tiebreak.report.analysis_plan import ELO_SETTINGS, elo_constants_of, plan_of
from tiebreak.report.families import parsed_families
from tiebreak.report.model.report import Origin
from tiebreak.report.registry import after_closing
from tiebreak.report.source import Source


def rating_table(study: Study, chosen: Filter = EVERYTHING) -> RatingTable:
    """Return the study's ratings, or a part of them, including flagged ones.

    The ratings of a study drawn by machine raters' doubt include its pilot's machine ratings.
    """
    ratings = ratings_in(study, chosen)
    pilot = list(pilot_machine_rows(study)) if chosen == EVERYTHING else []
    of_pilot: Batch = {name: [row[name] for row in pilot] for name in pilot[0]} if pilot else {}
    batches = (columns() for columns in rating_batches(study, ratings))
    table = ratings_of(chain(batches, [of_pilot] * bool(pilot)), study.title)
    if table is None:  # the reader of rows says what is wrong
        rows = chain(rating_rows(study, ratings), pilot)
        return RatingTable.from_rows(rows, name=study.title)
    return table


def source_of(study: Study, chosen: Filter = EVERYTHING) -> Source:
    """Return the study, or a part of it, as the source of a report."""
    table = rating_table(study, chosen)
    scales = {criterion.name: criterion.scale for criterion in study.criteria.all()}
    origin = Origin("study", canonical_digest(table), chosen.values or None)
    plan = plan_of({name: getattr(study, name) for name in PLAN})
    return Source(
        *(table, scales, origin, plan, is_closed(study.pk), study.main_machine),
        simple_raters=simple_raters_of(study),
        separability_ends=separability_ends(study) if chosen else {},
        elo_constants=elo_constants_of({name: getattr(study, name) for name in ELO_SETTINGS}),
        families=parsed_families(study.families),
    )


def simple_raters_of(study: Study) -> tuple[str, ...]:
    """Return the names of the machine raters that follow a simple rule."""
    simple = study.machine_raters.filter(kind=MachineRater.Kind.BASELINE)
    return tuple(simple.order_by("rater__pseudonym").values_list("rater__pseudonym", flat=True))


def is_closed(public_id: str) -> bool:
    """Return whether a study is closed, so votes that were set aside may be shown.

    While answers can still be left out or let in, knowing what they do to the outcome would be a
    selection on the outcome.
    """
    return Study.objects.filter(pk=public_id, status=Study.Status.CLOSED).exists()


def study_named(public_id: str) -> Study:
    """Return the study with this public id. Raises `FormatError` if there is none."""
    study = Study.objects.filter(pk=public_id).first()
    if study is None:
        reason = "is not the path of a file or bundle, nor the id of a study"
        raise FormatError.of(public_id, None, "no_such_source", reason)
    return study


def is_simulated(study: Study) -> bool:
    """Return whether bots gave some of the ratings in the newest report, without reading it."""
    return study.report_snapshots.filter(digest="", report__simulated=True).exists()


def stored_report(snapshot: ReportSnapshot, *, with_raters: bool = True) -> Report | None:
    """Return the stored report, or None if there is none in the current version of the format.

    Without what it has of each annotator, it is read much faster. Votes that were set aside are left
    out if the study was reopened, as a newer report leaves them out.
    """
    stored = snapshot.report
    if stored is None or stored["report_version"] != REPORT_VERSION:
        return None
    closing, criteria = {*after_closing()}, stored["criteria"].values()
    if any(closing & about.keys() for about in criteria) and not is_closed(snapshot.study_id):
        for about in criteria:
            for name in closing & about.keys():
                del about[name]
    if with_raters:
        put_back(stored["criteria"], snapshot.per_rater.get("report", {}))
    return Report.from_json(stored)


def stored_rows(snapshot: ReportSnapshot, *, with_raters: bool = True) -> dict[str, Any]:
    """Return what pages show next to the report, by criterion."""
    rows: dict[str, Any] = snapshot.page_rows
    if with_raters:
        put_back(rows, snapshot.per_rater.get("rows", {}))
    return rows


def stored_counts(snapshot: ReportSnapshot) -> CountedRatings | None:
    """Return the numbers of ratings that were stored with the report, or None."""
    stored = snapshot.counted
    if stored is None:
        return None
    return CountedRatings(RatingCounts(**stored["rows"]), stored["annotators"])


def stored_plan(snapshot: ReportSnapshot) -> PlanCounts | None:
    """Return the size of the plan that was stored with the report, or None."""
    return None if snapshot.plan is None else PlanCounts(**snapshot.plan)


def stored_moments(snapshot: ReportSnapshot) -> list[tuple[datetime, int]]:
    """Return how many responses were complete at which times when the report was made."""
    return [(datetime.fromisoformat(when), n) for when, n in snapshot.completed]
