"""Arranging a report for the dashboard, with headings, tables and figures."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isclose, isnan, nan
from string import ascii_lowercase

from tiebreak.digits import in_digits, in_thousands, percent
from tiebreak.reading.agreement_findings import agreement_finding
from tiebreak.reading.charts.axes import padded
from tiebreak.reading.charts.chart import ItemsName
from tiebreak.reading.charts.intervals import interval_glyph, range_glyph, shares_glyph
from tiebreak.reading.charts.svg import Kind, Svg, kinds_of
from tiebreak.reading.figures.raters.agreement import STRATIFIERS
from tiebreak.reading.figures.raters.bias import preferred_shares
from tiebreak.reading.figures.systems.leaderboard import both_ways
from tiebreak.reading.findings import (
    best_first,
    consistency_sets,
    is_drawn,
    selection_finding,
    separability_finding,
    sets_finding,
    share_of,
    stratum_name,
    win_rate_finding,
)
from tiebreak.reading.messages import (
    ELO_APART,
    HOW_TO_READ_RANK_SETS,
    INSTANCES_ARE_WEIGHTED,
    INSTANCES_WERE_SELECTED,
    NO_FINDING_YET,
    NO_SHARED_RANK,
    NO_UNITS,
    RANK_SET,
    RANK_SET_BY_STRENGTH,
    SAVING_UNKNOWN,
    STRATA_BY_AGREEMENT,
)
from tiebreak.reading.nonresponse_findings import nonresponse_finding, nonresponse_leads
from tiebreak.reading.while_open import unreached, without_finding, without_interval
from tiebreak.reading.words import elo_in_words
from tiebreak.report.model.fields import Estimates
from tiebreak.report.model.raters import Bias, BiasSection, RaterSets
from tiebreak.report.model.report import CriterionSection
from tiebreak.report.model.strata import MachineAgreement, StratumSection
from tiebreak.report.model.systems import PairCounts, SystemsSection
from tiebreak.report.registry import SECTIONS, part_title
from tiebreak.stats import Estimate, RankSet, undefined

BY_MACHINE = "Win rate by {machine} alone"
WORTH = "Worth as many human ratings, with {machine}"
RULE = "This is its rule."
NO_WORTH = "The number of ratings that it is worth needs both intervals."
BY_SEPARABILITY = "Consistency by separability"
MIXED_BY_COIN = "Mixed if a coin answered"
BY_STRENGTH = "Rank by Bradley–Terry strength"
ELO, SEP_ELO = "Elo rating", "Elo rating weighted by separability"
SHARED_RANK = "Rank, shared where intervals overlap (only reproduces HREF, table 5)"
UNWEIGHTED = (ELO, SEP_ELO)
WHOLE = partial(in_digits, decimals=0)
NOTES = {"agreement": STRATA_BY_AGREEMENT, "unique_labels": STRATA_BY_AGREEMENT}
# In the literature, percentage agreement means agreeing pairs; in Elangovan et al. it does not.
# Both compare within pairs of systems.
FIRST_SHOWN = "Preference for the text shown first (its share − ½)"
LONGER = "Preference for the longer text (its share − the shorter one's)"
MODAL, EQUAL = (
    "Share of the majority label (ordinal scales: of the median)",
    "Share of equal labels",
)
NAMES = {
    "krippendorff_alpha": "Krippendorff's α",
    "percentage_agreement": MODAL,
    "randolph_kappa": "Randolph's κ (Brennan–Prediger)",
    "fleiss_kappa": "Fleiss' κ",
    "cohen_kappa": "Cohen's κ",
    "leave_one_out": "Leave-one-out agreement",
    "binned_js": "Binned JS distance",
    "spearman": "Spearman's ρ",
    "kendall": "Kendall's τ-b",
}
NAMES_WITH_MACHINE = NAMES | {"percentage_agreement": EQUAL}


@dataclass(frozen=True)
class Number:
    """A value for display: text, interval, glyph, and the reason if something is undefined.

    A set of ranks that `leads` is the first place alone.
    """

    text: str
    interval: str
    glyph: Svg
    reason: str
    leads: bool = False


@dataclass(frozen=True)
class Row:
    """Numbers of one measure or group of items, computed from so many `cases`."""

    name: str
    n: int
    share: str
    numbers: list[Number]
    cases: str = "items"


@dataclass(frozen=True)
class Table:
    """A titled table of rows, such as the strata of one stratifier."""

    title: str
    rows: list[Row]
    note: str = ""


@dataclass(frozen=True)
class Ranking:
    """One row per measure and one column per system, the best first."""

    systems: list[str]
    rows: list[Row]
    notes: list[str]

    @property
    def labelled(self) -> list[tuple[Row, list[tuple[str, Number]]]]:
        """The rows, with the system of each number."""
        return [(row, list(zip(self.systems, row.numbers, strict=True))) for row in self.rows]


@dataclass(frozen=True)
class HeadToHead:
    """How often each system of a pair was preferred; the one that ranks first is the first.

    `rate` is the win rate of the first, once there may be a finding.
    """

    systems: tuple[str, str]
    preferred: tuple[int, int]
    ties: int
    bad: int
    bar: Svg
    rate: Number | None

    @property
    def name(self) -> ItemsName:
        return ItemsName.of(" against ".join(self.systems), ("systems", " vs ".join(self.systems)))


@dataclass(frozen=True)
class Section:
    """Everything that the template needs for one criterion's part of the page."""

    name: str
    about: CriterionSection
    agreement: tuple[str, str]
    agreement_columns: list[str]
    tables: list[Table]
    machines: list[Table]
    sets: tuple[str, str] | None
    separability: tuple[str, str] | None
    set_rows: list[Row]
    wins: tuple[str, str] | None
    ranking: Ranking | None
    selection: list[tuple[str, str]]
    problems: list[tuple[str, str]]
    note: str
    nonresponse: tuple[str, str] | None
    nonresponse_leads: bool


