"""A part of a study's ratings: what chooses it, and which ratings are in it."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from urllib.parse import urlencode

from django.db.models import (
    Case,
    F,
    FloatField,
    IntegerField,
    Max,
    Min,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
    Window,
)
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast, Concat

from annotation.models import Rater, Rating, Tally
from annotation.models.rating import RatingQuerySet
from annotation.services.screening import check_records
from studies.models import Criterion, Study, Unit
from tiebreak.formats.cells import parse_json
from tiebreak.scales import Scale

BETWEEN_SYSTEMS = " vs "
CHANNEL, NO_FAILED_CHECK = "channel", "checks:none-failed"
HALF = 0.00005  # of the last decimal with which ranges of δ are named


@dataclass(frozen=True)
class Filter:
    """Which part of a study's ratings to look at; an empty value leaves none out.

    `metadata` is a field of the instances' metadata and its value, with a colon between them.
    `pair`, `separability` and `stratum` are named as the report names pairs of systems, ranges of
    separability and strata of agreement.
    `raters` is a channel (``channel:prolific``) or `NO_FAILED_CHECK`. `since` and `until` are days
    in UTC, and both are included. `version` is the number of a version of the study.
    """

    category: str = ""
    metadata: str = ""
    pair: str = ""
    separability: str = ""
    stratum: str = ""
    raters: str = ""
    since: date | None = None
    until: date | None = None
    version: int | None = None

    @classmethod
    def of_values(cls, values: Mapping[str, str]) -> "Filter":
        """Return the filter with these `values`."""
        return cls(**{name: _READERS.get(name, str)(text) for name, text in values.items()})

    @property
    def values(self) -> dict[str, str]:
        """The choice as text, with the names that addresses use."""
        chosen = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: str(value) for name, value in chosen.items() if value}

    @property
    def address(self) -> str:
        """The part of an address that asks for these ratings. Equal filters have equal addresses."""
        return urlencode(self.values)

    @property
    def digest(self) -> str:
        """A name of fixed length, which is empty if nothing is chosen."""
        return hashlib.sha256(self.address.encode()).hexdigest() if self else ""

    def __bool__(self) -> bool:
        return bool(self.values)


_READERS: dict[str, Callable[[str], Any]] = {
    "since": date.fromisoformat,
    "until": date.fromisoformat,
    "version": int,
}
EVERYTHING = Filter()


def ratings_in(study: Study, chosen: Filter) -> RatingQuerySet:
    """Return the ratings of this part of the study, including flagged ones.

    Raters, days and versions choose among annotators. Machine raters came through no channel, and
    the day of their upload says nothing, so their ratings of the same units stay.
    """
    ratings = Rating.objects.filter(unit__study=study)
    if chosen.category or chosen.metadata or chosen.pair or chosen.separability:
        ratings = ratings.filter(unit__in=units_in(study, chosen).values("pk"))
    if chosen.stratum:
        ratings = ratings.filter(_in_stratum(study, chosen.stratum))
    choice = _choice_of_people(study, chosen)
    if not choice:
        return ratings
    people = Q(choice, rater__kind=Rater.Kind.HUMAN)
    units = ratings.filter(people).in_statistics().order_by().values("unit")
    return ratings.filter(people | Q(rater__kind=Rater.Kind.MACHINE, unit__in=units))


def units_in(study: Study, chosen: Filter) -> QuerySet[Unit]:
    """Return the units of the chosen category, metadata, pair and range of separability."""
    units = study.units.order_by()
    if chosen.category:
        units = units.filter(instance__category=chosen.category)
    if chosen.metadata:
        key, _, text = chosen.metadata.partition(":")
        field = KeyTransform(key, "instance__metadata")
        units = units.alias(chosen_field=field).filter(chosen_field__in=_scalars(text))
    if chosen.pair:
        of_pair = ("text_a__system__name", "text_b__system__name")
        names = Concat(of_pair[0], Value(BETWEEN_SYSTEMS), of_pair[1])
        units = units.alias(pair=names).filter(pair=chosen.pair)
    if chosen.separability:
        units = units.filter(_in_range(separability_column(study), chosen.separability))
    return units


def separability_column(study: Study) -> str:
    """Return which δ of units classes them, as in the report: the raw one wherever there is one."""
    is_raw = study.units.filter(separability_raw__isnull=False).exists()
    return "separability_raw" if is_raw else "separability"


def separability_ends(study: Study) -> dict[str, tuple[float, ...]]:
    """Return the smallest and the largest δ of the items that count, by criterion."""
    column = f"unit__{separability_column(study)}"
    counted = Rating.objects.filter(unit__study=study).in_statistics().order_by()
    ends = counted.values("criterion__name").annotate(low=Min(column), high=Max(column))
    return {
        one["criterion__name"]: (one["low"], one["high"]) for one in ends if one["low"] is not None
    }


def _in_range(column: str, name: str) -> Q:
    """Return the condition of a range of δ, whose name has its ends with four decimals."""
    low, _, end = name.partition("<=separability")
    high = float(end.lstrip("<="))
    highest = {f"{column}__lte": high + HALF} if end.startswith("<=") else {}
    below = {} if highest else {f"{column}__lt": high - HALF}
    return Q(**{f"{column}__gte": float(low) - HALF, **highest, **below})


def _scalars(text: str) -> list[str | float | bool]:
    """Return the values of metadata that are written like this: a text, and a number or truth."""
    try:
        value = parse_json(text.encode())
    except ValueError:
        return [text]
    return [text, value] if isinstance(value, int | float) else [text]


def _choice_of_people(study: Study, chosen: Filter) -> Q:
    choice = Q()
    kind, _, name = chosen.raters.partition(":")
    if kind == CHANNEL:
        choice &= Q(assignment__participation__provider=name)
    elif chosen.raters == NO_FAILED_CHECK:
        records = check_records(study.pk).items()
        choice &= ~Q(rater__in=[rater for rater, record in records if record.failed])
    if chosen.since:
        choice &= Q(created_at__gte=_midnight(chosen.since))
    if chosen.until:
        choice &= Q(created_at__lt=_midnight(chosen.until + timedelta(days=1)))
    if chosen.version:
        choice &= Q(study_version__number=chosen.version)
    return choice


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


# As `tiebreak.stats.agreement_strata` forms them: of `size` ratings, `central` give the mode or the
# lower median. Edges are compared in whole numbers.
_STRATA = {
    "PA=1": Q(size__gt=1, central=F("size")),
    "0.8<=PA<1": Q(size__gt=1, central__lt=F("size"), above_four_fifths__gte=0),
    "0.6<=PA<0.8": Q(size__gt=1, above_four_fifths__lt=0, above_three_fifths__gte=0),
    "PA<0.6": Q(size__gt=1, above_three_fifths__lt=0),
    "undefined": Q(size__lte=1),
}


def _in_stratum(study: Study, stratum: str) -> Q:
    """Return the condition that a rating's unit is in a stratum by its own criterion."""
    condition = Q(pk__in=[])
    for criterion in study.criteria.all():
        units = counts_in_stratum(criterion, stratum).values("unit")
        condition |= Q(criterion=criterion, unit__in=units)
    return condition


