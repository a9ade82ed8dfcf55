"""What a report document says about its study: design, participants, ratings, deviations."""

from collections import defaultdict
from collections.abc import Iterator

from django.db.models import Case, Count, Q, QuerySet, Value, When

from annotation.counts import StudyCounts
from annotation.exports.codebook import draw_sentence
from annotation.exports.ratings import SET_ASIDE
from annotation.models import HIT, Assignment, Participation, Rating
from annotation.selectors import PAID_TASK, erased_people, exclusions
from metrics.planning.score_distributions import scored_similarities
from studies.models import Screening, Study, StudyEvent
from tiebreak.digits import counted, percent
from tiebreak.reading.document.content import DataTable
from tiebreak.reading.words import RATING_GROUPS, scale_in_words
from tiebreak.similarity import similarity_title

NO_FLOW = (
    "Nobody entered this study through a page of this server: the ratings were imported, so entry,"
    " consent and screening are not recorded here."
)
ONLY_BOTS = "{} and no person entered this study through its pages."
ALSO_BOTS = "{} also entered this study. The flow of participants has people only."
SIMULATED = (
    "Simulated. {} were given by bots, not by people. The numbers show how the report works; do not draw"
    " conclusions about the texts from them."
)

# Events that change which answers and tests count, how many there are, or which number leads.
DEVIATIONS = (
    StudyEvent.Verb.PAUSE,
    StudyEvent.Verb.CLOSE,
    StudyEvent.Verb.REOPEN,
    StudyEvent.Verb.EXCLUDE,
    StudyEvent.Verb.REINSTATE,
    StudyEvent.Verb.ERASE,
    StudyEvent.Verb.SET_ASIDE,
    StudyEvent.Verb.PUT_BACK,
    StudyEvent.Verb.EXCLUDE_MACHINE,
    StudyEvent.Verb.REINSTATE_MACHINE,
    StudyEvent.Verb.REJECT,
    StudyEvent.Verb.ACCEPT_LATE,
    StudyEvent.Verb.DECLINE_LATE,
    StudyEvent.Verb.MAIN_MACHINE,
    StudyEvent.Verb.ANALYSIS,
)


def design_table(study: Study, counts: StudyCounts) -> DataTable:
    systems = ", ".join(system.name for system in study.ordered_systems())
    rows: list[tuple[str, str]] = [
        ("Systems, in order (the first is A)", systems or "none"),
        ("What an item is", study.get_unit_kind_display()),
        ("Instances", str(counts.instances)),
        ("Items", str(counts.units)),
        ("Tasks", str(counts.hits)),
        ("Items per task (N)", str(study.comparisons_per_hit)),
        ("Responses per task (R)", str(study.planned_ratings)),
        ("Planned repeats", str(counts.repeats)),
        ("Instances drawn", draw_sentence(study)),
        ("Before the first task", _screening(study)),
    ]
    if has_separability(study):
        similarity = similarity_title(study.similarity)
        rows.append(("Similarity behind separability (δ)", similarity))
    return DataTable("Design of the study", ("Part", "Value"), tuple(rows))


def has_separability(study: Study) -> bool:
    return study.similarity in scored_similarities(study)


def _screening(study: Study) -> str:
    if not study.participations.exists():
        return "not recorded here, because nobody entered through this server"
    steps = Screening.objects.filter(study=study).first()
    if steps is None:
        return "guidelines and consent only"
    return (
        f"{study.comprehension.count()} comprehension questions, {steps.training_units} training"
        f" items, a test of {steps.qualification_units} items; gold checks in {percent(steps.check_rate)}"
        " of the tasks"
    )


def criteria_table(study: Study) -> DataTable:
    rows = tuple((c.name, scale_in_words(c.scale), c.question) for c in study.criteria.all())
    return DataTable("Criteria", ("Criterion", "Scale", "Question"), rows)


def flow_table(study: Study) -> DataTable | None:
    """Return how many people reached each step, or None if none entered here."""
    people = study.participations.filter(simulated=False)
    if not people.exists():
        return None
    assigned = Assignment.objects.filter(
        participation__in=people, hit__kind=HIT.Kind.MAIN
    ).order_by()
    completed = assigned.filter(PAID_TASK)  # also by those who were excluded later
    screened_out = people.filter(status=Participation.Status.SCREENED_OUT).count()
    rows = [
        ("Entered", people.count()),
        ("Consented", people.filter(consented_at__isnull=False).count()),
        ("Passed all steps before the first task", people.filter(cleared_at__isnull=False).count()),
        ("Screened out", screened_out),
        ("Were given a task", _people(assigned)),
        ("Completed at least one task", _people(completed)),
        ("Excluded", people.filter(status=Participation.Status.EXCLUDED).count()),
        ("Erased at their request", erased_people(study)),
    ]
    texts = tuple((step, str(n)) for step, n in rows)
    return DataTable("Flow of participants", ("Step", "Participants"), texts)


