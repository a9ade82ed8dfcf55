"""Sections of a report about raters, and how well they agree."""

from dataclasses import dataclass, field
from typing import Literal

from tiebreak.report.model.fields import (
    Distribution,
    Estimates,
    Matrix,
    Proportion,
    ProportionOrNaN,
    Votes,
)
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import NAN
from tiebreak.stats.raters.chance_corrected import (
    brennan_prediger_statistic,
    gwet_statistic,
    weighted_fleiss_statistic,
)
from tiebreak.stats.raters.rating_sets import RatingSetSummary, SeparabilityRange


@dataclass(frozen=True)
class RaterSection:
    """Ratings of one rater."""

    kind: Literal["human", "machine"]
    """Kind of rater."""
    n_ratings: int
    """Number of ratings that could be parsed."""
    n_unparsed: int
    """Number of answers that could not be parsed."""
    votes: Votes
    """Number of times that the rater gave each label."""
    leave_one_out: Estimate | None = None
    """Agreement of a human with the most frequent label among the other humans."""
    confusion: Matrix | None = None
    """Number of units by the most frequent label among the other humans (rows) and the label that
    this rater gave (columns), both in the order of `labels`. A unit with several most frequent
    labels is divided equally. Left out for scales with many labels."""


@dataclass(frozen=True)
class SelfConsistencySection:
    """Planned repeats: units that a rater saw a second time, with the sides swapped."""

    humans: Estimate
    """Share of the planned repeats that humans answered as they had answered the first time."""
    raters: Estimates
    """The same share for each rater with planned repeats."""


@dataclass(frozen=True)
class MajoritySection:
    """How reliable several ratings of an item are together, by their number."""

    ratings: int
    """Most frequent number of ratings of an item."""
    majority: Estimates
    """How often two separate groups of so many raters give an item the same majority label."""
    mean: Estimates | None = None
    """Reliability of the mean of so many ratings, for labels with an order."""
    reason: str | None = None
    """Why there is nothing."""


@dataclass(frozen=True)
class DawidSkeneRater:
    """A human rater in the model of Dawid and Skene."""

    accuracy: ProportionOrNaN
    """Probability that the rater gives the true label."""
    confusion: Matrix
    """Probability of each label that the rater gives (columns) for each true label (rows), both
    in the order of `labels`."""
    low: ProportionOrNaN = NAN
    high: ProportionOrNaN = NAN
    """Ends of its interval, for these raters on similar instances."""


@dataclass(frozen=True)
class DawidSkeneSection:
    """Estimates of the model of Dawid and Skene (1979), in which each unit has one true label."""

    n_units: int
    """Number of units used."""
    converged: bool
    """Whether the estimation came to an end. Do not use estimates that did not."""
    prior: Distribution
    """Share of units with each true label; NaN without estimates."""
    raters: dict[str, DawidSkeneRater]
    """Estimates of each human rater."""
    reason: str | None = None
    """Why there are no estimates."""


@dataclass(frozen=True, kw_only=True)
class ChanceCorrectedSection:
    """More coefficients of agreement among humans, of all units together; they apply to these raters.

    The coefficients of labels are listed by weights: `identity`, and for labels with an order also
    `linear` and `quadratic`.
    """

    # Tables take the title, and the section computes the statistic where counts of labels suffice. A
    # report of an earlier release has no estimates of what was added.
    gwet_ac: Estimates = field(
        default_factory=dict,
        metadata={"title": "Gwet's AC1; AC2 with weights", "of": gwet_statistic},
    )
    """Gwet's AC1 (identity) and AC2."""
    brennan_prediger: Estimates = field(
        default_factory=dict,
        metadata={
            "title": "Brennan–Prediger; with equal labels only, Randolph's κ",
            "of": brennan_prediger_statistic,
        },
    )
    """Coefficient of Brennan and Prediger."""
    fleiss_kappa: Estimates = field(
        default_factory=dict,
        metadata={
            "title": "Fleiss' κ with the label shares of all rated items (irrCAC)",
            "of": weighted_fleiss_statistic,
        },
    )
    """Fleiss' κ, in which units with one rating enter the shares of labels."""
    conger_kappa: Estimates = field(default_factory=dict, metadata={"title": "Conger's κ"})
    """Conger's κ, which is Cohen's κ for more than two raters."""
    cohen_kappa: Estimates = field(default_factory=dict, metadata={"title": "Cohen's κ"})
    """Cohen's κ, if there are exactly two raters."""
    intraclass_correlation: Estimates
    """Intraclass correlations of single ratings: `1`, `A` (absolute agreement), `C` (consistency)."""


