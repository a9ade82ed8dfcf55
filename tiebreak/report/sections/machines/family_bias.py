"""Whether machine raters prefer texts of their own model family more than annotators do."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tiebreak.errors import InvalidInput
from tiebreak.report.criterion import Criterion
from tiebreak.report.design_weights import DesignWeights
from tiebreak.report.model.machines import FamilyPreference
from tiebreak.report.needs import compares_systems, has_systems_and_machines
from tiebreak.report.outcomes import NO_SYSTEMS
from tiebreak.report.registry import section
from tiebreak.report.scopes import of_drawn
from tiebreak.stats import FamilyBias, family_bias, outcome_counts, undefined
from tiebreak.stats.core.groups import numbered

Mask = NDArray[np.bool_]
NO_FAMILIES = (
    "No family of a system or a machine rater is declared. Declare families on the step Analysis plan, as the"
    " setting families of study.toml, or with --family NAME=FAMILY."
)
NO_FAMILY = "No family of this machine rater is declared."
NO_PAIR = "This machine rater compared no text of a system of its family, {family}, with one of another family."


@section(
    "family_bias",
    "Preference of machine raters for their own model family",
    question="machines",
    on_request=True,
    asks="Does a judge prefer texts of its own model family more than people do?",
    offered=has_systems_and_machines,
    takes=(),
    options=("families",),
    shows_outcome=True,
)
def family_bias_section(
    criterion: Criterion, *, families: Mapping[str, str] | None = None
) -> dict[str, FamilyPreference]:
    """Return the preference of each machine, given the families of systems and machines by name."""
    if not compares_systems(criterion):
        raise InvalidInput("no_systems", NO_SYSTEMS)
    machines = sorted(criterion.machines)
    if not families:
        return {name: _undefined(NO_FAMILIES) for name in machines}
    return {name: _preference(criterion, name, families) for name in machines}


def _preference(
    criterion: Criterion, machine: str, families: Mapping[str, str]
) -> FamilyPreference:
    family = families.get(machine, "")
    if not family:
        return _undefined(NO_FAMILY)
    systems = criterion.systems
    of = [np.array([families.get(name, "") for name in names]) for names in systems]
    counts = outcome_counts(criterion.machines[machine].counts, criterion.labels)
    is_own_a, is_own_b = of[0] == family, of[1] == family
    mixed = criterion.compares & counts.any(axis=1) & (is_own_a != is_own_b)
    entered = mixed & (of[0] != "") & (of[1] != "")
    own, others = np.where(is_own_a, systems, systems[::-1])[:, entered]
    if not entered.any():
        return _undefined(NO_PAIR.format(family=family), family, left_out=int(mixed.sum()))
    found = _compared(criterion, counts, entered, is_own_a)
    return FamilyPreference(
        **vars(found),
        family=family,
        own=tuple(np.unique(own).tolist()),
        others=tuple(np.unique(others).tolist()),
        n_units=found.difference.n,
        n_without_family=int((mixed & ~entered).sum()),
    )


def _undefined(reason: str, family: str = "", left_out: int = 0) -> FamilyPreference:
    none = undefined(reason)
    return FamilyPreference(none, none, none, family, (), (), 0, left_out)


def _compared(
    criterion: Criterion, counts: NDArray[np.int64], entered: Mask, is_own_a: Mask
) -> FamilyBias:
    """Return the preferences in some units, by a machine's outcomes in each and annotators' ratings."""
    of_a = counts @ np.array([1, 0.5, 0]) / np.maximum(counts.sum(axis=1), 1)
    machine = np.where(is_own_a, of_a, 1 - of_a)[entered]
    sign = np.sign(criterion.strength)  # NaN for "both bad"
    rows = criterion.is_human & ~np.isnan(sign) & entered[criterion.unit]
    unit, (_, raters) = criterion.unit[rows], criterion.rows.ranked("rater", rows)
    score = np.where(is_own_a[unit], 1 - sign[rows], 1 + sign[rows]) / 2
    rated = entered & (np.bincount(unit, minlength=criterion.n_units) > 0)
    design = DesignWeights.of(criterion, rated)
    found = family_bias(
        machine,
        score,
        (np.cumsum(entered) - 1)[unit],
        clusters=numbered(criterion.clusters[entered]),
        raters=raters.astype(np.int64),
        weights=None if design is None else design.of_units[entered],
    )
    if design is None:
        return found
    covers = bool(design.covers[rated].all())
    return FamilyBias(*(of_drawn(one, covers=covers) for one in vars(found).values()))
