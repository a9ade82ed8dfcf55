"""The same systems at other temperatures, on some instances: whether δ depends on τ."""

from collections.abc import Sequence

from studies.models import Dataset, Instance, Study, System
from tiebreak.stats import generator_for

Pair = tuple[System, System]


def at_temperatures(systems: Sequence[System], temperatures: Sequence[float]) -> list[System]:
    """A variant of each system for each temperature, made where it is not there."""
    return [_variant(system, float(t)) for t in temperatures for system in systems]


def _variant(system: System, temperature: float) -> System:
    variant, _ = System.objects.update_or_create(
        dataset_id=system.dataset_id,
        name=f"{system.name} @ τ={temperature:g}",
        variant_of=system,
        defaults={
            "language_model": system.language_model,
            "server": system.server,
            "prompt_template": system.prompt_template,
            "decoding": system.decoding | {"temperature": temperature},
        },
    )
    return variant


def pairs_at_temperatures(study: Study) -> dict[tuple[Pair, float], Pair]:
    """For a study's pair and a temperature, the pair of its variants."""
    of = {
        (row.variant_of_id, row.decoding["temperature"]): row
        for row in System.objects.filter(variant_of__in=study.ordered_systems())
    }
    temperatures = sorted({temperature for _, temperature in of})
    return {
        ((a, b), t): (of[a.pk, t], of[b.pk, t])
        for a, b in study.system_pairs()
        for t in temperatures
        if (a.pk, t) in of and (b.pk, t) in of
    }


def some_instances(dataset: Dataset, n: int, *, seed: int) -> list[int]:
    """The ids of up to ``n`` instances, drawn at random with the seed."""
    ids = list(Instance.objects.filter(dataset=dataset).order_by("pk").values_list("pk", flat=True))
    drawn: list[int] = generator_for(seed, "instances").permutation(ids)[:n].tolist()
    return drawn