def section_of(name: str, section: CriterionSection) -> Section:
    agreement = section.all_units.human_human
    columns = [name for name in NAMES if name in agreement.estimates()]
    sets, systems = consistency_sets(section), section.systems
    return Section(
        name=name,
        about=section,
        agreement=agreement_finding(section),
        agreement_columns=[NAMES[column] for column in columns],
        tables=_tables(section, columns),
        machines=[
            Table(machine, _machine_rows(groups))
            for machine, groups in sorted(section.all_units.machines.items())
        ],
        sets=without_finding(section, sets_finding(sets), "Rating sets") if sets else None,
        separability=without_finding(section, separability_finding(sets), BY_SEPARABILITY)
        if sets
        else None,
        set_rows=_rows(set_estimates(sets), low=-1) if sets and sets.n else [],
        wins=win_rate_finding(section) if systems else None,
        ranking=_ranking(section, systems) if systems else None,
        selection=[
            without_finding(
                section, selection_finding(name, pair), SAVING_UNKNOWN.format(pair=name)
            )
            for name, pair in (section.selection or {}).items()
        ],
        note=_about_draw(section),
        nonresponse=nonresponse_finding(section),
        nonresponse_leads=nonresponse_leads(section),
        problems=[(part_title(part), why) for part, why in section.problems.items()],
    )


def _about_draw(section: CriterionSection) -> str:
    """Return what numbers describe after a draw, with the titles of the sections without weights."""
    instances = section.all_units.human_human.krippendorff_alpha.scope.instances
    if instances != "dataset":
        return INSTANCES_WERE_SELECTED if instances == "selected" else ""
    titles = [
        one.title for one in SECTIONS.values() if one.of_rated_items and one.of(section) is not None
    ]
    return INSTANCES_ARE_WEIGHTED.format(titles="; ".join(sorted(titles)))


