"""Agreement of human labels, by majority or single, with those of a machine.

Source: Beyond Correlation, section 3 and appendix A; leave-one-out from HREF, algorithm 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Literal, Self, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from tiebreak.errors import InvalidInput
from tiebreak.scales import Level
from tiebreak.stats.agreement import Agreement, agreement_statistics
from tiebreak.stats.agreement_statistics import Categories, label_number
from tiebreak.stats.bootstrap import (
    AnyStatistic,
    Resampling,
    Statistic,
    difference,
    estimate,
    estimate_each,
    on_columns,
)
from tiebreak.stats.classification import Classification, classification_statistics
from tiebreak.stats.counts import Patterns
from tiebreak.stats.jensen_shannon import Form, binned_js_statistic
from tiebreak.stats.pairs import NO_OVERLAP, Pairs, RandomPairs, central_weights, single_weights
from tiebreak.stats.rank_correlations import (
    CORRELATIONS,
    Correlation,
    Summary,
    means_statistic,
    medians_statistic,
)
from tiebreak.stats.results import NAN, Estimate
from tiebreak.stats.validation import FloatArray, IntArray, as_counts, check_choice

NO_ORDER = "The labels have no order."
AMONG_HUMANS, AGAINST_MACHINE = "Among humans", "Humans against the machine"
ONE_HUMAN = "A single human has no majority: see human_machine."


@dataclass(frozen=True, eq=False)
class Comparison:
    """Ratings of humans and of one machine on the same units, reduced once for all statistics.

    Make one with `Comparison.of`.

    Attributes
    ----------
    patterns : Patterns
        Joint rows: human counts, machine counts, number of unparsed answers, and the split.
    labels : int
        Number of labels in the scale.
    humans, machine : slice
        Columns of the joint rows with the counts of either side.

    See Also
    --------
    human_machine : Agreement of the human majority with the machine.

    Examples
    --------
    >>> comparison = Comparison.of([[2, 0], [0, 2]], [[1, 0], [0, 1]])
    >>> comparison.patterns.n_units
    2
    """

    patterns: Patterns
    labels: int

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
        """Join the counts of humans and of a machine.

        Parameters
        ----------
        humans, machine : array_like of int, shape (n_units, n_labels)
            Number of ratings that give each unit each label. The machine's runs and presentation orders are
            counted as its ratings.
        unparsed : array_like of int, shape (n_units,), optional
            Number of answers that could not be read. Where none of a unit's answers could be, the
            unit is a disagreement in percentage agreement and leave-one-out, and is missing
            elsewhere.
        clusters : array_like, shape (n_units,), optional
            Instance of each unit. If units share an instance, whole instances are resampled.
        split : array_like of int, shape (n_units,), optional
            Units with different numbers are not reduced to one row, so that strata can tell them
            apart.

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
                "humans and machine must count the same units and labels: "
                f"their shapes are {left.shape} and {right.shape}.",
            )
        n_unparsed = (
            np.zeros(len(left), dtype=np.int64) if unparsed is None else np.asarray(unparsed)
        )
        if n_unparsed.shape != (len(left),):
            raise InvalidInput(
                "wrong_length", f"unparsed must have one number for each of the {len(left)} units."
            )
        code = np.zeros_like(n_unparsed) if split is None else split
        joint = np.column_stack([left, right, n_unparsed, code])
        return cls(Patterns.of(joint, clusters=clusters), left.shape[1])

    @property
    def humans(self) -> slice:
        """Columns of the joint rows with the human counts."""
        return slice(0, self.labels)

    @property
    def machine(self) -> slice:
        """Columns of the joint rows with the machine's counts."""
        return slice(self.labels, 2 * self.labels)

    def pairs(self, *, level: Level) -> Pairs:
        """Pair the human majority with the machine's, H^w against M^w.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            Level of measurement: the mode, or the lower median from ordinal level up.

        Returns
        -------
        Pairs
            How joint rows become pairs of labels.
        """
        return Pairs(self.labels, level=level, human_weights=partial(central_weights, level=level))

    def single_pairs(self, *, level: Level) -> Pairs:
        """Pair a random single human with the machine's majority, H′ against M^w.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            Level of measurement: the mode, or the lower median from ordinal level up.

        Returns
        -------
        Pairs
            How joint rows become pairs of labels.
        """
        return Pairs(self.labels, level=level, human_weights=single_weights)

    def random_pairs(self, *, level: Level) -> Pairs:
        """Pair the human majority with uniformly random labels.

        Parameters
        ----------
        level : {"nominal", "ordinal", "interval", "ratio"}
            Level of measurement: the mode, or the lower median from ordinal level up.

        Returns
        -------
        Pairs
            How joint rows become pairs of labels.
        """
        return RandomPairs(
            self.labels, level=level, human_weights=partial(central_weights, level=level)
        )

    def label_number(self, k: Categories) -> int:
        """Return the number of labels for Randolph's κ.

        Parameters
        ----------
        k : int, {"observed"} or None
            See `randolph_kappa`. What was observed is looked up on both sides together.

        Returns
        -------
        int
            Number of labels.
        """
        both = self.patterns.rows[:, self.humans] + self.patterns.rows[:, self.machine]
        return label_number(both, k)


