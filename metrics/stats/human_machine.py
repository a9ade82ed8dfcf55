"""Human against machine ratings of the same units, in one pass over joint count rows.

H^w and M^w are the majority of a side (lower median where labels are ordered); a tie enters once
per mode, or per pair of modes, as whole labels with weight 1 / (number of entries). H′ is a
random single human, in expectation. An unparsed machine answer is a disagreement in percentage
agreement and leave-one-out, and missing elsewhere.

Source: Beyond Correlation, section 3 and appendix A; leave-one-out from HREF, algorithm 1.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metrics.stats.agreement import (
    NO_PAIRS,
    NO_VARIATION,
    agreement_features,
    agreement_statistics,
    alpha_of,
    beyond_chance,
    cohen,
    lower_median,
    randolph_of,
    ratio,
    square,
    squared_shares,
    stack_blocks,
)
from metrics.stats.bootstrap import Array, Statistic, Value, cluster_sums, estimate
from metrics.stats.counts import distinct_rows
from metrics.stats.leave_one_out import outer_credit
from metrics.stats.results import Estimate, undefined
from metrics.stats.scales import Level
from metrics.stats.validation import check_counts, check_level, check_values

NO_OVERLAP = "no unit has labels of both humans and this machine"
NO_ORDER = "the labels have no order"
SINGLE_LABEL = "the machine gave one label a unit: it cannot agree with itself"
BINNED_BY_MAJORITY = "defined on the majority of humans only: see human_machine"
SHARED = (
    "krippendorff_alpha",
    "percentage_agreement",
    "randolph_kappa",
    "fleiss_kappa",
    "leave_one_out",
)


@dataclass(frozen=True)
class HumanMachine:
    """Everything about one machine in one set of units, on shared bootstrap replicates."""

    machine_machine: dict[str, Estimate]
    human_machine: dict[str, Estimate]
    single_human_machine: dict[str, Estimate]
    delta: dict[str, Estimate]


def human_machine(
    humans: ArrayLike,
    machine: ArrayLike,
    *,
    unparsed: ArrayLike | None = None,
    level: str = "nominal",
    values: ArrayLike | None = None,
    labels_of_scale: int | None = None,
    clusters: ArrayLike | None = None,
    replicates: int = 10_000,
    confidence_level: float = 0.95,
    rng: np.random.Generator | None = None,
    batch: int | None = None,
) -> HumanMachine:
    """Agreement of humans with a machine, of the machine with itself, and Δ = HH − H^wM^w.

    Parameters
    ----------
    humans, machine : (U units, L labels) whole numbers
        How often each label was given by humans, and by the machine over its runs and orders.
    unparsed : (U,) whole numbers
        How many of the machine's answers could not be read; 0 unless given.
    level, values, labels_of_scale, clusters
        As `agreement`.

    Returns
    -------
    HumanMachine; in `human_machine` n counts the units that both sides rated.
    """
    h, m, level = (
        check_counts(humans, "humans"),
        check_counts(machine, "machine"),
        check_level(level),
    )
    if h.shape != m.shape:
        raise ValueError(f"humans and machine must have one shape, not {h.shape} and {m.shape}")
    lost = np.zeros(len(h), dtype=np.int64) if unparsed is None else np.asarray(unparsed, np.int64)
    labels = h.shape[1]
    joint = distinct_rows(np.column_stack([h, m, lost]))
    rows = _JointRows(
        joint.rows[:, :labels],
        joint.rows[:, labels:-1],
        joint.rows[:, -1],
        check_values(values, labels, level),
        level,
        labels_of_scale or labels,
    )
    both = int(((h.sum(1) > 0) & (m.sum(1) + lost > 0)).sum())
    pairs = (int((h.sum(1) >= 2).sum()), int((m.sum(1) >= 2).sum()))
    features, statistics = rows.everything(both, pairs)
    found = estimate(
        cluster_sums(features, joint, clusters),
        statistics,
        replicates=replicates,
        confidence_level=confidence_level,
        rng=rng,
        batch=batch,
    )
    return _sorted_out(found)


def _sorted_out(found: dict[str, Estimate]) -> HumanMachine:
    groups: dict[str, dict[str, Estimate]] = {"mm": {}, "hm": {}, "shm": {}, "delta": {}}
    for name, each in found.items():
        group, _, statistic = name.partition(".")
        groups[group][statistic] = each
    n = groups["hm"]["percentage_agreement"].n
    for statistic in ("binned_js", "leave_one_out"):
        groups["shm"][statistic] = undefined(BINNED_BY_MAJORITY, n)
    return HumanMachine(groups["mm"], groups["hm"], groups["shm"], groups["delta"])


@dataclass(frozen=True)
class _JointRows:
    """Distinct joint rows: human counts (P, L), machine counts (P, L), unparsed answers (P,)."""

    humans: NDArray[np.int64]
    machine: NDArray[np.int64]
    unparsed: NDArray[np.int64]
    values: Array
    level: Level
    labels_of_scale: int

    @property
    def is_ordered(self) -> bool:
        return self.level != "nominal"

    def everything(self, both: int, pairs: tuple[int, int]) -> tuple[Array, dict[str, Statistic]]:
        """One feature matrix for all groups, and every statistic's columns in it."""
        hh_features, hh_columns = agreement_features(self.humans, ordered=self.is_ordered)
        mm_features, mm_columns = agreement_features(self.machine, ordered=self.is_ordered)
        majority = majority_weights(self.humans, ordered=self.is_ordered)
        machine = majority_weights(self.machine, ordered=self.is_ordered)
        blocks = {
            "hh": hh_features,
            "mm": mm_features,
            "hm": self.table(majority, machine),
            "shm": self.table(self.shares(self.humans), machine),
            "outer": self.outer(machine),
            "js": self.bins(majority),
        }
        features, at = stack_blocks(blocks)
        statistics = {
            **_prefixed(
                "mm", self.agreement(_shifted(mm_columns, at["mm"]), pairs[1]), SINGLE_LABEL
            ),
            **_prefixed("hm", self.table_statistics(at["hm"], both)),
            **_prefixed("shm", self.table_statistics(at["shm"], both)),
            "hm.leave_one_out": Statistic(at["outer"], ratio, NO_PAIRS, both),
            "hm.binned_js": Statistic(
                at["js"], binned_js_of(self.humans.shape[1]), NO_OVERLAP, both, bias_corrected=True
            ),
        }
        hh = self.agreement(_shifted(hh_columns, at["hh"]), pairs[0])
        return features, {**statistics, **_deltas(hh, statistics, both)}

    def agreement(self, columns: dict[str, slice], n: int) -> dict[str, Statistic]:
        return agreement_statistics(
            columns,
            n=n,
            level=self.level,
            values=self.values,
            labels_of_scale=self.labels_of_scale,
        )

    def shares(self, counts: NDArray[np.int64]) -> Array:
        return np.asarray(counts / np.maximum(counts.sum(axis=1, keepdims=True), 1), dtype=float)

    def table(self, of_humans: Array, of_machine: Array) -> Array:
        """(P, L·L + 1): entries of humans × machine, and the weight of what was unparsed."""
        entries = of_humans[:, :, None] * of_machine[:, None, :]
        lost = self.lost_weight() * (of_humans.sum(axis=1) > 0)
        return np.column_stack([entries.reshape(len(entries), self.humans.shape[1] ** 2), lost])

    def lost_weight(self) -> Array:
        """1 where the machine answered and nothing could be read: it agrees with nobody."""
        return np.asarray((self.unparsed > 0) & (self.machine.sum(axis=1) == 0), dtype=float)

    def outer(self, machine: Array) -> Array:
        """(P, 2): the machine's leave-one-out credit, and whether the row has one."""
        enough = self.humans.sum(axis=1) >= 2
        answered = (machine.sum(axis=1) > 0) | (self.lost_weight() > 0)
        credit = (outer_credit(self.humans) * machine).sum(axis=1)
        defined = (enough & answered).astype(float)
        return np.column_stack([credit * defined, defined])

    def bins(self, majority: Array) -> Array:
        """(P, L·(2L + 1)): per bin of the human majority its weight and both label counts."""
        rated = (self.machine.sum(axis=1) > 0).astype(float)
        inside = np.column_stack([np.ones(len(rated)), self.humans, self.machine])
        per_bin = (majority * rated[:, None])[:, :, None] * inside[:, None, :]
        return np.asarray(per_bin.reshape(len(rated), per_bin.shape[1] * per_bin.shape[2]))

    def table_statistics(self, columns: slice, n: int) -> dict[str, Statistic]:
        """The statistics of a table of humans × machine."""
        only_table = slice(columns.start, columns.stop - 1)
        functions: dict[str, tuple[slice, Value, str]] = {
            "krippendorff_alpha": (only_table, _table_alpha(self.level, self.values), NO_VARIATION),
            "percentage_agreement": (columns, _table_agreement, NO_OVERLAP),
            "randolph_kappa": (only_table, _table_randolph(self.labels_of_scale), NO_OVERLAP),
            "fleiss_kappa": (only_table, _table_fleiss, NO_VARIATION),
            "cohen_kappa": (only_table, cohen, NO_VARIATION),
            "spearman": (only_table, _ordered(spearman, self.is_ordered), self._no_order()),
            "kendall": (only_table, _ordered(kendall, self.is_ordered), self._no_order()),
        }
        return {
            name: Statistic(where, function, reason if n else NO_OVERLAP, n)
            for name, (where, function, reason) in functions.items()
        }

    def _no_order(self) -> str:
        return (
            "one side gave one label only: there is no rank to correlate"
            if self.is_ordered
            else NO_ORDER
        )


