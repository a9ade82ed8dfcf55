"""Win rates with length, Markdown and position held equal, and strengths with ties as an outcome."""

import re
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.model.rankings import DavidsonSection
from tiebreak.report.model.systems import ControlledWinRateSection
from tiebreak.report.needs import has_systems
from tiebreak.report.outcomes import Scores, without_scores
from tiebreak.report.registry import section
from tiebreak.report.scopes import of_drawn
from tiebreak.report.sections.raters.bias import characters, first_shown
from tiebreak.stats import Estimate, bradley_terry, controlled_win_rates, undefined

Numbers = NDArray[np.float64]

# Headings, items of lists, and bold words, which are what style control counts (Li et al. 2024).
MARKDOWN = re.compile(r"^#{1,6} |^\s*(?:[-*+]|\d+\.) |\*\*[^*\n]+\*\*", re.MULTILINE)
UNKNOWN = "The covariate {name} is not known in {missing:,} of {ratings:,} ratings."


@section(
    "controlled_win_rate",
    "Win rates with length and style held equal",
    question="systems",
    on_request=True,
    asks="Would the winner still win if its texts were not longer or more formatted?",
    offered=has_systems,
    takes=(),
    shows_outcome=True,
)
def controlled_win_rate_section(criterion: Criterion) -> ControlledWinRateSection:
    scores, design = _scores(criterion), DesignWeights.of(criterion)
    known, reasons = {}, {}
    for name, values in _covariates(criterion, scores).items():
        if missing := int(np.isnan(values).sum()):
            reasons[name] = UNKNOWN.format(name=name, missing=missing, ratings=len(values))
        else:
            known[name] = values
    if not known:
        raise InvalidInput("no_covariates", " ".join(reasons.values()))
    fit = controlled_win_rates(
        scores.value,
        system_a=scores.first.tolist(),
        system_b=scores.second.tolist(),
        covariates=known,
        clusters=scores.instance,
        raters=scores.rater,
        weights=None if design is None else design.of_units[scores.unit],
    )
    left_out = {name: undefined(reason, len(scores.value)) for name, reason in reasons.items()}
    parts = replace(fit, effects=fit.effects | left_out)
    return ControlledWinRateSection(
        **{name: _scoped(part, scores, design) for name, part in vars(parts).items()}
    )


@section(
    "davidson",
    "Ties as a separate outcome",
    question="systems",
    on_request=True,
    asks="Does the ranking depend on counting a tie as half a win?",
    offered=has_systems,
    takes=(),
    shows_outcome=True,
)
def davidson_section(criterion: Criterion) -> DavidsonSection:
    scores, design = _scores(criterion), DesignWeights.of(criterion)
    fit = bradley_terry(
        scores.counts,
        system_a=scores.first.tolist(),
        system_b=scores.second.tolist(),
        ties="davidson",
        clusters=scores.instance,
        raters=scores.rater,
        weights=None if design is None else design.of_units[scores.unit],
    )
    ties = _scoped({"tie": _tie_of_equals(fit.tie)}, scores, design)
    return DavidsonSection(_scoped(fit.systems, scores, design), ties["tie"])


def _scores(criterion: Criterion) -> Scores:
    scores = Scores.of(criterion) if criterion.scale.kind == "preference" else None
    if scores is None or not len(scores.value):
        raise without_scores(criterion)
    return scores


def _scoped(
    estimates: dict[str, Estimate], scores: Scores, design: DesignWeights | None
) -> dict[str, Estimate]:
    if design is None:
        return estimates
    covers = bool(design.covers[scores.unit].all())
    return {name: of_drawn(estimate, covers=covers) for name, estimate in estimates.items()}


def _covariates(criterion: Criterion, scores: Scores) -> dict[str, Numbers]:
    """Return by how much more the first system of each rating has of something; NaN if unknown."""
    rows = criterion.rows.select(scores.row)
    turned = np.where(rows["system_a"].astype(str) == scores.first, 1.0, -1.0)
    lengths = [characters(rows[f"chars_{side}"], rows[f"text_{side}"]) for side in "ab"]
    marks = [_marks(rows[f"text_{side}"]) for side in "ab"]
    side = first_shown(rows).astype(float)
    return {
        "length": turned * _relative(*lengths),
        "Markdown": turned * _relative(*marks),
        "position": turned * np.where(side == 0, np.nan, -side),
    }


def _relative(a: Numbers, b: Numbers) -> Numbers:
    """Return (a − b) / (a + b), which is from −1 to 1, and 0 if both are 0."""
    total = a + b
    return np.where(total == 0, 0.0, (a - b) / np.where(total == 0, 1, total))


def _marks(texts: NDArray[Any]) -> Numbers:
    """Return how often texts use Markdown; NaN without a text."""

    @cache
    def number(text: str) -> float:
        return len(MARKDOWN.findall(text)) if text else np.nan

    return np.array([number(text) for text in texts], dtype=float)


def _tie_of_equals(log_nu: Estimate) -> Estimate:
    """Return the probability ν / (2 + ν) that a comparison of equally strong systems is a tie."""
    if not log_nu.is_defined:
        return log_nu

    def share(value: float) -> float:
        return float(scipy.special.expit(value - np.log(2)))

    narrower = tuple(
        replace(one, low=share(one.low), high=share(one.high)) for one in log_nu.narrower
    )
    value = share(log_nu.value)
    if not log_nu.has_interval:
        return replace(log_nu, value=value)
    return replace(
        log_nu,
        value=value,
        low=share(log_nu.low),
        high=share(log_nu.high),
        standard_error=log_nu.standard_error * value * (1 - value),
        narrower=narrower,
    )
