"""Building the report of a table of ratings."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tiebreak.errors import InvalidInput
from tiebreak.formats import RatingTable
from tiebreak.formats.ratings import canonical_digest
from tiebreak.report.alternative_annotators import alternative_annotator_section
from tiebreak.report.bias import bias_section
from tiebreak.report.chance_corrected import chance_corrected_section
from tiebreak.report.criterion import Criterion, read_criteria
from tiebreak.report.dawid_skene import dawid_skene_section
from tiebreak.report.generators import Seeds
from tiebreak.report.many_values import many_values_section
from tiebreak.report.model import (
    REPORT_VERSION,
    CriterionSection,
    Origin,
    Report,
    SourceSection,
    StratumSection,
)
from tiebreak.report.perception import perception_by_systems, perception_section
from tiebreak.report.raters import raters_section
from tiebreak.report.repeats import self_consistency_section
from tiebreak.report.scopes import limit_to_selected
from tiebreak.report.selection import drawn_units, selection_section
from tiebreak.report.sets import sets_section
from tiebreak.report.strata import no_strata, strata_section
from tiebreak.report.systems import systems_section
from tiebreak.stats.alternative_annotators import EPSILON
from tiebreak.stats.validation import check_share

REPLICATES = 10_000
NO_LABEL = "No label of this criterion could be parsed."
UNFORESEEN = "An unexpected error occurred ({error}). The log has the details."

logger = logging.getLogger(__name__)


def build_report(
    table: RatingTable,
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    scales: Mapping[str, str] | None = None,
    unparsed: str | None = None,
    source: Origin | None = None,
    order: Sequence[str] = (),
    epsilon: float = EPSILON,
) -> Report:
    """Build the report of a table of ratings.

    Parameters
    ----------
    table : RatingTable
        All ratings, including those with flags. Ratings that do not count are left out here.
    seed : int, default 0
        Seed of all intervals. The same ratings give the same digits in any order.
    replicates : int, default 10000
        Number of bootstrap replicates, or 0 for no intervals.
    scales : mapping of str to str, optional
        Scale of each criterion. Other scales are inferred, and the report says which.
    unparsed : str, optional
        Label to use for unparsed machine answers, as in some published tables. By default, they
        count as disagreement in some statistics and as missing in the others.
    source : Origin, optional
        Origin of the ratings. By default, it is a file with these rows.
    order : sequence of str, optional
        Criteria in the order in which they are shown. Others follow in the table's order.
    epsilon : float, default 0.1
        How much less often than an annotator a machine may be the better one in the alternative
        annotator test, from 0 to 1.

    Returns
    -------
    Report
        Statistics of each criterion. Its method `as_json` returns it ready for JSON. A section that cannot be computed is left out, and ``problems`` of its criterion says why. A
        criterion without a known scale is left out, and ``problems`` of the report says why.

    Raises
    ------
    FormatError
        If a label is not on its scale. The message lists the lines.
    InvalidInput
        If ``epsilon`` is not between 0 and 1.

    See Also
    --------
    read_source : Read ratings from a file or bundle.
    Report.as_json : Return the report as described by report.schema.json.

    Examples
    --------
    >>> rows = [{"unit": "u", "rater": rater, "label": 1} for rater in ("r", "s")]
    >>> report = build_report(RatingTable.from_rows(rows), replicates=0)
    >>> report.criteria["preference"].votes
    {'-1': 0, '0': 0, '1': 2}
    """
    check_share(epsilon, name="epsilon")
    used = table.select(table.is_counted)
    digest = canonical_digest(table)
    criteria, unknown = read_criteria(table, scales or {}, unparsed, order)
    origin = source or Origin("file", digest)
    return Report(
        report_version=REPORT_VERSION,
        seed=seed,
        replicates=replicates,
        source=SourceSection(
            **vars(origin), rows_sha256=digest, n_rows=len(table), n_used=len(used)
        ),
        simulated=bool(np.any(used["simulated"])),
        criteria_order=tuple(criterion.name for criterion in criteria),
        criteria={c.name: _section(c, seed, replicates, epsilon) for c in criteria},
        problems=unknown,
    )


def _section(criterion: Criterion, seed: int, replicates: int, epsilon: float) -> CriterionSection:
    scale, seeds = criterion.scale, Seeds(seed, (criterion.name,))
    parts, problems = _parts(criterion, seeds, replicates, epsilon)
    is_human, is_parsed = criterion.is_human, ~criterion.is_unparsed
    return CriterionSection(
        scale=scale.spec,
        scale_inferred=criterion.scale_inferred,
        level=scale.level,
        labels=criterion.labels,
        n_units=criterion.n_units,
        n_ratings=int((is_human & is_parsed).sum()),
        n_machine_ratings=int((~is_human & is_parsed).sum()),
        n_unparsed=int((~is_parsed).sum()),
        resampling=criterion.resampling,
        votes=criterion.votes,
        **parts,
        problems=problems,
    )


def _parts(
    criterion: Criterion, seeds: Seeds, replicates: int, epsilon: float
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parts that could be computed, and reasons by name for those that could not.

    A part that fails does not affect the others. The four parts that all criteria have are empty
    if they fail.
    """
    parts: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for name, make in _makers(criterion, seeds, replicates, epsilon).items():
        try:
            parts[name] = make()
        except InvalidInput as error:  # the ratings do not allow this statistic
            logger.warning("%s of %s: %s", name, criterion.name, error, exc_info=True)
            problems[name] = error.message
        except Exception as error:  # a bug, which must not lose the other parts
            logger.exception("%s of %s failed", name, criterion.name)
            problems[name] = UNFORESEEN.format(error=type(error).__name__)
    if drawn_units(criterion).any():
        parts = {
            name: part if name == "selection" else limit_to_selected(part)
            for name, part in parts.items()
        }
    empty_strata = no_strata(criterion, problems.get("strata", NO_LABEL))
    empty = {"strata": empty_strata, "perception": (), "perception_by_systems": {}, "raters": {}}
    return empty | parts, problems


def _makers(
    criterion: Criterion, seeds: Seeds, replicates: int, epsilon: float
) -> dict[str, Callable[[], Any]]:
    """Return the functions that compute the parts of a criterion's section, by name."""
    below = seeds.below
    makers: dict[str, Callable[[], Any]] = {
        "raters": lambda: raters_section(criterion),
        "self_consistency": lambda: self_consistency_section(
            criterion, below("self_consistency"), replicates
        ),
    }
    if criterion.labels:
        makers |= {
            "strata": lambda: _strata(criterion, seeds, replicates),
            "perception": lambda: perception_section(criterion),
            "perception_by_systems": lambda: perception_by_systems(criterion),
            "chance_corrected": lambda: chance_corrected_section(
                criterion, below("chance_corrected"), replicates
            ),
            "alternative_annotator_test": lambda: alternative_annotator_section(criterion, epsilon),
            "dawid_skene": lambda: dawid_skene_section(criterion),
        }
    if criterion.scale.kind == "preference":
        makers |= {
            "rating_sets": lambda: sets_section(criterion, below("rating_sets"), replicates),
            "systems": lambda: systems_section(criterion, below("win_rate"), replicates),
            "selection": lambda: selection_section(criterion),
            "bias": lambda: bias_section(criterion),
        }
    return makers


def _strata(criterion: Criterion, seeds: Seeds, replicates: int) -> tuple[StratumSection, ...]:
    if criterion.has_many_values:
        return many_values_section(criterion, seeds, replicates)
    return strata_section(criterion, seeds, replicates)
