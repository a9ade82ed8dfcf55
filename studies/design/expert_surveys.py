"""A survey in which experts say which criterion each perturbation of a scoring study damages most.

It is a separate draft study, made from a template: an item for each perturbation, with a text of the
scoring study as the source, its perturbed copy, and the names of the study's criteria as choices.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from django.contrib.auth.models import User
from django.core.exceptions import ObjectDoesNotExist, ValidationError
from django.db import transaction

from studies.access import Right, right_in
from studies.design.protocols import Protocol, create_from_protocol, protocol_named
from studies.models import Criterion, Dataset, Generation, Instance, Study, StudyEvent, System
from studies.models.study import validate_scale
from studies.services import LONGEST_TITLE, record_event, use_dataset_systems
from tiebreak.errors import DomainError
from tiebreak.formats.dataset_card import cleaned
from tiebreak.scales import Scale

TEMPLATE = "dhp-weights"
NONE = "none"
TITLE = "Experts' survey: {}"
MIN_CRITERIA = 2
MAX_ITEMS = 100  # of a task
# How many copies are tried until one has its original.
COPIES_TRIED = 50
MAX_SCALE = Criterion._meta.get_field("scale").max_length or 0

NOT_SCORING = (
    "Experts' votes weigh the criteria of a study that scores single texts, and this one compares two"
    " texts at a time. Make the survey from a scoring study with perturbed copies."
)
TOO_FEW_CRITERIA = (
    "In the survey, experts choose from the study's criteria, so there must be two or more; this study"
    " has {}. Add criteria in the Task step."
)
NO_COPIES = (
    "The survey shows a perturbed copy of each kind next to its original, and this study has none with"
    " its original. Add perturbed copies in the Data step first."
)
NOT_LABELS = (
    "The names of these criteria cannot be the survey's choices: {}. A choice has one line, no comma, no space"
    " around it, and is not “none”, which the survey offers itself; all together have at most"
    " {} characters. Rename the criteria in the Task step, or clone the study to do so."
)
OTHERS_SURVEY = (
    "A survey was already made from this study, and you are not a member of it. Ask the other editors"
    " of this study who owns the survey so that they can add you."
)


@dataclass(frozen=True)
class ExpertSurvey:
    """The survey of a scoring study, and whether it was made now or existed already."""

    survey: Study
    is_new: bool


@dataclass(frozen=True)
class Example:
    """A text and its copy, which show experts what a perturbation does."""

    perturbation: str
    original: Generation
    copy: Generation


def survey_of(study: Study) -> Study | None:
    """Return the survey that was made from a scoring study, or None."""
    try:
        return study.expert_survey
    except ObjectDoesNotExist:
        return None


@transaction.atomic
def make_expert_survey(*, study: Study, owner: User) -> ExpertSurvey:
    """Create the draft of a survey whose votes can weigh the study's criteria, or return it.

    The study must score single texts on two or more criteria, and have perturbed copies. Afterwards
    the owner has a draft with a dataset of one example per perturbation, and both studies' logs say
    so. A study has one survey: if it exists, it is returned unchanged. Raises `DomainError` for a
    study that cannot have one, or if the survey belongs to others. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    existing = survey_of(study)
    if existing is not None:
        if right_in(owner, existing) < Right.READ:
            raise DomainError("survey_of_others", OTHERS_SURVEY)
        return ExpertSurvey(existing, is_new=False)
    if study.unit_kind != Study.UnitKind.GENERATION:
        raise DomainError("not_a_scoring_study", NOT_SCORING)
    criteria = list(study.criteria.all())
    scale = _scale([criterion.name for criterion in criteria])
    examples = list(_examples(study))
    if not examples:
        raise DomainError("no_perturbed_copies", NO_COPIES)
    title = TITLE.format(study.title)[:LONGEST_TITLE].rstrip()
    protocol = _protocol(study, criteria, scale, len(examples))
    survey = create_from_protocol(protocol=protocol, owner=owner, title=title)
    survey.dataset, survey.survey_for = _dataset(title, examples, owner), study
    survey.save(update_fields=["dataset", "survey_for"])
    use_dataset_systems(study=survey)
    _record(study, survey, examples, owner)
    return ExpertSurvey(survey, is_new=True)


