"""Plans a study: turns its design into HITs with their units, sides and places."""

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import cast

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.db.models.functions import Length

from annotation.balancing import LengthBalance, balanced_bits, dealt, evenly_drawn
from annotation.models import HIT, HITUnit, Place
from annotation.pairing import PairSchedule
from annotation.pilot_doubts import frames_for
from annotation.services.plan_checks import NOTHING_TO_PLAN, check_both_orders, check_can_plan
from studies.freshness import note_change
from studies.instance_selection.drawing import check_can_draw, draw_instances, take_all_instances
from studies.instance_selection.scoring import separability_by_instance
from studies.instance_selection.set_aside import set_aside
from studies.models import (
    Generation,
    Instance,
    InstanceSelection,
    SelectedInstance,
    Study,
    System,
    Unit,
    UnitText,
)
from studies.services import R_GROWS
from tiebreak.digits import counted
from tiebreak.errors import DomainError
from tiebreak.formats.cells import MAX_ID

BATCH = 1000
DRAW_LIMIT = 2**62
# Maps a sample index to the primary key of the generation.
Samples = dict[int, int]


@dataclass(frozen=True)
class PairPlan:
    """The part of a plan for one pair of systems, or for one system (``system_b`` is then None)."""

    system_a: int
    system_b: int | None
    instances: int
    units: int
    ratings: int


@dataclass(frozen=True)
class Plan:
    """The size of a plan.

    `ratings` is the number of ratings in the statistics once every place is filled: one per place,
    unit and criterion. `repeat_ratings` is the number of additional ratings of the units that are
    shown a second time, and `repeats` the number of these units.
    """

    instances: int
    hits: int
    units: int
    repeats: int
    places: int
    ratings: int
    repeat_ratings: int
    pairs: tuple[PairPlan, ...] = ()

    @property
    def summary(self) -> str:
        """The plan's size in words, to follow a verb such as "Planned" in a message."""
        ratings = counted(self.ratings, "rating")
        repeats = f" and {self.repeat_ratings} of repeats" if self.repeats else ""
        return (
            f"{counted(self.hits, 'task')} with {counted(self.units, 'item')} and"
            f" {counted(self.places, 'response')} to collect. The plan yields {ratings} for the"
            f" statistics{repeats}."
        )


@dataclass(frozen=True)
class _Bundle:
    """The unsaved units of one HIT, their instance if all share one, and the number of its places."""

    instance: Instance | None
    units: tuple[Unit, ...]
    places: int = 0


@transaction.atomic
def plan_hits(*, study: Study) -> Plan:
    """Replace the plan of a draft study with a new one that has R places per HIT, or more.

    The study must be a draft with a dataset, systems and a criterion, and without ratings.
    Afterwards the earlier plan is deleted and the new one is complete. The same seed gives the same
    plan. Raises a `DomainError` that names what is missing. Locks the study.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    check_can_plan(study)
    remove_plan(study)
    bundles = _all_bundles(study, study.selected.all())
    rng = random.Random(f"{study.seed}:plan")
    rng.shuffle(bundles)
    _write_plan(study, bundles, rng)
    return _counted(study, bundles)


@transaction.atomic
def ensure_plan(*, study: Study) -> Plan | None:
    """Plan the HITs of a draft that has no plan, or one that its design has outgrown.

    Returns the new plan, and None if nothing had to be planned. Refuses as `plan_hits` does.
    """
    return plan_hits(study=study) if needs_plan(study) else None


def needs_plan(study: Study) -> bool:
    """Whether a study that was never open has no plan that matches its design."""
    if study.status != Study.Status.DRAFT or study.opened_at is not None:
        return False
    is_planned = study.hits.main().exists()
    return not is_planned or study.dataset is None or not is_plan_current(study)


@transaction.atomic
def draw_and_plan(
    *, study: Study, design: InstanceSelection, by: User | None = None
) -> tuple[int, Plan]:
    """Draw instances by a design and plan their HITs, or do neither.

    Returns how many instances were drawn over all pairs of systems, and the plan.
    """
    check_can_draw(study)
    frames = frames_for(study, design)
    drawn = draw_instances(study=study, design=design, frames=frames, by=by)
    return drawn, plan_hits(study=study)


@transaction.atomic
def take_all_and_plan(*, study: Study, by: User | None = None) -> Plan:
    """Delete a draft's draw and plan HITs for every instance, or do neither."""
    take_all_instances(study=study, by=by)
    return plan_hits(study=study)