def majority_weights(counts: NDArray[np.int64], *, ordered: bool) -> Array:
    """(P, L) weights of each row's whole labels: 1 / (number of modes) each, or the lower median.

    A row without ratings has no weight.
    """
    if ordered:
        chosen = np.eye(counts.shape[1])[lower_median(counts)]
        return np.asarray(chosen * (counts.sum(axis=1) > 0)[:, None])
    top = counts.max(axis=1, keepdims=True, initial=0)
    modes = (counts == top) & (top > 0)
    return np.asarray(modes / np.maximum(modes.sum(axis=1, keepdims=True), 1), dtype=float)


def _prefixed(
    group: str, statistics: dict[str, Statistic], reason: str | None = None
) -> dict[str, Statistic]:
    return {
        f"{group}.{name}": Statistic(
            s.columns, s.value, s.reason if s.n or not reason else reason, s.n
        )
        for name, s in statistics.items()
    }


def _shifted(columns: dict[str, slice], block: slice) -> dict[str, slice]:
    return {
        name: slice(where.start + block.start, where.stop + block.start)
        for name, where in columns.items()
    }


def _deltas(hh: dict[str, Statistic], hm: dict[str, Statistic], n: int) -> dict[str, Statistic]:
    """HH − H^wM^w on the same replicates, for what both sides have."""
    return {f"delta.{name}": _difference(hh[name], hm[f"hm.{name}"], n) for name in SHARED}


