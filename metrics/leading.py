"""The five numbers that lead the overview, each with what it speaks of."""

import math
from dataclasses import dataclass

from metrics.dashboard import Number, number
from metrics.findings import (
    consistency_sets,
    is_of_selected,
    scope_sentence,
    shown_ahead,
    simultaneous_rates,
    why_no_consistency,
)
from metrics.messages import (
    ENOUGH_RATINGS,
    FORECAST_OF_WHOLE,
    FORECAST_ON_STOPPING,
    NO_FINDING_YET,
    NO_MACHINES,
    NO_SYSTEMS,
    RATINGS_NEEDED,
    REST_OF_THESE_RATERS,
    TOO_CLOSE,
)
from metrics.watching import unreached
from tiebreak.report.model import CriterionSection
from tiebreak.stats import Estimate, undefined

# Beyond this factor a forecast would only say that the systems cannot be told apart.
MAX_FACTOR = 100
NEEDED = "Ratings still needed"


@dataclass(frozen=True)
class LeadingNumber:
    """A number with its title, what it means here, and the page that has more."""

    title: str
    number: Number
    sentence: str
    tab: str


def leading_numbers(section: CriterionSection, *, is_part: bool = False) -> list[LeadingNumber]:
    """Return the numbers; a part of the ratings has no forecast, which would state a finding."""
    alpha = section.all_units.human_human.krippendorff_alpha
    return [
        _win_rate(section, is_part=is_part),
        LeadingNumber("Agreement", number(alpha), "Krippendorff's α among annotators", "agreement"),
        _machine(section),
        _consistency(section),
        _forecast_of_part() if is_part else _needed(section),
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
    name, groups = next(iter(sorted(machines.items())))
    more = f" and {len(machines) - 1} more" if len(machines) > 1 else ""
    sentence = f"Krippendorff's α of {name} with the majority label{more}"
    alpha = groups.human_machine.krippendorff_alpha
    return LeadingNumber(title, number(alpha), sentence, "machines")


def _consistency(section: CriterionSection) -> LeadingNumber:
    sets = consistency_sets(section)
    mean = sets.consistency if sets else undefined(why_no_consistency(section))
    sentence = "mean over annotators' rating sets" if sets and sets.n else ""
    return LeadingNumber("Consistency", number(mean, low=0), sentence, "consistency")


def _needed(section: CriterionSection) -> LeadingNumber:
    """Return about how many more ratings would show that the leader's rate is not ½.

    The interval is the one that the heading uses, which holds for all systems at once.

    Widths shrink with the square root of the number of ratings, so reaching ½ needs (half width /
    distance)² times as many, if the rate stays as it is.
    """
    title, (name, rate) = NEEDED, leader(section)
    if unreached(section):
        return LeadingNumber(title, number(undefined(FORECAST_ON_STOPPING)), "", "stopping")
    if not rate.has_interval:
        reason = rate.reason or "There is no interval."
        return LeadingNumber(title, number(undefined(reason)), "", "systems")
    rate = simultaneous_rates(section).get(name, rate)
    distance = abs(rate.value - 0.5)
    end = rate.low if rate.value > 0.5 else rate.high
    factor = math.inf if not distance else ((rate.value - end) / distance) ** 2
    if factor < 1:
        return LeadingNumber(title, _plain("0"), ENOUGH_RATINGS, "systems")
    if factor > MAX_FACTOR:
        return LeadingNumber(title, number(undefined(TOO_CLOSE)), "", "systems")
    more = math.ceil(section.n_ratings * (factor - 1))
    return LeadingNumber(title, _plain(f"about {_rounded(more):,}"), RATINGS_NEEDED, "systems")


def _forecast_of_part() -> LeadingNumber:
    return LeadingNumber(NEEDED, number(undefined(FORECAST_OF_WHOLE)), "", "systems")


def _plain(text: str) -> Number:
    return Number(text, "", number(undefined("")).glyph, "")


def _rounded(n: int) -> int:
    """Return two significant digits, because a forecast has no more."""
    return round(n, 2 - len(str(n))) if n > 99 else n


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
