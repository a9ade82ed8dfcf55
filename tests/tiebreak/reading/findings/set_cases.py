"""Cases of findings on rating sets."""

from dataclasses import replace

from tests.tiebreak.reading.findings.case import (
    DATASET,
    SELECTED,
    SIMILAR_RATERS,
    THESE_RATERS,
    Case,
    figure_text,
    of,
)
from tests.tiebreak.reading.findings.situations import (
    UNDEFINED,
    WHY,
    base,
    interval,
    with_sets,
    without_interval,
)
from tiebreak.reading.figures.raters.consistency import strength_figure
from tiebreak.reading.findings import (
    separability_finding,
    sets_finding,
)
from tiebreak.reading.messages import NO_SETS, RATING_SET, SINGLE_SETS
from tiebreak.report.model.report import CriterionSection
from tiebreak.stats import Estimate

RISES = "Consistency of these annotators rises with separability"
FALLS = "Consistency of these annotators falls with separability"
RISES_FOR_ALL = "| Consistency rises with separability"
NO_TREND = "No trend of consistency with separability is shown"
NOT_RULED_OUT = "The interval includes 0, so the data show no clear trend, but do not rule one out."


def trend(rho: Estimate) -> str:
    return of("", *separability_finding(with_sets(spearman_separability=rho).rating_sets))


def sets(section: CriterionSection) -> str:
    return of(*sets_finding(section.rating_sets))


MIXED = "20% of these annotators' rating sets are mixed"
COIN = " (by a coin: 50%)"
SHARES = (
    "Of 60 complete sets, 20% prefer each system at least once, 5% consist only of ties, and 40%"
    " are perfectly consistent; the others lie between."
)

SETS = (
    Case(
        "ρ above 0",
        lambda: trend(interval(0.1, 0.3, raters="these")),
        (
            f"| {RISES} |",
            "Spearman's ρ of separability and mean consistency is 0.20 (0.10 to 0.30) over 40"
            " values of δ.",
            THESE_RATERS,
        ),
        (FALLS, NO_TREND, NOT_RULED_OUT, RISES_FOR_ALL),
    ),
    Case(
        "ρ below 0",
        lambda: trend(interval(-0.3, -0.1, raters="these")),
        (f"| {FALLS} |",),
        (RISES, NO_TREND),
    ),
    Case(
        "ρ for new raters",
        lambda: trend(interval(0.1, 0.3)),
        (RISES_FOR_ALL, SIMILAR_RATERS),
        (RISES, THESE_RATERS),
    ),
    Case(
        "an interval of ρ with 0",
        lambda: trend(interval(-0.1, 0.3, raters="these", instances="selected")),
        (f"| {NO_TREND}{SELECTED} |", NOT_RULED_OUT),
        (RISES, FALLS),
    ),
    Case(
        "ρ without an interval",
        lambda: trend(without_interval(0.9)),
        (
            "| Consistency by separability | Spearman's ρ of separability and mean consistency is"
            f" 0.90 over 4 values of δ. {WHY}",
        ),
        (
            RISES,
            NO_TREND,
            f"Spearman's ρ of separability and mean consistency is undefined. {WHY}",
        ),
    ),
    Case(
        "ρ undefined",
        lambda: trend(UNDEFINED),
        (
            "| Consistency by separability | ",
            f"Spearman's ρ of separability and mean consistency is undefined. {WHY}",
        ),
        ("Spearman's ρ of separability and mean consistency is 0.90", RISES),
    ),
    Case(
        "sets with an interval",
        lambda: sets(with_sets(incomplete=3)),
        (f"{MIXED}{COIN} |", RATING_SET, SHARES, "3 incomplete sets are left out.", THESE_RATERS),
        (SIMILAR_RATERS, SELECTED),
    ),
    Case(
        "sets after a draw",
        lambda: sets(
            with_sets(contradictory=interval(0.1, 0.3, instances="selected", raters="these"))
        ),
        (f"{MIXED}{SELECTED}{COIN} |",),
        ("3 incomplete sets are left out.", DATASET),
    ),
    Case(
        "sets without an interval",
        lambda: sets(with_sets(contradictory=without_interval(0.2))),
        (f"Rating sets | {RATING_SET} {SHARES}", WHY),
        (MIXED,),
    ),
    Case(
        "no sets",
        lambda: sets(with_sets(n=0, consistency=UNDEFINED)),
        (f"Rating sets | {WHY}",),
        (SHARES, MIXED, RATING_SET),
    ),
    Case(
        "the mean strength of preferences",
        lambda: figure_text(strength_figure(with_sets(preference_strength=interval(0.1, 0.3)))),
        ("The mean of all sets is 0.20.",),
        (SINGLE_SETS, NO_SETS),
    ),
    Case(
        "sets of one rating",
        lambda: figure_text(strength_figure(replace(with_sets(), n_ratings=60))),
        (SINGLE_SETS,),
        ("The mean of all sets is 0.20.", NO_SETS),
    ),
    Case(
        "no sets of two systems",
        lambda: figure_text(strength_figure(replace(base(), rating_sets=None))),
        (NO_SETS,),
        (SINGLE_SETS,),
    ),
)