def counts_in_stratum(criterion: Criterion, stratum: str) -> QuerySet[Tally, Any]:
    """Return the counts of the units that a criterion's ratings put in a stratum of agreement."""
    return (
        _central_counts(criterion)
        .alias(
            above_four_fifths=5 * F("central") - 4 * F("size"),
            above_three_fifths=5 * F("central") - 3 * F("size"),
        )
        .filter(_STRATA[stratum])
    )


def _central_counts(criterion: Criterion) -> QuerySet[Tally, Any]:
    """Return units with their number of annotators' ratings, and of those with the central label."""
    scale = criterion.parsed_scale
    tallies = Tally.objects.filter(
        criterion=criterion,
        rater=None,
        n__gt=0,
        unit__role=Unit.Role.MAIN,
        unit__set_aside=False,
    ).order_by()
    if scale.level == "nominal":
        return tallies.values("unit").annotate(size=Sum("n"), central=Max("n"))
    rank = _rank(scale)
    return (
        tallies.alias(rank=rank)
        .filter(rank__isnull=False)
        .annotate(
            central=F("n"),
            size=Window(Sum("n"), partition_by="unit"),
            up_to=Window(Sum("n"), partition_by="unit", order_by="rank"),
        )
        .alias(beyond_half=2 * F("up_to") - F("size"))
        # The lower median is the first label up to which there is half of the ratings.
        .filter(beyond_half__gte=0, beyond_half__lt=2 * F("n"))
    )


def _rank(scale: Scale) -> Case | Cast:
    """Return the place of a tally's label in the order of the scale; "both bad" has none."""
    if scale.order_labels is None:
        return Cast("label", FloatField())
    places = (
        When(label=str(label), then=Cast(Value(place), IntegerField()))
        for place, label in enumerate(scale.order_labels)
    )
    return Case(*places, default=Value(None), output_field=IntegerField())
