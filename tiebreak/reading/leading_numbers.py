"""The five numbers that lead the results, each with what it applies to, or what it still needs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isnan, sqrt

from tiebreak.digits import counted, in_digits
from tiebreak.reading.findings import (
    best_first,
    is_even,
    is_of_selected,
    scope_sentence,
    speaks_of_these,
)
from tiebreak.reading.messages import (
    ADVICE,
    CHOSEN_AS_MAIN,
    MOST_ANSWERS,
    MOST_RATED,
    NO_COMPARISONS,
    NO_FINDING_YET,
    NO_MACHINES,
    NO_SYSTEMS,
    NOT_IN_REPORT,
    NOT_RATED_BY_MAIN,
    REST_OF_THESE_RATERS,
)
from tiebreak.reading.shown import Number, number
from tiebreak.reading.while_open import unreached
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.sections.systems.comparisons import UNEVEN
from tiebreak.stats import Estimate, smallest_difference, system_difference, undefined

SOME_DIFFER = "not all: they are shown to differ"
NONE_DIFFERS = "no difference is shown"


@dataclass(frozen=True)
class LeadingNumber:
    """A number with its title, what it means here, and the question of which it is a part.

    One that `is_drawn` is in the question's picture. `answer` answers a title that asks, in words
    that the interval allows; a part, and a study before its planned number, has none.
    """

    title: str
    number: Number
    sentence: str
    tab: str
    is_drawn: bool = False
    answer: str = ""

    @property
    def told(self) -> str:
        """The answer with what the number is."""
        return "; ".join(filter(None, (self.answer, self.sentence)))


def leading_numbers(section: CriterionSection, *, is_part: bool = False) -> list[LeadingNumber]:
    """Return the five numbers; numbers of a part of the ratings state no finding."""
    alpha = section.all_units.human_human.krippendorff_alpha
    return [
        _winner(section, is_part=is_part),
        LeadingNumber(
            "Agreement",
            _number(alpha),
            "Krippendorff's α among annotators",
            "raters",
            is_drawn=True,
        ),
        _other_annotators(section, states=not is_part and unreached(section) is None),
        _machine(section),
        _smallest_difference(section),
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


def _winner(section: CriterionSection, *, is_part: bool) -> LeadingNumber:
    """Return the win rate of the leader or, of two systems, the difference of their rates."""
    name, rate = leader(section)
    # A system may be ahead of others by chance: it leads where its set of ranks says so.
    sets = (section.systems.rank_sets or {}) if section.systems else {}
    is_first = name in sets and sets[name].worst == 1
    states_lead = is_first and not is_part and unreached(section) is None
    others = [
        other for other in (section.systems.win_rate if section.systems else {}) if other != name
    ]
    if name and len(others) == 1:
        difference = system_difference(rate).difference
        shown = ", shown to be above 0" * (states_lead and difference.low > 0)
        sentence = f"{name} minus {others[0]}{shown}"
        return LeadingNumber("Difference of win rates", _number(difference), sentence, "systems")
    by = "the highest of all" if is_even(section) else "first by Bradley–Terry strength"
    sentence = (f"{name}, {by}" if states_lead else f"of {name}") if name else ""
    return LeadingNumber("Win rate", _number(rate, low=0), sentence, "systems", is_drawn=True)


def _other_annotators(section: CriterionSection, *, states: bool) -> LeadingNumber:
    title, found = "Would other annotators agree?", section.rater_variance
    if found is None:
        is_old = section.systems is not None and section.systems.win_rate
        reason = section.problems.get("rater_variance", NOT_IN_REPORT if is_old else NO_COMPARISONS)
        return LeadingNumber(title, _number(undefined(reason)), "", "raters")
    variance = found.variance
    ends = sqrt(variance.value), sqrt(variance.low), sqrt(variance.high)
    deviation = replace(variance, value=ends[0], low=ends[1], high=ends[2])
    effective = in_digits(found.effective_raters)
    sentence = (
        "standard deviation between annotators' own win rates of a system;"
        f" effective number: {effective} of {found.raters}"
    )
    answer = (SOME_DIFFER if variance.low > 0 else NONE_DIFFERS) if variance.has_interval else ""
    shown = _number(deviation, low=0)
    return LeadingNumber(title, shown, sentence, "raters", answer=answer * states)


def _machine(section: CriterionSection) -> LeadingNumber:
    found_of, title = section.noise_ceiling or {}, "Human–machine agreement"
    if not found_of:
        is_old = bool(section.all_units.machines)
        reason = section.problems.get("noise_ceiling", NOT_IN_REPORT if is_old else NO_MACHINES)
        return LeadingNumber(title, _number(undefined(reason)), "", "machines")
    name = section.machines_main_first[0]
    found = found_of[name]
    sentence = f"equal labels of {name} and one annotator{_chosen(section)}"
    if found.ceiling.is_defined:
        two, most = in_digits(found.annotators.value), in_digits(found.ceiling.value)
        sentence += f"; two annotators: {two}; the best possible machine: at most {most}"
    return LeadingNumber(
        title, _number(found.agreement, low=0), sentence, "machines", found.agreement.is_defined
    )


def _chosen(section: CriterionSection) -> str:
    """Return why the first machine leads, if there are several or another one was chosen."""
    names, chosen = section.machines_main_first, section.main_machine
    said = (CHOSEN_AS_MAIN if names[0] == chosen else MOST_ANSWERS).format(n=len(names))
    if chosen and names[0] != chosen:
        return said + NOT_RATED_BY_MAIN.format(chosen=chosen)
    return said if len(names) > 1 else ""


def pair_rates(section: CriterionSection) -> Mapping[str, Estimate]:
    """Return the win rates within pairs, with the intervals that hold for all pairs at once if there are."""
    systems = section.systems
    together = systems.simultaneous.pairs if systems and systems.simultaneous else None
    return together or (systems.pairs if systems else {})


def hardest_pair(section: CriterionSection) -> tuple[str, Estimate, int]:
    """Return the pair for which the study sees the least, what it sees, and of how many pairs."""
    rates = pair_rates(section)
    found = {pair: smallest_difference(rate) for pair, rate in rates.items()}
    known = {pair: one for pair, one in found.items() if one.is_defined}
    if not known:
        return "", undefined(section.problems.get("systems") or _why_unseen(found)), 0
    pair = max(known, key=lambda name: (known[name].value, name))
    return pair, known[pair], len(known)


def _why_unseen(found: Mapping[str, Estimate]) -> str:
    """Return why no pair is known, by the pair that comes nearest to it, which is named."""
    pair = max(found, key=lambda name: found[name].n, default="")
    reason = (found[pair].reason if pair else None) or NO_COMPARISONS
    if len(found) < 2 or reason in ADVICE:
        return reason
    return MOST_RATED.format(len(found), pair, reason)


def _smallest_difference(section: CriterionSection) -> LeadingNumber:
    title = "Smallest difference this study can see"
    pair, least, n = hardest_pair(section)
    sentence = "difference of two win rates within a pair that four of five such studies would show"
    if n > 1:
        sentence += f"; of {counted(n, 'pair')}, {pair} needs the largest"
    is_drawn = bool(pair) and unreached(section) is None
    return LeadingNumber(title, _number(least, low=0), sentence, "planning", is_drawn)


def _number(estimate: Estimate, *, low: float = -1.0) -> Number:
    """Return the number, or if it is undefined the reason and what to do about it."""
    shown = number(estimate, low=low)
    advice = ADVICE.get(estimate.reason or "", "") if isnan(estimate.value) else ""
    return replace(shown, reason=f"{shown.reason} {advice}".strip())


def scope_of(section: CriterionSection, question: str = "") -> str:
    """Return the sentence that says who the numbers of a question apply to, or all leading ones."""
    estimate, sentence = _main_estimate(section, question), ""
    if estimate.has_interval and not is_of_selected(estimate):
        sentence = scope_sentence(estimate, of_these=speaks_of_these(section))
        if estimate.scope.raters == "new" and not question:
            sentence += f" {REST_OF_THESE_RATERS}"
    return sentence if unreached(section) is None else f"{NO_FINDING_YET} {sentence}".strip()


def _main_estimate(section: CriterionSection, question: str) -> Estimate:
    """Return the estimate that leads a question: of all questions, the best system's win rate."""
    if question == "machines" and section.machines_main_first:
        main = section.all_units.machines[section.machines_main_first[0]]
        return main.single_human_machine.krippendorff_alpha
    _, rate = leader(section)
    is_of_systems = rate.is_defined and question != "raters"
    return rate if is_of_systems else section.all_units.human_human.krippendorff_alpha
