"""Agreement between human labels, by majority or of single humans, and machine labels.

Sources: Elangovan et al. 2025 ("Beyond Correlation"), section 3 and appendix A; for leave-one-out
Lyu et al. 2024 (HREF), algorithm 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import Level
from tiebreak.stats.core.bootstrap import (
    AnyStatistic,
    Resampling,
    Statistic,
    difference,
    estimate,
    estimate_each,
    on_columns,
)
from tiebreak.stats.core.counts import Patterns
from tiebreak.stats.core.results import NAN, Estimate, NamedEstimates
from tiebreak.stats.core.unit_weights import UnitWeights, weighted
from tiebreak.stats.core.validation import (
    FloatArray,
    IntArray,
    as_counts,
    as_unparsed,
    check_choice,
)
from tiebreak.stats.machines.classification import Classification, classification_statistics
from tiebreak.stats.raters.additive import Categories, label_number
from tiebreak.stats.raters.agreement import Agreement, agreement_statistics
from tiebreak.stats.raters.jensen_shannon import Form, binned_js_statistic
from tiebreak.stats.raters.label_pairs import (
    NO_OVERLAP,
    Pairs,
    RandomPairs,
    central_weights,
    single_weights,
)
from tiebreak.stats.raters.rank_correlations import (
    CORRELATIONS,
    Correlation,
    Summary,
    means_statistic,
    medians_statistic,
)

NO_ORDER = "The labels have no order, so a rank correlation is undefined."
AMONG_HUMANS, AGAINST_MACHINE = "Among humans", "Humans against the machine"
ONE_HUMAN = (
    "This statistic needs the ratings of several humans, so it has no value for one human alone."
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """Ratings by humans and one machine on the same units, reduced once for all statistics.

    Use `Comparison.of` to create a comparison.

    See Also
    --------
    human_machine : Compares the human majority with the machine's majority.

    Examples
    --------
    >>> comparison = Comparison.of([[2, 0], [0, 2]], [[1, 0], [0, 1]])
    >>> comparison.patterns.n_units
    2
    """

    patterns: Patterns
    """Joint rows, which contain the human counts, the machine counts, the number of unparsed
    answers, and the split number."""
    labels: int
    """Number of labels in the scale."""

    @classmethod
    def of(
        cls,
        humans: npt.ArrayLike,
        machine: npt.ArrayLike,
        *,
        unparsed: npt.ArrayLike | None = None,
        clusters: npt.ArrayLike | None = None,
        split: npt.ArrayLike | None = None,
    ) -> Self:
        """Join the label counts of the humans and the machine.

        Parameters
        ----------
        humans, machine : array_like of int, shape (n_units, n_labels)
            Number of ratings that give each unit each label. Every run and every presentation order
            of the machine counts as a rating.
        unparsed : array_like of int, shape (n_units,), optional
            Number of machine answers for each unit that could not be read. If none of the answers
            for a unit could be read, the unit counts as a disagreement in percentage agreement,
            classification and leave-one-out agreement, and as missing in all other statistics.
        clusters : array_like, shape (n_units,), optional
            Instance of each unit. If units share an instance, whole instances are resampled.
        split : array_like of int, shape (n_units,), optional
            Number for each unit. Units with different numbers are never reduced to the same row, so
            strata can separate them.

        Returns
        -------
        Comparison
            The joint counts.

        Raises
        ------
        InvalidInput
            If the shapes differ, or the counts are not whole numbers.

        Examples
        --------
        >>> Comparison.of([[2, 0], [0, 2]], [[1, 0], [0, 0]], unparsed=[0, 1]).labels
        2
        """
        left, right = as_counts(humans, name="humans"), as_counts(machine, name="machine")
        if left.shape != right.shape:
            raise InvalidInput(
                "wrong_shape",
                "humans and machine must have the same shape, because they count the same units"
                f" and labels; their shapes are {left.shape} and {right.shape}.",
            )
        n_unparsed = as_unparsed(unparsed, len(left))
        code = np.zeros_like(n_unparsed) if split is None else split
        joint = np.column_stack([left, right, n_unparsed, code])
        return cls(Patterns.of(joint, clusters=clusters), left.shape[1])

    @property
    def humans(self) -> slice:
        """Columns of the joint rows that contain the human counts."""
        return slice(0, self.labels)

    @property
    def machine(self) -> slice:
        """Columns of the joint rows that contain the machine counts."""
        return slice(self.labels, 2 * self.labels)

    def pairs(self, *, level: Level) -> Pairs:
        """Pair the human majority with the machine's majority.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            Level of measurement. The majority is the mode on nominal scales and the lower median on
            all other scales.

        Returns
        -------
        Pairs
            Object that converts joint rows to pairs of labels.
        """
        return Pairs(self.labels, level=level, human_weights=partial(central_weights, level=level))

    def single_pairs(self, *, level: Level) -> Pairs:
        """Pair a random single human with the machine's majority.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            Level of measurement. The majority is the mode on nominal scales and the lower median on
            all other scales.

        Returns
        -------
        Pairs
            Object that converts joint rows to pairs of labels.
        """
        return Pairs(self.labels, level=level, human_weights=single_weights)

    def random_pairs(self, *, level: Level) -> Pairs:
        """Pair the human majority with uniformly random labels.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            Level of measurement. The majority is the mode on nominal scales and the lower median on
            all other scales.

        Returns
        -------
        Pairs
            Object that converts joint rows to pairs of labels.
        """
        return RandomPairs(
            self.labels, level=level, human_weights=partial(central_weights, level=level)
        )

    def label_number(self, k: Categories) -> int:
        """Return the number of labels for Randolph's κ.

        Parameters
        ----------
        k : int, {"observed"} or None
            See `randolph_kappa`. ``"observed"`` counts the labels that humans or the machine gave.

        Returns
        -------
        int
            Number of labels.
        """
        both = self.patterns.rows[:, self.humans] + self.patterns.rows[:, self.machine]
        return label_number(both, k)


@dataclass(frozen=True)
class HumanMachine(NamedEstimates):
    """Statistics that compare humans with one machine on one set of units."""

    krippendorff_alpha: Estimate
    percentage_agreement: Estimate
    randolph_kappa: Estimate
    fleiss_kappa: Estimate
    cohen_kappa: Estimate
    """Agreement; the statistic of this name."""
    binned_js: Estimate
    """Distance of the human and machine label distributions; see `binned_js`."""
    leave_one_out: Estimate
    """Probability that the machine's label is the mode of all human ratings except one."""
    spearman: Estimate
    kendall: Estimate
    """Rank correlations of the medians; see `rank_correlation`."""