def _scale(names: Sequence[str]) -> str:
    """Return the scale that has exactly these names, and none, as labels; or refuse."""
    if len(names) < MIN_CRITERIA:
        raise DomainError("too_few_criteria", TOO_FEW_CRITERIA.format(len(names) or "none"))
    unusable = [n for n in names if not _is_choice(n)]
    spec = f"nominal:{','.join((*names, NONE))}"
    if unusable or len(spec) > MAX_SCALE or not _has_labels(spec, (*names, NONE)):
        shown = ", ".join(f"“{name}”" for name in unusable or names)
        raise DomainError("names_are_no_labels", NOT_LABELS.format(shown, MAX_SCALE))
    return spec


def _is_choice(name: str) -> bool:
    is_one_line = name.splitlines() == [name]
    return is_one_line and "," not in name and name == name.strip() and name.casefold() != NONE


def _has_labels(spec: str, labels: tuple[str, ...]) -> bool:
    try:
        validate_scale(spec)
    except ValidationError:
        return False
    return Scale.parse(spec).labels == labels


def _examples(study: Study) -> Iterator[Example]:
    """Yield one example per perturbation: the first copy that differs from its stored original."""
    copied = study.systems.exclude(perturbation="").order_by("perturbation")
    for name in copied.values_list("perturbation", flat=True).distinct():
        example = _example(study, name)
        if example is not None:
            yield example


def _example(study: Study, perturbation: str) -> Example | None:
    copies = Generation.objects.filter(
        system__studies=study, system__perturbation=perturbation, is_dummy=False
    )
    for copy in copies.select_related("system", "instance").order_by("instance", "pk")[
        :COPIES_TRIED
    ]:
        original = Generation.objects.filter(
            instance=copy.instance_id,
            system=copy.system.perturbed_from_id,
            sample_index=copy.sample_index,
        ).first()
        if original is not None and original.text != copy.text:
            return Example(perturbation, original, copy)
    return None


def _protocol(study: Study, criteria: Sequence[Criterion], scale: str, items: int) -> Protocol:
    """Return the template with the study's criteria as choices, and all items in one task."""
    protocol = protocol_named(TEMPLATE)
    settings = {
        "comparisons_per_hit": min(items, MAX_ITEMS),
        "source_format": study.generation_format,
        "generation_format": study.generation_format,
        "source_label": "Original text",
    }
    return replace(
        protocol,
        guidelines=f"{protocol.guidelines}\n\n{_choices_in_words(criteria)}",
        settings={**protocol.settings, **settings},
        criteria=({**protocol.criteria[0], "scale": scale},),
    )


def _choices_in_words(criteria: Sequence[Criterion]) -> str:
    lines = [f"* **{cleaned(one.name)}**: {cleaned(one.question)}" for one in criteria]
    return "\n".join(
        ["The qualities, with the question that raters answer about each:", "", *lines]
    )


def _dataset(title: str, examples: Sequence[Example], owner: User) -> Dataset:
    """Store each example as an instance: the original as its source, the copy as its only text."""
    dataset = Dataset.objects.create(name=title, created_by=owner)
    for example in examples:
        instance = Instance.objects.create(
            dataset=dataset,
            key=example.perturbation,
            source=example.original.text,
            metadata={"instance": example.copy.instance.key},
        )
        system = System.objects.create(dataset=dataset, name=example.perturbation)
        Generation.objects.create(
            instance=instance,
            system=system,
            sample_index=0,
            text=example.copy.text,
            params=example.copy.params,
        )
    return dataset


def _record(study: Study, survey: Study, examples: Sequence[Example], by: User) -> None:
    """Enter the survey into both logs."""
    details: Mapping[str, object] = {
        "study": str(study),
        "survey": str(survey),
        "perturbations": [example.perturbation for example in examples],
    }
    for logged in (study, survey):
        record_event(study=logged, verb=StudyEvent.Verb.EXPERT_SURVEY, by=by, details=details)