def entry_sentence(study: Study) -> str:
    """Return who entered beyond the people in the flow of participants; empty if nobody did."""
    everybody, bots = study.participations, study.participations.filter(simulated=True).count()
    if not everybody.exists():
        return NO_FLOW
    if bots == everybody.count():
        return ONLY_BOTS.format(counted(bots, "bot"))
    return ALSO_BOTS.format(counted(bots, "bot")) if bots else ""


def _people(assignments: QuerySet[Assignment]) -> int:
    return int(assignments.aggregate(n=Count("participation", distinct=True))["n"])


def exclusion_table(study: Study) -> DataTable | None:
    is_aside = Q(unit__set_aside=True)
    excluded = Rating.objects.filter(is_aside | Q(excluded=True), unit__study=study)
    reason = Case(When(is_aside, then=Value(SET_ASIDE)), default="excluded_reason")
    by_rater = (
        excluded.annotate(why=reason)
        .order_by("why", "rater")
        .values_list("why", "rater__pseudonym")
        .annotate(n=Count("pk"))
    )
    names = {str(value): str(label) for value, label in Participation.Status.choices}
    logged, groups = exclusions(study), defaultdict[str, list[int]](list)
    for why, rater, n in by_rater:
        is_by_person = why == Participation.Status.EXCLUDED and rater in logged
        typed = logged[rater].details.get("reason", "") if is_by_person else ""
        stated = names.get(why, why) or "not stated"
        groups[f"{stated}: {typed}" if typed else stated].append(n)
    if not groups:
        return None
    rows = tuple((why, str(len(n)), str(sum(n))) for why, n in groups.items())
    return DataTable("Exclusions by reason", ("Reason", "Raters", "Ratings"), rows)


def ratings_table(counts: StudyCounts) -> DataTable:
    rows = tuple((group, str(getattr(counts.rows, kind))) for kind, group in RATING_GROUPS.items())
    rows += (("All rows of the export", str(counts.rows.rows)),)
    return DataTable("Ratings; each is in exactly one group", ("Group", "Ratings"), rows)


def deviation_table(study: Study) -> DataTable | None:
    """Return what happened to the study while it ran, as far as its log records it."""
    events = study.events.filter(verb__in=DEVIATIONS).order_by("pk")
    rows = tuple(
        (f"{event.at:%Y-%m-%d %H:%M} UTC", event.get_verb_display(), event.details_in_words)
        for event in events
    )
    if not rows:
        return None
    return DataTable("From the study's log", ("Time", "What was done", "Details"), rows)


def ratings_by_bots(counts: StudyCounts) -> str:
    """Return how many of the annotators' ratings bots gave. Ratings by machine raters are others."""
    return f"{counts.simulated} of {counted(counts.rows.people, 'counted rating')} by annotators"


def simulated_notice(counts: StudyCounts) -> str:
    """Return what a reader must know before anything else; empty if no rating is simulated."""
    return SIMULATED.format(ratings_by_bots(counts)) if counts.simulated else ""


def limitations(study: Study, counts: StudyCounts) -> Iterator[str]:
    """Yield the limits that follow from the stored study, as sentences."""
    yield (
        "Annotators are not a random sample of a population, and their demographics are unknown to"
        " Tiebreak. Where a table says that its numbers apply to these annotators, they say nothing about"
        " other annotators."
    )
    if counts.simulated:
        yield f"{ratings_by_bots(counts)} were given by bots."
    if counts.unverified > 1:
        yield (
            f"{counts.unverified} participants entered by a link that no platform verifies, so one"
            " person may have taken part more than once."
        )
    if counts.remaining:
        yield f"{counts.remaining:,} of {counts.places:,} planned responses were not completed."
    if counts.rows.unparsed:
        yield f"{counts.rows.unparsed} answers of machine raters could not be parsed."
    if study.selected.exists():
        yield (
            "Instances were drawn with unequal probabilities. Win rates, strengths, biases and"
            " agreement are weighted and describe the whole dataset where a control sample covers it;"
            " all other numbers describe the selected instances."
        )
