"""Reference units, which have expected labels, for training, the test and gold checks."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from django.db import transaction
from django.db.models import Count, Exists, Max, OuterRef, QuerySet

from annotation.balancing import balanced_bits
from annotation.gold_checks import expected_side
from annotation.models import HIT, HITUnit
from studies.data.perturbed_copies import generation_of_copy, perturbed_copy
from studies.instance_selection.set_aside import STAGES, set_aside
from studies.models import Generation, Instance, Study, System, Unit, UnitText
from studies.services import check_is_draft
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rows import read_jsonl
from tiebreak.perturbations import PerturbedText, perturbation_named
from tiebreak.perturbations.edits import sentences, words

CONTROL = "perturbed copy"
# The database's column ends below this number, so no sample has this index or a larger one.
LARGEST_SAMPLE = 2**15
ROLES = {
    Unit.Role.GOLD: "gold checks",
    Unit.Role.TRAINING: "training",
    Unit.Role.QUALIFICATION: "the qualification test",
}
EXPLANATION = "One of the two texts was changed on purpose: {}."
RATED = (
    "The study is open, and annotators rate these texts of {}, so they cannot be a reference item."
    " Choose other texts, or make items from changed copies."
)
NOTHING_KNOWN = (
    "Degraded copies only work for comparisons on a preference scale. For other criteria, import items"
    " with expected labels from a file."
)
TOO_FEW_TEXTS = (
    "{n} more items are wanted for {role}, but only {found} instances without a reference item have a"
    " text that can be changed in this way. Ask for fewer items, or choose another change."
)
# So many texts can give passages to others.
DONORS = 200
# How copies are made if nobody chooses, the first that a text allows: lines and format stay, so whoever
# only looks sees nothing, not even which is longer, and whoever reads is sure which text is worse.
NEEDS_READING = (
    "sentences/replacement/major",
    "words/deletion/major",
    "characters/deletion/major",
)


@dataclass(frozen=True)
class ReferencePair:
    """Two generations of one instance (the first is A), or one generation, and expected labels."""

    a: Generation
    b: Generation | None
    labels: Mapping[str, str]
    explanation: str = ""


@transaction.atomic
def degrade_copies(
    *, study: Study, role: Unit.Role, n: int, seed: int = 0, perturbation: str = ""
) -> int:
    """Create ``n`` reference units, each from a text and a perturbed copy of it. Returns how many.

    The copies belong to a separate system that no study compares. Without a ``perturbation``, each is
    the first of `NEEDS_READING` that the text allows. On every preference criterion the original is
    expected to win. Raises `DomainError` if there is no preference criterion or no
    such perturbation, or if too few texts can be perturbed in this way.
    """
    labels = _original_wins(study)
    if not labels:
        raise DomainError("nothing_known", NOTHING_KNOWN)
    rng = random.Random(f"{study.seed}:{role}:{seed}")
    control, _ = System.objects.get_or_create(
        dataset=study.dataset, name=CONTROL, defaults={"is_control": True}
    )
    ways = (perturbation,) if perturbation else NEEDS_READING
    changes = {way: EXPLANATION.format(_change(way)) for way in ways}
    pairs = [
        ReferencePair(original, _stored_copy(original, copy, control), labels, changes[copy.name])
        for original, copy in _copies(study, role, n, ways, rng)
    ]
    return add_reference_units(study=study, role=role, pairs=pairs)


def _change(perturbation: str) -> str:
    """Return what a perturbation changes, in words."""
    try:
        return perturbation_named(perturbation).change
    except InvalidInput as error:
        raise DomainError(error.code, error.message, status=400) from error


@transaction.atomic
def add_reference_units(*, study: Study, role: Unit.Role, pairs: Iterable[ReferencePair]) -> int:
    """Add reference units of this role, and plan the HIT of a training or test. Locks the study.

    Gold checks can be added at any time. Other units can only be added until an annotator begins
    the stage.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if role not in open_roles(study):
        raise DomainError(
            "stage_begun",
            f"An annotator has already started {ROLES[role]}, so its items cannot change. Clone"
            " the study to change them.",
        )
    pairs = list(pairs)
    if study.opened_at is not None:
        _check_nobody_rates(study, pairs)
    # Above all numbers in the role, of which some may have been removed.
    keys = study.units.filter(role=role).values_list("key", flat=True)
    numbers = (key.rpartition("-")[2] for key in keys)
    number = max((int(n) + 1 for n in numbers if n.isascii() and n.isdecimal()), default=0)
    units = [_unit(study, role, pair, number + i) for i, pair in enumerate(pairs)]
    Unit.objects.bulk_create(units)
    if role != Unit.Role.GOLD:
        plan_reference_units(study, role)
    return len(units)


