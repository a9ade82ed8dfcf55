"""Agreement between human labels, by majority or of single humans, and machine labels.

Sources: Elangovan et al. 2025 ("Beyond Correlation"), section 3 and appendix A; for leave-one-out
Lyu et al. 2024 (HREF), algorithm 1.
"""

from dataclasses import dataclass
from typing import TypedDict, Unpack

import numpy.typing as npt

from tiebreak.scales import Level
from tiebreak.stats.core.bootstrap import (
    Resampling,
    estimate,
    estimate_each,
)
from tiebreak.stats.core.results import Estimate, NamedEstimates
from tiebreak.stats.core.validation import (
    check_choice,
)
from tiebreak.stats.machines.classification import Classification
from tiebreak.stats.machines.comparison import Comparison
from tiebreak.stats.machines.comparison_statistics import Group, comparison_statistics
from tiebreak.stats.raters.additive import Categories
from tiebreak.stats.raters.agreement import Agreement
from tiebreak.stats.raters.jensen_shannon import Form, binned_js_statistic
from tiebreak.stats.raters.rank_correlations import (
    CORRELATIONS,
    Correlation,
    Summary,
    means_statistic,
    medians_statistic,
)


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
