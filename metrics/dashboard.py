"""A report arranged for the eye: rows, headings, pictures."""

from dataclasses import dataclass
from typing import Any

from django.utils.safestring import SafeString

from metrics.charts import interval_glyph, perception_chart, separability_chart
from metrics.findings import (
    agreement_finding,
    perception_finding,
    separability_finding,
    sets_finding,
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
    win_rows: list[Row]
    bias_rows: list[Row]


def sections(report: Json) -> list[Section]:
    return [_section(name, each) for name, each in sorted(report["criteria"].items())]


def _section(name: str, section: Json) -> Section:
    columns = [name for name in NAMES if name in section["strata"][0]["human_human"]]
    sets = section.get("rating_sets")
    wins = section["systems"]["win_rate"] if "systems" in section else None
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
        wins=win_rate_finding(wins) if wins is not None else None,
        win_rows=_rows(wins or {}, {each: each for each in sorted(wins or {})}, low=0),
        bias_rows=_rows(section.get("bias", {}), _BIAS_NAMES, low=-0.5, high=0.5),
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
    return Row(stratum["stratum"], stratum["n_units"], share, [number(e) for e in estimates])


def _machine_tables(section: Json) -> list[Table]:
    """Per machine: agreement with people, with one person, and how far people agree better."""
    everything = section["strata"][0]
    tables = []
    for machine, groups in sorted(everything["machines"].items()):
        rows = [
            Row(
                NAMES[name],
                estimate["n"],
                "",
                [
                    number(estimate),
                    number(groups["single_human_machine"][name]),
                    number(groups["delta"][name]) if name in groups["delta"] else _NOTHING,
                ],
            )
            for name in NAMES
            if (estimate := groups["human_machine"].get(name)) is not None
        ]
        tables.append(Table(machine, rows))
    return tables


def _rows(estimates: Json, names: dict[str, str], *, low: float, high: float = 1.0) -> list[Row]:
    return [
        Row(title, estimates[name]["n"], "", [number(estimates[name], low=low, high=high)])
        for name, title in names.items()
        if name in estimates
    ]


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
