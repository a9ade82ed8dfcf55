"""The model of Dawid and Skene: a true label of each unit, and each human's errors."""

import math

import numpy as np
from numpy.typing import NDArray

from tiebreak.report.criterion import Criterion
from tiebreak.report.model.raters import DawidSkeneRater, DawidSkeneSection
from tiebreak.report.needs import has_labels
from tiebreak.report.registry import section
from tiebreak.report.sections.raters.raters import MAX_LABELS
from tiebreak.stats.core.groups import n_distinct
from tiebreak.stats.raters.dawid_skene import GROUPS, min_gain, rater_accuracies

# Each step reads all ratings. Where annotators agree little, about 1,000 steps are needed.
MAX_RATINGS, MAX_STEPS = 50_000, 2_000
MIN_RATERS = 3
TOO_FEW_RATERS = "The model needs at least three raters who rated items that others rated too."
TOO_FEW_INSTANCES = f"The model needs at least {GROUPS} instances that several annotators rated."
NOT_BETTER = (
    "Accuracies of single annotators are not shown: on instances that were left out, the model predicts"
    " answers no better than one accuracy common to all annotators, or than no true label at all."
)
TOO_MANY_LABELS = f"The model is not estimated for more than {MAX_LABELS} labels."
TOO_MANY_RATINGS = f"The model is not estimated for more than {MAX_RATINGS:,} ratings."


@section(
    "dawid_skene",
    "Errors of each annotator, given the true label",
    question="raters",
    of_rated_items="they are about errors of single annotators on the items that each rated",
    takes=(),
    needs=has_labels,
    names_raters=True,
)
def dawid_skene_section(criterion: Criterion) -> DawidSkeneSection:
    """Return the estimates from human ratings of units that several humans rated."""
    used = criterion.is_human & (criterion.label >= 0)
    used &= criterion.humans.sum(axis=1)[criterion.unit] > 1
    names, rater = criterion.rows.ranked("rater", used)
    prior = {str(label): math.nan for label in criterion.labels}
    reason = _reason_against(criterion, used, len(names))
    if reason:
        return DawidSkeneSection(0, False, prior, {}, reason)
    fit, accuracies, gains = rater_accuracies(
        criterion.unit[used],
        rater,
        criterion.label[used],
        clusters=criterion.clusters,
        shape=(criterion.n_units, len(names), len(criterion.labels)),
        max_steps=MAX_STEPS,
    )
    if fit.converged and gains.min() <= min_gain():
        return DawidSkeneSection(fit.n_units, True, prior, {}, NOT_BETTER)
    return DawidSkeneSection(
        n_units=fit.n_units,
        converged=fit.converged,
        prior={str(k): float(p) for k, p in zip(criterion.labels, fit.prior, strict=True)},
        raters={
            name: DawidSkeneRater(
                accuracy=accuracies[code].value,
                low=accuracies[code].low,
                high=accuracies[code].high,
                confusion=tuple(map(tuple, fit.confusion[code].tolist())),
            )
            for code, name in enumerate(names.tolist())
        },
    )


def _reason_against(criterion: Criterion, used: NDArray[np.bool_], raters: int) -> str | None:
    ratings = int(used.sum())
    if raters < MIN_RATERS:
        return TOO_FEW_RATERS
    if n_distinct(criterion.clusters[criterion.unit[used]]) < GROUPS:
        return TOO_FEW_INSTANCES
    if len(criterion.labels) > MAX_LABELS:
        return TOO_MANY_LABELS
    return TOO_MANY_RATINGS if ratings > MAX_RATINGS else None
