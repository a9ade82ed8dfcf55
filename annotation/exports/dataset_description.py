"""What the card and the Croissant metadata of an exported dataset say about its study.

Every statement comes from the stored study. What Tiebreak does not know, such as who the annotators
are, is said to be unknown.
"""

from collections.abc import Sequence

from django.db.models import Count, Max, Min

from annotation.counts import RatingCounts, rating_counts
from annotation.exports.codebook import (
    SENSITIVE,
    criteria_lines,
    selection_sentence,
    written_sentences,
)
from annotation.models.rating import RatingQuerySet
from annotation.selectors import erased_people
from studies.models import Screening, Study, Unit
from tiebreak.digits import percent
from tiebreak.formats.dataset_card import DatasetDescription, DataTable, cleaned

DEMOGRAPHICS = (
    "Unknown: Tiebreak asks annotators for no personal data. The researchers may know the filters of"
    " the platform by which annotators entered."
)
MAINTENANCE = "Not stated. Add a contact and a licence before publishing this dataset."
USES = (
    "Comparing the systems named here, measuring agreement of annotators and of machine raters, and"
    " training or evaluating preference models. Other uses were not examined."
)


def described(
    study: Study, ratings: RatingQuerySet, tables: Sequence[DataTable]
) -> DatasetDescription:
    """Describe the exported ratings of a study."""
    counts = rating_counts(ratings)
    about = _about(study, counts)
    return DatasetDescription(
        title=study.title,
        about=about,
        tables=tables,
        responsible=_responsible(study, ratings, counts, about),
        sections=_sections(study, ratings, counts),
    )


def _about(study: Study, counts: RatingCounts) -> str:
    systems = ", ".join(cleaned(system.name) for system in study.ordered_systems())
    text = (
        f"{counts.rows} ratings, {counts.counted} of them in the statistics ({counts.people} by"
        f" annotators, {counts.machines} by machine raters), from the study “{cleaned(study.title)}”."
    )
    if systems:
        text += f" Systems: {systems}."
    if counts.simulated:
        text += f" {counts.simulated} ratings were simulated by bots and are not data about people."
    return text


def _responsible(
    study: Study, ratings: RatingQuerySet, counts: RatingCounts, about: str
) -> dict[str, str | list[str]]:
    first, last = ratings.order_by().aggregate(a=Min("created_at"), z=Max("created_at")).values()
    machines = ratings.filter(rater__kind="machine").order_by("rater__pseudonym")
    return {
        "dataCollection": f"{about} {_people(ratings)}",
        "dataCollectionType": "Experiments",
        "dataCollectionTimeframe": [time.isoformat() for time in (first, last) if time],
        "dataCollectionMissingData": _missing(study, counts),
        "dataPreprocessingProtocol": selection_sentence(study),
        "dataManipulationProtocol": _flags(counts),
        "dataAnnotationProtocol": _protocol(study),
        "dataAnnotationPlatform": _platforms(ratings) or ["Unknown: the ratings were imported"],
        "dataAnnotationAnalysis": (
            "Agreement, win rates and their intervals are computed by `tiebreak analyze` from the"
            " ratings. Nothing was aggregated or corrected in the ratings themselves."
        ),
        "annotationsPerItem": _per_item(ratings),
        "annotatorDemographics": DEMOGRAPHICS,
        "machineAnnotationTools": list(
            dict.fromkeys(machines.values_list("rater__pseudonym", flat=True).distinct())
        ),
        "personalSensitiveInformation": SENSITIVE,
        "dataBiases": _biases(study),
        "dataLimitations": _limits(study, counts),
        "dataUseCases": USES,
        "dataSocialImpact": "Not assessed.",
        "dataReleaseMaintenancePlan": MAINTENANCE,
    }


def _sections(study: Study, ratings: RatingQuerySet, counts: RatingCounts) -> dict[str, str]:
    return {
        "Criteria": "\n".join(criteria_lines(study)),
        "Annotators": f"{_people(ratings)} {DEMOGRAPHICS}",
        "Protocol": _protocol(study),
        "How instances were drawn": selection_sentence(study),
        "Flagged ratings": _flags(counts),
        "Biases and limits": f"{_biases(study)} {_limits(study, counts)}",
        "Personal and sensitive information": SENSITIVE,
        "Uses": USES,
        "Licence and contact": MAINTENANCE,
    }


