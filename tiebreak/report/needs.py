"""What sections need: of a criterion's ratings to be computed, and of its report to be offered."""

from tiebreak.report.criterion import Criterion
from tiebreak.report.model.report import CriterionSection


def has_labels(criterion: Criterion) -> bool:
    return bool(criterion.labels)


def is_preference(criterion: Criterion) -> bool:
    return criterion.scale.kind == "preference"


def compares_systems(criterion: Criterion) -> bool:
    return is_preference(criterion) and bool(criterion.compares.any())


def has_ratings(about: CriterionSection) -> bool:
    return about.n_ratings > 0


def has_scored_sets(about: CriterionSection) -> bool:
    """Return whether there are sets of several ratings in ranges of separability."""
    sets = about.rating_sets
    return sets is not None and sets.n < about.n_ratings and bool(sets.by_separability)


def has_systems(about: CriterionSection) -> bool:
    return bool(about.systems and about.systems.win_rate)


def has_three_systems(about: CriterionSection) -> bool:
    return has_systems(about) and len(about.systems.win_rate if about.systems else ()) > 2


def has_scores(about: CriterionSection) -> bool:
    return about.level != "nominal" and about.systems is None


def has_machines(about: CriterionSection) -> bool:
    return bool(about.all_units.machines)


def has_two_machines(about: CriterionSection) -> bool:
    return len(about.all_units.machines) > 1


def has_ordered_machines(about: CriterionSection) -> bool:
    return about.level != "nominal" and has_machines(about)


def has_machines_and_pairs(about: CriterionSection) -> bool:
    pairs = [stratum for stratum in about.strata if stratum.stratifier == "systems"]
    return has_machines(about) and len(pairs) > 1


def has_systems_and_machines(about: CriterionSection) -> bool:
    return has_systems(about) and has_machines(about)


def has_machines_and_three_systems(about: CriterionSection) -> bool:
    return has_three_systems(about) and has_machines(about)
