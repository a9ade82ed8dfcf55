"""How separability (δ) is distributed over the instances of each pair of systems.

The database counts the scores, so the cost in memory does not grow with their number.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Sum
from django.db.models.functions import Floor

from studies.models import SelectedInstance, SeparabilityScore, Study
from tiebreak.reading.figures.separability import Bin, ScoreDistribution, bin_width


def score_distributions(
    studies: Sequence[Study], similarity: str, chosen: Iterable[SelectedInstance] = ()
) -> list[ScoreDistribution]:
    """Return the distribution of each study's pairs that are scored, with the same bins for all."""
    scores = SeparabilityScore.objects.filter(
        instance__dataset__in=[study.dataset_id for study in studies if study.dataset_id],
        similarity=similarity,
        delta__isnull=False,
    ).order_by()
    ends = scores.aggregate(low=Min("delta"), high=Max("delta"))
    if ends["low"] is None:
        return []
    width = bin_width(ends["low"], ends["high"])
    groups = _groups(scores, width, _is_chosen(chosen))
    return [
        _distribution(place, study.title, (a.name, b.name), groups[key], width)
        for place, study in enumerate(studies)
        for a, b in study.system_pairs()
        if (key := (study.dataset_id, a.pk, b.pk)) in groups
    ]


def _is_chosen(chosen: Iterable[SelectedInstance]) -> Q:
    """Return the condition that a score is of an instance that was chosen for its pair of systems."""
    instances = defaultdict[tuple[int, int], list[int]](list)
    for one in chosen:
        instances[one.system_a_id, one.system_b_id].append(one.instance_id)
    condition = Q(pk__in=[])
    for (a, b), ids in instances.items():
        condition |= Q(system_a=a, system_b=b, instance__in=ids)
    return condition


def _groups(
    scores: QuerySet[SeparabilityScore], width: float, is_chosen: Q
) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """Return the counted bins by dataset and pair of systems."""
    groups = defaultdict(list)
    pair = ("instance__dataset", "system_a", "system_b")
    counted = scores.values(*pair, step=Floor(F("delta") / width)).annotate(
        n=Count("pk"),
        total=Sum("delta"),
        low=Min("delta"),
        high=Max("delta"),
        above=Count("pk", filter=Q(delta__gt=0)),
        chosen=Count("pk", filter=is_chosen),
    )
    for row in counted.order_by(*pair, "step"):
        groups[tuple(row[name] for name in pair)].append(row)
    return dict(groups)


def _distribution(
    place: int, study: str, systems: tuple[str, str], rows: list[dict[str, Any]], width: float
) -> ScoreDistribution:
    n = sum(row["n"] for row in rows)
    return ScoreDistribution(
        study=study,
        systems=systems,
        n=n,
        mean=sum(row["total"] for row in rows) / n,
        low=rows[0]["low"],
        high=rows[-1]["high"],
        above_zero=sum(row["above"] for row in rows),
        place=place,
        bins=tuple(
            Bin(row["step"] * width, (row["step"] + 1) * width, row["n"], row["chosen"])
            for row in rows
        ),
    )


def comparable_studies(study: Study, similarity: str, among: QuerySet[Study]) -> QuerySet[Study]:
    """Return the studies of other datasets that are scored by the same similarity, newest first."""
    scored = SeparabilityScore.objects.filter(
        instance__dataset=OuterRef("dataset"), similarity=similarity, delta__isnull=False
    )
    others = among.exclude(pk=study.pk).exclude(dataset=study.dataset_id)
    return others.filter(Exists(scored)).order_by("-created_at", "pk").distinct()


def scored_similarities(study: Study) -> set[str]:
    """Return the similarities by which instances of the study's dataset are scored."""
    scores = SeparabilityScore.objects.filter(instance__dataset=study.dataset_id)
    return set(scores.order_by().values_list("similarity", flat=True).distinct())
