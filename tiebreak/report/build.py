"""Building the report of a table of ratings."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from tiebreak.errors import InvalidInput
from tiebreak.formats import RatingTable
from tiebreak.formats.ratings import canonical_digest
from tiebreak.report.analysis_plan import in_planned_order, unrated
from tiebreak.report.criterion import Criterion, read_criteria
from tiebreak.report.design_weights import drawn_units, with_draw_of
from tiebreak.report.generators import Seeds
from tiebreak.report.left_out import left_out
from tiebreak.report.model.fields import REPORT_VERSION
from tiebreak.report.model.report import (
    AnalysisPlan,
    CriterionSection,
    Origin,
    Report,
    SourceSection,
)
from tiebreak.report.registry import SECTIONS, Analysis, check_sections, on_request
from tiebreak.report.scopes import limit_to_selected
from tiebreak.report.sections.machines.discernment import Weights, over_criteria
from tiebreak.report.sections.raters.strata import no_strata
from tiebreak.report.sections.systems.hidden_part import HiddenDraw, with_hidden_part
from tiebreak.report.sections.systems.leaderboard import with_joined
from tiebreak.report.source import Source
from tiebreak.stats import EloConstants
from tiebreak.stats.core.validation import check_share
from tiebreak.stats.machines.alternative_annotators import EPSILON
from tiebreak.stats.rankings.elo import PAPER

REPLICATES = 10_000
NO_LABEL = "No label of this criterion could be parsed."
UNFORESEEN = "An unexpected error occurred ({error}). The log has the details."

logger = logging.getLogger(__name__)
NO_ENDS: Mapping[str, tuple[float, ...]] = {}
NO_FAMILIES: Mapping[str, str] = {}


def build_report(
    table: RatingTable,
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    scales: Mapping[str, str] | None = None,
    unparsed: str | None = None,
    source: Origin | None = None,
    order: Sequence[str] = (),
    plan: AnalysisPlan | None = None,
    sections: Collection[str] = (),
    epsilon: float = EPSILON,
    known_order: Sequence[str] = (),
    core: bool = False,
    weights: Weights | None = None,
    scores: Source | None = None,
    main_machine: str = "",
    simple_raters: Collection[str] = (),
    separability_ends: Mapping[str, tuple[float, ...]] = NO_ENDS,
    elo_constants: EloConstants = PAPER,
    families: Mapping[str, str] = NO_FAMILIES,
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
    plan : AnalysisPlan, optional
        What was fixed before the study opened. Its main criteria come first.
    sections : collection of str, optional
        Sections that take long to compute and are left out otherwise
        (`tiebreak.report.registry.on_request` lists them).
    epsilon : float, default 0.1
        How much less often than an annotator a machine may be the better one in the alternative
        annotator test, from 0 to 1.
    known_order : sequence of str, optional
        An order of the systems that is known from elsewhere, best first; the plan's order by default.
        ``success_rates`` has Kendall's τ with it.
    core : bool, default False
        Whether to compute only what the leading numbers and their strata need: agreement among
        humans and with machines in every stratum, win rates, and consistency. The values equal those of
        the whole report; rank correlations with separability are left out. ``sections`` may name more.
    weights : mapping of str to mapping of str to float, optional
        Experts' weights of the criteria for each perturbation, for the section ``discernment``.
    scores : Source, optional
        Ratings of single texts of the same instances, whose scores by machines the section
        ``scoring_against_pairwise`` uses; by default the table's.
    main_machine : str, optional
        The machine rater that was chosen to lead; by default the one with the most answers leads.
    simple_raters : collection of str, optional
        The machine raters that follow a simple rule, such as the longer text.
    separability_ends : mapping of str to tuple of float, optional
        The smallest and the largest δ by criterion, for ratings that are a part of a study: its ranges
        are then those of the whole study. By default they are those of the ratings.
    elo_constants : EloConstants, optional
        Constants K, α, β and T of the section ``elo``; by default the published ones.
    families : mapping of str to str, optional
        Model families of systems and machine raters by name, for the section ``family_bias``.

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
        If there is no such section to ask for, or ``epsilon`` is not between 0 and 1.

    See Also
    --------
    read_source : Read ratings from a file or bundle.
    Report.as_json : Return the report as described by its JSON schema.

    Examples
    --------
    >>> rows = [{"unit": "u", "rater": rater, "label": -1} for rater in ("r", "s")]
    >>> report = build_report(RatingTable.from_rows(rows), replicates=0)
    >>> report.criteria["preference"].votes
    {'-1': 2, '0': 0, '1': 0}
    """
    check_sections(sections)
    check_share(epsilon, name="epsilon")
    table.looked_at.clear()
    used = table.select(table.is_counted)
    digest = canonical_digest(table)
    order = in_planned_order(order, plan)
    criteria, unknown = read_criteria(table, scales or {}, unparsed, order)
    criteria = [*_as_in_whole(criteria, separability_ends)]
    preferences = sum(criterion.scale.kind == "preference" for criterion in criteria)
    known = tuple(known_order) or (plan.known_order if plan else ())
    scored = criteria if scores is None else _scored(scores)

    def analysis(criterion: Criterion) -> Analysis:
        seeds = Seeds(seed, (criterion.name,))
        known_elsewhere = known, scored, families, elo_constants
        return Analysis(criterion, seeds, replicates, epsilon, preferences, *known_elsewhere)

    options = _Options(sections, core, analysis, main_machine, simple_raters)
    origin = source or Origin("file", digest)
    sections_of = _with_discernment({c.name: _section(c, options) for c in criteria}, weights)
    lost = dict(left_out(table, criteria, is_file=origin.kind != "study"))
    n_missing = sum(sum(criterion.missing.values()) for criterion in criteria)
    return Report(
        report_version=REPORT_VERSION,
        seed=seed,
        replicates=replicates,
        source=SourceSection(
            **vars(origin),
            rows_sha256=digest,
            n_rows=len(table) + len(table.unlabelled),
            n_used=len(used) - n_missing,
        ),
        simulated=bool(np.any(used["simulated"])),
        criteria_order=tuple(criterion.name for criterion in criteria),
        criteria=sections_of,
        problems=unrated(plan, [*(c.name for c in criteria), *unknown]) | unknown | lost,
        plan=plan,
    )