def _difference(left: Statistic, right: Statistic, n: int) -> Statistic:
    def value(sums: Array) -> Array:
        return left.value(sums[..., left.columns]) - right.value(sums[..., right.columns])

    reason = "undefined among humans or between humans and machine"
    return Statistic(slice(0, None), value, reason, n)


def _table_agreement(sums: Array) -> Array:
    table = square(sums[..., :-1])
    total = sums.sum(axis=-1)
    trace = np.trace(table, axis1=-2, axis2=-1)
    return np.asarray(trace / np.where(total > 0, total, np.nan))


def _diagonal_share(sums: Array) -> Array:
    total = sums.sum(axis=-1)
    trace = np.trace(square(sums), axis1=-2, axis2=-1)
    return np.asarray(trace / np.where(total > 0, total, np.nan))


def _table_alpha(level: Level, values: Array) -> Value:
    alpha = alpha_of(level, values)

    def table_alpha(sums: Array) -> Array:
        table = square(sums)
        coincidences = table + np.swapaxes(table, -1, -2)
        return alpha(coincidences.reshape(sums.shape))

    return table_alpha


def _table_randolph(labels: int) -> Value:
    kappa = randolph_of(labels)

    def table_randolph(sums: Array) -> Array:
        share = _diagonal_share(sums)
        return kappa(np.stack([share, np.ones_like(share)], axis=-1))

    return table_randolph


