"""The numbers that lead the overview, each with what it applies to."""

from dataclasses import dataclass

from tiebreak.reading.findings import (
    best_first,
    consistency_sets,
    is_even,
    is_of_selected,
    scope_sentence,
    speaks_of_these,
    why_no_consistency,
)
from tiebreak.reading.messages import (
    CHOSEN_AS_MAIN,
    MOST_ANSWERS,
    NO_FINDING_YET,
    NO_MACHINES,
    NO_SYSTEMS,
    NOT_RATED_BY_MAIN,
    REST_OF_THESE_RATERS,
)
from tiebreak.reading.shown import Number, number
from tiebreak.reading.while_open import unreached
from tiebreak.report.model import CriterionSection
from tiebreak.report.sections.systems.comparisons import UNEVEN
from tiebreak.stats import Estimate, undefined


@dataclass(frozen=True)
class LeadingNumber:
    """A number with its title, what it means here, and the page that has more."""

    title: str
    number: Number
    sentence: str
    tab: str


def leading_numbers(section: CriterionSection, *, is_part: bool = False) -> list[LeadingNumber]:
    """Return the numbers; numbers of a part of the ratings state no finding."""
    alpha = section.all_units.human_human.krippendorff_alpha
    return [
        _win_rate(section, is_part=is_part),
        LeadingNumber("Agreement", number(alpha), "Krippendorff's α among annotators", "agreement"),
        _machine(section),
        _consistency(section),
    ]


def leader(section: CriterionSection) -> tuple[str, Estimate]:
    """Return the best system by what ranks systems, and its win rate."""
    systems = section.systems
    if systems is None or not systems.win_rate:
        return "", undefined(section.problems.get("systems", NO_SYSTEMS))
    if systems.ranked_by == "nothing":
        strengths = (systems.bradley_terry or {}).values()
        reason = next((one.reason for one in strengths if one.reason), "")
        return "", undefined(f"{UNEVEN} {reason}")
    name = best_first(systems)[0]
    return name, systems.win_rate[name]


def _win_rate(section: CriterionSection, *, is_part: bool) -> LeadingNumber:
    name, rate = leader(section)
    # A system may be ahead of others by chance: it leads where its set of ranks says so.
    sets = (section.systems.rank_sets or {}) if section.systems else {}
    is_first = name in sets and sets[name].worst == 1
    states_lead = is_first and not is_part and unreached(section) is None
    by = "the highest of all" if is_even(section) else "first by Bradley–Terry strength"
    sentence = (f"{name}, {by}" if states_lead else f"of {name}") if name else ""
    return LeadingNumber("Win rate", number(rate, low=0), sentence, "systems")


def _machine(section: CriterionSection) -> LeadingNumber:
    machines = section.all_units.machines
    title = "Human–machine agreement"
    if not machines:
        return LeadingNumber(title, number(undefined(NO_MACHINES)), "", "machines")
    name, chosen = section.machines_main_first[0], section.main_machine
    main = (CHOSEN_AS_MAIN if name == chosen else MOST_ANSWERS).format(n=len(machines))
    if chosen and name != chosen:
        main += NOT_RATED_BY_MAIN.format(chosen=chosen)
    elif len(machines) == 1:
        main = ""
    sentence = f"Krippendorff's α of {name} with the majority label{main}"
    alpha = machines[name].human_machine.krippendorff_alpha
    return LeadingNumber(title, number(alpha), sentence, "machines")


def _consistency(section: CriterionSection) -> LeadingNumber:
    sets = consistency_sets(section)
    mean = sets.consistency if sets else undefined(why_no_consistency(section))
    sentence = "mean over annotators' rating sets" if sets and sets.n else ""
    return LeadingNumber("Consistency", number(mean, low=0), sentence, "consistency")


def scope_of(section: CriterionSection) -> str:
    """Return the sentence that says who the leading numbers apply to."""
    _, rate = leader(section)
    estimate = rate if rate.is_defined else section.all_units.human_human.krippendorff_alpha
    if not estimate.is_defined or is_of_selected(estimate):
        return ""
    sentence = scope_sentence(estimate, of_these=speaks_of_these(section))
    if estimate.scope.raters == "new":
        sentence += f" {REST_OF_THESE_RATERS}"
    return sentence if unreached(section) is None else f"{NO_FINDING_YET} {sentence}"
