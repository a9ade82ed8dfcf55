"""Whether a machine rater can stand in for annotators, and how near it is to what any could reach."""

from tiebreak.digits import in_digits
from tiebreak.reading.annotator_tests import (
    ASKS,
    LESS_OFTEN,
    NOT_BEYOND_CHANCE,
    TOO_FEW,
    is_as_good,
    is_below,
    is_beyond_chance,
    matched,
    needed,
)
from tiebreak.reading.findings import scope_suffix
from tiebreak.reading.messages import NOT_IN_REPORT
from tiebreak.report.model.machines import NoiseCeiling
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.sections.machines.alternative_annotators import TOO_MANY_VALUES

NOT_SHOWN = "No machine rater is shown to stand in"
BELOW = f"All machine raters agree with annotators {LESS_OFTEN}"
UNKNOWN = "Whether a machine rater can stand in is not known"
MORE_RATINGS, READ_AGREEMENT = ": collect more ratings", ": compare its agreement"
MATCHES = "No: {name} is shown to match {matched}; standing in needs {needed}"
# The machine rater agrees as often as annotators do, within the allowance, so only the test lacks power.
NOT_SHOWN_OF = "Not shown that {name} can stand in: {why}"
MATCHED = " {name} is shown to match {matched}; standing in needs {needed}."
RESTS_ON = (
    f"{ASKS} A machine rater can stand in if it passes this test and also agrees with one annotator beyond chance."
    " That is shown for these annotators alone."
)
REACHED = " The share of equal labels of {name} and one annotator is {reached}, the noise ceiling."


def stand_in_finding(section: CriterionSection) -> tuple[str, str]:
    """Return which machine raters can stand in for annotators, beside the noise ceiling."""
    tests, machines = section.alternative_annotator_test or {}, section.all_units.machines
    alphas = {name: one.single_human_machine.krippendorff_alpha for name, one in machines.items()}
    if all(test.reason for test in tests.values()):
        return _unknown(section)
    able = [n for n in section.machines_main_first if n in tests and tests[n].passes]
    able = [name for name in able if is_beyond_chance(section, name)]
    ceilings, first = section.noise_ceiling or {}, (able or section.machines_main_first)[0]
    reached, suffix = _reached(ceilings.get(first)), scope_suffix(alphas[first])
    count = ""
    if able:
        who = " and ".join(able) if len(able) < 3 else f"{len(able)} machine raters"
        heading = f"{who} can stand in for these annotators"
    elif first in tests and tests[first].passes:
        heading = NOT_SHOWN_OF.format(name=first, why=NOT_BEYOND_CHANCE)
    elif ceilings and all(map(is_below, ceilings.values())):
        heading = BELOW
    elif first in tests and not (suffix or tests[first].reason):
        test = tests[first]
        facts = {"name": first, "matched": matched(test), "needed": needed(test)}
        heading = MATCHES.format(**facts)
        if first in ceilings and is_as_good(ceilings[first]):
            heading = NOT_SHOWN_OF.format(name=first, why=TOO_FEW)
            count = MATCHED.format(**facts)
    else:
        heading = f"{NOT_SHOWN}; {first} reaches {reached}" if reached and not suffix else NOT_SHOWN
    beside = REACHED.format(name=first, reached=reached) if reached else ""
    return f"{heading}{suffix}", f"{RESTS_ON}{count}{beside}"


def _reached(found: NoiseCeiling | None) -> str:
    if found is None or not (found.ceiling.is_defined and found.agreement.is_defined):
        return ""
    return f"{in_digits(found.agreement.value)} of at most {in_digits(found.ceiling.value)}"


def _unknown(section: CriterionSection) -> tuple[str, str]:
    """Return the heading that says what to do where no machine rater is tested, and the reason."""
    tests = section.alternative_annotator_test or {}
    if not tests:
        why = section.problems.get("alternative_annotator_test", NOT_IN_REPORT)
        return f"{UNKNOWN}{READ_AGREEMENT}", why
    reasons = {test.reason: None for test in tests.values() if test.reason}
    advice = READ_AGREEMENT if TOO_MANY_VALUES in reasons else MORE_RATINGS
    return f"{UNKNOWN}{advice}", " ".join(reasons)
