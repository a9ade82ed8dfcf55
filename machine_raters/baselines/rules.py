"""The rules of baselines, which give each text of a pair a score."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext

from machine_raters.baselines.perplexity import scored_by_perplexity
from machine_raters.baselines.reward import scored_by_reward
from machine_raters.baselines.scored import Scored, reference_of
from machine_raters.judging.passes import seed_of
from machine_raters.models import Baseline
from studies.instance_selection.scoring import resident_measure
from studies.models import Unit
from tiebreak.asking.prompts import A_FIRST, B_FIRST
from tiebreak.similarity import SIMILARITIES, Similarity

Method = Baseline.Method
PERPLEXITIES = (Method.PERPLEXITY, Method.PERPLEXITY_PER_TOKEN)


def needs_reference(method: str) -> bool:
    return method in SIMILARITIES or method in PERPLEXITIES


def open_measure(method: str) -> AbstractContextManager[Similarity | None]:
    """Open the similarity that the rule needs, or None."""
    return resident_measure(method) if method in SIMILARITIES else nullcontext()


def scored(
    baseline: Baseline, units: Sequence[Unit], measure: Similarity | None
) -> Iterator[Scored]:
    """Yield the scores of pairs of texts by the baseline's rule."""
    if measure is not None:
        yield from _by_reference(units, measure)
    elif baseline.method in PERPLEXITIES:
        is_per_token = baseline.method == Method.PERPLEXITY_PER_TOKEN
        yield from scored_by_perplexity(units, is_per_token=is_per_token)
    elif baseline.method == Method.REWARD:
        yield from scored_by_reward(baseline, units)
    else:
        for unit in units:
            yield from _by_rule(baseline, unit)


def _by_rule(baseline: Baseline, unit: Unit) -> Iterator[Scored]:
    if baseline.method == Method.FIRST:
        yield Scored(unit, A_FIRST, (1, 0))
        yield Scored(unit, B_FIRST, (0, 1))
    elif baseline.method == Method.RANDOM:
        b = seed_of(baseline, unit, "preference") % 2
        yield Scored(unit, "", (1 - b, b))
    else:
        a, b = (len(generation.text) for generation in unit.generations)
        yield Scored(unit, "", (a, b) if baseline.method == Method.LONGER else (-a, -b))


def _by_reference(units: Sequence[Unit], measure: Similarity) -> Iterator[Scored]:
    # The empty text tells whether the measure sees anything in the reference: if it does not, both
    # texts would score the same, which says nothing about them.
    groups = [(reference_of(unit), *(one.text for one in unit.generations), "") for unit in units]
    distinct = list(dict.fromkeys(text for group in groups for text in group))
    prepared = dict(zip(distinct, measure.prepare(distinct), strict=True))
    matrices = measure.between_each([[prepared[text] for text in group] for group in groups])
    for unit, (to_reference, *_) in zip(units, matrices, strict=True):
        _, a, b, empty = to_reference.tolist()
        yield Scored(unit, "", None if empty == 1 else (a, b))
