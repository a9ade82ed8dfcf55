"""The tables that an export has next to the ratings: δ, reference answers, design, preferences."""

import json
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Min, Q, QuerySet

from annotation.models import HIT, Comment, Rating
from annotation.models.rating import RatingQuerySet
from studies.data.bundle_import import generation_rows, instance_rows
from studies.models import Generation, Instance, SeparabilityScore, Study, System, Unit
from studies.models.unit import UnitQuerySet
from tiebreak.formats import GenerationRow, InstanceRow
from tiebreak.formats.export_columns import (
    COMMENTS,
    DESIGN,
    REFERENCE_ANSWERS,
    SCOPE,
    SEPARABILITY,
    Columns,
)
from tiebreak.formats.preferences import Comparison
from tiebreak.formats.rows import Row
from tiebreak.formats.shown_fields import field_cells
from tiebreak.scales import BAD, Scale
from tiebreak.similarity.scores import normalised_scores

BATCH = 1000
_UNIT = {
    "unit": "key",
    "role": "role",
    "instance": "instance__key",
    "category": "instance__category",
    "system_a": "text_a__system__name",
    "system_b": "text_b__system__name",
    "sample_a": "text_a__sample",
    "sample_b": "text_b__sample",
}
_DESIGN = {
    name: _UNIT.get(name, name) for name in DESIGN if name not in ("hit", "repeats", "further")
}
_COMMENT = {
    **{name: name for name in ("repeat", "text", "created_at")},
    "unit": "unit__key",
    "instance": "unit__instance__key",
    "rater": "participation__rater__pseudonym",
    "participation": "participation__public_id",
    "done": "done_at",
}
_ALIGNMENTS = ("self_alignment_a", "self_alignment_b", "cross_alignment")
_SCORE = {
    "instance": "instance__key",
    "category": "instance__category",
    "system_a": "system_a__name",
    "system_b": "system_b__name",
    **{name: name for name in ("similarity", "samples_a", "samples_b", *_ALIGNMENTS, "truncated")},
    "similarity_settings": "settings",
    "separability_raw": "delta",
    "separability_standard_error": "delta_standard_error",
}
FROZEN = "unknown: the values came with imported ratings, or their scores were deleted"


@dataclass(frozen=True)
class Table:
    """A table next to the ratings: its file's name, its columns, and its rows."""

    name: str
    columns: Columns
    rows: Iterator[Row]


def tables(study: Study, *, with_comments: bool = False) -> list[Table]:
    """Return the tables that explain the ratings; their rows are read when they are used."""
    comments = [Table("comments", COMMENTS, comment_rows(study))] if with_comments else []
    return [
        *comments,
        Table("separability", SEPARABILITY, separability_rows(study)),
        Table("reference_answers", REFERENCE_ANSWERS, reference_rows(study)),
        Table("design", DESIGN, design_rows(study)),
    ]


def exported_instances(study: Study) -> Iterator[InstanceRow]:
    return instance_rows(Instance.objects.filter(dataset=study.dataset_id))


def exported_generations(study: Study) -> Iterator[GenerationRow]:
    systems = Q(system__studies=study) | Q(system__in=control_systems(study))
    return generation_rows(Generation.objects.filter(systems, instance__dataset=study.dataset_id))


def control_systems(study: Study) -> QuerySet[System]:
    """Return the systems of the degraded copies in this study's reference units."""
    used = study.units.exclude(role=Unit.Role.MAIN).values("texts__system")
    return System.objects.filter(is_control=True, pk__in=used)