@dataclass(frozen=True)
class HumanMachine:
    """Statistics of humans against one machine on one set of units.

    Attributes
    ----------
    krippendorff_alpha, percentage_agreement, randolph_kappa, fleiss_kappa, cohen_kappa : Estimate
        Agreement, see the functions of these names.
    binned_js : Estimate
        See `binned_js`.
    leave_one_out : Estimate
        Chance that the machine's label is the mode of all but one of the humans.
    spearman, kendall : Estimate
        Rank correlations of the medians, see `rank_correlation`.
    """

    krippendorff_alpha: Estimate
    percentage_agreement: Estimate
    randolph_kappa: Estimate
    fleiss_kappa: Estimate
    cohen_kappa: Estimate
    binned_js: Estimate
    leave_one_out: Estimate
    spearman: Estimate
    kendall: Estimate

    def estimates(self) -> dict[str, Estimate]:
        """Return the estimates by name.

        Returns
        -------
        dict of str to Estimate
            One entry for each field.
        """
        return {field.name: getattr(self, field.name) for field in fields(self)}


class Options(TypedDict, total=False):
    """How labels are read: as in `agreement`, and the ``form`` of Jensen–Shannon."""

    level: Level
    values: npt.ArrayLike | None
    k: Categories
    form: Form


class MachineOptions(Options, Resampling, total=False):
    """The options of every statistic of this module."""


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
        Counts of both sides.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    HumanMachine
        The estimates. Rank correlations are undefined on nominal scales.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    single_human_machine : A random single human in place of the majority.
    delta : How much better humans agree with one another.
    random_baseline : What random labels would reach.

    Notes
    -----
    The majority is the mode on nominal scales, and the lower median from ordinal level up. A tie
    for the majority enters once per mode, or per pair of modes, with equal weights that add to 1,
    so that no seed decides it. Sources: Elangovan et al. 2025, section 3; for leave-one-out Lyu et
    al. 2024 (HREF), algorithm 1, outer loop.

    Examples
    --------
    >>> comparison = Comparison.of([[2, 0], [0, 2], [2, 0]], [[1, 0], [0, 1], [0, 1]])
    >>> round(human_machine(comparison).cohen_kappa.value, 4)
    0.4
    """
    return HumanMachine(**_estimates(comparison, "human_machine", options))


def single_human_machine(comparison: Comparison, **options: Unpack[MachineOptions]) -> HumanMachine:
    """Compare a random single human with the machine's majority, in expectation.

    Parameters
    ----------
    comparison : Comparison
        Counts of both sides.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    HumanMachine
        The estimates. Binned Jensen–Shannon and leave-one-out need several humans: undefined.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    human_machine : The human majority in place of a single human.

    Notes
    -----
    Each unit enters once per human rating, with weights that add to 1. The statistic is that of the
    expected table, and nothing is drawn. Source: Elangovan et al. 2025, section 3.

    Examples
    --------
    >>> comparison = Comparison.of([[1, 1], [0, 2]], [[1, 0], [0, 1]])
    >>> single_human_machine(comparison).percentage_agreement.value
    0.75
    """
    return HumanMachine(**_estimates(comparison, "single_human_machine", options))


def random_baseline(comparison: Comparison, **options: Unpack[MachineOptions]) -> HumanMachine:
    """Compare the human majority with uniformly random labels, in expectation.

    Parameters
    ----------
    comparison : Comparison
        Counts of both sides. Only the units that the machine answered enter.
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
    human_machine : The machine in place of random labels.

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
    """Estimate the agreement among a machine's runs and presentation orders.

    Parameters
    ----------
    comparison : Comparison
        Counts of both sides. Unparsed answers are missing ratings.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    Agreement
        The estimates; undefined for a machine with one run.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    agreement : The same of any counts.

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
        Counts of both sides.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    Agreement
        Δ = agreement among humans less agreement of the human majority with the machine's, for each
        statistic, with an interval of the difference.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    agreement : Agreement among humans.
    human_machine : Agreement of humans with the machine.

    Notes
    -----
    Both sides are read off the same bootstrap replicates. Source: Elangovan et al. 2025, section 3.

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
        Counts of both sides.
    **options
        ``level``, ``values`` and ``k`` as in `agreement`, ``form`` as in `jensen_shannon`, and the
        options of the bootstrap, which `tiebreak.stats` describes.

    Returns
    -------
    Classification
        Accuracy, and precision, recall and F1 averaged over the labels that either side gave.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    human_machine : Measures of agreement, which treat both sides alike.

    Notes
    -----
    The human majority is the truth; ties enter as in `human_machine`. An unparsed answer misses its
    unit's label and names none. A label that the machine never names has precision 0, and one that
    humans never give has recall 0, as in scikit-learn's macro average.

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
) -> dict[Group, dict[str, AnyStatistic]]:
    """All statistics of one machine, by group and name, to be estimated from one table."""
    n_labels = comparison.label_number(k)
    n_machine_labels = label_number(comparison.patterns.rows[:, comparison.machine], k)
    pairs, random = comparison.pairs(level=level), comparison.random_pairs(level=level)
    humans = agreement_statistics(comparison.labels, level=level, values=values, k=n_labels)
    runs = agreement_statistics(comparison.labels, level=level, values=values, k=n_machine_labels)
    with_machine = _majority(pairs, values=values, k=n_labels, form=form)
    baseline = _majority(random, values=values, k=n_labels, form=form)
    return {
        "machine_machine": {**_on_columns(runs, comparison.machine)},
        "human_machine": with_machine | _correlations(pairs),
        "single_human_machine": _single(comparison, level=level, values=values, k=n_labels),
        "delta": _differences(_on_columns(humans, comparison.humans), with_machine),
        "classification": classification_statistics(pairs),
        "random_baseline": baseline | _correlations(random),
    }


def _on_columns(statistics: Mapping[str, Statistic], columns: slice) -> dict[str, Statistic]:
    return {name: on_columns(statistic, columns) for name, statistic in statistics.items()}


def _differences(
    humans: Mapping[str, Statistic], with_machine: Mapping[str, AnyStatistic]
) -> dict[str, AnyStatistic]:
    sides = (AMONG_HUMANS, AGAINST_MACHINE)
    pairs = {name: (humans[name], with_machine[name]) for name in humans}
    return {
        name: difference(first, second, sides=sides)
        for name, (first, second) in pairs.items()
        if isinstance(second, Statistic)
    }


def _chance_corrected(
    pairs: Pairs, *, values: npt.ArrayLike | None, k: int
) -> dict[str, AnyStatistic]:
    """Percentage agreement, and the chance-corrected coefficients."""
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
    """The statistics that the majority of several humans has."""
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
    """A statistic that is always undefined; n counts the units that would enter."""

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
    """Estimate the rank correlation of humans and a machine over units.

    Parameters
    ----------
    comparison : Comparison
        Counts of both sides. The labels must be in order.
    correlation : {"spearman", "kendall"}, default "spearman"
        Spearman's ρ, or Kendall's τ-b.
    of : {"medians", "means"}, default "medians"
        What is correlated: lower medians or mean ratings of a unit.
    values : array_like of float, shape (n_labels,), optional
        Number that each label stands for in a mean; 0, 1, 2, … by default.
    **resampling
        Options of the bootstrap: ``rng`` (omit it for no interval), ``replicates``,
        ``confidence_level`` and ``batch``. See `tiebreak.stats`.

    Returns
    -------
    Estimate
        The correlation, in [−1, 1]. It is undefined if either side is constant.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    Notes
    -----
    Both are as `scipy.stats.spearmanr` and `scipy.stats.kendalltau` define them. Units without a
    readable answer of the machine are ignored.

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
    """Estimate the Jensen–Shannon distance of human and machine labels by human majority.

    Parameters
    ----------
    comparison : Comparison
        Counts of both sides.
    level : {"nominal", "ordinal", "interval", "ratio"}, default "nominal"
        Level of measurement of the labels.
    form : {"distance", "divergence", "distance_base_2"}, default "distance"
        See `jensen_shannon`.
    **resampling
        Options of the bootstrap: ``rng`` (omit it for no interval), ``replicates``,
        ``confidence_level`` and ``batch``. See `tiebreak.stats`.

    Returns
    -------
    Estimate
        Mean over units of the distance in the unit's bin, 0 or more.

    Raises
    ------
    InvalidInput
        If an option has a value that is not allowed.

    See Also
    --------
    jensen_shannon : The distance itself.

    Notes
    -----
    A unit's bin is its human majority, or its lower median from ordinal level up. In a bin the
    labels of all its units are pooled, on either side (Elangovan et al. 2025, eq. 2). Since the
    value cannot be negative, the interval is normal, around the value less its bootstrap bias.
    Units without a readable answer are ignored. With more than 25 labels there is no interval.

    Examples
    --------
    >>> comparison = Comparison.of([[2, 0], [0, 2]], [[1, 0], [0, 1]])
    >>> binned_js(comparison).value
    0.0
    """
    statistic = binned_js_statistic(comparison.pairs(level=level), form=form)
    return estimate(statistic, comparison.patterns, **resampling)
