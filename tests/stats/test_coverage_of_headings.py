"""Headings are false no more often than they say, on data with constant sides and unequal schedules."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from tests.tiebreak.reading.findings.situations import base
from tiebreak.formats import RatingTable
from tiebreak.reading.figures.raters.bias import TITLE, bias_figure
from tiebreak.reading.findings import shown_ahead
from tiebreak.reading.leading_numbers import leading_numbers
from tiebreak.report.criterion import Criterion, read_criteria
from tiebreak.report.generators import Seeds
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.sections.raters.bias import bias_section
from tiebreak.report.sections.systems.comparisons import Comparisons
from tiebreak.report.sections.systems.simultaneous import rank_sets_of, simultaneous_section
from tiebreak.report.sections.systems.systems import win_rates_section

# Headings that are false in 12% of studies are seen in more than 9 of 10 runs.
STUDIES, LEVEL = 200, 0.05
# A and B are equally good, and C is worse. Items by pair: which share shows the first system first.
PAIRS = (("A", "B", 0.5, 60, 0.8), ("B", "C", 0.8, 90, 1.0))


def study(seed: int) -> Criterion:
    """Return a study without position or length bias, in which B meets C and A does not."""
    rng = np.random.default_rng(seed)
    rows = [
        {"unit": f"{a}{b}{k}", "instance": f"{a}{b}{k}", "rater": f"r{rater}", "system_a": a}
        | {"system_b": b, "label": -1 if rng.random() < rate else 1, "chars_b": 100}
        | {"side_a": "left" if is_first else "right", "chars_a": 150 if is_longer else 50}
        for a, b, rate, items, first in PAIRS
        for k in range(items)
        for is_first, is_longer in [rng.random(2) < first]
        for rater in rng.choice(12, size=1 + (k % 6 == 0), replace=False)
    ]
    ((criterion,), _) = read_criteria(
        RatingTable.from_rows(rows), {"preference": "preference"}, None
    )
    return criterion


def section_of(criterion: Criterion, seed: int) -> CriterionSection:
    """Return a section with win rates, ranks and biases alone, because the others take longer."""
    compared = Comparisons.of(criterion)
    systems = win_rates_section(criterion, Seeds(seed, ("preference",)), 20)
    rates = systems.win_rate
    at_once = simultaneous_section(compared, rates, {}, 1)
    sets = rank_sets_of(compared, rates, compared.strengths(), 1)
    systems = replace(systems, simultaneous=at_once, rank_sets=sets)
    return replace(base(), systems=systems, bias=bias_section(criterion))


def false_headings(section: CriterionSection) -> dict[str, bool]:
    """Return which headings claim what is not so."""
    assert section.systems
    sets = section.systems.rank_sets or {}
    leads = leading_numbers(section)[0].sentence
    return {
        "bias": not bias_figure(section).finding.startswith((TITLE, "No ")),
        "wins": bool({"A", "C"} & {*shown_ahead(section)}),
        "leads": not leads.startswith("of "),
        "ranks": any(sets[name].best > 1 for name in "AB"),
    }


@pytest.mark.slow
def test_no_heading_is_false_more_often_than_it_says():
    counts: Counter[str] = Counter()
    for seed in range(STUDIES):
        counts.update(false_headings(section_of(study(seed), seed)))
    for name, n in counts.items():
        low = binomtest(n, STUDIES).proportion_ci(0.95).low
        assert low <= LEVEL, (name, n)