def report_from(source: Source, **options: Any) -> Report:
    """Build the report of a source: what it says of its ratings holds where no option says otherwise."""
    said = {
        "scales": source.scales,
        "source": source.origin,
        "order": source.order,
        "plan": source.plan,
        "main_machine": source.main_machine,
        "simple_raters": source.simple_raters,
        "separability_ends": source.separability_ends,
        "elo_constants": source.elo_constants,
        "families": source.families,
    }
    return build_report(source.table, **(said | options))


def _with_discernment(
    criteria: dict[str, CriterionSection], weights: Weights | None
) -> dict[str, CriterionSection]:
    """Return the criteria with discernment over all criteria in those that have the section."""
    parts = {name: about.discernment for name, about in criteria.items() if about.discernment}
    combined = over_criteria(parts, weights)
    return criteria | {
        name: replace(criteria[name], discernment=part) for name, part in combined.items()
    }


@dataclass(frozen=True)
class RequestedSection:
    """A section of every criterion of a study, and reasons for criteria that do not have it."""

    criteria: dict[str, Any]
    problems: dict[str, str]


def build_section(
    table: RatingTable,
    name: str,
    *,
    seed: int = 0,
    replicates: int = REPLICATES,
    scales: Mapping[str, str] | None = None,
    weights: Weights | None = None,
    scores: Source | None = None,
    separability_ends: Mapping[str, tuple[float, ...]] = NO_ENDS,
    elo_constants: EloConstants = PAPER,
    families: Mapping[str, str] = NO_FAMILIES,
    hidden: HiddenDraw | None = None,
    joined: Iterable[tuple[str, RatingTable]] = (),
) -> RequestedSection:
    """Compute one section on request alone, as `build_report` would.

    A board may have a hidden part, and systems that joined, with machines' ratings of each one's pairs.
    """
    check_sections([name])
    section = RequestedSection({}, {})
    public = table if hidden is None else hidden.public(table)
    criteria, _ = read_criteria(public, scales or {}, None)
    scored = criteria if scores is None else _scored(scores)
    preferences = sum(criterion.scale.kind == "preference" for criterion in criteria)
    for criterion in _as_in_whole(criteria, separability_ends):
        seeds = Seeds(seed, (criterion.name,))
        known: Any = {"scored": scored, "families": families, "elo_constants": elo_constants}
        analysis = Analysis(criterion, seeds, replicates, criteria=preferences, **known)
        parts, problems = _made({name: partial(SECTIONS[name].compute, analysis)}, criterion)
        if name in parts:
            section.criteria[criterion.name] = parts[name]
        else:
            section.problems[criterion.name] = problems[name]
    boards = {one.name: one for one in criteria if one.name in section.criteria}
    for system, ratings in joined:
        for one in read_criteria(with_draw_of(ratings, table), scales or {}, None)[0]:
            if (whole := boards.get(one.name)) is not None:
                seeds = Seeds(seed, (one.name, "joined", system))
                board = with_joined(section.criteria[one.name], one, system, seeds, replicates)
                section.criteria[one.name] = _limited(board, whole)
    if hidden is not None:
        for one in read_criteria(table, scales or {}, None)[0]:
            if one.name in boards:
                board = with_hidden_part(section.criteria[one.name], one, hidden)
                section.criteria[one.name] = _limited(board, one)
    if name == "discernment":  # which says something of all criteria together
        return RequestedSection(dict(over_criteria(section.criteria, weights)), section.problems)
    return section