def _table_fleiss(sums: Array) -> Array:
    table = square(sums)
    marginal = table.sum(axis=-1) + table.sum(axis=-2)
    return beyond_chance(_diagonal_share(sums), squared_shares(marginal))


def _ordered(function: Value, is_ordered: bool) -> Value:
    return function if is_ordered else lambda sums: np.full(sums.shape[:-1], np.nan)


def spearman(sums: Array) -> Array:
    """Spearman's ρ from a summed table (..., L·L), ties by mid-ranks."""
    table = square(sums)
    total = table.sum(axis=(-1, -2))
    rows, columns = table.sum(axis=-1), table.sum(axis=-2)
    x = rows.cumsum(axis=-1) - rows / 2 - (total / 2)[..., None]
    y = columns.cumsum(axis=-1) - columns / 2 - (total / 2)[..., None]
    covariance = np.einsum("...i,...j,...ij->...", x, y, table)
    scale = np.sqrt((rows * x**2).sum(axis=-1) * (columns * y**2).sum(axis=-1))
    return np.asarray(covariance / np.where(scale > 1e-9, scale, np.nan))


def kendall(sums: Array) -> Array:
    """Kendall's τ-b from a summed table (..., L·L)."""
    table = square(sums)
    total = table.sum(axis=(-1, -2))
    concordant = (table * _beyond(table)).sum(axis=(-1, -2))
    discordant = (table * _beyond(table[..., ::-1])[..., ::-1]).sum(axis=(-1, -2))
    untied_x = (total**2 - (table.sum(axis=-1) ** 2).sum(axis=-1)) / 2
    untied_y = (total**2 - (table.sum(axis=-2) ** 2).sum(axis=-1)) / 2
    scale = np.sqrt(untied_x * untied_y)
    return np.asarray((concordant - discordant) / np.where(scale > 1e-9, scale, np.nan))


def _beyond(table: Array) -> Array:
    """For each cell the sum of the cells below and to the right of it."""
    reversed_sum = table[..., ::-1, ::-1].cumsum(axis=-1).cumsum(axis=-2)[..., ::-1, ::-1]
    padded = np.zeros((*table.shape[:-2], table.shape[-2] + 1, table.shape[-1] + 1))
    padded[..., :-1, :-1] = reversed_sum
    return padded[..., 1:, 1:]


def binned_js_of(labels: int, *, base_2_divergence: bool = False) -> Value:
    """Binned Jensen–Shannon: per bin of the human majority, weighted by its share of units.

    By default the distance (square root, natural logarithm), as the published values are;
    `base_2_divergence` is Beyond Correlation's eq. 2 as written.
    """

    def binned_js(sums: Array) -> Array:
        bins = sums.reshape((*sums.shape[:-1], labels, 2 * labels + 1))
        weight = bins[..., 0]
        total = weight.sum(axis=-1)
        inside = jensen_shannon(bins[..., 1 : labels + 1], bins[..., labels + 1 :])
        if base_2_divergence:
            inside = inside**2 / np.log(2)
        weighted = np.where(weight > 0, weight * inside, 0.0).sum(axis=-1)
        return np.asarray(weighted / np.where(total > 0, total, np.nan))

    return binned_js


def jensen_shannon(p: ArrayLike, q: ArrayLike) -> Array:
    """Jensen–Shannon distance, natural logarithm, of counts along the last axis.

    Source: Lin 1991, eq. 4.1; the square root makes it a metric.

    Examples
    --------
    >>> float(jensen_shannon([1, 1], [1, 1]))
    0.0
    """
    a, b = _distribution(p), _distribution(q)
    middle = (a + b) / 2
    divergence = (_relative_entropy(a, middle) + _relative_entropy(b, middle)) / 2
    return np.asarray(np.sqrt(np.maximum(divergence, 0)))


def _distribution(counts: ArrayLike) -> Array:
    array = np.asarray(counts, dtype=float)
    total = array.sum(axis=-1, keepdims=True)
    return np.asarray(array / np.where(total > 0, total, np.nan))


def _relative_entropy(p: Array, q: Array) -> Array:
    with np.errstate(all="ignore"):
        terms = np.where(p > 0, p * np.log(p / q), np.where(np.isnan(p), np.nan, 0.0))
    return np.asarray(terms.sum(axis=-1))