def _ranking(section: CriterionSection, systems: SystemsSection) -> Ranking | None:
    """Return the measures of the systems; one without values becomes a note and not a row."""
    rates, scores = systems.win_rate, scores_of(systems)
    if not rates:
        return None
    unweighted = UNWEIGHTED if any(map(is_drawn, rates.values())) else ()
    # A part of the question draws the win rates by machine raters.
    drawn = [BY_MACHINE.format(machine=name) for name in systems.machine_win_rates or {}]
    measures = {
        title: scored
        for title, scored in scores.items()
        if _any_known(scored) and title not in (*unweighted, *drawn)
    }
    notes = [
        f"{title}: {ELO_APART if _any_known(scored) else next(iter(scored.values())).reason}"
        for title, scored in scores.items()
        if title not in (*measures, *drawn)
    ]
    if ELO in measures and systems.elo_constants:
        notes.append(f"{ELO}: {elo_in_words(systems.elo_constants)}")
    sets, names = systems.rank_sets or {}, best_first(systems)
    rows, states_lead = [], unreached(section) is None
    if sets and states_lead:
        ranked_by = RANK_SET if systems.ranked_by == "win_rate" else RANK_SET_BY_STRENGTH
        rows.append(Row(ranked_by, 0, "", [_ranks(sets.get(name), len(sets)) for name in names]))
    for title, scored in measures.items():
        if title == "Win rate" and states_lead:
            continue  # which the page's picture shows
        if title == BY_STRENGTH and (why := _instead_of_ranks(scored, sets, states_lead)):
            notes.append(f"{title}: {why}")
            continue
        estimates = [scored[name] for name in names]
        if not states_lead:  # as in the picture
            estimates = [without_interval(one) for one in estimates]
        rows.append(_measure(title, estimates))
    items = [in_thousands(rates[name].n) for name in names]
    if len(set(items)) == 1:
        notes.append(f"Items of each system: {items[0]}.")
    else:
        rows.append(Row("Items", 0, "", [Number(n, "", Svg(), "") for n in items]))
    return Ranking(names, rows, [HOW_TO_READ_RANK_SETS, *notes] if sets and states_lead else notes)


def _instead_of_ranks(scored: Estimates, sets: Mapping[str, RankSet], states_lead: bool) -> str:
    """Return what stands in place of ranks by strength, which say who is first; "" if these are shown."""
    if not states_lead:
        return NO_FINDING_YET
    if not any(one.has_interval for one in scored.values()):
        return next(iter(scored.values())).reason or ""
    return "the same." if _are_the_same(scored, sets) else ""


def _measure(title: str, estimates: list[Estimate]) -> Row:
    """Return a measure of all systems, with small drawings of what has a value to compare with.

    Those are win rates, with one half, and strengths, with their mean, which is 0.
    """
    numbers, ends = [], [end for one in estimates for end in (one.value, one.low, one.high)]
    are_whole = title.startswith("Rank") and all(isnan(end) or end == round(end) for end in ends)
    low, high = padded(ends, include=0.0)
    for estimate in estimates:
        if title == "Bradley–Terry strength" and low < 0 < high:
            numbers.append(number(estimate, low=low, high=high, reference=0.0))
            continue
        shown = number(estimate, low=0, words=WHOLE if are_whole else in_digits)
        numbers.append(shown if title == "Win rate" else replace(shown, glyph=Svg()))
    return Row(title, 0, "", numbers)


def _are_the_same(ranks: Estimates, sets: Mapping[str, RankSet]) -> bool:
    """Return whether intervals of ranks are the sets of ranks."""
    return all(
        name in ranks and (ranks[name].low, ranks[name].high) == (one.best, one.worst)
        for name, one in sets.items()
    )


def _ranks(ranks: RankSet | None, systems: int) -> Number:
    """Return the ranks that a system may have, drawn among all."""
    if ranks is None:
        return _EMPTY_CELL
    return Number(
        str(ranks), "", range_glyph(ranks.best, ranks.worst, systems), "", leads=ranks.worst == 1
    )


def head_to_head(section: CriterionSection) -> list[HeadToHead]:
    """Return the pairs of systems, those of the systems that rank first before others."""
    systems = section.systems
    if systems is None or not systems.counts:
        return []
    place = {name: n for n, name in enumerate(best_first(systems))}
    rates = {} if unreached(section) else dict(both_ways(systems))
    found = [_head_to_head(one, place, rates) for one in systems.counts.values()]
    return sorted(found, key=lambda one: [place.get(name, len(place)) for name in one.systems])


