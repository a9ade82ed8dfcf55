"""Variants of systems at other temperatures, to examine whether separability depends on them."""

from collections.abc import Sequence

from studies.models import Dataset, Instance, Study, System
from tiebreak.stats import generator_for

Pair = tuple[System, System]


def at_temperatures(systems: Sequence[System], temperatures: Sequence[float]) -> list[System]:
    """Return a variant of each system for each temperature. Missing variants are created."""
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
    """Return the pair of variants for each of the study's pairs and each temperature."""
    variants = {
        (row.variant_of_id, row.decoding["temperature"]): row
        for row in System.objects.filter(variant_of__in=study.ordered_systems())
    }
    temperatures = sorted({temperature for _, temperature in variants})
    return {
        ((a, b), t): (variants[a.pk, t], variants[b.pk, t])
        for a, b in study.system_pairs()
        for t in temperatures
        if (a.pk, t) in variants and (b.pk, t) in variants
    }


def some_instances(dataset: Dataset, n: int, *, seed: int) -> list[int]:
    """Return the ids of up to ``n`` random instances, determined by the seed."""
    ids = list(Instance.objects.filter(dataset=dataset).order_by("pk").values_list("pk", flat=True))
    sample: list[int] = generator_for(seed, "instances").permutation(ids)[:n].tolist()
    return sample
