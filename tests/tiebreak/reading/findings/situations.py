"""Sections of a report in the situations in which a finding may or must not be stated.

They are one small report whose numbers are replaced, so that an interval ends where a case needs it.
"""

from dataclasses import replace
from functools import cache

import numpy as np

from tests.metrics.studies import preferences, report_of
from tiebreak.report.model.raters import BiasSection, FatigueSection, RatingSetsSection
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.selection import PairSelection
from tiebreak.report.model.stopping import PairSequence, SequencePoint, StoppingSection
from tiebreak.report.model.systems import SimultaneousSection
from tiebreak.stats import Estimate, RankSet, undefined
from tiebreak.stats.core.results import Instances, NarrowerInterval, Raters, Scope

WHY = "There are only 4 independent instances."
UNDEFINED = undefined(WHY)


def interval(
    low: float,
    high: float,
    *,
    these: tuple[float, float] | None = None,
    instances: Instances = "new",
    raters: Raters = "new",
) -> Estimate:
    """Return an estimate in the middle of its interval; ``these`` is the interval of these annotators."""
    inner = ()
    if these is not None:
        inner = (NarrowerInterval(*these, Scope(instances, "these"), "bootstrap"),)
    scope = Scope(instances, raters)
    return Estimate((low + high) / 2, low, high, n=40, stated_scope=scope, narrower=inner)


def without_interval(value: float) -> Estimate:
    return Estimate(value, n=4, reason=WHY)


@cache
def base(*, machine: bool = False) -> CriterionSection:
    """Return 20 instances rated by three annotators, with sides and a machine rater if asked for."""
    rows = preferences([[-1, 0, 1], [1, 1, -1]] * 10, side_a="left")
    if machine:
        rows += [row | {"rater": "judge", "kind": "machine"} for row in rows[::3]]
    (section,) = report_of(rows, replicates=50).criteria.values()
    return section


def with_alpha(alpha: Estimate, *, machine: bool = False) -> CriterionSection:
    section = base(machine=machine)
    first, *rest = section.strata
    agreement = replace(first.human_human, krippendorff_alpha=alpha)
    return replace(section, strata=(replace(first, human_human=agreement), *rest))


def with_rates(*, at_once: int = 1, together: dict | None = None, **rates: Estimate):
    """Return a section with win rates, and those that hold at once where they are wider."""
    section = base()
    joint = SimultaneousSection(rates | (together or {}), {}, at_once, at_once)
    ahead = [name for name, rate in joint.win_rate.items() if rate.low > 0.5]
    sets = {name: RankSet(1, 1 if [name] == ahead else len(rates)) for name in rates}
    systems = replace(
        section.systems,
        win_rate=rates,
        simultaneous=joint,
        prediction_powered=None,
        rank_sets=sets,
    )
    return replace(section, systems=systems)


def with_biases(position: Estimate, length: Estimate) -> CriterionSection:
    return replace(base(), bias=BiasSection(position, length, {}))


def with_fatigue(agreement: Estimate, duration: Estimate) -> CriterionSection:
    return replace(base(), fatigue=FatigueSection(60, agreement, duration))


def with_sets(*, n: int = 60, incomplete: int = 0, **numbers: Estimate) -> CriterionSection:
    """Return a section whose sets have two ratings each."""
    known = {
        "consistency": interval(0.4, 0.6, raters="these"),
        "zero": interval(0.2, 0.3, raters="these"),
        "contradictory": interval(0.1, 0.3, raters="these"),
        "mixed_by_coin": 0.5,
        "all_ties": interval(0.0, 0.1, raters="these"),
        "perfect": interval(0.3, 0.5, raters="these"),
        "preference_strength": interval(-0.1, 0.1, raters="these"),
        "spearman_separability": UNDEFINED,
    }
    sets = RatingSetsSection(
        n=n, n_incomplete=incomplete, by_separability=(), machines={}, **(known | numbers)
    )
    return replace(base(), rating_sets=sets, n_ratings=2 * n + 1)


def selection(**changes) -> PairSelection:
    known = {
        "systems": ("a", "b"),
        "instances": 100,
        "control": 30,
        "without_preference": 0,
        "win_rate": interval(0.5, 0.7, instances="dataset", raters="these"),
        "win_rate_control": UNDEFINED,
        "instances_saved": interval(20, 60),
        "ratings_saved": interval(60, 180),
    }
    return PairSelection(**(known | changes))


def sequence(low: float, high: float, *, held_back: int = 0) -> PairSequence:
    path = (SequencePoint(10, 30, 0.1, 0.9), SequencePoint(40, 120, low, high))
    rate = interval(low, high, raters="these")
    return PairSequence(
        systems=("a", "b"),
        planned=60,
        complete=40 + held_back,
        held_back=held_back,
        win_rate=rate,
        of_dataset=None,
        excluded_half_after=None,
        path=path,
    )


def watched(
    section: CriterionSection, *pairs: PairSequence, reached: bool = False, reason=None
) -> CriterionSection:
    """Return the section of a study that was planned for 180 responses and has 120."""
    by_name = {" vs ".join(pair.systems): pair for pair in pairs}
    stopping = StoppingSection(
        is_reached=reached,
        responses=120,
        planned_responses=180,
        statements=3,
        confidence_level=1 - 0.05 / 3,
        pairs=by_name,
        reason=reason,
    )
    return replace(section, stopping=stopping)


def few_instances(n: int, *, pairs: int = 1) -> CriterionSection:
    """Return a report of n instances that all favour `a`, computed from ratings."""
    rows = [
        row | {"unit": f"{row['unit']}-{k}", "system_b": f"b{k}" if pairs > 1 else "b"}
        for k in range(pairs)
        for row in preferences([[-1, -1, -1]] * n)
    ]
    (section,) = report_of(rows).criteria.values()
    return section


def by_raters(raters: int, instances: int = 24) -> CriterionSection:
    """Return a report of raters who all prefer the second system in three quarters of instances."""
    rng = np.random.default_rng(5)
    labels = [
        [1 if n % 4 or rng.random() < 0.2 else -1 for _ in range(raters)] for n in range(instances)
    ]
    (section,) = report_of(preferences(labels, side_a="left"), replicates=200).criteria.values()
    return section