def _head_to_head(
    counts: PairCounts,
    place: Mapping[str, int],
    rates: Mapping[tuple[str, str], Estimate],
) -> HeadToHead:
    (a, b), preferred = counts.systems, (counts.first, counts.second)
    if place.get(a, 0) > place.get(b, 0):
        (a, b), preferred = (b, a), (counts.second, counts.first)
    rate = number(rates[a, b], low=0) if (a, b) in rates else None
    bar = shares_glyph(
        {"first": preferred[0], "ties": counts.ties + counts.bad, "second": preferred[1]}
    )
    return HeadToHead((a, b), preferred, counts.ties, counts.bad, bar, rate)


def scores_of(systems: SystemsSection) -> dict[str, Estimates]:
    """Return the estimates of each ranking method by its title."""
    scores = {
        "Win rate": systems.win_rate,
        "Bradley–Terry strength": systems.bradley_terry,
        BY_STRENGTH: systems.bradley_terry_rank,
        ELO: systems.elo,
        SEP_ELO: systems.sep_elo,
    }
    for name, rates in sorted((systems.machine_win_rates or {}).items()):
        scores[BY_MACHINE.format(machine=name)] = rates
    for name, powered in sorted((systems.prediction_powered or {}).items()):
        scores[f"Win rate, prediction-powered by {name}"] = powered
        scores[WORTH.format(machine=name)] = _worth(systems, name)
    for name, powered in sorted((systems.prediction_powered_lambda_1 or {}).items()):
        scores[f"Win rate, prediction-powered by {name} with λ = 1"] = powered
    if (ranks := systems.shared_ranks) is not None:
        scores[SHARED_RANK] = {
            name: Estimate(ranks[name], n=rate.n) if name in ranks else undefined(NO_SHARED_RANK)
            for name, rate in systems.win_rate.items()
        }
    return {title: scored for title, scored in scores.items() if scored}


def _worth(systems: SystemsSection, machine: str) -> Estimates:
    """Return how many ratings each win rate with a machine is worth (effective sample size)."""
    return {
        name: Estimate(worth, n=one.ratings) if not isnan(worth) else undefined(NO_WORTH)
        for name, one in (systems.powered or {}).items()
        for worth in [(one.effective_by_machine or {}).get(machine, nan)]
    }


def _any_known(estimates: Estimates) -> bool:
    return any(estimate.is_defined for estimate in estimates.values())


def set_estimates(sets: RaterSets) -> Estimates:
    """Return what is known of rating sets, by title."""
    return {
        "Consistency": sets.consistency,
        "Mixed, or ties only (consistency 0)": sets.zero,
        "Mixed: both systems preferred": sets.contradictory,
        MIXED_BY_COIN: Estimate(sets.mixed_by_coin, n=sets.n),
        "Ties only": sets.all_ties,
        "Perfectly consistent (consistency 1)": sets.perfect,
        "Preference strength (negative: first system, positive: second)": sets.preference_strength,
    }


def bias_estimates(bias: BiasSection) -> Estimates:
    """Return the biases of annotators and of each machine, by title."""
    estimates = _biases(bias)
    for name, one in sorted(bias.machines.items()):
        estimates |= {f"{name}: {title}": found for title, found in _biases(one).items()}
    return estimates


def _biases(bias: Bias) -> Estimates:
    return {FIRST_SHOWN: bias.position, LONGER: bias.length}


def _of_rule(bias: Estimate, name: str, section: CriterionSection) -> Estimate:
    """Return a bias without its interval if it is the rule itself, which other items would not change."""
    if name in (section.simple_raters or ()) and isclose(abs(bias.value), 1):
        return replace(bias, low=nan, high=nan, narrower=(), reason=RULE)
    return bias


def machine_biases(section: CriterionSection) -> list[Row]:
    """Return the biases of each machine rater, in the order of `_biases`."""
    machines = section.bias.machines if section.bias else {}
    kinds = kinds_of(machines, section.simple_raters)
    return [
        Row(
            name,
            0,
            "",
            [
                number(_of_rule(estimate, name, section), kind=kinds[name])
                for estimate in _biases(one).values()
            ],
        )
        for name, one in sorted(machines.items())
    ]