def separability_rows(study: Study) -> Iterator[Row]:
    """Yield δ of every instance, pair of systems and similarity, with the scope of normalisation.

    One pair and similarity is in memory at a time. Pairs of systems that were never scored here may
    have values at their units, which were imported with the ratings.
    """
    systems = study.systems.all()
    scores = SeparabilityScore.objects.filter(
        instance__dataset=study.dataset_id, system_a__in=systems, system_b__in=systems
    )
    groups = scores.values_list("system_a", "system_b", "similarity").distinct()
    scored = set(groups.order_by("system_a", "system_b", "similarity"))
    for a, b, similarity in sorted(scored):
        yield from _scored_pair(scores.filter(system_a=a, system_b=b, similarity=similarity))
    pairs = _with_delta(study).order_by().distinct()
    at_units = pairs.values_list("text_a__system", "text_b__system", "similarity")
    frozen = {(int(a or 0), int(b or 0), similarity) for a, b, similarity in at_units}
    for a, b, similarity in sorted(frozen - scored):
        yield from _frozen_pair(study, a, b, similarity)


def _scored_pair(scores: QuerySet[SeparabilityScore]) -> Iterator[Row]:
    rows = _rows(scores.order_by("instance"), _SCORE)
    normalised = normalised_scores([tuple(row[name] for name in _ALIGNMENTS) for row in rows])
    for row, (delta, scenario) in zip(rows, normalised, strict=True):
        scope = SCOPE.format(a=row["system_a"], b=row["system_b"], similarity=row["similarity"])
        settings = json.dumps(row["similarity_settings"], sort_keys=True, ensure_ascii=False)
        row["similarity_settings"] = settings if row["similarity_settings"] else ""
        about = {"scenario": scenario, "scope": scope, "scope_instances": len(rows)}
        yield {**row, "separability": delta, **about}


def _with_delta(study: Study) -> QuerySet[Unit]:
    return study.units.filter(
        separability_raw__isnull=False, instance__isnull=False, text_b__system__isnull=False
    )


def _frozen_pair(study: Study, a: int, b: int, similarity: str) -> Iterator[Row]:
    """Yield δ as stored at the first unit of each instance, of one pair of systems."""
    of_pair = _with_delta(study).filter(text_a__system=a, text_b__system=b)
    units = of_pair.filter(similarity=similarity)
    first = units.order_by().values("instance").annotate(first=Min("pk")).values("first")
    pair = {name: _UNIT[name] for name in ("instance", "category", "system_a", "system_b")}
    columns = {**pair, **{n: n for n in ("similarity", "separability_raw", "separability")}}
    for row in _rows(Unit.objects.filter(pk__in=first).order_by("instance"), columns):
        yield {**row, "scope": FROZEN}


def reference_rows(study: Study) -> Iterator[Row]:
    """Yield the expected label of each reference unit and criterion, in the study's order."""
    scales = _scales(study)
    units = study.units.exclude(role=Unit.Role.MAIN).order_by("pk")
    columns = {**_UNIT, "explanation": "explanation", "labels": "known_labels"}
    for row in _rows(units, columns):
        labels = row.pop("labels")
        for criterion, scale in scales.items():
            if criterion in labels:
                expected = scale.parse_label(labels[criterion])
                yield {**row, "criterion": criterion, "expected": expected}


def design_rows(study: Study) -> Iterator[Row]:
    """Yield every unit with its HIT, and how its instance was drawn."""
    keys = array("q", study.units.order_by("pk").values_list("pk", flat=True).iterator(BATCH))
    drawn = HIT.objects.main().with_further_ratings(study).values_list("number", flat=True)
    further = {("main", number) for number in drawn}
    for first in range(0, len(keys), BATCH):
        units = Unit.objects.filter(pk__in=keys[first : first + BATCH]).order_by("pk")
        hits = units.annotate(hit=Min("hit_units__hit__number"), most=Max("hit_units__repeat"))
        for row in _rows(hits, {**_DESIGN, "hit": "hit", "repeats": "most"}):
            has_further = (row["role"], row["hit"]) in further
            yield {**row, "repeats": row["repeats"] or 0, "further": int(has_further)}


