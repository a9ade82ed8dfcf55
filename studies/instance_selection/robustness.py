"""Robustness of separability (δ) to the settings K, C and τ (Ghosh et al., figure 5).

K is the number of generations per system, C the number of pairs across the two systems of which the
similarities are averaged, and τ the temperature.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import NDArray

from studies.instance_selection.temperatures import Pair, pairs_at_temperatures, some_instances
from studies.models import Generation, SeparabilityScore, Study
from tiebreak.similarity import LEXICAL, Alignments, Rouge1, align, similarity
from tiebreak.stats import generator_for
from tiebreak.stats.design.separability import separability

# The analysis scores instances again, so it uses only a part of a large dataset.
MAX_INSTANCES = 200


@dataclass(frozen=True)
class Variant:
    """Separability (δ) with a smaller K, a smaller C, or another τ, compared with the study's δ.

    The `n` instances are those that have both. `mean` is the mean of the variant's δ, `rho` its
    Spearman correlation with the study's δ, and `difference` their mean absolute difference.
    """

    name: str
    n: int
    mean: float
    rho: float
    difference: float


def variants(study: Study, pair: Pair, *, seed: int = 0) -> list[Variant]:
    """Return variants with fewer generations, fewer cross pairs, and other temperatures.

    K goes from 2 upwards, and C in fifths of all pairs, both on up to 200 random instances.
    """
    return [*_of_parts(study, pair, seed), *_of_temperatures(study, pair)]


def similarity_of_parts(study: Study) -> str:
    """Return a lexical similarity for the variants of K and C so that pages need no model."""
    return study.similarity if study.similarity in LEXICAL else Rouge1.name


def _of_temperatures(study: Study, pair: Pair) -> list[Variant]:
    original = _stored(study, pair)
    rows = []
    for (base_pair, temperature), variant_pair in pairs_at_temperatures(study).items():
        other = _stored(study, variant_pair) if base_pair == pair else {}
        common = sorted(original.keys() & other.keys())
        if common:
            whole, part = (np.array([deltas[i] for i in common]) for deltas in (original, other))
            rows.append(_variant(f"τ = {temperature:g}", whole, part))
    return rows


def _stored(study: Study, pair: Pair) -> dict[int, float]:
    scores = SeparabilityScore.objects.known(pair, study.similarity)
    return {
        instance: delta
        for instance, delta in scores.values_list("instance", "delta")
        if delta is not None
    }


def _of_parts(study: Study, pair: Pair, seed: int) -> list[Variant]:
    alignments = _alignments(study, pair, similarity_of_parts(study), seed)
    if not alignments:
        return []
    max_k = min(min(len(a.self_a), len(a.self_b)) for a in alignments)
    whole = _deltas(alignments)
    rng = generator_for(seed, "robustness")
    rows = [
        _variant(f"K = {k} of {max_k}", whole, _deltas(alignments, samples=k))
        for k in range(2, max_k)
    ]
    pairs = max_k * max_k
    for cross in sorted({max(1, round(pairs * share / 5)) for share in (1, 2, 3, 4)}):
        part = _deltas(alignments, cross=cross, rng=rng)
        rows.append(_variant(f"C = {cross} of {pairs}", whole, part))
    return rows


def _alignments(study: Study, pair: Pair, name: str, seed: int) -> list[Alignments]:
    assert study.dataset is not None
    instances = some_instances(study.dataset, MAX_INSTANCES, seed=seed)
    texts: dict[tuple[int, int], list[str]] = {}
    rows = Generation.objects.filter(instance__in=instances, system__in=pair)
    for instance, system, text in rows.order_by("sample_index").values_list(
        "instance", "system", "text"
    ):
        texts.setdefault((instance, system), []).append(text)
    measure = similarity(name)
    samples = [(texts.get((i, pair[0].pk), []), texts.get((i, pair[1].pk), [])) for i in instances]
    return [align(a, b, measure) for a, b in samples if len(a) > 1 and len(b) > 1]


def _deltas(
    alignments: list[Alignments],
    *,
    samples: int | None = None,
    cross: int | None = None,
    rng: np.random.Generator | None = None,
) -> NDArray[np.float64]:
    k = slice(samples)
    return np.array(
        [
            separability(
                a.self_a[k, k], a.self_b[k, k], a.cross[k, k], cross_pairs=cross, rng=rng
            ).delta
            for a in alignments
        ]
    )


def _variant(name: str, whole: NDArray[np.float64], part: NDArray[np.float64]) -> Variant:
    is_flat = len(whole) < 3 or np.ptp(whole) == 0 or np.ptp(part) == 0
    rho = np.nan if is_flat else float(scipy.stats.spearmanr(whole, part).statistic)
    difference = float(np.abs(whole - part).mean())
    return Variant(name, len(whole), float(part.mean()), rho, difference)