def open_roles(study: Study) -> dict[Unit.Role, str]:
    """Return the roles with their names to which units can be added: gold checks, and stages nobody began."""
    if study.opened_at is None:
        return ROLES
    stages = HIT.objects.filter(study=study, kind__in=ROLES, assignments__isnull=False)
    begun = set(stages.values_list("kind", flat=True))
    return {role: name for role, name in ROLES.items() if role.value not in begun}


def _check_nobody_rates(study: Study, pairs: list[ReferencePair]) -> None:
    """Raise `DomainError` if the plan of an opened study has one of the pairs as an item to rate."""
    known = {frozenset({p.a.pk, *([p.b.pk] if p.b else [])}): p.a.instance for p in pairs}
    texts = [pk for pair in known for pk in pair]
    main = study.units.filter(role=Unit.Role.MAIN, texts__generation__in=texts)
    for unit in main.prefetch_related("texts"):
        shown = (text.generation_id for text in unit.text_list if text.generation_id)
        instance = known.get(frozenset(shown))
        if instance is not None:
            raise DomainError("item_is_rated", RATED.format(instance))


@transaction.atomic
def remove_reference_unit(*, study: Study, key: str) -> None:
    """Remove a reference unit of a draft, and plan its stage again. Locks the study."""
    unit = _reference_unit_of_draft(study, key)
    unit.hit_units.all().delete()
    unit.delete()
    if unit.role != Unit.Role.GOLD:
        plan_reference_units(unit.study, Unit.Role(unit.role))


@transaction.atomic
def expect_labels(*, study: Study, key: str, labels: Mapping[str, str]) -> None:
    """Change the expected labels of a reference unit of a draft. Locks the study."""
    unit = _reference_unit_of_draft(study, key)
    try:
        unit.known_labels = _expected_labels(study, dict(labels))
    except InvalidInput as error:
        raise DomainError(error.code, f"{key}: {error.message}.", status=400) from error
    unit.save(update_fields=["known_labels"])
    if unit.role != Unit.Role.GOLD:
        plan_reference_units(unit.study, Unit.Role(unit.role))


def _reference_unit_of_draft(study: Study, key: str) -> Unit:
    study = Study.objects.select_for_update().get(pk=study.pk)
    check_is_draft(
        study,
        f"This study is {study.status}, so its reference items stay as they are. Clone the study to"
        " change them.",
    )
    unit = study.units.exclude(role=Unit.Role.MAIN).filter(key=key).first()
    if unit is None:
        raise DomainError(
            "no_such_unit", "This reference item was removed already. Reload the page.", status=404
        )
    return unit


def import_reference_units(
    *, study: Study, role: Unit.Role, path: Path, limits: Limits = LIMITS
) -> int:
    """Add reference units from a JSONL file that names existing generations and expected labels.

    A row has `instance`, `system_a` and `sample_a`, for a comparison also `system_b` and
    `sample_b`, `labels` by criterion in system order, and optionally an `explanation`. Imports all
    rows, or raises `FormatError` with every bad line and imports none.
    """
    problems = Problems()
    pairs = []
    for line, row in read_jsonl(path, problems, limits):
        with problems.at(path.name, line):
            pairs.append(_reference_pair(study, row))
    problems.check()
    return add_reference_units(study=study, role=role, pairs=pairs)


@transaction.atomic
def add_chosen_unit(*, study: Study, role: Unit.Role, row: Mapping[str, Any]) -> str:
    """Add one reference unit that somebody chose, given as a row of a file; return its key."""
    try:
        pair = _reference_pair(study, dict(row))
    except InvalidInput as error:
        raise DomainError(error.code, f"{error.message}.", status=400) from error
    add_reference_units(study=study, role=role, pairs=[pair])
    key: str = study.units.filter(role=role).order_by("-pk").values_list("key", flat=True)[0]
    return key


def _reference_pair(study: Study, row: dict[str, Any]) -> ReferencePair:
    is_comparison = study.unit_kind == Study.UnitKind.COMPARISON
    sides = ("a", "b") if is_comparison else ("a",)
    generations = [_generation(study, row, side) for side in sides]
    systems = [generation.system_id for generation in generations]
    order = list(study.study_systems.values_list("system", flat=True))
    if is_comparison and order.index(systems[0]) >= order.index(systems[1]):
        raise InvalidInput(
            "systems_out_of_order",
            "system_a must come before system_b in the study's order of systems",
        )
    labels, explanation = _expected_labels(study, row.get("labels")), row.get("explanation")
    if not isinstance(explanation, str | None):
        raise InvalidInput("not_a_text", f"explanation must be text; it is {explanation!r}"[:200])
    second = generations[1] if is_comparison else None
    return ReferencePair(generations[0], second, labels, explanation or "")


