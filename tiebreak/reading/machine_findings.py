"""Whether a machine rater can stand in for annotators, and how near it is to what any could reach."""

from tiebreak.digits import in_digits
from tiebreak.reading.findings import scope_suffix
from tiebreak.reading.messages import NOT_IN_REPORT
from tiebreak.report.model.machines import AnnotatorTestSection, NoiseCeiling
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.sections.machines.alternative_annotators import TOO_MANY_VALUES

NOT_SHOWN = "No machine rater is shown to stand in"
BELOW = "No machine rater agrees with annotators as often as they do with each other"
UNKNOWN = "Whether a machine rater can stand in is not known"
MORE_RATINGS, READ_AGREEMENT = ": collect more ratings", ": compare its agreement"
RESTS_ON = (
    "A machine rater can stand in if it passes the alternative annotator test below and agrees with one"
    " annotator beyond chance. That is shown for these annotators alone."
)


def stand_in_finding(section: CriterionSection) -> tuple[str, str]:
    """Return which machine raters can stand in for annotators, beside the noise ceiling.

    A machine rater is said to agree less than annotators only if the intervals show it for all.
    """
    tests = section.alternative_annotator_test or {}
    tested = [name for name in section.machines_main_first if _is_tested(tests.get(name))]
    if not tested:
        return _unknown(section)
    able = [name for name in tested if tests[name].passes and _is_beyond_chance(section, name)]
    ceilings = section.noise_ceiling or {}
    first = (able or section.machines_main_first)[0]
    reached = _reached(ceilings.get(first))
    suffix = scope_suffix(section.all_units.machines[first].single_human_machine.krippendorff_alpha)
    if len(able) > 2:
        heading = f"{len(able)} machine raters can stand in for these annotators"
    elif able:
        heading = f"{' and '.join(able)} can stand in for these annotators"
    elif ceilings and all(map(_is_below, ceilings.values())):
        return f"{BELOW}{suffix}", f"{RESTS_ON} {_beside(first, reached)}".rstrip()
    else:
        heading = f"{NOT_SHOWN}; {first} reaches {reached}" if reached and not suffix else NOT_SHOWN
    return f"{heading}{suffix}", f"{RESTS_ON} {_beside(first, reached)}".rstrip()


def _is_tested(test: AnnotatorTestSection | None) -> bool:
    return test is not None and test.reason is None


def _is_beyond_chance(section: CriterionSection, name: str) -> bool:
    alpha = section.all_units.machines[name].single_human_machine.krippendorff_alpha
    return alpha.has_interval and alpha.low > 0


def _is_below(found: NoiseCeiling) -> bool:
    """Return whether the intervals of both agreements, on the same items, do not even touch."""
    both = found.agreement, found.annotators
    return all(one.has_interval for one in both) and both[0].high < both[1].low


def _reached(found: NoiseCeiling | None) -> str:
    if found is None or not found.ceiling.is_defined or not found.agreement.is_defined:
        return ""
    return f"{in_digits(found.agreement.value)} of at most {in_digits(found.ceiling.value)}"


def _beside(name: str, reached: str) -> str:
    return (
        f"{name} gives the label of one annotator with a probability of {reached}, the noise ceiling."
        * bool(reached)
    )


def _unknown(section: CriterionSection) -> tuple[str, str]:
    """Return the heading that says what to do where no machine rater is tested, and the reason."""
    tests = section.alternative_annotator_test or {}
    reasons = {test.reason for test in tests.values() if test.reason}
    if not reasons:
        why = section.problems.get("alternative_annotator_test", NOT_IN_REPORT)
        return f"{UNKNOWN}{READ_AGREEMENT}", why
    advice = READ_AGREEMENT if TOO_MANY_VALUES in reasons else MORE_RATINGS
    return f"{UNKNOWN}{advice}", " ".join(sorted(reasons))
