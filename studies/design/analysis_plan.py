"""The analysis plan of a study: what is fixed before it opens, and its digest."""

from studies.models import Study
from studies.models.settings import FrozenSettings, fields_of
from tiebreak.formats.evidence import design_digest
from tiebreak.report.analysis_plan import plan_of

PLAN = (
    *("main_criteria", "estimands", "planned_exclusions", "stopping_rule", "target_width"),
    "known_order",
)


def has_plan(study: Study) -> bool:
    return plan_of({name: getattr(study, name) for name in PLAN}) is not None


def main_criteria(study: Study) -> tuple[str, ...]:
    """Return the names of the criteria on which the study decides; none means all."""
    plan = plan_of({"main_criteria": study.main_criteria})
    return plan.main_criteria if plan else ()


def design_sha256(study: Study) -> str:
    """Return the digest of what is final once the study opens, which the log records then."""
    frozen = fields_of(FrozenSettings)
    return design_digest(
        {name: getattr(study, name) for name in frozen},
        {name: field.get_default() for name, field in frozen.items()},
        criteria=[[c.name, c.question, c.scale] for c in study.criteria.all()],
        systems=[system.name for system in study.ordered_systems()],
    )