class Options(TypedDict, total=False):
    """Options of `agreement` that say how to treat labels, and the ``form`` of Jensen–Shannon."""

    level: Level
    values: npt.ArrayLike | None
    k: Categories
    form: Form


class MachineOptions(Options, Resampling, total=False):
    """Options that all statistics in this module share."""


Group = Literal[
    "machine_machine",
    "human_machine",
    "single_human_machine",
    "delta",
    "classification",
    "random_baseline",
]


def human_machine(comparison: Comparison, **options: Unpack[MachineOptions]) -> HumanMachine:
    """Compare the human majority with the machine's majority.

    Parameters
    ----------
    comparison : Comparison
        Label counts of the humans and the machine.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    HumanMachine
        The estimates. On nominal scales, rank correlations are undefined.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    single_human_machine : Uses a random single human instead of the majority.
    delta : Estimates how much better humans agree with one another.
    random_baseline : Estimates the values that random labels would reach.

    Notes
    -----
    The majority is the mode on nominal scales and the lower median on all other scales. A tie for
    the majority is not broken at random. Instead, each mode (or each pair of modes, if both sides
    are tied) enters with an equal weight, and the weights of a unit sum to 1. Sources: Elangovan et
    al. 2025, section 3; for leave-one-out Lyu et al. 2024 (HREF), algorithm 1, outer loop.

    Examples
    --------
    >>> comparison = Comparison.of([[2, 0], [0, 2], [2, 0]], [[1, 0], [0, 1], [0, 1]])
    >>> round(human_machine(comparison).cohen_kappa.value, 4)
    0.4
    """
    return HumanMachine(**_estimates(comparison, "human_machine", options))


