"""Whether δ depends on K, C and τ (Ghosh et al., figure 5)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from studies.instance_selection.temperatures import Pair, pairs_at_temperatures, some_instances
from studies.models import Generation, SeparabilityScore, Study
from tiebreak.similarity import Alignments, align, similarity
from tiebreak.stats import generator_for
from tiebreak.stats.separability import separability

# Scored anew for this, so not all of a large dataset.
MAX_INSTANCES = 200
LEXICAL = ("rouge1", "bleu")


@dataclass(frozen=True)
class Variant:
    """δ made otherwise: of fewer generations (K), fewer cross pairs (C), at another temperature (τ).

    `mean` is its mean over the `n` instances that have both, `rho` Spearman's correlation with the
    study's own δ, `difference` the mean of |δ − own δ|.
    """

    name: str
    n: int
    mean: float
    rho: float
    difference: float


def variants(study: Study, pair: Pair, *, seed: int = 0) -> list[Variant]:
    """K from 2 up and C in fifths, on up to 200 instances drawn with the seed; τ as scored."""
    return [*_of_parts(study, pair, seed), *_of_temperatures(study, pair)]


def similarity_of_parts(study: Study) -> str:
    """What K and C are looked at with: a page does not wait for a model."""
    return study.similarity if study.similarity in LEXICAL else LEXICAL[0]


def _of_temperatures(study: Study, pair: Pair) -> list[Variant]:
    own = _stored(study, pair)
    rows = []
    for (of, temperature), warmer in pairs_at_temperatures(study).items():
        other = _stored(study, warmer) if of == pair else {}
        both = sorted(own.keys() & other.keys())
        if both:
            whole, part = (np.array([each[i] for i in both]) for each in (own, other))
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
    found = _alignments(study, pair, similarity_of_parts(study), seed)
    if not found:
        return []
    most = min(min(len(each.self_a), len(each.self_b)) for each in found)
    whole = _deltas(found)
    rng = generator_for(seed, "robustness")
    rows = [
        _variant(f"K = {k} of {most}", whole, _deltas(found, samples=k)) for k in range(2, most)
    ]
    pairs = most * most
    for cross in sorted({max(1, round(pairs * share / 5)) for share in (1, 2, 3, 4)}):
        part = _deltas(found, cross=cross, rng=rng)
        rows.append(_variant(f"C = {cross} of {pairs}", whole, part))
    return rows


def _alignments(study: Study, pair: Pair, name: str, seed: int) -> list[Alignments]:
    assert study.dataset is not None
    drawn = some_instances(study.dataset, MAX_INSTANCES, seed=seed)
    texts: dict[tuple[int, int], list[str]] = {}
    rows = Generation.objects.filter(instance__in=drawn, system__in=pair)
    for instance, system, text in rows.order_by("sample_index").values_list(
        "instance", "system", "text"
    ):
        texts.setdefault((instance, system), []).append(text)
    measure = similarity(name)
    both = [(texts.get((i, pair[0].pk), []), texts.get((i, pair[1].pk), [])) for i in drawn]
    return [align(a, b, measure) for a, b in both if len(a) > 1 and len(b) > 1]


def _deltas(
    found: list[Alignments],
    *,
    samples: int | None = None,
    cross: int | None = None,
    rng: np.random.Generator | None = None,
) -> NDArray[np.float64]:
    k = slice(samples)
    return np.array(
        [
            separability(
                each.self_a[k, k], each.self_b[k, k], each.cross[k, k], cross_pairs=cross, rng=rng
            ).delta
            for each in found
        ]
    )


def _variant(name: str, whole: NDArray[np.float64], part: NDArray[np.float64]) -> Variant:
    is_flat = len(whole) < 3 or np.ptp(whole) == 0 or np.ptp(part) == 0
    rho = np.nan if is_flat else float(spearmanr(whole, part).statistic)
    difference = float(np.abs(whole - part).mean())
    return Variant(name, len(whole), float(part.mean()), rho, difference)
