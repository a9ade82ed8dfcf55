"""Analysing ratings in one call, as in a notebook."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from tiebreak.errors import InvalidInput
from tiebreak.formats import RatingTable
from tiebreak.formats.frames import rows_of_frame
from tiebreak.formats.layouts import Choice
from tiebreak.report import Report, read_source
from tiebreak.report.build import REPLICATES, report_from
from tiebreak.report.source import Source, source_of_rows
from tiebreak.stats import EloConstants
from tiebreak.stats.machines.alternative_annotators import EPSILON

UNKNOWN_CRITERION = "scales names the criterion {name!r}, which has no ratings. The criteria with ratings are: {names}."


def analyze(
    data: Any,
    *,
    columns: Mapping[str, str] | None = None,
    leave_out: Collection[str] = (),
    fill_down: Collection[str] = (),
    scales: Mapping[str, str] | None = None,
    seed: int = 0,
    replicates: int = REPLICATES,
    unparsed: str | None = None,
    sections: Collection[str] = (),
    epsilon: float = EPSILON,
    core: bool = False,
    elo_constants: EloConstants | None = None,
    families: Mapping[str, str] | None = None,
) -> Report:
    """Return the report of ratings, with the numbers of the command ``tiebreak analyze``.

    Parameters
    ----------
    data : data frame, iterable of dict, dict of columns, str, Path or RatingTable
        Ratings in any usual layout, such as a row for each rating, or raters as columns: a frame of
        pandas or polars, a table of pyarrow, rows or columns; or the path of a file, or of a bundle
        (folder or .zip).
    columns : mapping of str to str, optional
        Columns by role, such as ``{"unit": "item", "rater:ann": "Label by Ann"}``. Other roles are
        guessed, and the report's ``source.notes`` say how.
    leave_out : collection of str, optional
        Columns that are not used.
    fill_down : collection of str, optional
        Columns whose empty cells repeat the value above.
    scales : mapping of str to str, optional
        Scale of each criterion, such as ``{"preference": "preference:tie"}``. Other scales are those
        of the bundle, or inferred; the report says which.
    seed : int, default 0
        Seed of all intervals.
    replicates : int, default 10000
        Number of bootstrap replicates, or 0 for no intervals.
    unparsed : str, optional
        Label to use for unparsed machine answers.
    sections : collection of str, optional
        Sections that take long to compute and are left out otherwise.
    epsilon : float, default 0.1
        The allowance of the alternative annotator test, from 0 to 1.
    core : bool, default False
        Whether to compute only what the leading numbers and their strata need.
    elo_constants : EloConstants, optional
        Constants K, α, β and T of the section ``elo``. By default, those of the bundle's study, or the
        published ones.
    families : mapping of str to str, optional
        Model families of systems and machine raters by name, such as ``{"gpt-4o": "GPT"}``, for the section
        ``family_bias``. They are added to those of the bundle's study.

    Returns
    -------
    Report
        The report. A notebook shows its leading numbers, findings and figures.

    Raises
    ------
    FormatError
        If rows are invalid, or the path has no ratings. The error lists the rows and the reasons.
    DomainError
        If it is not clear who rated what; the message says what to choose.
    InvalidInput
        If the data are no table, or `scales` names a criterion without ratings.

    See Also
    --------
    tiebreak.report.build_report : Build a report with all options.

    Examples
    --------
    >>> rows = [{"unit": "u", "rater": rater, "label": -1} for rater in ("r", "s")]
    >>> analyze(rows, replicates=0).criteria["preference"].votes
    {'-1': 2, '0': 0, '1': 0}
    """
    chosen = Choice(dict(columns or {}), tuple(leave_out), fill_down=tuple(fill_down))
    source = _source(data, chosen)
    declared = dict(scales or {})
    report = report_from(
        source,
        seed=seed,
        replicates=replicates,
        scales=source.scales | declared,
        unparsed=unparsed,
        sections=sections,
        epsilon=epsilon,
        core=core,
        elo_constants=elo_constants or source.elo_constants,
        families={**source.families, **(families or {})},
    )
    if unrated := [name for name in declared if name not in report.criteria]:
        names = ", ".join(report.criteria_order) or "none"
        sentence = UNKNOWN_CRITERION.format(name=unrated[0], names=names)
        raise InvalidInput("unknown_criterion", sentence)
    return report


def _source(data: Any, choice: Choice) -> Source:
    if isinstance(data, RatingTable):
        return Source(data)
    if isinstance(data, str | Path):
        return read_source(Path(data), choice)
    return source_of_rows(rows_of_frame(data), "the data frame", choice)