def single_human_machine(comparison: Comparison, **options: Unpack[MachineOptions]) -> HumanMachine:
    """Compare a random single human with the machine's majority by expected values.

    Parameters
    ----------
    comparison : Comparison
        Label counts of the humans and the machine.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    HumanMachine
        The estimates. `binned_js` and `leave_one_out` are undefined because they need several
        humans.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    human_machine : Uses the human majority instead of a single human.

    Notes
    -----
    Each unit enters once per human rating, with weights that sum to 1. Statistics are computed from
    the expected table of labels, without random draws. Source: Elangovan et al. 2025, section 3.

    Examples
    --------
    >>> comparison = Comparison.of([[1, 1], [0, 2]], [[1, 0], [0, 1]])
    >>> single_human_machine(comparison).percentage_agreement.value
    0.75
    """
    return HumanMachine(**_estimates(comparison, "single_human_machine", options))


def random_baseline(comparison: Comparison, **options: Unpack[MachineOptions]) -> HumanMachine:
    """Compare the human majority with uniformly random labels by expected values.

    Parameters
    ----------
    comparison : Comparison
        Label counts of the humans and the machine. Only units that the machine answered enter.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    HumanMachine
        The estimates.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    human_machine : Uses the machine's labels instead of random labels.

    Notes
    -----
    Source: Elangovan et al. 2025, figure 2.

    Examples
    --------
    >>> random_baseline(Comparison.of([[2, 0]], [[1, 0]])).percentage_agreement.value
    0.5
    """
    return HumanMachine(**_estimates(comparison, "random_baseline", options))


def machine_machine(comparison: Comparison, **options: Unpack[MachineOptions]) -> Agreement:
    """Estimate the agreement among a machine's repeated runs.

    Parameters
    ----------
    comparison : Comparison
        Label counts of the humans and the machine, with a row for each unit and presentation order,
        because two orders are no repeated runs. Unparsed answers are missing ratings.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    Agreement
        The estimates; they are undefined if the machine has only one rating per unit.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    agreement : Estimates the agreement in any counts.

    Examples
    --------
    >>> machine_machine(Comparison.of([[2, 0], [0, 2]], [[2, 0], [1, 1]])).randolph_kappa.value
    0.0
    """
    return Agreement(**_estimates(comparison, "machine_machine", options))


def delta(comparison: Comparison, **options: Unpack[MachineOptions]) -> Agreement:
    """Estimate how much better humans agree with one another than with a machine.

    Parameters
    ----------
    comparison : Comparison
        Label counts of the humans and the machine.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    Agreement
        For each statistic, the difference Δ between agreement among humans and agreement of the
        human majority with the machine's majority, with an interval.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    agreement : Estimates agreement among humans.
    human_machine : Estimates agreement of humans with the machine.

    Notes
    -----
    Both agreements are computed from the same bootstrap replicates. Source: Elangovan et al. 2025,
    section 3.

    Examples
    --------
    >>> comparison = Comparison.of([[2, 0], [0, 2]], [[1, 0], [1, 0]])
    >>> delta(comparison).percentage_agreement.value
    0.5
    """
    return Agreement(**_estimates(comparison, "delta", options))


def classification(comparison: Comparison, **options: Unpack[MachineOptions]) -> Classification:
    """Estimate how well a machine predicts the human majority.

    Parameters
    ----------
    comparison : Comparison
        Label counts of the humans and the machine.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    Classification
        Accuracy, and precision, recall and F1 averaged over the labels that the humans or the
        machine gave.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    human_machine : Estimates agreement, which treats humans and machine symmetrically.

    Notes
    -----
    The human majority is treated as the true label; ties enter as in `human_machine`. An unparsed
    answer counts as a miss for the true label and as a prediction of no label. As in scikit-learn's
    macro average, precision is 0 for a label that the machine never gives, and recall is 0 for a
    label that humans never give.

    Examples
    --------
    >>> comparison = Comparison.of([[2, 0], [0, 2], [2, 0]], [[1, 0], [0, 1], [0, 1]])
    >>> round(classification(comparison).accuracy.value, 4)
    0.6667
    """
    return Classification(**_estimates(comparison, "classification", options))


