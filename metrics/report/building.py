"""Puts the report together, in the shape that docs/report.schema.json describes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from metrics.report.bias import bias_json
from metrics.report.digest import rows_sha256
from metrics.report.perception import perception_json
from metrics.report.raters import raters_json, votes_json
from metrics.report.ratings import (
    KEPT,
    CriterionRatings,
    criterion_names,
    criterion_ratings,
    with_unparsed,
)
from metrics.report.sets import rating_sets_json
from metrics.report.strata import strata_json
from metrics.report.systems import systems_json
from metrics.report.values import Draws, Json
from metrics.stats import range_edges
from metrics.stats.bootstrap import CONFIDENCE_LEVEL, REPLICATES
from studies.formats.table import RatingTable

REPORT_VERSION = 1


@dataclass(frozen=True)
class ReportSource:
    """Where the ratings came from, and the digest of exactly that."""

    kind: Literal["file", "bundle", "study"]
    sha256: str


def build_report(
    table: RatingTable,
    *,
    source: ReportSource,
    seed: int = 0,
    replicates: int = REPLICATES,
    scales: Mapping[str, str] | None = None,
    unparsed: str = KEPT,
) -> dict[str, Json]:
    """Every number of the ratings in ``table``.

    Parameters
    ----------
    scales : criterion → scale; one that is not declared is inferred from all of its rows
    unparsed : what a machine's unreadable answer is
        ``kept`` (a disagreement, or missing where chance is corrected for), ``missing``, ``tie``
        or a label of the scale

    The same ratings give the same digits in any order of rows. Raises FormatError for a label
    that its scale does not have, ValueError for an argument.
    """
    declared = dict(scales or {})
    criteria = [
        criterion_ratings(table, name, spec=declared.get(name))
        for name in criterion_names(table, declared)
    ]
    draws = Draws(seed, replicates)
    return {
        "report_version": REPORT_VERSION,
        "seed": seed,
        "replicates": replicates,
        "confidence_level": CONFIDENCE_LEVEL,
        "unparsed": unparsed,
        "source": _source_json(table, source, criteria),
        "criteria": {
            ratings.name: _criterion_json(
                table, with_unparsed(ratings, unparsed), draws.at(ratings.name)
            )
            for ratings in criteria
        },
    }


def _source_json(
    table: RatingTable, source: ReportSource, criteria: list[CriterionRatings]
) -> dict[str, Json]:
    counted = np.asarray(table.counted)
    return {
        "kind": source.kind,
        "sha256": source.sha256,
        "rows_sha256": rows_sha256(table, criteria),
        "n_rows": len(table),
        "n_used": int(counted.sum()),
        "n_simulated": int((counted & table.flag("simulated")).sum()),
        "study_versions": _versions_json(table, counted),
    }


def _versions_json(
    table: RatingTable, counted: "np.ndarray[tuple[int], np.dtype[np.bool_]]"
) -> dict[str, Json]:
    """Counted ratings by the study's version."""
    column = table.text("study_version")
    codes, numbers = np.unique(column.codes[counted], return_counts=True)
    named = {column.values[c]: int(n) for c, n in zip(codes, numbers, strict=True) if c >= 0}
    return {name: named[name] for name in sorted(named)}


def _criterion_json(table: RatingTable, ratings: CriterionRatings, draws: Draws) -> dict[str, Json]:
    found: dict[str, Json] = {
        "scale": ratings.scale.spec,
        "scale_inferred": ratings.is_inferred,
        "level": ratings.scale.level,
        "labels": list(ratings.labels),
        "n_units": len(ratings.units),
        "n_instances": len(ratings.units.instance.names),
        "n_raters": len(np.unique(ratings.rater.codes[ratings.humans])),
        "n_ratings": int(ratings.humans.sum()),
        "n_machine_ratings": int(ratings.is_machine.sum()),
        "n_unparsed": ratings.n_unparsed,
        "resampling": ratings.units.resampling,
        "separability": _separability_json(ratings),
        "strata": strata_json(ratings, draws),
        "perception": perception_json(ratings),
        "votes": votes_json(ratings, ratings.humans),
        "machine_votes": {
            name: votes_json(ratings, ratings.of_machine(name)) for name in ratings.machines
        },
        "raters": raters_json(table, ratings, draws.at("raters", "all")),
    }
    if ratings.scale.kind == "preference":
        found |= {
            "rating_sets": rating_sets_json(ratings, draws.at("rating_sets", "all")),
            "systems": systems_json(ratings, draws.at("systems", "all")),
            "bias": bias_json(table, ratings),
        }
    return found


def _separability_json(ratings: CriterionRatings) -> Json:
    """The edges of the ranges, and on which values they lie; null where nothing is known."""
    units = ratings.units
    edges = range_edges(units.separability)
    if not len(edges):
        return None
    return {
        "edges": edges.tolist(),
        "values": "raw" if units.separability_is_raw else "normalised",
        "similarities": list(units.similarity.names),
    }
