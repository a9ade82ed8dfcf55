"""Arranging a report for the dashboard, with headings, tables and figures."""

from dataclasses import dataclass, replace
from typing import Any

from django.utils.safestring import SafeString

from metrics.charts import interval_glyph, perception_chart, separability_chart
from metrics.findings import (
    agreement_finding,
    is_of_selected,
    perception_finding,
    selection_finding,
    separability_finding,
    sets_finding,
    stratum_name,
    win_rate_finding,
)
from metrics.messages import INSTANCES_WERE_SELECTED
from tiebreak.scales import Scale

Json = dict[str, Any]
STRATIFIERS = {
    "all": "All units",
    "agreement": "By agreement among annotators",
    "unique_labels": "By number of different labels",
    "category": "By category",
    "separability": "By separability",
    "systems": "By system pair",
}
NAMES = {
    "krippendorff_alpha": "Krippendorff's α",
    "percentage_agreement": "Percentage agreement",
    "randolph_kappa": "Randolph's κ",
    "fleiss_kappa": "Fleiss' κ",
    "cohen_kappa": "Cohen's κ",
    "leave_one_out": "Leave-one-out",
    "binned_js": "Binned JS distance",
    "spearman": "Spearman's ρ",
    "kendall": "Kendall's τ-b",
}


@dataclass(frozen=True)
class Number:
    """A value for display: text, interval, glyph, and the reason if something is undefined."""

    text: str
    interval: str
    glyph: SafeString
    reason: str


@dataclass(frozen=True)
class Row:
    name: str
    n: int
    share: str
    numbers: list[Number]


@dataclass(frozen=True)
class Table:
    """A titled table of rows, such as the strata of one stratifier."""

    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Ranking:
    """One row per system and one column per ranking method."""

    columns: list[str]
    rows: list[Row]
    notes: list[str]


@dataclass(frozen=True)
class Section:
    """Everything that the template needs for one criterion's part of the page."""

    name: str
    about: Json
    agreement: tuple[str, str]
    agreement_columns: list[str]
    tables: list[Table]
    machines: list[Table]
    perception: tuple[str, str]
    perception_figures: list[tuple[str, SafeString]]
    sets: tuple[str, str] | None
    separability: tuple[str, str] | None
    separability_figure: SafeString | None
    set_rows: list[Row]
    wins: tuple[str, str] | None
    ranking: Ranking | None
    selection: list[tuple[str, str]]
    bias_rows: list[Row]
    problems: list[tuple[str, str]]
    note: str


def sections(report: Json) -> list[Section]:
    """Return the sections in the study's order.

    The report lists this order, because databases may not keep the order of an object's keys.
    """
    return [_section(name, report["criteria"][name]) for name in report["criteria_order"]]


def _section(name: str, section: Json) -> Section:
    all_units = section["strata"][0]["human_human"]
    columns = [name for name in NAMES if name in all_units]
    sets = section.get("rating_sets")
    systems, selection = section.get("systems"), section.get("selection", {})
    return Section(
        name=name,
        about=section,
        agreement=agreement_finding(section),
        agreement_columns=[NAMES[column] for column in columns],
        tables=_tables(section, columns),
        machines=_machine_tables(section),
        perception=perception_finding(section),
        perception_figures=perception_figures(section),
        sets=sets_finding(sets) if sets else None,
        separability=separability_finding(sets) if sets else None,
        separability_figure=separability_chart(sets) if sets else None,
        set_rows=_rows(sets, _SET_NAMES, low=-1) if sets and sets["n"] else [],
        wins=win_rate_finding(systems["win_rate"], selection) if systems is not None else None,
        ranking=_ranking(systems) if systems is not None else None,
        selection=[selection_finding(name, pair) for name, pair in selection.items()],
        bias_rows=_bias_rows(section.get("bias", {})),
        note=INSTANCES_WERE_SELECTED if is_of_selected(all_units["krippendorff_alpha"]) else "",
        problems=[(PARTS.get(part, part), why) for part, why in section["problems"].items()],
    )


_SET_NAMES = {
    "consistency": "Consistency",
    "zero": "Inconsistent (consistency 0)",
    "contradictory": "Inconsistent: both systems preferred",
    "all_ties": "Inconsistent: ties only",
    "perfect": "Perfectly consistent (consistency 1)",
    "preference_strength": "Preference strength (negative: A, positive: B)",
}
_BIAS_NAMES = {
    "position": "P(first shown preferred) − ½",
    "length": "P(longer preferred) − P(shorter preferred)",
}
_RANKINGS = {
    "win_rate": "Win rate",
    "bradley_terry": "Bradley–Terry",
    "bradley_terry_rank": "Bradley–Terry rank",
    "elo": "Elo",
    "sep_elo": "SEP-Elo",
}


PARTS = {
    "strata": "Agreement",
    "raters": "Raters",
    "perception": "Labels by majority label",
    "rating_sets": "Rating sets",
    "systems": "Win rates and rankings",
    "selection": "Instance selection",
    "bias": "Position and length bias",
}