def _as_in_whole(
    criteria: Iterable[Criterion], ends: Mapping[str, tuple[float, ...]]
) -> Iterator[Criterion]:
    return (replace(one, separability_ends=ends.get(one.name, ())) for one in criteria)


def _scored(scores: Source) -> list[Criterion]:
    """Return the criteria of ratings of single texts."""
    return read_criteria(scores.table, scores.scales, None)[0]


@dataclass(frozen=True)
class _Options:
    """What all criteria of a report share."""

    sections: Collection[str]
    core: bool
    analysis: Callable[[Criterion], Analysis]
    main_machine: str
    simple_raters: Collection[str]


def _section(criterion: Criterion, options: _Options) -> CriterionSection:
    makers = _makers(options.analysis(criterion), options)
    scale = criterion.scale
    parts, problems = _parts(criterion, makers)
    added = {name: parts.pop(name) for name in [*parts] if SECTIONS[name].fills}
    is_human, is_parsed = criterion.is_human, ~criterion.is_unparsed
    about = CriterionSection(
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
        main_machine=options.main_machine or None,
        simple_raters=tuple(sorted({*options.simple_raters} & {*criterion.machines})) or None,
        **parts,
        problems=problems,
    )
    for name, part in added.items():
        about = SECTIONS[name].put(part, about)
    return about


@cache
def _libraries() -> ThreadpoolController:
    """Return the libraries that use threads; to find them takes as long as many sections."""
    return ThreadpoolController()


def _makers(analysis: Analysis, options: _Options) -> Mapping[str, Callable[[], Any]]:
    """Return the functions that compute the parts of a criterion's section, by name."""
    always = {
        name: partial(section.compute, analysis, core=options.core)
        for name, section in SECTIONS.items()
        if section.is_in_every_report(core=options.core) and section.needs(analysis.criterion)
    }
    asked = {
        name: partial(section.compute, analysis)
        for name, section in on_request().items()
        if name in options.sections
    }
    return always | asked


def _parts(
    criterion: Criterion, makers: Mapping[str, Callable[[], Any]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parts that could be computed, and reasons by name for those that could not.

    The four parts that all criteria have are empty if they fail.
    """
    parts, problems = _made(makers, criterion)
    empty_strata = no_strata(criterion, problems.get("strata", NO_LABEL))
    empty = {"strata": empty_strata, "perception": (), "perception_by_systems": {}, "raters": {}}
    return empty | parts, problems


def _made(
    makers: Mapping[str, Callable[[], Any]], criterion: Criterion
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the parts, and reasons by name; a part that fails does not affect the others."""
    parts: dict[str, Any] = {}
    problems: dict[str, str] = {}
    # The matrices are small: more threads in linear algebra would mostly wait for each other, which
    # doubles the processor time, and sums would depend on the number of cores in their last digits.
    with _libraries().limit(limits=1, user_api="blas"):
        for name, make in makers.items():
            try:
                parts[name] = make()
            except InvalidInput as error:  # the ratings do not allow this statistic
                logger.warning("%s of %s: %s", name, criterion.name, error, exc_info=True)
                problems[name] = error.message
            except Exception as error:  # a bug, which must not lose the other parts
                logger.exception("%s of %s failed", name, criterion.name)
                problems[name] = UNFORESEEN.format(error=type(error).__name__)
    limited = {
        name: part if name == "selection" else _limited(part, criterion)
        for name, part in parts.items()
    }
    return limited, problems


def _limited(part: Any, criterion: Criterion) -> Any:
    """Return a part whose unweighted estimates speak of the drawn instances, if some were drawn."""
    return limit_to_selected(part) if drawn_units(criterion).any() else part
