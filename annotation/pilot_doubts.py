"""What a study takes from a pilot: frames for a draw by machine raters' doubt, and ratings."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from django.db.models import Count
from numpy.typing import NDArray

from annotation.exports.ratings import rating_rows
from annotation.messages import (
    DOUBT_GAIN,
    GAIN_NOT_SHOWN,
    NO_PILOT,
    NO_PILOT_LABELS,
    NO_PILOT_PREFERENCE,
    NOT_ALL_JUDGED,
    PILOT_OF_OTHER_DATASET,
)
from annotation.models import Rater, Rating, Tally
from studies.instance_selection.drawing import (
    Frames,
    Pair,
    pair_names,
    scored_frames,
    weighted_frame,
)
from studies.instance_selection.lengths import length_frames
from studies.models import Criterion, Generation, InstanceSelection, Study, Unit
from tiebreak.digits import in_digits
from tiebreak.errors import DomainError
from tiebreak.formats.rows import Row
from tiebreak.scales import BAD
from tiebreak.stats import ActiveDesign, active_design
from tiebreak.stats.design.drawing import SamplingFrame

HUMANS = None


def frames_for(study: Study, design: InstanceSelection) -> Frames:
    """Return the frames from which a design draws, for every pair of the study. Reads only.

    Raises `DomainError` if scores are missing or, for a draw by machine raters' doubt, if there is no
    pilot, its machine raters did not rate every instance, or it does not show a gain.
    """
    if design.design == InstanceSelection.Design.DOUBT:
        return _doubt_frames(study, design)
    if design.design == InstanceSelection.Design.LENGTH:
        return length_frames(study)
    return scored_frames(study)


def _doubt_frames(study: Study, design: InstanceSelection) -> Frames:
    pilot = checked_pilot(study, design)
    rated = rated_pairs(pilot)
    return {
        pair: _frame(study, design, pilot, (pair, names), rated.get(pair, RatedPair()))
        for pair, names in pair_names(study).items()
    }


@dataclass
class RatedPair:
    """Ratings of a pair of systems: of each unit, wins of the first system and ratings, by rater."""

    instances: dict[int, tuple[int, str]] = field(default_factory=dict)
    counts: dict[tuple[int, int | None], list[float]] = field(
        default_factory=lambda: defaultdict(lambda: [0.0, 0.0])
    )

    def add(
        self, unit: int, instance: tuple[int, str], rater: int | None, wins: float, n: int
    ) -> None:
        self.instances[unit] = instance
        counted = self.counts[unit, rater]
        counted[0] += wins * n
        counted[1] += n

    def shares(self, rater: int | None) -> NDArray[np.float64]:
        """Return the share of each unit's ratings that the first system wins; NaN without any."""
        counted = [self.counts.get((unit, rater), [np.nan, 1]) for unit in self.instances]
        return np.array([wins / n for wins, n in counted])

    @property
    def machines(self) -> list[int]:
        return sorted({rater for _, rater in self.counts if rater is not None})

    @property
    def judged(self) -> set[int]:
        """The instances that a machine rated."""
        return {self.instances[unit][0] for unit, rater in self.counts if rater is not None}


def checked_pilot(study: Study, design: InstanceSelection) -> Study:
    if design.pilot is None or design.pilot.pk == study.pk:
        raise DomainError("no_pilot", NO_PILOT)
    if study.dataset_id is None or design.pilot.dataset_id != study.dataset_id:
        message = PILOT_OF_OTHER_DATASET.format(pilot=design.pilot.title)
        raise DomainError("pilot_of_other_dataset", message)
    return design.pilot


def rated_pairs(pilot: Study) -> dict[Pair, RatedPair]:
    """Return the ratings of each pair, as (first, second) and as (second, first)."""
    criterion = _first_preference(pilot)
    side_of = criterion.parsed_scale.side_of
    parse = criterion.parsed_scale.parse_label
    rated: dict[Pair, RatedPair] = defaultdict(RatedPair)
    rows = Tally.objects.filter(criterion=criterion, unit__role=Unit.Role.MAIN, n__gt=0)
    rows = rows.filter(unit__set_aside=False)
    columns = ("unit", "unit__instance", "unit__instance__key")
    systems = ("unit__text_a__system", "unit__text_b__system")
    in_order = rows.order_by("unit").values_list(*columns, *systems, "rater", "label", "n")
    for unit, instance, key, a, b, rater, text, n in in_order.iterator():
        label = parse(text) if text else BAD
        if label == BAD:
            continue
        wins = (1 - side_of(label)) / 2
        rated[a, b].add(unit, (instance, key), rater, wins, n)
        rated[b, a].add(unit, (instance, key), rater, 1 - wins, n)
    return rated


def _first_preference(pilot: Study) -> Criterion:
    criteria = pilot.criteria.order_by("position", "pk")
    first = next((c for c in criteria if c.parsed_scale.kind == "preference"), None)
    if first is None:
        raise DomainError("no_pilot_preference", NO_PILOT_PREFERENCE.format(pilot=pilot.title))
    return first


