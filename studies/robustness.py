"""Whether δ depends on how many generations and cross pairs it is made of (Ghosh et al., figure 5)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from metrics.similarity import Alignments, align, similarity
from metrics.stats import generator_for
from metrics.stats.separability import separability
from studies.models import Generation, Study, System

# Scored anew for this, so not all of a large dataset.
MOST_INSTANCES = 200
LEXICAL = ("rouge1", "bleu")


@dataclass(frozen=True)
class Variant:
    """δ with fewer generations (K) or cross pairs (C), beside δ with all of them.

    `rho` is Spearman's correlation over instances, `difference` the mean of |δ − δ of all|.
    """

    what: str
    value: int
    of: int
    rho: float
    difference: float


def variants(study: Study, pair: tuple[System, System], *, seed: int = 0) -> list[Variant]:
    """K from 2 up and C in fifths, on up to 200 instances drawn with the seed."""
    name = study.similarity if study.similarity in LEXICAL else LEXICAL[0]
    found = _alignments(study, pair, name, seed)
    if not found:
        return []
    most = min(min(len(each.self_a), len(each.self_b)) for each in found)
    whole = _deltas(found)
    rng = generator_for(seed, "robustness")
    rows = [_variant("K", k, most, whole, _deltas(found, samples=k)) for k in range(2, most)]
    pairs = most * most
    for cross in sorted({max(1, round(pairs * share / 5)) for share in (1, 2, 3, 4)}):
        rows.append(_variant("C", cross, pairs, whole, _deltas(found, cross=cross, rng=rng)))
    return rows


def _alignments(
    study: Study, pair: tuple[System, System], name: str, seed: int
) -> list[Alignments]:
    assert study.dataset is not None
    ids = list(study.dataset.instances.order_by("pk").values_list("pk", flat=True))
    rng = generator_for(seed, "instances")
    drawn = rng.permutation(ids)[:MOST_INSTANCES].tolist()
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


def _variant(
    what: str, value: int, of: int, whole: NDArray[np.float64], part: NDArray[np.float64]
) -> Variant:
    is_flat = len(whole) < 3 or np.ptp(whole) == 0 or np.ptp(part) == 0
    rho = np.nan if is_flat else float(spearmanr(whole, part).statistic)
    return Variant(what, value, of, rho, float(np.abs(whole - part).mean()))