@dataclass(frozen=True)
class RaterSets(RatingSetSummary):
    """Means over complete rating sets, overall and by separability."""

    mixed_by_coin: ProportionOrNaN
    by_separability: tuple[SeparabilityRange, ...]
    """Means in ranges of separability."""
    spearman_separability: Estimate
    """Spearman's ρ of separability and mean consistency."""


@dataclass(frozen=True)
class RatingSetsSection(RaterSets):
    """Rating sets of humans, and of each machine."""

    machines: dict[str, RaterSets]
    """The same for each machine, where each run and presentation order is a rater."""


@dataclass(frozen=True)
class SetValues:
    """Rating sets in one range of separability, by their values."""

    low: float
    high: float
    """Ends of the range."""
    n: int
    """Number of sets."""
    consistency: Distribution
    """Share of sets with each value of consistency; NaN without sets."""
    preference_strength: Distribution
    """Share of sets with each mean rating, from −1 (system A) to 1 (system B); NaN without sets."""


@dataclass(frozen=True)
class RaterSetValues:
    """Rating sets of one pair of systems, by humans or by one machine."""

    n: int
    """Number of complete sets whose separability is known."""
    ranges: tuple[SetValues, ...]
    """Their values in each range of separability. All pairs have the same ranges."""
    spearman_separability: Estimate
    """Spearman's ρ of separability and mean consistency."""


@dataclass(frozen=True)
class PairSetValues(RaterSetValues):
    """Rating sets of one pair of systems."""

    systems: tuple[str, str]
    """The pair, in the order of preference strength."""
    machines: dict[str, RaterSetValues]
    """The same for each machine, where each run and presentation order is a rater."""


@dataclass(frozen=True)
class RaterPair:
    """Agreement of two annotators on the units that both rated."""

    raters: tuple[str, str]
    """The two annotators."""
    shared: int
    """Number of units that both rated."""
    agreement: Proportion
    """Share of these units with equal labels."""
    kappa: Estimate
    """Cohen's κ."""


@dataclass(frozen=True)
class PairwiseAgreementSection:
    """Agreement of annotators two by two."""

    pairs: int
    """Number of pairs of annotators with at least 10 common units."""
    few_shared: int
    """Number of pairs with fewer common units, which are left out."""
    median: ProportionOrNaN
    """Median over pairs of the share of equal labels; NaN without pairs."""
    lowest: tuple[RaterPair, ...]
    """The pairs with the lowest share of equal labels."""
    reason: str | None = None
    """Why there are no pairs."""


@dataclass(frozen=True)
class MeanCorrelations:
    """Correlation of units' mean ratings by humans and by a machine."""

    spearman: Estimate
    """Spearman's ρ."""
    kendall: Estimate
    """Kendall's τ-b."""


@dataclass(frozen=True)
class FatigueSection:
    """How human answers change over the sequence of a rater's items."""

    n_ratings: int
    """Number of ratings whose position is known."""
    agreement: Estimate
    """Change of the share of answers that equal the most frequent label among the other
    humans, for 10 items more."""
    duration: Estimate
    """Relative change of the time per answer, for 10 items more: −0.1 is a tenth faster."""


@dataclass(frozen=True)
class Bias:
    """Position and length bias of human raters together, or of one machine.

    Both are estimated within pairs of systems, so a preference for a system is not bias. A pair in
    which one system always comes first, or always has the longer text, is excluded.
    """

    position: Estimate
    """P(the text shown first is preferred) − ½, where each system of a pair is
    first in half of the units."""
    length: Estimate
    """P(the longer text is preferred) − P(the shorter text is preferred), where each system of a
    pair has the longer one in half of the units."""


@dataclass(frozen=True)
class BiasSection(Bias):
    """Position and length bias of humans, and of each machine."""

    machines: dict[str, Bias]
    """The same for each machine."""
    simultaneous: Bias | None = None
    """The biases of humans with simultaneous intervals, which findings rest on."""


@dataclass(frozen=True)
class VoteCounts:
    """What some ratings of annotators say."""

    ratings: int
    """Number of ratings."""
    votes: Votes
    """Number of ratings that prefer each system or, where none are compared, that give each label;
    empty on scales with very many values."""
    ties: int
    """Number of ratings that prefer neither system."""
    mean: float
    """Mean label; NaN for preferences, and for labels without an order."""
    win_rate: Distribution
    """Win rate of each system if these ratings also count."""


@dataclass(frozen=True)
class SetAsideSection:
    """Annotators' ratings that were set aside, compared with those that count."""

    counted: VoteCounts
    """The ratings that count."""
    reasons: dict[str, VoteCounts]
    """Those that were set aside as ``late``, ``excluded``, ``partial`` or ``surplus``, and ``all``
    if there are several reasons. An answer that its annotator changed is not among them."""
    undecided: int
    """Number of late answers that nobody has accepted or declined; they are in nothing else."""