def _generation(study: Study, row: dict[str, Any], side: str) -> Generation:
    instance, system, sample = (
        row.get("instance"),
        row.get(f"system_{side}"),
        row.get(f"sample_{side}"),
    )
    generation = Generation.objects.filter(
        instance__dataset=study.dataset_id,
        instance__key=str(instance),
        system__in=study.systems.all(),
        system__name=str(system),
        sample_index=sample if type(sample) is int and 0 <= sample < LARGEST_SAMPLE else -1,
    ).first()
    if generation is None:
        raise InvalidInput(
            "unknown_generation",
            f"this study has no generation with sample index {sample!r} of system {system!r} for"
            f" instance {instance!r}",
        )
    return generation


def _expected_labels(study: Study, labels: object) -> dict[str, str]:
    """Return the canonical labels by criterion.

    There must be at least one label, and each must be on its criterion's scale.
    """
    scales = {criterion.name: criterion.parsed_scale for criterion in study.criteria.all()}
    if not isinstance(labels, dict) or not labels:
        raise InvalidInput(
            "labels_missing",
            "labels must be an object with the expected label of at least one criterion",
        )
    unknown = set(labels) - set(scales)
    if unknown:
        raise InvalidInput(
            "unknown_criterion", f"the study has no criterion {sorted(unknown)[0]!r}"
        )
    return {name: str(scales[name].parse_label(str(label))) for name, label in labels.items()}


def _unit(study: Study, role: Unit.Role, pair: ReferencePair, number: int) -> Unit:
    return Unit.of(
        map(UnitText.showing, (pair.a, pair.b) if pair.b else (pair.a,)),
        study=study,
        key=f"{role.value}-{number}",
        role=role,
        instance_id=pair.a.instance_id,
        known_labels=dict(pair.labels),
        explanation=pair.explanation,
    )


def plan_reference_units(study: Study, role: Unit.Role) -> None:
    """Put all units of a stage into one HIT without places, with balanced sides."""
    hit, _ = HIT.objects.get_or_create(study=study, kind=role.value, number=1)
    hit.hit_units.all().delete()
    units = list(study.units.filter(role=role).order_by("pk"))
    criteria = list(study.criteria.all())
    # Right answers are as often on one side as on the other.
    edges = [(hit.pk, expected_side(unit.known_labels, criteria)) for unit in units]
    bits = balanced_bits(edges, random.Random(f"{study.seed}:{role}"))
    HITUnit.objects.bulk_create(
        HITUnit(hit=hit, unit=unit, side_bit=bool(bit))
        for unit, bit in zip(units, bits, strict=True)
    )


def _original_wins(study: Study) -> dict[str, str]:
    """Return the strongest label for system A on each preference criterion of comparisons."""
    if study.unit_kind != Study.UnitKind.COMPARISON:
        return {}
    return {
        criterion.name: str(min(int(label) for label in criterion.parsed_scale.order_labels or ()))
        for criterion in study.criteria.all()
        if criterion.parsed_scale.kind == "preference"
    }


def most_copies(study: Study, wanted: int) -> int:
    """Return how many of the wanted copies there can be; none if no label of a copy is known."""
    if not _original_wins(study):
        return 0
    texts = _unused(study).filter(instance=OuterRef("pk"))
    return Instance.objects.filter(Exists(texts), dataset=study.dataset_id)[:wanted].count()


def _copies(
    study: Study, role: Unit.Role, n: int, ways: Sequence[str], rng: random.Random
) -> list[tuple[Generation, PerturbedText]]:
    """Perturb ``n`` texts, each from a different instance that no reference unit uses yet.

    Instances that nobody rates come first, because a reference unit tells a right answer about its
    instance, and those that have the source of another last. Only where all units of a task share their instance, gold checks need one that is rated.
    """
    by_instance, rated = _unused_texts(study), rated_instances(study)
    shuffled = rng.sample(sorted(by_instance), len(by_instance))
    others = {
        by_instance[instance][0].text: by_instance[instance] for instance in shuffled[:DONORS]
    }
    telling = dict(zip(others, _telling(others), strict=True))
    shares_source = role == Unit.Role.GOLD and study.shares_instance
    copies: list[tuple[Generation, PerturbedText]] = []
    used: set[str] = set()
    again = _with_source_of_another(study)
    for instance in sorted(shuffled, key=lambda i: ((i in rated) != shares_source, i in again)):
        if len(copies) == n:
            break
        copies += _copy_of_one(by_instance[instance], ways, telling, used, rng)
    if len(copies) < n:
        raise DomainError(
            "too_few_texts",
            TOO_FEW_TEXTS.format(n=n, role=ROLES[role], found=len(copies)),
        )
    return copies


