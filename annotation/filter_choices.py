"""What the ratings of a study can be filtered by: the values that occur in it."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
from django.db.models import F, QuerySet

from annotation.filters import (
    BETWEEN_SYSTEMS,
    CHANNEL,
    NO_FAILED_CHECK,
    Filter,
    counts_in_stratum,
    ratings_in,
    separability_column,
    separability_ends,
)
from annotation.models import Tally
from studies.models import Instance, Study, Unit
from tiebreak.stats import range_edges
from tiebreak.stats.raters.strata import AGREEMENT_STRATA, UNDEFINED, separability_strata

# A field with more values than these is a name or a text, and no group of instances.
MAX_VALUES_OF_METADATA, MAX_LENGTH = 20, 200
MAX_CHOICES = 500

FilterChoices = dict[str, list[str]]


def filter_choices(study: Study) -> FilterChoices:
    """Return the values of each filter that has a list of values."""
    # Tallies have few rows: a database without statistics of its tables took minutes over ratings.
    rated = Tally.objects.filter(unit__study=study, n__gt=0).order_by().values("unit")
    main = study.units.filter(role=Unit.Role.MAIN, set_aside=False, pk__in=rated).order_by()
    versions = study.versions.values_list("number", flat=True)
    return {
        "category": _few(main.exclude(instance__category="").values_list("instance__category")),
        "metadata": _metadata(main),
        "pair": _few(
            main.values_list(F("text_a__system__name"), F("text_b__system__name")),
            joined=BETWEEN_SYSTEMS,
        ),
        "separability": _ranges(study, main),
        "stratum": [stratum for stratum in AGREEMENT_STRATA if _has_stratum(study, stratum)],
        "raters": _occurring(study, "raters", _raters(study)),
        "version": _occurring(study, "version", [*map(str, sorted(versions))]),
    }


def _occurring(study: Study, name: str, values: Iterable[str]) -> list[str]:
    """Return the values of a filter that leave any rating in the statistics."""
    parts = ((value, Filter.of_values({name: value})) for value in values)
    return [value for value, chosen in parts if ratings_in(study, chosen).in_statistics().exists()]


def _has_stratum(study: Study, stratum: str) -> bool:
    counts = [counts_in_stratum(each, stratum).values("unit") for each in study.criteria.all()]
    return bool(counts) and counts[0].union(*counts[1:], all=True).exists()


def _few(rows: QuerySet[Any, tuple[Any, ...]], joined: str = "") -> list[str]:
    """Return the distinct values, or none of them if there are too many to choose from."""
    distinct = [row for row in rows.distinct()[: MAX_CHOICES + 1] if None not in row]
    return [] if len(distinct) > MAX_CHOICES else sorted(joined.join(row) for row in distinct)


def _ranges(study: Study, units: QuerySet[Unit]) -> list[str]:
    """Return the ranges of separability in which the report of any criterion has items."""
    deltas = np.array(units.values_list(separability_column(study), flat=True), dtype=float)
    each = dict.fromkeys(separability_ends(study).values())
    strata = chain.from_iterable(separability_strata(deltas, range_edges(ends)) for ends in each)
    return [one.name for one in strata if one.name != UNDEFINED and one.share]


def _raters(study: Study) -> list[str]:
    providers = study.participations.order_by().values_list("provider", flat=True).distinct()
    has_checks = study.units.filter(role=Unit.Role.GOLD).exists()
    channels = [f"{CHANNEL}:{provider}" for provider in sorted(providers)]
    return [*channels, *([NO_FAILED_CHECK] if has_checks else [])]


def _metadata(units: QuerySet[Unit]) -> list[str]:
    """Return the fields of the instances' metadata that have few values, with each value."""
    instances = Instance.objects.filter(pk__in=units.values("instance")).order_by()
    fields = _values_by_field(instances.values_list("metadata", flat=True).iterator())
    listed = [
        f"{field}:{value}"
        for field, values in sorted(fields.items())
        if 1 < len(values) <= MAX_VALUES_OF_METADATA
        for value in sorted(values)
    ]
    return listed[:MAX_CHOICES]


def _values_by_field(rows: Iterable[dict[str, Any]]) -> dict[str, set[str]]:
    """Return the values of each field as text; of a field with too many, only some."""
    fields: dict[str, set[str]] = {}
    for row in rows:
        for field, value in row.items():
            values = fields.setdefault(field, set())
            if len(values) <= MAX_VALUES_OF_METADATA and _can_be_named(field):
                values.update(_as_text(value))
    return fields


def _can_be_named(field: str) -> bool:
    return ":" not in field and len(field) <= MAX_LENGTH


def _as_text(value: Any) -> list[str]:
    """Return a scalar as the one text that represents it."""
    if isinstance(value, bool):
        return [str(value).lower()]
    text = str(value) if isinstance(value, str | int | float) else ""
    return [text] if 0 < len(text) <= MAX_LENGTH else []
