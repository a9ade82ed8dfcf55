"""Perturbed copies of generations: worse than the originals in a known way, and marked as copies."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from studies.data.dataset_jobs import dataset_of
from studies.models import Generation, Study, StudyEvent, StudySystem, System
from studies.services import is_frozen, record_event, use_dataset_systems
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.perturbations import Perturbation, PerturbedText, perturbation_named, perturbed

MAX_COPIES = 20_000
# So many texts of other instances are tried until one has a passage to take.
OTHERS_TRIED = 20
BATCH = 1000
MAX_NAME = 200  # of the field


@dataclass(frozen=True)
class CopiesMade:
    """How many copies were made, and of how many texts none could be made, by reason code."""

    copies: int
    systems: tuple[str, ...]
    refused: Mapping[str, int]


def perturbed_copy(text: str, name: str, *, seed: int, others: Sequence[str]) -> PerturbedText:
    """Return a copy that takes its passages from the first of the other texts that has some.

    Raises `InvalidInput` if the text cannot be changed in this way.
    """
    if not perturbation_named(name).needs_other_text:
        return perturbed(text, name, seed=seed)
    refusal = InvalidInput("no_other_text", "There is no other text to take a passage from.")
    for other in others[:OTHERS_TRIED]:
        try:
            return perturbed(text, name, seed=seed, other=other)
        except InvalidInput as error:
            refusal = error
    raise refusal


def what_was_changed(
    copy: PerturbedText, original: Generation, made_by: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the parameters of a copy: of what it is a copy, every edit, and who made it, if a model."""
    return {
        "perturbation": {
            "name": copy.name,
            "seed": copy.seed,
            "system": original.system.name,
            "sample_index": original.sample_index,
            "edits": [[edit.position, edit.before, edit.after] for edit in copy.edits],
            **(made_by or {}),
        }
    }


@transaction.atomic
def add_perturbed_copies(
    *, study: Study, names: Sequence[str], seed: int = 0, by: User | None = None
) -> CopiesMade:
    """Add perturbed copies of a scoring study's texts, as systems that are marked as copies.

    Each perturbation of each system becomes a system of the dataset, and is scored in the study as
    the originals are. Copies that exist already are kept. Raises `DomainError` unless the study is a
    draft that scores single texts, or if nothing could be copied. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    check_can_copy(study, names, perturbation_named)
    use_dataset_systems(study=study)
    originals = originals_of(study)
    refused: Counter[str] = Counter()
    copies: list[Generation] = []
    for original in originals:
        texts = list(
            Generation.objects.filter(system=original, is_dummy=False)
            .select_related("system")
            .order_by("instance", "sample_index")
        )
        if len(copies) + len(texts) * len(names) > MAX_COPIES:
            raise DomainError("too_many_copies", TOO_MANY.format(MAX_COPIES))
        for name in names:
            system = system_of_copies(original, name, f"perturbed: {name}")
            copies += _new_copies(system, texts, seed, refused)
    if not copies and refused:
        raise DomainError("no_copies", NO_COPIES.format(reasons_in_words(refused)))
    Generation.objects.bulk_create(copies, batch_size=BATCH)
    of_rules = System.objects.filter(perturbed_from__in=originals, perturbation__in=names)
    of_rules.filter(generations=None).delete()
    systems = add_to_study(study, of_rules)
    made = CopiesMade(len(copies), tuple(systems), dict(refused))
    details = {"perturbations": list(names), "copies": made.copies, "seed": seed}
    record_event(study=study, verb=StudyEvent.Verb.PERTURB, by=by, details=details)
    return made


TOO_MANY = "This would make more than {:,} copies. Choose fewer perturbations, or fewer systems."
NO_COPIES = "No text could be changed in these ways: {}. Choose other perturbations."
REASONS = {
    "text_too_short": "too short",
    "too_few_sentences": "too few sentences",
    "no_spaces": "a script without spaces between words",
    "no_other_text": "no other text to take a passage from",
    "other_text_too_short": "no other text that is long enough",
    "nothing_to_change": "nothing in it that this perturbation changes",
}


def reasons_in_words(refused: Mapping[str, int]) -> str:
    """Return why texts have no copy, with the number of texts."""
    return "; ".join(f"{REASONS[code]} ({n:,})" for code, n in sorted(refused.items()))


def originals_of(study: Study) -> list[System]:
    """Return the study's systems that are not copies, in their order."""
    return [s for s in study.ordered_systems() if s.perturbed_from_id is None]