def _frame(
    study: Study,
    design: InstanceSelection,
    pilot: Study,
    pair: tuple[Pair, tuple[str, str]],
    rated: RatedPair,
) -> SamplingFrame:
    ids, names = pair
    facts = {"pair": " and ".join(names), "pilot": pilot.title}
    comparable = _comparable(study, ids)
    judged = len(comparable & rated.judged)
    if judged < len(comparable) or not judged:
        message = NOT_ALL_JUDGED.format(judged=judged, of=len(comparable), **facts)
        raise DomainError("machine_ratings_missing", message)
    labels = rated.shares(HUMANS)
    if np.isnan(labels).all():
        raise DomainError("no_pilot_labels", NO_PILOT_LABELS.format(**facts))
    keys = np.array([key for _, key in rated.instances.values()])
    predictions = np.stack([rated.shares(machine) for machine in rated.machines], axis=1)
    active = active_design(labels, predictions, clusters=keys, control_share=design.control_share)
    note = _checked_gain(active, facts)
    by_key = {key: instance for instance, key in rated.instances.values()}
    kept = np.array([by_key[str(key)] in comparable for key in active.instances])
    instances = np.array([by_key[str(key)] for key in active.instances])[kept]
    densities = active.densities[kept]
    return weighted_frame(" ".join(names), instances, densities, note=note, gain=active.gain)


def _comparable(study: Study, pair: Pair) -> set[int]:
    """Return the instances of which both systems have a text."""
    texts = Generation.objects.filter(instance__dataset=study.dataset_id, system__in=pair)
    both = (
        texts.order_by().values("instance").annotate(n=Count("system", distinct=True)).filter(n=2)
    )
    return set(both.values_list("instance", flat=True))


def _checked_gain(active: ActiveDesign, facts: dict[str, str]) -> str:
    """Return what the pilot shows, or refuse with the same numbers."""
    gain = active.gain
    if not gain.has_interval:
        shown = gain.reason or ""
        raise DomainError("gain_not_shown", GAIN_NOT_SHOWN.format(shown=shown, **facts))
    value, low, high = map(in_digits, (gain.value, gain.low, gain.high))
    shown = DOUBT_GAIN.format(value=value, low=low, high=high, n=active.labelled, **facts)
    if not gain.low > 1:
        raise DomainError("gain_not_shown", GAIN_NOT_SHOWN.format(shown=shown, **facts))
    return shown


def pilot_machine_rows(study: Study) -> Iterator[Row]:
    """Yield the pilot's machine ratings for the report of a study drawn by their doubt.

    Prediction-powered rates after a draw need machine ratings of the whole dataset. A rating of a unit
    of this study has the facts of this study; other units count as not drawn. Left out are ratings of
    other texts of a drawn instance, or of its systems in the other order, of criteria that differ, and by
    machines that rated here.
    """
    design = InstanceSelection.objects.filter(study=study, design=InstanceSelection.Design.DOUBT)
    pilot = next((one.pilot for one in design.select_related("pilot")), None)
    if pilot is None:
        return
    scales = dict(study.criteria.values_list("name", "scale"))
    shared = [c.name for c in pilot.criteria.all() if scales.get(c.name) == c.scale]
    units = _facts_of_units(study)
    drawn = {(facts["instance"], *_systems(facts)) for facts in units.values()}
    of_machines = Rating.objects.filter(unit__study=study, rater__kind=Rater.Kind.MACHINE)
    here = set(of_machines.values_list("rater__pseudonym", flat=True).distinct())
    ratings = Rating.objects.filter(
        unit__study=pilot,
        unit__role=Unit.Role.MAIN,
        rater__kind=Rater.Kind.MACHINE,
        criterion__name__in=shared,
    )
    for row in rating_rows(pilot, ratings):
        if row["rater"] in here:
            continue
        facts = units.get(row["unit"])
        if (row["instance"], *_systems(row)) not in drawn:
            yield row | NOT_DRAWN
        elif facts is not None and facts["system_a"] == row["system_a"]:
            yield row | facts


NOT_DRAWN: Row = {"phase": "", "inclusion_probability": None}


def _facts_of_units(study: Study) -> dict[str, Row]:
    """Return what the rows of a rating say of each main unit of a study, by its key."""
    names = ("instance__key", "text_a__system__name", "text_b__system__name")
    columns = ("instance", "system_a", "system_b", "phase", "inclusion_probability")
    rows = study.units.filter(role=Unit.Role.MAIN).values_list("key", *names, *columns[3:])
    return {key: dict(zip(columns, facts, strict=True)) for key, *facts in rows}


def _systems(row: Row) -> tuple[str, ...]:
    return tuple(sorted((row["system_a"], row["system_b"])))