def _people(ratings: RatingQuerySet) -> str:
    people = ratings.filter(rater__kind="human", simulated=False)
    n = people.order_by().aggregate(n=Count("rater", distinct=True))["n"]
    platforms = ", ".join(_platforms(ratings)[1:]) or "not recorded, because ratings were imported"
    return f"Number of annotators: {n}. How they entered: {platforms}."


def _platforms(ratings: RatingQuerySet) -> list[str]:
    providers = ratings.filter(assignment__participation__isnull=False).order_by()
    names = providers.values_list("assignment__participation__provider", flat=True).distinct()
    return ["Tiebreak", *sorted(names)] if names else []


def _per_item(ratings: RatingQuerySet) -> str:
    people = ratings.in_statistics().filter(rater__kind="human").order_by()
    counts = people.values("unit", "criterion").annotate(n=Count("pk"))
    least, most = counts.aggregate(low=Min("n"), high=Max("n")).values()
    if least is None:
        return "None by annotators."
    return f"{least}" if least == most else f"{least} to {most}"


def _missing(study: Study, counts: RatingCounts) -> str:
    places = study.places.count()
    completed = study.places.filter(completed_at__isnull=False).count()
    erased = erased_people(study)
    stay = "stay without their identity" if study.erasure == Study.Erasure.KEEP else "were deleted"
    gone = f" People erased at their request: {erased}; their ratings {stay}." if erased else ""
    return (
        f"{completed} of {places} planned responses were completed. {counts.unparsed} answers of"
        " machine raters could not be parsed; their label is empty and raw holds the answer."
        f"{gone}"
    )


def _flags(counts: RatingCounts) -> str:
    return (
        "Ratings are never changed, and deleted only if that is the study's rule for people who ask to be"
        " erased; flags take them out of the statistics. Of the main"
        f" items' ratings, {counts.superseded} were corrected later, {counts.excluded} are excluded,"
        f" {counts.late} arrived after the study closed, {counts.partial} belong to unfinished tasks,"
        f" and {counts.surplus} are surplus. A rating with several flags is counted once."
    )


def _protocol(study: Study) -> str:
    criteria = "; ".join(
        f"{cleaned(c.name)} ({c.scale}): {cleaned(c.question)}" for c in study.criteria.all()
    )
    parts = [f"Criteria: {criteria}.", *written_sentences(study)]
    if study.participations.exists():
        parts += [
            f"Planned number of annotators for each task: {study.planned_ratings}. The side of each system and"
            " the order of items were balanced and random.",
            _screening(study),
        ]
    else:
        parts += ["The ratings were imported. How they were collected is not recorded here."]
    if study.guidelines.strip():
        parts.append(f"Guidelines: {study.guidelines.strip()}")
    return "\n\n".join(part for part in parts if part)


def _screening(study: Study) -> str:
    steps = Screening.objects.filter(study=study).first()
    if steps is None:
        return "There were no training items, no test and no gold checks."
    questions, gold = study.comprehension.count(), study.units.filter(role=Unit.Role.GOLD).count()
    return (
        f"Before the first task: {questions} comprehension questions, {steps.training_units} training"
        f" items, and a test of {steps.qualification_units} items. Gold checks: {gold} items, mixed"
        f" into {percent(steps.check_rate)} of the tasks."
    )


def _biases(study: Study) -> str:
    text = (
        "People's preferences between texts may depend on length, position and style rather than on"
        " quality; the columns chars_a, chars_b and side_a allow this to be checked."
    )
    if study.selected.exists():
        text += " Instances were drawn with unequal probabilities, so unweighted rates are biased."
    return text


def _limits(study: Study, counts: RatingCounts) -> str:
    text = (
        "The results apply to these systems, these instances and the annotators who took part, who are"
        " not a sample of any population."
    )
    if counts.simulated:
        text += f" {counts.simulated} of the counted ratings were given by bots."
    if study.dataset and study.dataset.instances.filter(generations__is_dummy=True).exists():
        text += " Some texts were invented to try the study out."
    return text
