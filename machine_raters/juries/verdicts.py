"""The labels of a jury, from what its members have answered."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from django.db.models import QuerySet
from numpy.typing import NDArray

from annotation.models import Rater, Rating
from annotation.services.rating_writer import provider_of
from machine_raters.judging.passes import items_of
from machine_raters.juries.composite import Known, followed
from machine_raters.models import Jury, MachineRater
from studies.models import Study, Unit
from tiebreak.scales import Label
from tiebreak.stats import JuryRule, jury


def possible_members(study: Study) -> QuerySet[Rater]:
    """Return the study's machine raters that are no juries themselves, and are not excluded."""
    machines = Rater.objects.filter(provider=provider_of(study), kind=Rater.Kind.MACHINE)
    members = machines.exclude(machine_rater__kind=MachineRater.Kind.JURY)
    return members.exclude(machine_rater__excluded=True).order_by("pseudonym")


@dataclass(frozen=True)
class JuryVerdict:
    """A jury's label of an item, None if it has none, and the share of each label.

    `shares` is empty if no member gave a readable answer that counts. Of a composite, `followed` has the
    members that it followed.
    """

    label: Label | None
    shares: dict[str, float]
    followed: tuple[str, ...] = ()


def answered_units(of: Jury) -> QuerySet[Unit]:
    """Return the study's items that all members have answered."""
    units = items_of(of.study)
    for member in of.members.all():
        units = units.filter(pk__in=answers_of(of, member.pk).values("unit"))
    return units


def undecided_units(of: Jury) -> QuerySet[Unit]:
    """Return the items that all members have answered, and that have no verdict yet."""
    return answered_units(of).exclude(pk__in=answers_of(of, of.rater_id).values("unit"))


def answers_of(of: Jury, rater: int | None) -> QuerySet[Rating]:
    return Rating.objects.counted().filter(rater=rater, criterion=of.criterion, repeat=0)


def verdicts_of(of: Jury, units: Sequence[int]) -> dict[int, JuryVerdict]:
    """Return the jury's verdict on each unit."""
    scale = of.criterion.parsed_scale
    labels = scale.labels or ()
    members = list(of.members.order_by("pk"))
    answers, rule = _answers(of, members, units, labels), of.rule
    names: dict[int, tuple[str, ...]] = {}
    if rule == Jury.Rule.COMPOSITE:
        used = followed(known_to(of), units)
        answers[~used.T] = np.nan
        rule = Jury.Rule.MEAN
        for unit, row in zip(units, used, strict=True):
            names[unit] = tuple(str(members[one]) for one in np.flatnonzero(row))
    result = jury(answers, rule=cast(JuryRule, rule))
    # Where votes are divided, the label is a tie if the scale has one.
    tie = 0 if scale.kind == "preference" and 0 in labels else None
    verdicts = {}
    for unit, code, shares in zip(units, result.labels.tolist(), result.shares, strict=True):
        if np.isnan(shares).any():
            verdicts[unit] = JuryVerdict(None, {}, names.get(unit, ()))
            continue
        named = dict(zip(map(str, labels), shares.tolist(), strict=True))
        verdict = labels[code] if code >= 0 else tie
        verdicts[unit] = JuryVerdict(verdict, named, names.get(unit, ()))
    return verdicts


def known_to(of: Jury) -> Known:
    """Return the items by which a composite chooses: all that its members and annotators rated.

    Where a system joined another study, they are that study's, of the composite of the same name.
    """
    names = of.members.order_by("pk").values_list("pseudonym", flat=True)
    elsewhere = Jury.objects.filter(study__joined_systems__study=of.study_id, name=of.name).first()
    chosen_by = elsewhere or of
    there = dict(chosen_by.members.values_list("pseudonym", "pk"))
    members = [there[name] for name in names]
    return Known.of(chosen_by, members, answered_units(chosen_by))


def _answers(
    of: Jury, members: Sequence[Rater], units: Sequence[int], labels: Sequence[Label]
) -> NDArray[np.float64]:
    """Return each member's share of each label; orders and runs of an item have equal weight."""
    rows = Rating.objects.counted().filter(
        rater__in=members, criterion=of.criterion, unit__in=units, repeat=0, label__isnull=False
    )
    shares: dict[tuple[int, int], list[list[float]]] = defaultdict(list)
    values = rows.values_list("rater", "unit", "label", "probabilities")
    for rater, unit, label, probabilities in values.iterator():
        known = probabilities or {label: 1.0}
        shares[rater, unit].append([float(known.get(str(name), 0)) for name in labels])
    table = np.full((len(members), len(units), len(labels)), np.nan)
    for m, member in enumerate(members):
        for u, unit in enumerate(units):
            if (member.pk, unit) in shares:
                table[m, u] = np.mean(shares[member.pk, unit], axis=0)
    return table