def forecast_plan(*, study: Study, selected: Iterable[SelectedInstance]) -> Plan:
    """Return the plan that `plan_hits` would make for these instances. Reads only.

    Raises `DomainError` if these instances cannot be planned.
    """
    check_can_plan(study)
    return _counted(study, _all_bundles(study, selected))


def hits_to_collect(study: Study) -> int:
    """Return the number of HITs of an opened study, or of a draft if it were planned now.

    Raises `DomainError` if a draft cannot be planned.
    """
    if study.status != Study.Status.DRAFT:
        return study.hits.main().last_number()
    return forecast_plan(study=study, selected=study.selected.all()).hits


def _counted(study: Study, bundles: list[_Bundle]) -> Plan:
    criteria = study.criteria.count()
    units = [unit for bundle in bundles for unit in bundle.units]
    repeats = [_repeats_in(study, len(bundle.units)) for bundle in bundles]
    by_pair: dict[tuple[int, ...], list[Unit]] = defaultdict(list)
    ratings: Counter[tuple[int, ...]] = Counter()
    for bundle in bundles:
        for unit in bundle.units:
            by_pair[_systems_of(unit)].append(unit)
            ratings[_systems_of(unit)] += bundle.places * criteria
    return Plan(
        instances=_instances_of(units),
        hits=len(bundles),
        units=len(units),
        repeats=sum(repeats),
        places=sum(bundle.places for bundle in bundles),
        ratings=ratings.total(),
        repeat_ratings=criteria * sum(n * b.places for n, b in zip(repeats, bundles, strict=True)),
        pairs=tuple(
            PairPlan(
                pair[0],
                pair[1] if pair[1:] else None,
                _instances_of(of_pair),
                len(of_pair),
                ratings[pair],
            )
            for pair, of_pair in sorted(by_pair.items(), key=itemgetter(0))
        ),
    )


def _systems_of(unit: Unit) -> tuple[int, ...]:
    return cast(tuple[int, ...], unit.system_ids)


def _instances_of(units: list[Unit]) -> int:
    return len({unit.instance_id for unit in units})


def _repeats_in(study: Study, units: int) -> int:
    """Return how many of a HIT's units are shown a second time."""
    return min(study.repeats_per_hit, units)


def is_plan_current(study: Study) -> bool:
    """Whether planning again would give the same texts, repeats and places as the stored plan."""
    of_unit: dict[tuple[int, int], tuple[int | None, ...]] = defaultdict(tuple)
    hit_units = HITUnit.objects.filter(hit__in=study.hits.main(), repeat=0)
    in_order = hit_units.order_by("unit__texts__position")
    for hit, unit, text in in_order.values_list("hit", "unit", "unit__texts__generation"):
        of_unit[hit, unit] += (text,)
    stored: dict[int, set[tuple[int | None, ...]]] = defaultdict(set)
    for (hit, _), texts in of_unit.items():
        stored[hit].add(texts)
    bundles = _all_bundles(study, study.selected.all())
    planned = [
        frozenset(tuple(text.generation_id for text in unit.text_list) for unit in bundle.units)
        for bundle in bundles
    ]
    places = Counter(study.places.values_list("hit", flat=True))
    repeats = sum(_repeats_in(study, len(texts)) for texts in planned)
    return (
        Counter(map(frozenset, stored.values())) == Counter(planned)
        and HITUnit.objects.filter(hit__in=study.hits.main(), repeat=1).count() == repeats
        and Counter(places.values()) == Counter(bundle.places for bundle in bundles)
    )