def _with_source_of_another(study: Study) -> set[int]:
    every = Instance.objects.filter(dataset=study.dataset_id).exclude(source="").order_by()
    again = every.values("source").annotate(n=Count("pk")).filter(n__gt=1)
    return set(every.filter(source__in=again.values("source")).values_list("pk", flat=True))


def rated_instances(study: Study) -> set[int]:
    """Return the instances of the plan; before it is made, those that were drawn, or else all.

    A plan that is not final yet leaves out what is set aside.
    """
    planned = study.units.filter(role=Unit.Role.MAIN, instance__isnull=False)
    found = set(planned.values_list("instance", flat=True))
    if study.opened_at is not None:
        return found
    if drawn := set(study.selected.values_list("instance", flat=True)):
        return drawn
    every = Instance.objects.filter(dataset=study.dataset_id)
    return (found or set(every.values_list("pk", flat=True))) - set_aside(study)


def shown_before_rated(study: Study) -> dict[Unit.Role, int]:
    """Return how many items of training and the test are of instances that annotators also rate."""
    units = study.units.filter(role__in=STAGES, instance__isnull=False)
    shown = list(units.values_list("role", "instance"))
    rated = rated_instances(study) if shown else set()
    return dict(Counter(Unit.Role(role) for role, instance in shown if instance in rated))


def _unused_texts(study: Study) -> dict[int, list[Generation]]:
    """Return the texts of the study's systems by instance, without instances of reference units."""
    by_instance: dict[int, list[Generation]] = {}
    for generation in _unused(study).select_related("system").order_by("pk"):
        by_instance.setdefault(generation.instance_id, []).append(generation)
    return by_instance


def _unused(study: Study) -> QuerySet[Generation]:
    used = study.units.exclude(role=Unit.Role.MAIN).filter(instance__isnull=False)
    return Generation.objects.filter(
        instance__dataset=study.dataset_id, system__in=study.systems.filter(perturbed_from=None)
    ).exclude(instance__in=used.values("instance"))


def _copy_of_one(
    texts: list[Generation],
    ways: Sequence[str],
    telling: Mapping[str, str],
    used: set[str],
    rng: random.Random,
) -> list[tuple[Generation, PerturbedText]]:
    """Perturb one of an instance's texts in the first way that works, or none if none does.

    ``telling`` has the texts that may give a passage, with what of them tells that it is foreign. Texts
    in ``used`` gave a passage before and come last; that which gives one now is added.
    """
    of_instance = {text.text for text in texts}
    foreign = [other for other in telling if other not in of_instance]
    for way, original in product(ways, rng.sample(texts, len(texts))):
        # The first that fits is used: one as long looks alike, and is another one for each text.
        nearest = sorted(foreign, key=partial(_difference_in_length, original.text))
        nearest.sort(key=used.__contains__)
        is_replaced = perturbation_named(way).kind == "replacement"
        given = [telling[other] for other in nearest] if is_replaced else nearest
        try:
            copy = perturbed_copy(original.text, way, seed=rng.getrandbits(32), others=given)
        except InvalidInput:
            continue
        passage = copy.edits[0].after
        used.update([other for other in nearest if passage and passage.strip() in other][:1])
        return [(original, copy)]
    return []


def _telling(others: Mapping[str, list[Generation]]) -> Iterator[str]:
    """Yield of each text the sentences with a word that only the texts of its instance have.

    Others, such as "It takes a week.", might as well be true in the text of another instance.
    """
    known = [{word for text in texts for word in _words(text.text)} for texts in others.values()]
    n = Counter(word for words in known for word in words)
    for text in others:
        told = [one.before for one in sentences(text) if any(n[w] == 1 for w in _words(one.before))]
        yield "\n".join(told)


def _words(text: str) -> set[str]:
    return {
        word.before.casefold() for word in words(text) if not any(map(str.isdigit, word.before))
    }


def _difference_in_length(text: str, other: str) -> int:
    return abs(len(text) - len(other))


def _stored_copy(original: Generation, copy: PerturbedText, control: System) -> Generation:
    copies = Generation.objects.filter(instance=original.instance_id, system=control)
    last = copies.aggregate(last=Max("sample_index"))["last"]
    generation = generation_of_copy(copy, original, control, 0 if last is None else last + 1)
    generation.save()
    return generation
