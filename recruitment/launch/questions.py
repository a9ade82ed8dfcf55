"""What annotators are told and asked, and whether reference units are there to screen them by."""

from collections.abc import Iterator

from annotation.services.reference_units import ROLES
from annotation.services.screening import (
    gold_checks_expected,
    is_pass_mark_reachable,
    reference_unit_shortfalls,
)
from recruitment.launch.check import REFERENCE_UNITS, LaunchCheck, counted, error, warning
from studies.models import Study, Unit


def guidelines(study: Study) -> Iterator[LaunchCheck]:
    if study.guidelines.strip():
        return
    if study.comprehension.exists():
        yield error(
            "no_guidelines",
            "Annotators are asked questions about guidelines that are empty. Write the guidelines,"
            " or delete the questions.",
        )
    else:
        yield warning(
            "no_guidelines",
            "There are no guidelines: annotators see the question and nothing that explains it."
            " Write what to look for.",
        )


def criteria(study: Study) -> Iterator[LaunchCheck]:
    if not study.criteria.exists():
        yield error("no_criteria", "Nothing is asked: add a criterion.")


def reference_units(study: Study) -> Iterator[LaunchCheck]:
    """Whoever agreed to take part would meet a test that cannot be taken or passed."""
    for lack in reference_unit_shortfalls(study):
        yield error(
            f"no_{lack.role.value}_units",
            f"The screening asks for {counted(lack.needed, 'reference unit')} for"
            f" {ROLES[lack.role]}, and there"
            f" {'is' if lack.present == 1 else 'are'} {lack.present or 'none'}. Make more, or ask"
            " for fewer.",
            REFERENCE_UNITS,
        )
    if not is_pass_mark_reachable(study):
        yield error(
            "pass_mark_unreachable",
            "More right answers are needed than the test has units. Lower the pass mark, or give"
            " the test more units.",
        )


def gold_checks_for_all(study: Study) -> Iterator[LaunchCheck]:
    expected = gold_checks_expected(study)
    there = study.units.filter(role=Unit.Role.GOLD).count()
    if 0 < there < expected:
        yield warning(
            "few_gold_units",
            f"Who does all the HITs they may would meet about {counted(expected, 'check')}, and"
            f" there are {there}: nobody meets one twice, so their later HITs carry none. Make"
            " more units for checks, or lower their share.",
            REFERENCE_UNITS,
        )