@transaction.atomic
def grow_ratings_per_hit(*, study: Study, ratings_per_hit: int) -> int:
    """Add places to every HIT, the same number to those with additional ratings.

    R can only increase, because offered places are never withdrawn.

    Returns the number of places added.
    """
    study = Study.objects.select_for_update().get(pk=study.pk)
    if ratings_per_hit < study.ratings_per_hit:
        raise DomainError("ratings_per_hit_shrinks", R_GROWS.format(study.ratings_per_hit))
    added, study.ratings_per_hit = ratings_per_hit - study.ratings_per_hit, ratings_per_hit
    check_both_orders(study)
    rng = random.Random(f"{study.seed}:places:{ratings_per_hit}")
    has = Counter(study.places.values_list("hit", flat=True))
    places = [
        place
        for hit in study.hits.main().order_by("number")
        for place in free_places(study, hit, range(has[hit.pk], has[hit.pk] + added), rng)
    ]
    Place.objects.bulk_create(places, batch_size=BATCH)
    study.places.recount_remaining(most=study.most_ratings)
    study.save(update_fields=["ratings_per_hit"])
    note_change(study.pk)  # findings wait for the number of responses that was planned
    return len(places)


def remove_plan(study: Study, *, with_reference_units: bool = False) -> None:
    """Delete a draft's HITs and units, including reference units if ``with_reference_units``."""
    hits, units = study.hits.main(), study.units.filter(role=Unit.Role.MAIN)
    if with_reference_units:
        hits, units = study.hits.all(), study.units.all()
    hits.delete()
    units.delete()


def _all_bundles(study: Study, selected: Iterable[SelectedInstance]) -> list[_Bundle]:
    """Return the HITs of a plan for the selected instances, or for all if none are selected."""
    bundles = list(_bundles(study, selected))
    if study.bundling == Study.Bundling.MIXED:
        bundles = _mixed(study, [unit for bundle in bundles for unit in bundle.units])
    if not bundles:
        raise DomainError("nothing_to_plan", NOTHING_TO_PLAN)
    return _with_places(study, bundles)


def _with_places(study: Study, bundles: list[_Bundle]) -> list[_Bundle]:
    """Give every HIT R places, and further ones to the same share of each pair's HITs (±1)."""
    rng, order = random.Random(f"{study.seed}:further"), list(range(len(bundles)))
    if study.bundling == Study.Bundling.INSTANCE:
        rng.shuffle(order)
        order.sort(key=lambda i: [_systems_of(unit) for unit in bundles[i].units])
    # Mixed HITs stay in the order in which each pair's units were dealt to neighbours.
    drawn = set(evenly_drawn(order, study.further_hits(len(order)), rng))
    r, further = study.ratings_per_hit, study.further_ratings
    return [replace(b, places=r + (i in drawn) * further) for i, b in enumerate(bundles)]


def _bundles(study: Study, selected: Iterable[SelectedInstance]) -> Iterator[_Bundle]:
    """Yield each HIT's units, with instances in dataset order and pairs in canonical order."""
    systems = study.ordered_systems()
    rng = random.Random(f"{study.seed}:units")
    scores = separability_by_instance(study)
    selection = {(row.instance_id, row.system_a_id, row.system_b_id): row for row in selected}
    schedule, pairs = PairSchedule(study, len(systems)), _pairs_by_index(study, systems)
    choose, apart = _sample_choice(study, systems), _reference_texts(study)
    aside = set() if selection else set_aside(study)
    assert study.dataset is not None
    for instance, by_system in _generations(study.dataset.instances.all(), systems):
        if instance.pk in aside:
            continue
        if study.unit_kind == Study.UnitKind.GENERATION:
            yield from _single_bundles(study, instance, systems, _without(apart, by_system), rng)
            continue
        samples = {n: _in_common(by_system, a, b, apart) for n, (a, b) in pairs.items()}
        available = {n for n, (of_a, _) in samples.items() if of_a}
        for index_a, index_b in schedule.pairs_for(available):
            a, b = pairs[index_a, index_b]
            row = selection.get((instance.pk, a.pk, b.pk))
            if selection and row is None:
                continue
            units = _comparisons(study, instance, (a, b), samples[index_a, index_b], choose)
            score = scores.get((instance.pk, a.pk, b.pk))
            for unit in units:
                if row is not None:
                    unit.phase = row.phase
                    unit.inclusion_probability = row.inclusion_probability
                    unit.conditional_inclusion_probability = row.conditional_inclusion_probability
                sample = unit.text_list[0].sample
                unit.key = _unit_key(instance, f"#{index_a}.{index_b}.{sample}")
                if score is not None:
                    unit.separability_raw, unit.separability = score
                    unit.similarity = study.similarity
            if units:
                yield _Bundle(instance, tuple(units))


