"""Intervals of many win rates that hold at once, and the ranks that they allow."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.systems import SimultaneousSection
from tiebreak.report.sections.systems.comparisons import Comparisons, SystemScores
from tiebreak.stats import BradleyTerry, Estimate, RankSet, joint_confidence_level, rank_sets
from tiebreak.stats.core.bootstrap import CONFIDENCE_LEVEL
from tiebreak.stats.core.simultaneous import MAX_COMPARISONS, Joint, joint_rank_sets

PAIR = "{} vs {}"


def simultaneous_section(
    compared: Comparisons,
    rates: Estimates,
    pairs: Mapping[tuple[str, str], Estimate],
    criteria: int,
) -> SimultaneousSection:
    of_systems = {s: compared.scores_of(s) for s in rates}
    of_pairs = {names: compared.scores_of(*names) for names in pairs}
    # The rates of two systems are one comparison, because they add up to 1.
    distinct = list(of_systems)[: len(rates) if len(rates) > 2 else 1]
    all_rates = _Family.of([of_systems[s] for s in distinct], criteria)
    all_pairs = _Family.of(list(of_pairs.values()), criteria)
    return SimultaneousSection(
        win_rate={s: all_rates.widened(of_systems[s], r) for s, r in rates.items()},
        pairs={
            PAIR.format(*names): all_pairs.widened(of_pairs[names], rate)
            for names, rate in pairs.items()
        },
        n_win_rates=all_rates.comparisons,
        n_pairs=all_pairs.comparisons,
    )


@dataclass(frozen=True)
class _Family:
    """Comparisons whose intervals hold at once, and the level of each interval.

    Criteria divide the error equally (Bonferroni). Within a criterion, the level comes from how the
    comparisons vary together (max-t).
    """

    comparisons: int
    criteria: int
    level: float
    level_of_these: float

    @classmethod
    def of(cls, scores: Sequence[SystemScores], criteria: int) -> "_Family":
        levels = [
            joint_confidence_level(
                [one.rated(of_these=of_these) for one in scores if len(one.values)],
                confidence_level=level_of_criterion(criteria),
            )
            for of_these in (False, True)
        ]
        return cls(criteria * len(scores), criteria, *levels)

    def widened(self, scores: SystemScores, rate: Estimate) -> Estimate:
        """Return a win rate with an interval that holds together with those of the others."""
        if not rate.has_interval or self.comparisons <= 1:
            return rate
        return scores.simultaneous(
            rate, level=self.level, level_of_these=self.level_of_these, method=str(self)
        )

    def __str__(self) -> str:
        within = self.comparisons // self.criteria
        is_joint = 1 < within <= MAX_COMPARISONS
        if not is_joint:
            return f"Bonferroni over {self.comparisons} comparisons"
        of_criteria = f", Bonferroni over {self.criteria} criteria" if self.criteria > 1 else ""
        return f"max-t over {within} comparisons{of_criteria}"


def level_of_criterion(criteria: int) -> float:
    """Return the confidence level of one criterion if all criteria hold at once."""
    return 1 - (1 - CONFIDENCE_LEVEL) / criteria


def rank_sets_of(
    compared: Comparisons, rates: Estimates, fit: BradleyTerry | None, criteria: int
) -> dict[str, RankSet] | None:
    """Return the ranks that each system may have; None without an interval of any.

    They are ranks by win rate if the systems met evenly, and otherwise by Bradley–Terry strength.
    """
    level = level_of_criterion(criteria)
    if not any(rate.has_interval for rate in rates.values()):
        return None
    if compared.are_even():
        rated = {s: compared.scores_of(s).rated() for s, rate in rates.items() if rate.is_defined}
        return rank_sets(rated, confidence_level=level)
    if fit is None or fit.linearised is None:
        return None
    return joint_rank_sets(list(fit.systems), Joint.of_fit(fit.linearised), level)
