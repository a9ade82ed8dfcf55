"""The analysis plan of a study: what is fixed before it opens, and its digest."""

from typing import Any

from studies.models import Study
from studies.models.settings import FrozenSettings, fields_of
from tiebreak.formats.evidence import design_digest
from tiebreak.report.analysis_plan import plan_of

PLAN = (
    *("main_criteria", "estimands", "planned_exclusions", "stopping_rule", "target_width"),
    "known_order",
)


def main_criteria(study: Study) -> tuple[str, ...]:
    """Return the names of the criteria on which the study decides; none means all."""
    plan = plan_of({"main_criteria": study.main_criteria})
    return plan.main_criteria if plan else ()


def frozen_design(study: Study) -> dict[str, Any]:
    """Return everything that is final once the study opens, with the analysis plan."""
    return {
        **{name: getattr(study, name) for name in sorted(fields_of(FrozenSettings))},
        "criteria": [[c.name, c.question, c.scale] for c in study.criteria.all()],
        "systems": [system.name for system in study.ordered_systems()],
    }


def plan_digest(study: Study) -> str:
    """Return the SHA-256 of the frozen design, which the log records at opening."""
    return design_digest(frozen_design(study))