def check_can_copy(
    study: Study, names: Sequence[str], named: Callable[[str], Perturbation]
) -> None:
    """Raise `DomainError` unless a study can get copies, and ``named`` knows all perturbations."""
    if is_frozen(study):
        raise DomainError(
            "not_a_draft",
            f"This study is {study.status}, so no copies can be added. Clone it to add some.",
        )
    dataset_of(study)  # without one there is nothing to copy
    if study.unit_kind != Study.UnitKind.GENERATION:
        raise DomainError(
            "not_a_scoring_study",
            "Perturbed copies are scored like the originals, so the study must rate single texts."
            " For a comparison, make gold checks from copies instead, in the Quality step.",
        )
    if not names:
        raise DomainError("no_perturbation", "Choose at least one perturbation.", status=400)
    for name in names:
        try:
            named(name)
        except InvalidInput as error:
            raise DomainError(error.code, error.message, status=400) from error


def system_of_copies(original: System, name: str, made: str) -> System:
    """Return the system of an original's copies; ``made`` is what its name says about them."""
    title = f"{original.name} [{made}]"
    if len(title) > MAX_NAME:
        raise DomainError(
            "name_too_long",
            f"The name of the system {original.name!r} is too long to name its copies. Shorten it.",
        )
    system, _ = System.objects.get_or_create(
        dataset_id=original.dataset_id,
        name=title,
        defaults={"perturbed_from": original, "perturbation": name},
    )
    if system.perturbed_from_id != original.pk:
        raise DomainError(
            "name_taken",
            f"The dataset has a system {title!r} that is not a copy. Rename it first.",
        )
    return system


def _new_copies(
    system: System, texts: Sequence[Generation], seed: int, refused: Counter[str]
) -> Iterator[Generation]:
    """Yield the copies that a system lacks, unsaved; reasons for texts without one are counted."""
    present = set(system.generations.values_list("instance", "sample_index"))
    by_instance = defaultdict(list)
    for text in texts:
        by_instance[text.instance_id].append(text.text)
    instances = list(by_instance)
    place = {instance: number for number, instance in enumerate(instances)}
    for text in texts:
        if (text.instance_id, text.sample_index) in present:
            continue
        start = place[text.instance_id] + 1
        following = [*instances[start:], *instances[: start - 1]][:OTHERS_TRIED]
        others = [by_instance[instance][0] for instance in following]
        try:
            copy = perturbed_copy(text.text, system.perturbation, seed=seed, others=others)
        except InvalidInput as error:
            refused[error.code] += 1
            continue
        yield generation_of_copy(copy, text, system, text.sample_index)


def generation_of_copy(
    copy: PerturbedText,
    original: Generation,
    system: System,
    sample_index: int,
    made_by: Mapping[str, Any] | None = None,
) -> Generation:
    """Return a copy as an unsaved generation that says of what it is a copy, and what was changed."""
    return Generation(
        instance_id=original.instance_id,
        system=system,
        sample_index=sample_index,
        text=copy.text,
        params=what_was_changed(copy, original, made_by),
        is_dummy=original.is_dummy,
    )


def add_to_study(study: Study, systems: QuerySet[System]) -> Iterator[str]:
    """Add the systems that have copies to the study's, after the others; yield their names."""
    last = study.study_systems.order_by("position").last()
    position = 0 if last is None else last.position + 1
    with_copies = systems.filter(generations__isnull=False)
    for system in with_copies.exclude(studies=study).distinct().order_by("pk"):
        StudySystem.objects.create(study=study, system=system, position=position)
        position += 1
        yield system.name