def _estimates(
    comparison: Comparison, group: Group, options: MachineOptions
) -> dict[str, Estimate]:
    label_options, resampling = Options(), Resampling()
    for name, value in options.items():
        target = label_options if name in Options.__annotations__ else resampling
        target[name] = value  # type: ignore[literal-required]
    statistics = comparison_statistics(comparison, **label_options)[group]
    return estimate_each(statistics, comparison.patterns, **resampling)


def comparison_statistics(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    values: npt.ArrayLike | None = None,
    k: Categories = None,
    form: Form = "distance",
    weights: UnitWeights | None = None,
) -> dict[Group, dict[str, AnyStatistic]]:
    """Return all statistics of one machine, by group and name.

    Weights, whose codes split the comparison, enter both sides of Δ.
    """
    n_labels = comparison.label_number(k)
    n_machine_labels = label_number(comparison.patterns.rows[:, comparison.machine], k)
    pairs, random = comparison.pairs(level=level), comparison.random_pairs(level=level)
    humans = agreement_statistics(comparison.labels, level=level, values=values, k=n_labels)
    runs = agreement_statistics(comparison.labels, level=level, values=values, k=n_machine_labels)
    with_machine = weighted(_majority(pairs, values=values, k=n_labels, form=form), weights)
    among_humans = _on_columns(humans, comparison.humans)
    among_runs = _on_columns(runs, comparison.machine)
    baseline = _majority(random, values=values, k=n_labels, form=form)
    single = _single(comparison, level=level, values=values, k=n_labels)
    return {
        "machine_machine": weighted(among_runs, weights, comparison.machine),
        "human_machine": with_machine | weighted(_correlations(pairs), weights),
        "single_human_machine": weighted(single, weights),
        "delta": _differences(weighted(among_humans, weights, comparison.humans), with_machine),
        "classification": weighted(classification_statistics(pairs), weights),
        "random_baseline": weighted(baseline | _correlations(random), weights),
    }


def _on_columns(statistics: Mapping[str, Statistic], columns: slice) -> dict[str, AnyStatistic]:
    return {name: on_columns(statistic, columns) for name, statistic in statistics.items()}


def _differences(
    humans: Mapping[str, AnyStatistic], with_machine: Mapping[str, AnyStatistic]
) -> dict[str, AnyStatistic]:
    sides = (AMONG_HUMANS, AGAINST_MACHINE)
    pairs = {name: (humans[name], with_machine[name]) for name in humans}
    return {
        name: difference(first, second, sides=sides)
        for name, (first, second) in pairs.items()
        if isinstance(first, Statistic) and isinstance(second, Statistic)
    }


def _chance_corrected(
    pairs: Pairs, *, values: npt.ArrayLike | None, k: int
) -> dict[str, AnyStatistic]:
    """Return percentage agreement and the chance-corrected coefficients, by name."""
    return {
        "krippendorff_alpha": pairs.alpha_statistic(values=values),
        "percentage_agreement": pairs.percentage_statistic(),
        "randolph_kappa": pairs.randolph_statistic(k),
        "fleiss_kappa": pairs.fleiss_statistic(),
        "cohen_kappa": pairs.cohen_statistic(),
    }


def _majority(
    pairs: Pairs, *, values: npt.ArrayLike | None, k: int, form: Form
) -> dict[str, AnyStatistic]:
    """Return the statistics that need the majority of several humans, by name."""
    return {
        **_chance_corrected(pairs, values=values, k=k),
        "binned_js": binned_js_statistic(pairs, form=form),
        "leave_one_out": pairs.leave_one_out_statistic(),
    }


def _single(
    comparison: Comparison, *, level: Level, values: npt.ArrayLike | None, k: int
) -> dict[str, AnyStatistic]:
    pairs = comparison.single_pairs(level=level)
    statistics = _chance_corrected(pairs, values=values, k=k)
    for name in ("binned_js", "leave_one_out"):
        statistics[name] = _undefined_statistic(pairs, ONE_HUMAN)
    return statistics | _correlations(pairs)


