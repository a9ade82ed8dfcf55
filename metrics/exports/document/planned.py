"""The analysis plan in a report document, and what departed from it by the study's log."""

from collections.abc import Iterator

from studies.design.analysis_plan import design_sha256
from studies.models import Study, StudyEvent
from tiebreak.digits import counted, in_digits
from tiebreak.reading.document.content import Block, DataTable, Paragraph
from tiebreak.report import Report
from tiebreak.report.model.stopping import StoppingSection

Verb = StudyEvent.Verb
NO_PLAN = (
    "No analysis plan was recorded here before the study opened. Results that were not planned"
    " elsewhere are exploratory."
)
RULES = dict(Study.StoppingRule.choices)


def plan_blocks(study: Study, report: Report) -> tuple[Block, ...]:
    """Return the plan as a table, with the digest that the log recorded at opening."""
    plan, opened = report.plan, _opening(study)
    if plan is None:
        return (Paragraph(NO_PLAN), *_digest(study, opened))
    width = "none" if plan.target_width is None else in_digits(plan.target_width)
    rows = (
        ("Main criteria", "; ".join(plan.main_criteria) or "all"),
        ("What is estimated", plan.estimands or "not stated"),
        ("Who will be excluded", plan.exclusions or "not stated"),
        ("When collecting ends", RULES.get(plan.stopping_rule, plan.stopping_rule)),
        ("Target width of the interval", width),
        ("Known order of the systems", "; ".join(plan.known_order) or "none"),
    )
    table = DataTable("Analysis plan, fixed before the study opened", ("Part", "Plan"), rows)
    return (table, *_digest(study, opened))


def _opening(study: Study) -> StudyEvent | None:
    return study.events.filter(verb=Verb.OPEN).order_by("pk").first()


def _digest(study: Study, opened: StudyEvent | None) -> Iterator[Paragraph]:
    digest = opened.details.get("design_sha256") if opened else None
    if opened is None or digest is None:
        yield Paragraph("No digest of the design was recorded when the study was opened.")
    elif digest == design_sha256(study):
        yield Paragraph(
            f"Design and plan were frozen on {opened.at:%Y-%m-%d %H:%M} UTC with the SHA-256 {digest};"
            " they are unchanged."
        )
    else:
        yield Paragraph(
            f"Design and plan were frozen on {opened.at:%Y-%m-%d %H:%M} UTC with the SHA-256 {digest},"
            " but they are different now."
        )


def departures(study: Study, report: Report) -> Iterator[Paragraph]:
    """Yield a sentence for each departure from the plan that the log or the report shows."""
    stopping = next((s.stopping for s in report.criteria.values() if s.stopping), None)
    if stopping is not None:
        yield from map(Paragraph, _of_collecting(study, stopping))
    events = [*study.events.filter(verb__in=(Verb.EXCLUDE, Verb.ACCEPT_LATE)).order_by("pk")]
    excluded = [event for event in events if event.verb == Verb.EXCLUDE]
    late = [event for event in events if event.verb == Verb.ACCEPT_LATE]
    if excluded:
        rule = report.plan.exclusions if report.plan else ""
        against = f"The plan said: “{rule}”" if rule else "The plan states no rule for this."
        yield Paragraph(
            f"After opening, annotators were excluded {counted(len(excluded), 'time')}. {against}"
        )
    if late:
        yield Paragraph(
            f"Answers that arrived after the study was closed were accepted {counted(len(late), 'time')}."
        )


def _of_collecting(study: Study, stopping: StoppingSection) -> Iterator[str]:
    completed, planned = stopping.responses, stopping.planned_responses
    by_plan = study.stopping_rule == Study.StoppingRule.COMPLETE
    if completed > planned:
        yield f"{completed} responses were collected, and {planned} were planned at opening."
    elif study.status == Study.Status.CLOSED and not stopping.is_reached and by_plan:
        yield (
            f"The study was closed early, after {completed} of {planned} planned responses. Its findings"
            " come from confidence sequences."
        )
    opened = _opening(study)
    r = opened.details.get("ratings_per_hit") if opened else None
    if r is not None and study.ratings_per_hit != r:
        yield f"R was raised from {r} to {study.ratings_per_hit} after opening."
