"""Check that the analysis plan can be followed."""

from collections.abc import Iterator

from recruitment.launch.check import ANALYSIS_PLAN, LaunchCheck, error
from studies.design.analysis_plan import main_criteria
from studies.models import Study
from tiebreak.report.analysis_plan import names_in

# The setting that each check is about.
FIELD_OF = {
    "unknown_main_criterion": "main_criteria",
    "unknown_system_in_order": "known_order",
    "no_target_width": "target_width",
}


def plan_can_be_followed(study: Study) -> Iterator[LaunchCheck]:
    known = {criterion.name for criterion in study.criteria.all()}
    unknown = [name for name in main_criteria(study) if name not in known]
    if unknown:
        yield error(
            "unknown_main_criterion",
            f"The analysis plan names main criteria that the study does not have: {'; '.join(unknown)}."
            " Correct the names, which are separated by semicolons.",
            ANALYSIS_PLAN,
        )
    systems = {system.name for system in study.ordered_systems()}
    if unknown := [name for name in names_in(study.known_order) if name not in systems]:
        yield error(
            "unknown_system_in_order",
            "The known order of the systems names some that the study does not have:"
            f" {'; '.join(unknown)}. Correct the names, which are separated by semicolons.",
            ANALYSIS_PLAN,
        )
    if study.stopping_rule == Study.StoppingRule.WIDTH and study.target_width is None:
        yield error(
            "no_target_width",
            "According to the analysis plan, collecting ends at a target width, but there is none. Enter one, or"
            " choose another rule.",
            ANALYSIS_PLAN,
        )