def _correlations(pairs: Pairs) -> dict[str, AnyStatistic]:
    if pairs.level == "nominal":
        return {name: _undefined_statistic(pairs, NO_ORDER) for name in CORRELATIONS}
    return {name: medians_statistic(pairs, name) for name in CORRELATIONS}


def _undefined_statistic(pairs: Pairs, reason: str) -> Statistic:
    """Return a statistic that is always undefined; its n counts the units that would enter."""

    def features(rows: IntArray) -> FloatArray:
        return pairs.count(rows)[:, None]

    def value(sums: FloatArray) -> FloatArray:
        return np.full(sums.shape[:-1], NAN)

    return Statistic(1, features, value, NO_OVERLAP, reason)


def rank_correlation(
    comparison: Comparison,
    *,
    correlation: Correlation = "spearman",
    of: Summary = "medians",
    values: npt.ArrayLike | None = None,
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate the rank correlation between humans and a machine over units.

    Parameters
    ----------
    comparison : Comparison
        Label counts of the humans and the machine. The labels must be ordered.
    correlation : {"spearman", "kendall"}, default "spearman"
        Spearman's ρ or Kendall's τ-b.
    of : {"medians", "means"}, default "medians"
        Whether to correlate the lower medians or the mean ratings of the units.
    values : array_like of float, shape (n_labels,), optional
        Numeric value of each label for the means; 0, 1, 2, … by default.
    **resampling
        Options of the bootstrap, as in `tiebreak.stats`; omit ``rng`` for no interval.

    Returns
    -------
    Estimate
        The correlation, from −1 to 1. It is undefined if all humans' values or all machine values
        are equal.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    Notes
    -----
    The correlations equal `scipy.stats.spearmanr` and `scipy.stats.kendalltau`. Units
    without a readable machine answer are ignored.

    Examples
    --------
    >>> humans, machine = [[2, 0, 0], [0, 2, 0], [0, 0, 2]], [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    >>> rank_correlation(Comparison.of(humans, machine)).value
    0.5
    """
    pairs, patterns = comparison.pairs(level="ordinal"), comparison.patterns
    check_choice(of, allowed=("medians", "means"), name="of")
    check_choice(correlation, allowed=CORRELATIONS, name="correlation")
    statistic = (
        medians_statistic(pairs, correlation)
        if of == "medians"
        else means_statistic(pairs, patterns.rows, correlation, values=values)
    )
    return estimate(statistic, patterns, **resampling)


def binned_js(
    comparison: Comparison,
    *,
    level: Level = "nominal",
    form: Form = "distance",
    **resampling: Unpack[Resampling],
) -> Estimate:
    """Estimate the Jensen–Shannon distance between human and machine labels by human majority.

    Parameters
    ----------
    comparison : Comparison
        Label counts of the humans and the machine.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    form : {"distance", "divergence", "distance_base_2"}, default "distance"
        See `jensen_shannon`.
    **resampling
        Options of the bootstrap, as in `tiebreak.stats`; omit ``rng`` for no interval.

    Returns
    -------
    Estimate
        Mean over units of the distance in each unit's bin, 0 or more.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    jensen_shannon : Computes the distance between two distributions.

    Notes
    -----
    A unit's bin is its human majority label (nominal) or its lower median (all other levels).
    Within each bin, the human labels of all units are pooled, and so are the machine labels
    (Elangovan et al. 2025, eq. 2). Since the value cannot be negative, the interval is a normal
    interval around the value minus its bootstrap bias. Units without a readable machine answer are
    ignored. With more than 25 labels, there is no interval.

    Examples
    --------
    >>> comparison = Comparison.of([[2, 0], [0, 2]], [[1, 0], [0, 1]])
    >>> binned_js(comparison).value
    0.0
    """
    statistic = binned_js_statistic(comparison.pairs(level=level), form=form)
    return estimate(statistic, comparison.patterns, **resampling)
