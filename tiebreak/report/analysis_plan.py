"""The analysis plan of a study or bundle, and what a report makes of it."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from tiebreak.report.model.report import AnalysisPlan
from tiebreak.stats import EloConstants
from tiebreak.stats.rankings.elo import ELO_LIMITS

COMPLETE = "complete"
NOT_RATED = "The analysis plan names this criterion, but it has no ratings."


def plan_of(settings: Mapping[str, Any]) -> AnalysisPlan | None:
    """Return the plan that a study's settings state, or None if they state none.

    The settings have the names that they have in study.toml; those of other parts of a design are
    ignored.

    Examples
    --------
    >>> plan_of({"main_criteria": "preference; style"}).main_criteria
    ('preference', 'style')
    >>> plan_of({"ratings_per_hit": 3}) is None
    True
    """
    width = settings.get("target_width")
    plan = AnalysisPlan(
        main_criteria=names_in(settings.get("main_criteria", "")),
        estimands=str(settings.get("estimands", "")),
        exclusions=str(settings.get("planned_exclusions", "")),
        stopping_rule=str(settings.get("stopping_rule", COMPLETE)),
        target_width=float(width) if isinstance(width, int | float) else None,
        known_order=names_in(settings.get("known_order", "")),
    )
    return None if plan == AnalysisPlan((), "", "", COMPLETE) else plan


# The constants of Elo ratings, by the names of the settings that have them.
ELO_SETTINGS = {f"elo_{name}": name for name in ELO_LIMITS}
# Settings of the analysis that a study may change at any time, because nothing else depends on them.
ANALYSIS_SETTINGS = (*ELO_SETTINGS, "families")


def elo_constants_of(settings: Mapping[str, Any]) -> EloConstants:
    """Return the constants of Elo ratings that a study's settings state; the published ones by default.

    Raises `InvalidInput` if one is outside its limits.

    >>> elo_constants_of({"elo_step": 16})
    EloConstants(step=16.0, alpha=2.0, beta=6.0, threshold=0.4)
    """
    stated = {name: settings[key] for key, name in ELO_SETTINGS.items() if key in settings}
    return EloConstants(**{name: float(value) for name, value in stated.items()})


def names_in(text: object) -> tuple[str, ...]:
    """Return the names that a setting lists, separated by semicolons.

    >>> names_in("b; a;")
    ('b', 'a')
    """
    names = (name.strip() for name in str(text).split(";"))
    return tuple(name for name in names if name)


def in_planned_order(names: Sequence[str], plan: AnalysisPlan | None) -> tuple[str, ...]:
    """Return criteria in the order of the report: as they are declared, but the main ones first.

    Examples
    --------
    >>> in_planned_order(["style", "preference"], plan_of({"main_criteria": "preference"}))
    ('preference', 'style')
    """
    main = plan.main_criteria if plan else ()
    return (*main, *(name for name in names if name not in main))


def unrated(plan: AnalysisPlan | None, rated: Collection[str]) -> dict[str, str]:
    """Return the reason by name, always the same sentence, for each main criterion without ratings.

    Examples
    --------
    >>> list(unrated(plan_of({"main_criteria": "style"}), ["preference"]))
    ['style']
    """
    main = plan.main_criteria if plan else ()
    return {name: NOT_RATED for name in main if name not in rated}
