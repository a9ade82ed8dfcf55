"""A report from a table of ratings."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from metrics.report.bias import bias_section
from metrics.report.criterion import Criterion, criteria_of
from metrics.report.generators import Seeds
from metrics.report.perception import perception_section
from metrics.report.raters import raters_section
from metrics.report.selection import selection_section
from metrics.report.sets import sets_section
from metrics.report.strata import strata_section
from metrics.report.systems import systems_section
from studies.formats import RatingTable
from studies.formats.ratings import canonical_digest

REPORT_VERSION = 1
REPLICATES = 10_000


def build_report(
    table: RatingTable,
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    scales: Mapping[str, str] | None = None,
    unparsed: str | None = None,
    source: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Every statistic of the ratings, ready for JSON: NaN is null, with a reason.

    Parameters
    ----------
    table : RatingTable
        All rows, flagged ones too; which of them count is decided here.
    scales : criterion → scale
        What is not declared is inferred, and the report says so.
    unparsed : label
        The label that machine answers which could not be read stand for, as some published
        tables have it; otherwise they are disagreements where that makes sense, and missing.

    Raises
    ------
    FormatError : a label that is not of its scale, by line.
    """
    used = table.select(table.is_counted)
    digest = canonical_digest(table)
    found = criteria_of(table, scales or {}, unparsed)
    about = {"kind": "file", "sha256": digest, **(source or {})}
    return {
        "report_version": REPORT_VERSION,
        "seed": seed,
        "replicates": replicates,
        "source": {**about, "rows_sha256": digest, "n_rows": len(table), "n_used": len(used)},
        "simulated": bool(np.any(used["simulated"])),
        "criteria": {each.name: _section(each, seed, replicates) for each in found},
    }


def _section(criterion: Criterion, seed: int, replicates: int) -> dict[str, Any]:
    scale, seeds = criterion.scale, Seeds(seed, (criterion.name,))
    section: dict[str, Any] = {
        "scale": scale.spec,
        "scale_inferred": criterion.scale_inferred,
        "level": scale.level,
        "labels": list(criterion.labels),
        "n_units": criterion.n_units,
        "n_ratings": int((criterion.is_human & ~criterion.is_unparsed).sum()),
        "n_machine_ratings": int((~criterion.is_human & ~criterion.is_unparsed).sum()),
        "n_unparsed": int(criterion.is_unparsed.sum()),
        "resampling": criterion.resampling,
        "strata": strata_section(criterion, seeds, replicates),
        "votes": criterion.votes,
        "perception": perception_section(criterion),
        "raters": raters_section(criterion),
    }
    if scale.kind == "preference":
        section["rating_sets"] = sets_section(criterion, seeds.below("rating_sets"), replicates)
        section["systems"] = systems_section(criterion, seeds.below("win_rate"), replicates)
        section["selection"] = selection_section(criterion)
        section["bias"] = bias_section(criterion)
    return section
