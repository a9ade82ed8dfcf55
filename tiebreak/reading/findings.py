"""Findings, which are a heading and complete sentences for each part of a report.

A finding never claims more than its interval supports.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from math import inf

from tiebreak.digits import counted, in_digits, percent
from tiebreak.reading.charts.chart import ItemsName
from tiebreak.reading.messages import (
    ALL_RANKED,
    ALWAYS_WON,
    AT_ONCE,
    COST,
    ITS_RANK,
    LEADERS_OPEN,
    MIXED,
    NO_SETS,
    NO_WINNER,
    ON_SELECTED,
    OTHERS_OPEN,
    OTHERS_OPEN_TOO,
    OVER_DATASET,
    RATE_OF_WINNER,
    RATING_SET,
    SAVED,
    SAVING_UNKNOWN,
    SINGLE_SETS,
    SOME_RANKED,
    TOO_FEW,
    TOO_FEW_OF_PAIRS,
    WEIGHTED,
    WEIGHTED_TO_DATASET,
    WIN_RATE_IS,
    WITH_THESE,
    WITHOUT_BAD,
    WITHOUT_PREFERENCE,
)
from tiebreak.reading.while_open import WIN_RATES, sequence_finding, unreached
from tiebreak.reading.words import counts_of
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.machines import ReplacementStratum
from tiebreak.report.model.raters import RaterSets, RatingSetsSection
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.selection import PairSelection
from tiebreak.report.model.strata import StratumSection
from tiebreak.report.model.systems import SystemsSection, WinRateStratum
from tiebreak.report.sections.systems.comparisons import UNEVEN
from tiebreak.stats import Estimate
from tiebreak.stats.core.independence import MIN_CLUSTERS

AnyStratum = StratumSection | WinRateStratum
Stratum = AnyStratum | ReplacementStratum
# The report names strata for programs; people see these names.
STRATA = {
    ("all", "all"): "all items",
    ("agreement", "PA=1"): "all give the same label",
    ("agreement", "0.8<=PA<1"): "80% to under 100% give the majority label",
    ("agreement", "0.6<=PA<0.8"): "60% to under 80% give the majority label",
    ("agreement", "PA<0.6"): "under 60% give the majority label",
    ("agreement", "undefined"): "fewer than two ratings",
    ("unique_labels", "1"): "one label",
    ("unique_labels", "undefined"): "fewer than two ratings",
    ("category", "undefined"): "no category",
    ("separability", "undefined"): "separability unknown",
    ("systems", "undefined"): "systems not named",
}
RANGE = re.compile(r"(-?[\d.]+)<=separability<=?(-?[\d.]+)")
# How texts are in the bands of separability, which are relative: from the study's lowest to its highest.
BANDS = ("most alike", "alike", "different", "most different")
# What the name of a band need not say below a heading.
SAID_ABOVE = "separability "


def stratum_name(stratifier: str, name: str, among: Iterable[Stratum] = ()) -> ItemsName:
    """Return a stratum's display name, which pages link; categories and system pairs keep their own.

    A band of separability is named by its place ``among`` all of them, where they are known.
    """
    words, key = _words_of(stratifier, name), (stratifier, name)
    band = _band(name, among) if stratifier == "separability" else ""
    return ItemsName.of(band, key, words) if band else ItemsName.of(words, key)


def _band(name: str, among: Iterable[Stratum]) -> str:
    bands = [one.stratum for one in among if RANGE.fullmatch(one.stratum)]
    return BANDS[bands.index(name)] if len(bands) == len(BANDS) and name in bands else ""


def _words_of(stratifier: str, name: str) -> str:
    if (stratifier, name) in STRATA:
        return STRATA[stratifier, name]
    if stratifier == "unique_labels":
        return f"{name} different labels"
    if stratifier == "separability":
        return _range_name(name)
    return name


def _range_name(name: str) -> str:
    """Return both ends of a range with two decimals, or with four if two show no difference."""
    match = RANGE.fullmatch(name)
    if match is None:
        return name
    low, high = (float(end) for end in match.groups())
    if low == high:
        return f"{SAID_ABOVE}{in_digits(low)}, all alike"
    decimals = 2 if f"{low:.2f}" != f"{high:.2f}" else 4
    return f"{SAID_ABOVE}{in_digits(low, decimals)} to {in_digits(high, decimals)}"


# Strata that are made from how annotators agree, which units with one rating cannot show.
BY_LABELS = {"agreement", "unique_labels"}


def units_of_shares(strata: Iterable[AnyStratum], stratum: AnyStratum) -> int:
    """Return the number of units that could be in a stratum."""
    return sum(one.n_units for one in _could_hold(strata, stratum))


def _could_hold(strata: Iterable[AnyStratum], stratum: AnyStratum) -> Iterator[AnyStratum]:
    """Yield the strata whose units could be in a stratum."""
    for one in strata:
        is_rest = one.stratum == "undefined" and stratum.stratifier in BY_LABELS
        if one.stratifier == stratum.stratifier and not is_rest:
            yield one


def share_of(stratum: AnyStratum, strata: Iterable[AnyStratum]) -> str:
    """Return the share of a stratum among the units that could be in it, or "" if it could not be less."""
    of = sum(one.share for one in _could_hold(strata, stratum))
    is_rest = stratum.stratum == "undefined" and stratum.stratifier in BY_LABELS
    # Rounding takes off what the sum is off by, which could move a share of 12.5% to the other side.
    return "" if is_rest or not of else f"{percent(round(stratum.share / of, 12))}"


INSTANCES = {
    "new": "for new instances",
    "dataset": "for the whole dataset",
    "selected": "only for the selected instances",
    "these": "only for these instances",
}
RATERS = {"new": " and annotators like these", "these": ", not for other annotators"}


def scope_sentence(estimate: Estimate, *, of_these: bool = False) -> str:
    """Return a sentence that says for which instances and raters an estimate holds.

    ``of_these`` is for a heading that rests on the interval of these annotators, which the sentence must not
    contradict.
    """
    scope = estimate.scope
    instances = INSTANCES[scope.instances]
    raters = RATERS["these" if of_these else scope.raters]
    return f"This holds {instances}{raters}."


DRAWN_SUFFIXES = {"selected": ON_SELECTED, "dataset": OVER_DATASET}


def scope_suffix(estimate: Estimate) -> str:
    """Return the end of a heading that says which instances it covers after a draw."""
    return DRAWN_SUFFIXES.get(estimate.scope.instances, "")


def annotators_of(estimate: Estimate) -> str:
    """Return who a heading applies to: annotators in general, or these alone."""
    return "Annotators" if estimate.scope.raters == "new" else "These annotators"


def is_drawn(estimate: Estimate) -> bool:
    """Return whether the estimate applies to instances that were drawn."""
    return estimate.scope.instances in DRAWN_SUFFIXES


def is_of_selected(estimate: Estimate) -> bool:
    """Return whether instances were drawn and the estimate holds only for those selected."""
    return estimate.scope.instances == "selected"


def separability_finding(sets: RaterSets) -> tuple[str, str]:
    """Return whether consistency rises or falls with separability, if the interval says so."""
    trend = sets.spearman_separability
    if not trend.is_defined:
        return (
            "Consistency by separability",
            f"Spearman's ρ of separability and mean consistency is undefined. {trend.reason}",
        )
    rho = f"Spearman's ρ of separability and mean consistency is {in_digits(trend.value)}"
    if not trend.has_interval:
        return (
            "Consistency by separability",
            f"{rho} over {counted(trend.n, 'value')} of δ. {trend.reason or ''}"
            f" {scope_sentence(trend)}",
        )
    interval = f"{in_digits(trend.low)} to {in_digits(trend.high)}"
    sentence = f"{rho} ({interval}) over {counted(trend.n, 'value')} of δ."
    suffix, scope = scope_suffix(trend), scope_sentence(trend)
    if trend.low <= 0 <= trend.high:
        return (
            f"No trend of consistency with separability is shown{suffix}",
            f"{sentence} The interval includes 0, so the data show no clear trend, but do not rule"
            f" one out. {scope}",
        )
    direction = "rises" if trend.low > 0 else "falls"
    whose = "Consistency" if trend.scope.raters == "new" else "Consistency of these annotators"
    return f"{whose} {direction} with separability{suffix}", f"{sentence} {scope}"


def consistency_sets(section: CriterionSection) -> RatingSetsSection | None:
    """Return the rating sets of a criterion, if they have several ratings each."""
    sets = section.rating_sets
    # Sets are counted if they are complete, so as many sets as ratings are sets of one.
    is_single = sets is not None and 0 < sets.n == section.n_ratings
    return None if is_single else sets


def why_no_consistency(section: CriterionSection) -> str:
    if section.rating_sets is None:
        return section.problems.get("rating_sets", NO_SETS)
    return SINGLE_SETS


def sets_finding(sets: RaterSets) -> tuple[str, str]:
    """Return how many rating sets are mixed, compared with a coin, and how many perfectly consistent."""
    if not sets.n:
        return "Rating sets", str(sets.consistency.reason)
    mixed, by_coin = sets.contradictory, sets.mixed_by_coin
    sentence = (
        f"{RATING_SET} Of {counted(sets.n, 'complete set')}, {percent(mixed.value)} prefer"
        f" each system at least once, {percent(sets.all_ties.value)} consist only of ties, and"
        f" {percent(sets.perfect.value)} are perfectly consistent; the others lie between."
        f" {MIXED.format(coin=percent(by_coin))}"
    )
    if sets.n_incomplete:
        verb = "is" if sets.n_incomplete == 1 else "are"
        sentence += f" {counted(sets.n_incomplete, 'incomplete set')} {verb} left out."
    if not mixed.has_interval:
        return "Rating sets", f"{sentence} {mixed.reason or ''}".rstrip()
    heading = (
        f"{percent(mixed.value)} of these annotators' rating sets are mixed{scope_suffix(mixed)}"
        f" (by a coin: {percent(by_coin)})"
    )
    return heading, f"{sentence} {scope_sentence(mixed)}"


def win_rate_finding(section: CriterionSection) -> tuple[str, str]:
    """Return which systems are ahead, if intervals that hold simultaneously for all systems show it.

    Before the planned number of responses is reached, only confidence sequences decide this.
    """
    rates = section.systems.win_rate if section.systems else {}
    if not rates:
        return WIN_RATES, "The ratings do not name systems, so there are no win rates."
    stopping = unreached(section)
    return _finding_at_one_look(section, rates) if stopping is None else sequence_finding(stopping)


def _finding_at_one_look(section: CriterionSection, rates: Estimates) -> tuple[str, str]:
    ahead, here = shown_ahead(section), _ahead_here(section)
    pairs = (section.selection or {}).values()
    weighted = f" {WEIGHTED}" if any(pair.win_rate.is_defined for pair in pairs) else ""
    explanation = f"{WIN_RATE_IS}{weighted} {win_rate_scope(section)}{_at_once(section)}"
    explanation = f"{rate_of_winner(section)} {explanation}".lstrip()
    if not is_even(section):
        explanation += f" {UNEVEN}"
    if any(pair.bad for pair in counts_of(section)):
        explanation += f" {WITHOUT_BAD}"
    if ahead:
        return _winning(section, [*ahead]), explanation
    if here:
        return _winning(section, [*here]), f"{OTHERS_OPEN} {explanation}"
    # A core report has no intervals that hold simultaneously, so nothing follows from it.
    is_compared = section.systems is not None and section.systems.simultaneous is not None
    heading = _no_winner(section) if is_compared else WIN_RATES
    return heading, f"{explanation}{_reasons_without_intervals(rates)}"


def win_rate_scope(section: CriterionSection) -> str:
    """Return who the heading on win rates applies to, and so the rates below it."""
    rates = section.systems.win_rate if section.systems else {}
    known = {name: rate for name, rate in rates.items() if rate.is_defined} or rates
    return scope_of_all(known, of_these=speaks_of_these(section))


def speaks_of_these(section: CriterionSection) -> bool:
    """Return whether what the heading says of win rates is shown of these annotators alone."""
    ahead = shown_ahead(section).values()
    return bool(_ahead_here(section)) or any(rate.scope.raters == "these" for rate in ahead)


def _ahead_here(section: CriterionSection) -> Estimates:
    """Return the systems whose win rates are above one half for these annotators, if none is for others."""
    if shown_ahead(section):
        return {}
    return {
        name: rate
        for name, rate in simultaneous_rates(section).items()
        # The narrower interval applies to these annotators, on new instances.
        if any(inner.low > 0.5 and inner.scope.instances != "these" for inner in rate.narrower)
    }


def rates_of_heading(section: CriterionSection) -> Estimates:
    """Return the win rates with the intervals on which the heading rests."""
    rates = simultaneous_rates(section)
    if not _ahead_here(section):
        return rates
    return {name: _of_these(rate) for name, rate in rates.items()}


def _of_these(rate: Estimate) -> Estimate:
    inner = next((one for one in rate.narrower if one.scope.instances != "these"), None)
    if inner is None:
        return rate
    return replace(rate, low=inner.low, high=inner.high, stated_scope=inner.scope, narrower=())


def is_even(section: CriterionSection) -> bool:
    """Return whether win rates rank the systems, because every two were compared the same number of times."""
    return section.systems is None or section.systems.ranked_by == "win_rate"


def best_first(systems: SystemsSection) -> list[str]:
    """Return the systems in the order of what ranks them; by name where nothing does."""
    by = {"win_rate": systems.win_rate, "bradley_terry": systems.bradley_terry or {}}
    known = {n: one.value for n, one in by.get(systems.ranked_by, {}).items() if one.is_defined}
    return sorted(systems.win_rate, key=lambda name: (-known.get(name, -inf), name))


def shown_ahead(section: CriterionSection) -> Estimates:
    """Return the systems whose win rates are above one half by simultaneous intervals."""
    rates = simultaneous_rates(section)
    return {name: rate for name, rate in rates.items() if rate.has_interval and rate.low > 0.5}


def simultaneous_rates(section: CriterionSection) -> Estimates:
    """Return the win rates with simultaneous intervals; none in reports from before these."""
    systems = section.systems
    return systems.simultaneous.win_rate if systems and systems.simultaneous else {}


def _winning(section: CriterionSection, ahead: list[str]) -> str:
    """Return who wins, and how sure that is: the interval of the one system, or the confidence in all."""
    rates = {name: rates_of_heading(section)[name] for name in ahead}
    verb = "wins more often than it loses" if len(rates) == 1 else "win more often than they lose"
    systems = section.systems
    sets = (systems and systems.rank_sets) or {}
    if len(sets) > 2 and [name for name, ranks in sets.items() if ranks.worst == 1] == [*rates]:
        verb = f"ranks first of {len(sets)} systems"
    whose = WITH_THESE if speaks_of_these(section) else ""
    heading = f"{whose}{', '.join(sorted(rates))} {verb}{_instances_suffix(rates)}"
    rest = _rest(section, ahead)
    if len(rates) > 1:
        return heading + (rest or ", with 95% confidence")
    (rate,) = rates.values()
    return heading + (rest or f": win rate {_with_ends(rate)}")


def _with_ends(rate: Estimate) -> str:
    value, low, high = (in_digits(one) for one in (rate.value, rate.low, rate.high))
    return f"{value} ({low} to {high})"


def rate_of_winner(section: CriterionSection) -> str:
    """Return a sentence with the win rate of a heading that has no room for it, otherwise ""."""
    ahead = [*shown_ahead(section)] if unreached(section) is None else []
    if len(ahead) != 1 or not _rest(section, ahead):
        return ""
    return RATE_OF_WINNER.format(
        name=ahead[0], rate=_with_ends(rates_of_heading(section)[ahead[0]])
    )


def _rest(section: CriterionSection, ahead: list[str]) -> str:
    """Return what of the other ranks is known, by the sets of ranks, which hold for new annotators."""
    sets = (section.systems and section.systems.rank_sets) or {}
    if len(sets) < 3 or speaks_of_these(section) or not sets.keys() >= {*ahead}:
        return ""
    leads = [name for name, ranks in sets.items() if ranks.worst == 1] == ahead
    if len(ahead) == 1 and not leads:
        return ITS_RANK.format(ranks=sets[ahead[0]], n=len(sets))
    among = [name for name in sets if name not in ahead] if leads else ahead
    # The best rank counts the systems that are shown to be better.
    if all(sets[name].best == 1 + leads for name in among):
        others = "other two" if len(among) == 2 else f"other {len(among)}"
        said = OTHERS_OPEN_TOO.format(others) if leads else LEADERS_OPEN
        return "" if _differ(section, among) else said
    if not leads:
        return ""
    return ALL_RANKED if all(one.best == one.worst for one in sets.values()) else SOME_RANKED


def _differ(section: CriterionSection, names: list[str]) -> bool:
    """Return whether any interval of a pair of these systems, of whichever annotators, excludes one half."""
    systems = section.systems
    pairs = systems.simultaneous.pairs if systems and systems.simultaneous else {}
    among = (pairs.get(f"{first} vs {second}") for first in names for second in names)
    return any(_excludes_half(rate) for rate in among if rate is not None)


def _excludes_half(rate: Estimate) -> bool:
    ends = [(rate.low, rate.high), *((one.low, one.high) for one in rate.narrower)]
    return any(low > 0.5 or high < 0.5 for low, high in ends)


def _instances_suffix(rates: Estimates) -> str:
    """Return the end of a heading that says which instances it covers after a draw."""
    scopes = {rate.scope.instances for rate in rates.values()}
    if "selected" in scopes:
        return ON_SELECTED
    return OVER_DATASET if "dataset" in scopes else ""


def scope_of_all(rates: Estimates, *, of_these: bool = False) -> str:
    """Return who the rates apply to, once for systems that share it."""
    sentences: dict[str, list[str]] = {}
    for name, rate in rates.items():
        sentences.setdefault(scope_sentence(rate, of_these=of_these), []).append(name)
    if len(sentences) < 2:
        return "".join(sentences)
    return " ".join(f"{', '.join(names)}: {sentence}" for sentence, names in sentences.items())


def _at_once(section: CriterionSection) -> str:
    """Return a sentence on how many comparisons the heading allows for, if there are several."""
    systems = section.systems
    n = systems.simultaneous.n_win_rates if systems and systems.simultaneous else 1
    return f" {AT_ONCE.format(n=n)}" if n > 1 else ""


def _no_winner(section: CriterionSection) -> str:
    """Return the heading without a winner, which says so if there are too few instances for one."""
    systems = section.systems
    counts = (systems.counts or {}) if systems else {}
    if systems is None or not counts:
        return NO_WINNER
    without = {n: rate for n, rate in systems.win_rate.items() if not rate.has_interval}
    always = [name for name, rate in without.items() if rate.value == 1]
    if len(without) < len(systems.win_rate) or not all(
        rate.is_defined for rate in without.values()
    ):
        return ALWAYS_WON.format(systems=", ".join(always)) if always else NO_WINNER
    # Items that all annotators called bad on both sides are excluded from a rate.
    entered = [min(pair.instances, systems.pairs[name].n) for name, pair in counts.items()]
    most, noun = max(entered), "item" if section.resampling == "unit" else "instance"
    if most >= MIN_CLUSTERS:
        return ALWAYS_WON.format(systems=", ".join(always)) if always else NO_WINNER
    if len(counts) > 1:
        return TOO_FEW_OF_PAIRS.format(noun=noun)
    return TOO_FEW.format(n=counted(most, noun), verb="is" if most == 1 else "are")


def _reasons_without_intervals(rates: Estimates) -> str:
    """Return each reason once if no rate has an interval, otherwise ""."""
    if any(rate.has_interval for rate in rates.values()):
        return ""
    reasons = dict.fromkeys(rate.reason for rate in rates.values() if rate.reason)
    return "".join(f" {reason}" for reason in reasons)


def selection_finding(name: str, pair: PairSelection) -> tuple[str, str]:
    """Return how many ratings the selection saved or cost in comparison with a uniform draw."""
    saved, rate = pair.ratings_saved, pair.win_rate
    rated = (
        f"The number of rated instances is {pair.instances}, of which {pair.control} were in"
        " the control sample."
    )
    if pair.without_preference:
        instances = counted(pair.without_preference, "instance")
        rated += f" {WITHOUT_PREFERENCE.format(instances=instances)}"
    if not rate.is_defined:
        return SAVING_UNKNOWN.format(pair=name), f"{rated} {rate.reason}"
    sentences = f"{_weighted_rate(rate, pair.systems[0])} {rated}"
    if not saved.is_defined:
        return SAVING_UNKNOWN.format(pair=name), f"{sentences} {saved.reason}"
    if not saved.has_interval or saved.low <= 0 <= saved.high:
        return SAVING_UNKNOWN.format(pair=name), f"{sentences} {_unknown_saving(saved)}"
    heading = SAVED if saved.value > 0 else COST
    return (
        heading.format(n=in_digits(abs(saved.value), 0), pair=name),
        f"{sentences} The number of ratings saved is {_count_interval(saved)}. A uniform draw with"
        " an interval of the same width would have needed"
        f" {in_digits(pair.instances + pair.instances_saved.value, 0)} instances.",
    )


def _weighted_rate(rate: Estimate, system: str) -> str:
    """Return a sentence with the weighted win rate and the instances for which it holds."""
    known = f"the win rate of {system} is {in_digits(rate.value)}"
    if rate.has_interval:
        known += f" ({in_digits(rate.low)} to {in_digits(rate.high)})"
    if is_of_selected(rate):
        sentence = (
            "Among the selected instances, each weighted by the inverse of its inclusion"
            f" probability, {known}. This says nothing about the other instances of the dataset."
        )
    else:
        sentence = f"{WEIGHTED_TO_DATASET}, {known}."
    return sentence if rate.has_interval else f"{sentence} {rate.reason}"


def _unknown_saving(saved: Estimate) -> str:
    if not saved.has_interval:
        return f"It is not known whether selecting instances saved ratings. {saved.reason}"
    return (
        "It is not known whether selecting instances saved or cost ratings, because the interval of"
        f" the number of ratings saved, {_count_interval(saved)}, includes 0."
    )


def _count_interval(saved: Estimate) -> str:
    value, low, high = (in_digits(number, 0) for number in (saved.value, saved.low, saved.high))
    return f"{value} ({low} to {high})"


LABELS_SHOWN = "For each {central} label of annotators, the figure shows all labels of its items."


def central_name(section: CriterionSection) -> str:
    """Return which label of annotators divides the units: the majority label or the median."""
    return "majority" if section.level == "nominal" else "median"


def perception_finding(section: CriterionSection, machine: str | None = None) -> tuple[str, str]:
    """Return how often annotators and a machine, or any machine, give a tie, if the scale has ties."""
    bins, central = section.perception, central_name(section)
    machines = [machine] if machine else section.machines_main_first
    raters = f"Labels of annotators and {machine or 'machines'}" if machines else "Labels"
    heading, shown = f"{raters} by {central} label", LABELS_SHOWN.format(central=central)
    if not bins:
        return heading, section.problems.get("perception", "No item has human ratings yet.")
    if not section.scale.startswith("preference") or "0" not in bins[0].humans:
        return heading, shown
    # Items may have different numbers of ratings by annotators.
    human_ties = section.votes["0"] / max(1, sum(section.votes.values()))
    for name in machines:
        ties = _tie_share([(row.share, row.machines[name]["0"]) for row in bins])
        if human_ties and ties is not None and ties < human_ties / 2:
            return (
                heading,
                f"{name} gives a tie in {percent(ties)} of its ratings, and annotators give a tie in"
                f" {percent(human_ties)} of theirs.",
            )
    return heading, f"{shown} Annotators give a tie in {percent(human_ties)} of their ratings."


def _tie_share(shares: list[tuple[float, float]]) -> float | None:
    """Return the share of ties over all bins with ratings, given each bin's share of units."""
    known = [(units, ties) for units, ties in shares if not math.isnan(ties)]
    weight = sum(units for units, _ in known)
    return sum(units * ties for units, ties in known) / weight if weight else None
