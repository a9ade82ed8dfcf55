"""The numbers that lead the overview, each with what it speaks of."""

from dataclasses import dataclass

from metrics.dashboard import Number, number
from metrics.findings import (
    consistency_sets,
    is_of_selected,
    machines_main_first,
    scope_sentence,
    shown_ahead,
    why_no_consistency,
)
from metrics.messages import (
    MAIN_MACHINE,
    NO_FINDING_YET,
    NO_MACHINES,
    NO_SYSTEMS,
    REST_OF_THESE_RATERS,
)
from metrics.watching import unreached
from tiebreak.report.model import CriterionSection
from tiebreak.stats import Estimate, undefined


@dataclass(frozen=True)
class LeadingNumber:
    """A number with its title, what it means here, and the page that has more."""

    title: str
    number: Number
    sentence: str
    tab: str


def leading_numbers(section: CriterionSection, *, is_part: bool = False) -> list[LeadingNumber]:
    """Return the numbers; those of a part of the ratings state no finding."""
    alpha = section.all_units.human_human.krippendorff_alpha
    return [
        _win_rate(section, is_part=is_part),
        LeadingNumber("Agreement", number(alpha), "Krippendorff's α among annotators", "agreement"),
        _machine(section),
        _consistency(section),
    ]


def leader(section: CriterionSection) -> tuple[str, Estimate]:
    """Return the system with the highest win rate, and the rate."""
    systems = section.systems
    if systems is None or not systems.win_rate:
        return "", undefined(section.problems.get("systems", NO_SYSTEMS))
    rates = systems.win_rate
    defined = {name: rate for name, rate in rates.items() if rate.is_defined}
    if not defined:
        return next(iter(rates.items()))
    return max(defined.items(), key=lambda item: item[1].value)


def _win_rate(section: CriterionSection, *, is_part: bool) -> LeadingNumber:
    name, rate = leader(section)
    # A rate may be the highest by chance: it is called that where the heading says that it wins.
    states_lead = not is_part and unreached(section) is None and name in shown_ahead(section)
    sentence = (f"{name}, the highest of all" if states_lead else f"of {name}") if name else ""
    return LeadingNumber("Win rate", number(rate, low=0), sentence, "systems")


def _machine(section: CriterionSection) -> LeadingNumber:
    machines = section.all_units.machines
    title = "Human–machine agreement"
    if not machines:
        return LeadingNumber(title, number(undefined(NO_MACHINES)), "", "machines")
    name = machines_main_first(section)[0]
    main = MAIN_MACHINE.format(n=len(machines)) if len(machines) > 1 else ""
    sentence = f"Krippendorff's α of {name} with the majority label{main}"
    alpha = machines[name].human_machine.krippendorff_alpha
    return LeadingNumber(title, number(alpha), sentence, "machines")


def _consistency(section: CriterionSection) -> LeadingNumber:
    sets = consistency_sets(section)
    mean = sets.consistency if sets else undefined(why_no_consistency(section))
    sentence = "mean over annotators' rating sets" if sets and sets.n else ""
    return LeadingNumber("Consistency", number(mean, low=0), sentence, "consistency")


def scope_of(section: CriterionSection) -> str:
    """Return the sentence that says whom the leading numbers speak of."""
    _, rate = leader(section)
    estimate = rate if rate.is_defined else section.all_units.human_human.krippendorff_alpha
    if not estimate.is_defined or is_of_selected(estimate):
        return ""
    sentence = scope_sentence(estimate)
    if estimate.scope.raters == "new":
        sentence += f" {REST_OF_THESE_RATERS}"
    return sentence if unreached(section) is None else f"{NO_FINDING_YET} {sentence}"
