"""The model of Dawid and Skene: a true label of each unit, and each human's errors."""

import math

from tiebreak.report.criterion import Criterion
from tiebreak.report.model import DawidSkeneRater, DawidSkeneSection
from tiebreak.report.raters import MAX_LABELS
from tiebreak.stats import dawid_skene

# Each step reads all ratings. Where annotators agree little, about 1,000 steps are needed.
MAX_RATINGS, MAX_STEPS = 50_000, 2_000
MIN_RATERS = 3
TOO_FEW_RATERS = "The model needs at least three raters who rated items that others rated too."
TOO_MANY_LABELS = f"The model is not estimated for more than {MAX_LABELS} labels."
TOO_MANY_RATINGS = f"The model is not estimated for more than {MAX_RATINGS:,} ratings."


def dawid_skene_section(criterion: Criterion) -> DawidSkeneSection:
    """Return the estimates from human ratings of units that several humans rated."""
    used = criterion.is_human & (criterion.label >= 0)
    used &= criterion.humans.sum(axis=1)[criterion.unit] > 1
    names, rater = criterion.rows.ranked("rater", used)
    reason = _reason_against(criterion, int(used.sum()), len(names))
    if reason:
        prior = {str(label): math.nan for label in criterion.labels}
        return DawidSkeneSection(0, False, prior, {}, reason)
    fit = dawid_skene(
        criterion.unit[used],
        rater,
        criterion.label[used],
        n_units=criterion.n_units,
        n_raters=len(names),
        n_labels=len(criterion.labels),
        max_steps=MAX_STEPS,
    )
    return DawidSkeneSection(
        n_units=fit.n_units,
        converged=fit.converged,
        prior={str(k): float(p) for k, p in zip(criterion.labels, fit.prior, strict=True)},
        raters={
            name: DawidSkeneRater(
                float(fit.accuracy[code]), tuple(map(tuple, fit.confusion[code].tolist()))
            )
            for code, name in enumerate(names.tolist())
        },
    )


def _reason_against(criterion: Criterion, ratings: int, raters: int) -> str | None:
    if raters < MIN_RATERS:
        return TOO_FEW_RATERS
    if len(criterion.labels) > MAX_LABELS:
        return TOO_MANY_LABELS
    return TOO_MANY_RATINGS if ratings > MAX_RATINGS else None