def rater_measures(section: CriterionSection) -> list[Row]:
    """Return what else than agreement says whether the annotators can be trusted, over all items."""
    sets, rows = consistency_sets(section), []
    for name, one in (preferred_shares(section.bias) if section.bias else {}).items():
        share = number(one, low=0, reference=0.5, words=percent)
        rows += [Row(name, one.n, "", [share], "preferences")] * one.is_defined
    if sets and sets.n and sets.consistency.is_defined:
        found = sets.consistency
        rows.append(Row("Consistency", found.n, "", [number(found)], "rating sets"))
    return rows


def _tables(section: CriterionSection, columns: list[str]) -> list[Table]:
    tables = []
    for stratifier, title in STRATIFIERS.items():
        rows = [
            _row(
                stratum,
                stratum_name(stratifier, stratum.stratum, section.strata),
                share_of(stratum, section.strata),
                [getattr(stratum.human_human, column) for column in columns],
            )
            for stratum in section.strata
            if stratum.stratifier == stratifier
        ]
        if rows:
            rows, shared = _reason_below(rows)
            note = " ".join(filter(None, (shared, NOTES.get(stratifier, ""))))
            tables.append(Table(title, rows, note))
    return tables


def _reason_below(rows: Sequence[Row]) -> tuple[list[Row], str]:
    """Return a table's rows with a mark for each reason that several cells share, and the reasons."""
    given = Counter(one.reason for row in rows for one in row.numbers if one.text != "–")
    shared = [reason for reason, n in given.items() if reason and n > 1]
    marks = {reason: f"({letter})" for reason, letter in zip(shared, ascii_lowercase, strict=False)}
    marked = [
        replace(
            row,
            numbers=[
                one if one.text == "–" else replace(one, reason=marks.get(one.reason, one.reason))
                for one in row.numbers
            ],
        )
        for row in rows
    ]
    return marked, " ".join(f"{mark} {reason}" for reason, mark in marks.items())


def _row(stratum: StratumSection, name: str, share: str, estimates: list[Estimate]) -> Row:
    if not stratum.n_units:
        rest = [_EMPTY_CELL] * (len(estimates) - 1)
        return Row(name, 0, share, [Number("–", "", Svg(), NO_UNITS), *rest])
    return Row(name, stratum.n_units, share, [number(estimate) for estimate in estimates])


def _machine_rows(groups: MachineAgreement) -> list[Row]:
    classification, delta = groups.classification, groups.delta.estimates()
    rows = []
    for name, title in NAMES_WITH_MACHINE.items():
        compared: Estimate = getattr(groups.human_machine, name)
        single = number(getattr(groups.single_human_machine, name))
        difference = number(delta[name]) if name in delta else _EMPTY_CELL
        # Random labels have no glyph, because they are not a finding.
        random = replace(number(getattr(groups.random_baseline, name)), glyph=Svg())
        rows.append(Row(title, compared.n, "", [number(compared), single, difference, random]))
    scores = {
        "Macro precision": classification.macro_precision,
        "Macro recall": classification.macro_recall,
        "Macro F1": classification.macro_f1,
    }
    return rows + _rows(scores)


def _rows(estimates: Estimates, *, low: float = -1.0, high: float = 1.0) -> list[Row]:
    return [
        Row(title, estimate.n, "", [number(estimate, low=low, high=high)])
        for title, estimate in estimates.items()
    ]


_EMPTY_CELL = Number("", "", Svg(), "")


def reason_once(numbers: Sequence[Number]) -> tuple[list[Number], str]:
    """Return numbers without the reason that several give for having no interval, and that reason."""
    given = Counter(one.reason for one in numbers if one.reason and one.text != "–")
    shared = next((reason for reason, n in given.most_common(1) if n > 1), "")
    return [replace(one, reason="") if one.reason == shared else one for one in numbers], shared


def number(
    estimate: Estimate,
    *,
    low: float = -1.0,
    high: float = 1.0,
    kind: Kind = "human",
    words: Callable[[float], str] = in_digits,
    reference: float | None = None,
) -> Number:
    if not estimate.is_defined:
        return Number("–", "", Svg(), f"Undefined. {estimate.reason}")
    interval = ""
    if estimate.has_interval:
        interval = f"{words(estimate.low)} to {words(estimate.high)}"
    glyph = interval_glyph(estimate, low=low, high=high, kind=kind, reference=reference)
    return Number(words(estimate.value), interval, glyph, estimate.reason or "")