def _ranking(systems: Json) -> Ranking | None:
    """Return the systems, best first; a method without values becomes a note and not a column."""
    rates, powered = systems["win_rate"], systems.get("prediction_powered", {})
    if not rates:
        return None
    scores = {title: systems[name] for name, title in _RANKINGS.items()}
    scores |= {f"Win rate, prediction-powered by {name}": powered[name] for name in sorted(powered)}
    columns = {title: scored for title, scored in scores.items() if _any_known(scored)}
    notes = [
        f"{title}: {next(iter(scored.values()))['reason']}"
        for title, scored in scores.items()
        if title not in columns
    ]
    best_first = sorted(rates, key=lambda name: (-(rates[name]["value"] or 0), name))
    rows = [
        Row(
            name,
            rates[name]["n"],
            "",
            [_score(scored[name], scored is rates) for scored in columns.values()],
        )
        for name in best_first
    ]
    return Ranking(list(columns), rows, notes)


def _any_known(estimates: Json) -> bool:
    return any(estimate["value"] is not None for estimate in estimates.values())


def _score(estimate: Json, is_rate: bool) -> Number:
    shown = number(estimate, low=0)
    return shown if is_rate else replace(shown, glyph=SafeString(""))


def _bias_rows(bias: Json) -> list[Row]:
    rows = _rows(bias, _BIAS_NAMES, low=-0.5, high=0.5)
    for machine, estimates in sorted(bias.get("machines", {}).items()):
        names = {name: f"{machine}: {title}" for name, title in _BIAS_NAMES.items()}
        rows += _rows(estimates, names, low=-0.5, high=0.5)
    return rows


def _tables(section: Json, columns: list[str]) -> list[Table]:
    tables = []
    for stratifier, title in STRATIFIERS.items():
        rows = [
            _row(stratum, [stratum["human_human"][column] for column in columns])
            for stratum in section["strata"]
            if stratum["stratifier"] == stratifier
        ]
        if rows:
            tables.append(Table(title, rows))
    return tables


def _row(stratum: Json, estimates: list[Json]) -> Row:
    share = "" if stratum["share"] is None else f"{stratum['share']:.0%}"
    name = stratum_name(stratum["stratifier"], stratum["stratum"])
    return Row(name, stratum["n_units"], share, [number(estimate) for estimate in estimates])


_CLASSIFICATION = {
    "macro_precision": "Macro precision",
    "macro_recall": "Macro recall",
    "macro_f1": "Macro F1",
}


def _machine_tables(section: Json) -> list[Table]:
    """Return a table per machine: agreement with annotators, with one annotator, and Δ."""
    machines = section["strata"][0]["machines"]
    return [Table(name, _machine_rows(groups)) for name, groups in sorted(machines.items())]


def _machine_rows(groups: Json) -> list[Row]:
    compared, classified = groups["human_machine"], groups["classification"]
    single, delta = groups["single_human_machine"], groups["delta"]
    return [
        Row(
            title,
            compared[name]["n"],
            "",
            [
                number(compared[name]),
                *(_number_of(name, estimates) for estimates in (single, delta)),
                _random_baseline(groups["random_baseline"], name),
            ],
        )
        for name, title in NAMES.items()
        if name in compared
    ] + [
        Row(title, classified[name]["n"], "", [number(classified[name])])
        for name, title in _CLASSIFICATION.items()
    ]


def _rows(estimates: Json, names: dict[str, str], *, low: float, high: float = 1.0) -> list[Row]:
    return [
        Row(title, estimates[name]["n"], "", [number(estimates[name], low=low, high=high)])
        for name, title in names.items()
        if name in estimates
    ]


def _random_baseline(baseline: Json, name: str) -> Number:
    """Return the value for random labels, without a glyph because it is not a finding."""
    return replace(_number_of(name, baseline), glyph=SafeString(""))


_EMPTY_CELL = Number("", "", SafeString(""), "")


def _number_of(name: str, estimates: Json) -> Number:
    return number(estimates[name]) if name in estimates else _EMPTY_CELL


def number(estimate: Json, *, low: float = -1.0, high: float = 1.0) -> Number:
    if estimate["value"] is None:
        return Number("–", "", SafeString(""), f"Undefined. {estimate['reason']}")
    interval = ""
    if estimate["low"] is not None:
        interval = f"{estimate['low']:.2f} to {estimate['high']:.2f}"
    glyph = interval_glyph(estimate, low=low, high=high)
    return Number(f"{estimate['value']:.2f}", interval, glyph, estimate["reason"] or "")


def label_names(section: Json) -> dict[str, str]:
    """Return the names of a preference's labels for figures."""
    # An inferred scale of names may have a single label, which a declared one must not.
    if not section["scale"].startswith("preference"):
        return {}
    scale = Scale.parse(section["scale"])
    return {str(label): scale.short_name(label) for label in section["labels"]}


def perception_figures(section: Json) -> list[tuple[str, SafeString]]:
    names = label_names(section)
    machines = sorted(section["strata"][0]["machines"])
    if not machines:
        return [("", perception_chart(section, names, None))]
    return [(machine, perception_chart(section, names, machine)) for machine in machines]
