"""What may be concluded from a study while it runs: the report's section `stopping`.

The section needs the plan and the log, which files of ratings do not have, so the server adds it to
the reports of its studies.
"""

from dataclasses import dataclass, replace

from annotation.counts import progress_of
from annotation.planned_order import planned_pairs
from metrics.messages import NO_PAIRS_TO_WATCH
from studies.design.analysis_plan import main_criteria
from studies.models import Criterion, Study, StudyEvent
from tiebreak.report import Report
from tiebreak.report.model.stopping import StoppingSection
from tiebreak.report.sections.planning.stopping import pair_sequence, split_level

Verb = StudyEvent.Verb


@dataclass(frozen=True)
class _Opened:
    """What the log says was planned when the study opened, and whether it was reached."""

    ratings_per_hit: int
    responses: int
    completed: int
    is_reached: bool


def with_stopping(report: Report, study: Study) -> Report:
    """Return a report of all ratings with the section `stopping`, if the study was opened here."""
    opened = _opened(study)
    if opened is None:
        return report
    criteria = {criterion.name: criterion for criterion in study.criteria.all()}
    # Pairs of systems times main criteria, which is fixed at opening.
    statements = len(study.system_pairs()) * len(_watched_criteria(study))
    sections = {
        name: replace(section, stopping=_section(study, criteria[name], opened, statements))
        if name in criteria
        else section
        for name, section in report.criteria.items()
    }
    return replace(report, criteria=sections)


def _watched_criteria(study: Study) -> list[Criterion]:
    main = main_criteria(study)
    preferences = [c for c in study.criteria.all() if c.parsed_scale.kind == "preference"]
    return [criterion for criterion in preferences if not main or criterion.name in main]


def _opened(study: Study) -> _Opened | None:
    """Return the plan at the first opening. Studies that were opened elsewhere have none here."""
    events = list(study.events.filter(verb__in=(Verb.OPEN, Verb.CLOSE)).order_by("pk"))
    first = next((event for event in events if event.verb == Verb.OPEN), None)
    if first is None or "responses" not in first.details:
        return None
    now, planned = progress_of(study), first.details
    ends = [(now.places, now.completed)]
    closed = [event.details for event in events if event.verb == Verb.CLOSE]
    ends += [(details.get("places", 0), details.get("completed", 0)) for details in closed]
    return _Opened(
        ratings_per_hit=planned["ratings_per_hit"],
        responses=planned["responses"],
        completed=now.completed,
        # More places than planned, or more responses, were decided after a look at the data, and
        # a study that may end by its sequence has no planned number.
        is_reached=study.stopping_rule == Study.StoppingRule.COMPLETE
        and now.places == planned["places"]
        and (planned["places"], planned["responses"]) in ends,
    )


def _section(
    study: Study, criterion: Criterion, opened: _Opened, statements: int
) -> StoppingSection:
    watched = criterion.pk in {c.pk for c in _watched_criteria(study)}
    pairs = (
        planned_pairs(study, criterion, ratings_per_hit=opened.ratings_per_hit) if watched else []
    )
    return StoppingSection(
        is_reached=opened.is_reached,
        responses=opened.completed,
        planned_responses=opened.responses,
        statements=statements,
        confidence_level=split_level(statements),
        pairs={" vs ".join(p.systems): pair_sequence(p, statements=statements) for p in pairs},
        reason=None if pairs else NO_PAIRS_TO_WATCH,
    )