def _pairs_by_index(
    study: Study, systems: list[System]
) -> dict[tuple[int, int], tuple[System, System]]:
    index = {system.pk: n for n, system in enumerate(systems)}
    return {(index[a.pk], index[b.pk]): (a, b) for a, b in study.system_pairs()}


def _reference_texts(study: Study) -> set[frozenset[int | None]]:
    """Return the generations of each reference unit, whose answer is known: nobody rates it, too."""
    units = study.units.exclude(role=Unit.Role.MAIN).prefetch_related("texts")
    return {frozenset(text.generation_id for text in unit.text_list) for unit in units}


def _in_common(
    by_system: dict[int, Samples], a: System, b: System, apart: set[frozenset[int | None]]
) -> tuple[Samples, Samples]:
    """Return the generations of two systems that can be compared, at the samples of both."""
    of_a, of_b = by_system.get(a.pk, {}), by_system.get(b.pk, {})
    both = sorted(of_a.keys() & of_b.keys())
    common = [k for k in both if frozenset((of_a[k], of_b[k])) not in apart]
    return {k: of_a[k] for k in common}, {k: of_b[k] for k in common}


def _without(
    apart: set[frozenset[int | None]], by_system: dict[int, Samples]
) -> dict[int, Samples]:
    return {
        system: {k: pk for k, pk in samples.items() if frozenset((pk,)) not in apart}
        for system, samples in by_system.items()
    }


def _unit_key(instance: Instance, suffix: str) -> str:
    """Return the instance's key with the suffix, shortened to the maximum length of ids."""
    if len(instance.key) + len(suffix) > MAX_ID:
        suffix = f"~{instance.pk}{suffix}"
    return f"{instance.key[: MAX_ID - len(suffix)].rstrip()}{suffix}"


def _mixed(study: Study, units: list[Unit]) -> list[_Bundle]:
    groups = dealt(
        units,
        pair_of=[unit.system_ids for unit in units],
        instance_of=[unit.instance_id for unit in units],
        size=study.comparisons_per_hit,
        rng=random.Random(f"{study.seed}:bundles"),
    )
    return [_Bundle(None, tuple(group)) for group in groups if group]


def _generations(
    instances: QuerySet[Instance], systems: list[System]
) -> Iterator[tuple[Instance, dict[int, Samples]]]:
    """Yield each instance with its generations by system and sample index. Reads no texts."""
    by_instance: dict[int, dict[int, Samples]] = defaultdict(dict)
    rows = Generation.objects.filter(system__in=systems, instance__in=instances).order_by("pk")
    keys = rows.values_list("instance", "system", "sample_index", "pk")
    for instance_id, system, sample, generation in keys.iterator(chunk_size=BATCH):
        by_instance[instance_id].setdefault(system, {})[sample] = generation
    for instance in instances.only("dataset", "key"):
        yield instance, by_instance[instance.pk]


# Chooses n of the common samples of two systems, whose generations are given by sample index.
SampleChoice = Callable[[System, System, Samples, Samples, int], list[int]]


def _sample_choice(study: Study, systems: list[System]) -> SampleChoice:
    """Return how the samples that are compared are chosen in this study."""
    if study.sample_choice == Study.SampleChoice.BALANCED:
        return _balanced_choice(study, systems)
    rng = random.Random(f"{study.seed}:units")

    def at_random(_a: System, _b: System, of_a: Samples, of_b: Samples, n: int) -> list[int]:
        common = sorted(of_a.keys() & of_b.keys())
        return sorted(rng.sample(common, min(n, len(common))))

    return at_random


def _balanced_choice(study: Study, systems: list[System]) -> SampleChoice:
    rows = Generation.objects.filter(system__in=systems, instance__dataset=study.dataset_id)
    lengths = dict(rows.values_list("pk", Length("text")).iterator(chunk_size=BATCH))
    balance = LengthBalance()

    def balanced(a: System, b: System, of_a: Samples, of_b: Samples, n: int) -> list[int]:
        common = of_a.keys() & of_b.keys()
        pairs = {k: (lengths[of_a[k]], lengths[of_b[k]]) for k in common}
        return balance.choose((a.pk, b.pk), pairs, n)

    return balanced