def comment_rows(study: Study) -> Iterator[Row]:
    """Yield what annotators wrote, in the order in which it was sent."""
    comments = Comment.objects.filter(participation__study=study).order_by("created_at", "pk")
    for row in _rows(comments, _COMMENT):
        done, at = row["done"] is not None, row["created_at"].isoformat()
        yield {**row, "done": done, "created_at": at}


def comparisons(study: Study, ratings: RatingQuerySet) -> Iterator[Comparison]:
    """Yield the main units with two texts and what annotators preferred, by criterion.

    Only ratings in the statistics count, and none of machine raters.
    """
    scales = {name: s for name, s in _scales(study).items() if s.kind == "preference"}
    counted = ratings.in_statistics().filter(rater__kind="human", criterion__name__in=scales)
    has_messages = Instance.objects.filter(dataset=study.dataset_id).exclude(messages=[]).exists()
    keys = array("q", _with_texts(study).values_list("pk", flat=True).iterator(BATCH))
    for first in range(0, len(keys), BATCH):
        batch = keys[first : first + BATCH]
        votes = _votes(counted.filter(unit__in=batch), scales)
        for unit in _with_texts(study).filter(pk__in=batch).with_texts():
            for criterion in scales:
                if (unit.pk, criterion) in votes:
                    yield _comparison(
                        unit, criterion, votes[unit.pk, criterion], study.fields, has_messages
                    )


def has_comparisons(study: Study) -> bool:
    """Whether people have preferred one of two texts, or neither, in the statistics."""
    names = [name for name, scale in _scales(study).items() if scale.kind == "preference"]
    counted = Rating.objects.in_statistics().filter(
        rater__kind="human", criterion__name__in=names, unit__in=_with_texts(study)
    )
    return counted.exists()


def _with_texts(study: Study) -> UnitQuerySet:
    main = study.units.filter(role=Unit.Role.MAIN, instance__isnull=False)
    pairs = main.filter(text_a__generation__isnull=False, text_b__generation__isnull=False)
    return pairs.order_by("pk")


def _votes(
    ratings: RatingQuerySet, scales: dict[str, Scale]
) -> dict[tuple[int, str], dict[str, int]]:
    votes: dict[tuple[int, str], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    counts = ratings.order_by().values_list("unit", "criterion__name", "label")
    for unit, criterion, text, n in counts.annotate(n=Count("pk")):
        label = scales[criterion].parse_label(text)
        side = scales[criterion].side_of(label)
        answer = "votes_bad" if label == BAD else ("votes_tie", "votes_b", "votes_a")[side]
        votes[unit, criterion][answer] += n
    return votes


def _comparison(
    unit: Unit, criterion: str, votes: dict[str, int], fields: str, has_messages: bool
) -> Comparison:
    instance, (a, b), (system_a, system_b) = unit.instance, unit.generations, unit.system_names
    assert instance is not None
    return Comparison(
        unit=unit.key,
        criterion=criterion,
        instance=instance.key,
        category=instance.category,
        prompt=_conversation(instance) if has_messages else instance.source,
        system_a=system_a,
        system_b=system_b,
        text_a=a.text,
        text_b=b.text,
        separability_raw=unit.separability_raw,
        separability=unit.separability,
        fields=field_cells(fields, instance.metadata),
        **votes,
    )


def _conversation(instance: Instance) -> list[dict[str, str]]:
    """Return the messages, or the source as one: readers need the same type in all rows."""
    messages = instance.messages or [{"content": instance.source}]
    return [
        {"role": str(message.get("role", "user")), "content": message["content"]}
        for message in messages
    ]


def _scales(study: Study) -> dict[str, Scale]:
    return {criterion.name: criterion.parsed_scale for criterion in study.criteria.all()}


def _rows(rows: QuerySet[Any], columns: dict[str, str]) -> list[dict[str, Any]]:
    """Return the values of some columns, by the names that they have in the file."""
    return [
        dict(zip(columns, values, strict=True)) for values in rows.values_list(*columns.values())
    ]
