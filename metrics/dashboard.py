"""A report arranged for the eye: rows, headings, pictures."""

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
    """A value as it is printed: text, interval, picture, and the reason where undefined."""

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
    """One stratifier's rows."""

    title: str
    rows: list[Row]


@dataclass(frozen=True)
class Ranking:
    """A row a system, a column for each way to rank."""

    columns: list[str]
    rows: list[Row]
    notes: list[str]


@dataclass(frozen=True)
class Section:
    """One criterion, ready for its template."""

    name: str
    about: Json
    agreement: tuple[str, str]
    agreement_columns: list[str]
    tables: list[Table]
    machines: list[Table]
    perception: tuple[str, str]
    perception_pictures: list[tuple[str, SafeString]]
    sets: tuple[str, str] | None
    separability: tuple[str, str] | None
    separability_picture: SafeString | None
    set_rows: list[Row]
    wins: tuple[str, str] | None
    ranking: Ranking | None
    selection: list[tuple[str, str]]
    bias_rows: list[Row]
    problems: list[tuple[str, str]]
    note: str


def sections(report: Json) -> list[Section]:
    """In the study's order: a database need not keep the order of an object's keys."""
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
        perception_pictures=perception_pictures(section),
        sets=sets_finding(sets) if sets else None,
        separability=separability_finding(sets) if sets else None,
        separability_picture=separability_chart(sets) if sets else None,
        set_rows=_rows(sets, _SET_NAMES, low=-1) if sets and sets["n"] else [],
        wins=win_rate_finding(systems["win_rate"], selection) if systems is not None else None,
        ranking=_ranking(systems) if systems is not None else None,
        selection=[selection_finding(*each) for each in selection.items()],
        bias_rows=_bias_rows(section.get("bias", {})),
        note=OF_SELECTED if is_of_selected(all_units["krippendorff_alpha"]) else "",
        problems=[(PARTS.get(part, part), why) for part, why in section["problems"].items()],
    )


_SET_NAMES = {
    "consistency": "Consistency",
    "zero": "Consistency 0",
    "contradictory": "… both systems preferred",
    "all_ties": "… all ties",
    "perfect": "Consistency 1",
    "preference_strength": "Preference strength (− A, + B)",
}
_BIAS_NAMES = {
    "position": "First shown preferred − ½",
    "length": "Longer preferred − shorter preferred",
}
_RANKINGS = {
    "win_rate": "Win rate",
    "bradley_terry": "Bradley–Terry",
    "bradley_terry_rank": "Its rank",
    "elo": "Elo",
    "sep_elo": "SEP-Elo",
}


PARTS = {
    "strata": "Agreement",
    "raters": "What each rater did",
    "perception": "Perception",
    "rating_sets": "Rating sets",
    "systems": "Win rates and rankings",
    "selection": "Selection",
    "bias": "What is preferred besides the text",
}
OF_SELECTED = (
    "Instances were drawn. Except where a sentence says that a rate is weighted, every number here is"
    " of the selected instances, unweighted, and says nothing of the rest of the dataset."
)


def _ranking(systems: Json) -> Ranking | None:
    """The best system first. A way to rank that nothing is known from is a note, not a column."""
    rates, powered = systems["win_rate"], systems.get("prediction_powered", {})
    if not rates:
        return None
    scores = {title: systems[name] for name, title in _RANKINGS.items()}
    scores |= {f"Win rate, with {name}": powered[name] for name in sorted(powered)}
    known = {title: each for title, each in scores.items() if _any_known(each)}
    notes = [
        f"{title}: {next(iter(each.values()))['reason']}"
        for title, each in scores.items()
        if title not in known
    ]
    best_first = sorted(rates, key=lambda name: (-(rates[name]["value"] or 0), name))
    rows = [
        Row(
            name,
            rates[name]["n"],
            "",
            [_score(each[name], each is rates) for each in known.values()],
        )
        for name in best_first
    ]
    return Ranking(list(known), rows, notes)


def _any_known(estimates: Json) -> bool:
    return any(each["value"] is not None for each in estimates.values())


def _score(estimate: Json, is_rate: bool) -> Number:
    shown = number(estimate, low=0)
    return shown if is_rate else replace(shown, glyph=SafeString(""))


def _bias_rows(bias: Json) -> list[Row]:
    rows = _rows(bias, _BIAS_NAMES, low=-0.5, high=0.5)
    for machine, own in sorted(bias.get("machines", {}).items()):
        named = {name: f"{machine}: {title.lower()}" for name, title in _BIAS_NAMES.items()}
        rows += _rows(own, named, low=-0.5, high=0.5)
    return rows


def _tables(section: Json, columns: list[str]) -> list[Table]:
    tables = []
    for stratifier, title in STRATIFIERS.items():
        rows = [
            _row(each, [each["human_human"][column] for column in columns])
            for each in section["strata"]
            if each["stratifier"] == stratifier
        ]
        if rows:
            tables.append(Table(title, rows))
    return tables


def _row(stratum: Json, estimates: list[Json]) -> Row:
    share = "" if stratum["share"] is None else f"{stratum['share']:.0%}"
    name = stratum_name(stratum["stratifier"], stratum["stratum"])
    return Row(name, stratum["n_units"], share, [number(e) for e in estimates])


_CLASSIFICATION = {
    "macro_precision": "Macro precision",
    "macro_recall": "Macro recall",
    "macro_f1": "Macro F1",
}


def _machine_tables(section: Json) -> list[Table]:
    """Per machine: agreement with people, with one person, and how far people agree better."""
    machines = section["strata"][0]["machines"]
    return [Table(name, _machine_rows(groups)) for name, groups in sorted(machines.items())]


def _machine_rows(groups: Json) -> list[Row]:
    compared, classified = groups["human_machine"], groups["classification"]
    others = [groups[name] for name in ("single_human_machine", "delta")]
    return [
        Row(
            title,
            compared[name]["n"],
            "",
            [
                number(compared[name]),
                *(number(each[name]) if name in each else _NOTHING for each in others),
                _by_chance(groups["random_baseline"], name),
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


def _by_chance(baseline: Json, name: str) -> Number:
    """What random labels would reach, where it is no more than a mark to compare with."""
    return replace(number(baseline[name]), glyph=SafeString("")) if name in baseline else _NOTHING


_NOTHING = Number("", "", SafeString(""), "")


def number(estimate: Json, *, low: float = -1.0, high: float = 1.0) -> Number:
    if estimate["value"] is None:
        return Number("–", "", SafeString(""), f"Undefined. {estimate['reason']}")
    interval = ""
    if estimate["low"] is not None:
        interval = f"{estimate['low']:.2f} to {estimate['high']:.2f}"
    glyph = interval_glyph(estimate, low=low, high=high)
    return Number(f"{estimate['value']:.2f}", interval, glyph, estimate["reason"] or "")


def label_names(section: Json) -> dict[str, str]:
    """What a preference's labels are called under a picture."""
    if not section["scale"].startswith("preference"):
        return {}
    names = {"0": "tie", "bad": "both bad"}
    for label in section["labels"]:
        if isinstance(label, int) and label:
            names[str(label)] = ("A" if label < 0 else "B") * min(abs(label), 3)
    return names


def perception_pictures(section: Json) -> list[tuple[str, SafeString]]:
    names = label_names(section)
    machines = sorted(section["strata"][0]["machines"])
    if not machines:
        return [("", perception_chart(section, names, None))]
    return [(machine, perception_chart(section, names, machine)) for machine in machines]