def _comparisons(
    study: Study,
    instance: Instance,
    pair: tuple[System, System],
    samples: tuple[Samples, Samples],
    choose: SampleChoice,
) -> list[Unit]:
    """Return N comparisons of sample k of A with sample k of B, for N common indices k."""
    (a, b), (of_a, of_b) = pair, samples
    n = 1 if study.bundling == Study.Bundling.MIXED else study.comparisons_per_hit
    indices = choose(a, b, of_a, of_b, n)
    return [
        Unit.of(
            [
                UnitText(system_id=system.pk, generation_id=samples[k], sample=k)
                for system, samples in ((a, of_a), (b, of_b))
            ],
            study=study,
            instance=instance,
            phase="all",
            inclusion_probability=1.0,
            conditional_inclusion_probability=1.0,
        )
        for k in indices
    ]


def _single_bundles(
    study: Study,
    instance: Instance,
    systems: list[System],
    by_system: dict[int, Samples],
    rng: random.Random,
) -> Iterator[_Bundle]:
    """Yield HITs of N units. Each unit is one generation, and the systems' units are shuffled."""
    units = [
        Unit.of(
            [UnitText(system_id=system.pk, generation_id=generation, sample=k)],
            study=study,
            key=_unit_key(instance, f"#{index}.{k}"),
            instance=instance,
            phase="all",
            inclusion_probability=1.0,
            conditional_inclusion_probability=1.0,
        )
        for index, system in enumerate(systems)
        for k, generation in sorted(by_system.get(system.pk, {}).items())
    ]
    rng.shuffle(units)
    for start in range(0, len(units), study.comparisons_per_hit):
        yield _Bundle(instance, tuple(units[start : start + study.comparisons_per_hit]))


def _write_plan(study: Study, bundles: list[_Bundle], rng: random.Random) -> None:
    hits = HIT.objects.bulk_create(
        [HIT(study=study, instance=b.instance, number=i) for i, b in enumerate(bundles, start=1)],
        batch_size=BATCH,
    )
    units = [unit for bundle in bundles for unit in bundle.units]
    Unit.objects.bulk_create(units, batch_size=BATCH)
    HITUnit.objects.bulk_create(_hit_units(study, hits, bundles, rng), batch_size=BATCH)
    places = [
        place
        for hit, bundle in zip(hits, bundles, strict=True)
        for place in free_places(study, hit, range(bundle.places), rng)
    ]
    Place.objects.bulk_create(places, batch_size=BATCH)


def _hit_units(
    study: Study, hits: list[HIT], bundles: list[_Bundle], rng: random.Random
) -> list[HITUnit]:
    """Return the units of all HITs, with sides balanced per HIT and pair and swapped in repeats.

    An even number of places balances itself, so HITs with an odd one are balanced on their own.
    """
    of_hits = list(zip(hits, bundles, strict=True))
    assigned = [(hit, unit) for hit, b in of_hits for unit in b.units]
    edges = [(hit.pk, (unit.system_ids, b.places % 2)) for hit, b in of_hits for unit in b.units]
    bits = balanced_bits(edges, rng)
    by_hit: dict[int, list[HITUnit]] = {hit.pk: [] for hit in hits}
    for (hit, unit), bit in zip(assigned, bits, strict=True):
        by_hit[hit.pk].append(HITUnit(hit=hit, unit=unit, side_bit=bool(bit)))
    for of_hit in by_hit.values():
        repeated = rng.sample(of_hit, _repeats_in(study, len(of_hit)))
        of_hit += [
            HITUnit(hit=u.hit, unit=u.unit, repeat=1, side_bit=not u.side_bit) for u in repeated
        ]
    return [hit_unit for of_hit in by_hit.values() for hit_unit in of_hit]


def free_places(study: Study, hit: HIT, numbers: range, rng: random.Random) -> Iterator[Place]:
    """Yield a HIT's places with these numbers, unsaved and in random order for HITs alike.

    Additional places of a mixed design come after all others, so they change no HIT's turn.
    """
    for number in numbers:
        is_further = study.further_share > 0 and number >= study.ratings_per_hit
        draw = rng.randrange(DRAW_LIMIT) + is_further * DRAW_LIMIT
        yield Place(study=study, hit=hit, number=number, remaining=study.most_ratings, draw=draw)
