"""What the numbers say, in a sentence each, no stronger than their intervals."""

import re
from typing import Any

Json = dict[str, Any]
# The report's names of strata are for programs; these are for people.
STRATA = {
    ("all", "all"): "all units",
    ("agreement", "PA=1"): "all agree",
    ("agreement", "0.8<=PA<1"): "80% to under 100% agree",
    ("agreement", "0.6<=PA<0.8"): "60% to under 80% agree",
    ("agreement", "PA<0.6"): "under 60% agree",
    ("agreement", "undefined"): "fewer than two ratings",
    ("unique_labels", "1"): "one label",
    ("unique_labels", "undefined"): "no ratings",
    ("category", "undefined"): "no category",
    ("separability", "undefined"): "separability not known",
    ("systems", "undefined"): "systems not named",
}
RANGE = re.compile(r"(-?[\d.]+)<=separability<=?(-?[\d.]+)")


def stratum_name(stratifier: str, name: str) -> str:
    """What people call a stratum; a category or a pair of systems is called as it is."""
    if (stratifier, name) in STRATA:
        return STRATA[stratifier, name]
    if stratifier == "unique_labels":
        return f"{name} different labels"
    if stratifier == "separability":
        return _range_name(name)
    return name


def _range_name(name: str) -> str:
    """Both ends, to as few decimals as tell them apart; each range but the last is half-open."""
    found = RANGE.fullmatch(name)
    if found is None:
        return name
    low, high = (float(end) for end in found.groups())
    if low == high:
        return f"separability {low:.2f}, all alike"
    decimals = 2 if f"{low:.2f}" != f"{high:.2f}" else 4
    return f"separability {low:.{decimals}f} to {high:.{decimals}f}"


INSTANCES = {
    "new": "instances like these",
    "dataset": "the whole dataset",
    "selected": "the selected instances only",
    "these": "these instances only",
}
RATERS = {"new": "raters like these", "these": "these raters"}


def speaks_of(estimate: Json) -> str:
    """Whom figures speak of, as a sentence."""
    scope = estimate["scope"]
    return f"The figures speak of {INSTANCES[scope['instances']]} and of {RATERS[scope['raters']]}."


ON_SELECTED, OVER_DATASET = ", on the selected instances", ", over the dataset"
WEIGHED_BACK = "Weighed back to the dataset"


def _where(estimate: Json) -> str:
    """What a heading adds where it is not about instances in general."""
    return ON_SELECTED if is_of_selected(estimate) else ""


def is_of_selected(estimate: Json) -> bool:
    """Whether instances were drawn, and the figure is of their unweighted rows, or of no more."""
    return bool(estimate["scope"]["instances"] == "selected")


def agreement_finding(section: Json) -> tuple[str, str]:
    """A heading and what follows from it, for the stratified table."""
    everything = section["strata"][0]["human_human"]
    alpha = everything["krippendorff_alpha"]
    if alpha["value"] is None:
        return "How far annotators agree", f"Krippendorff's α is undefined. {alpha['reason']}"
    agreed = _stratum(section, "agreement", "PA=1")
    share = f"They are of one mind on {agreed['share']:.0%} of the units."
    where, speaks = _where(alpha), speaks_of(alpha)
    if alpha["low"] is None:
        return "How far annotators agree", f"{share} {alpha['reason'] or ''} {speaks}"
    if alpha["low"] > 0:
        return (
            f"Annotators agree beyond chance{where}",
            f"{share} Judge machine raters there first. {speaks}",
        )
    if alpha["high"] < 0:
        return (
            f"Annotators disagree more than chance would{where}",
            f"{share} Read the guidelines again. {speaks}",
        )
    return (
        f"No agreement beyond chance is shown{where}",
        f"{share} The interval of α includes 0: the texts may be hard to tell apart. {speaks}",
    )


def separability_finding(sets: Json) -> tuple[str, str]:
    trend = sets["spearman_separability"]
    if trend["value"] is None:
        return "Consistency by separability", f"Not to be said yet. {trend['reason']}"
    rho = f"Spearman's ρ of δ and mean consistency is {trend['value']:.4f}"
    if trend["low"] is None:
        return (
            "Consistency by separability",
            f"{rho} over {trend['n']} instances. {trend['reason'] or ''} {speaks_of(trend)}",
        )
    numbers = f"{rho} ({trend['low']:.4f} to {trend['high']:.4f}) over {trend['n']} instances."
    where, speaks = _where(trend), speaks_of(trend)
    if trend["low"] <= 0 <= trend["high"]:
        return (
            f"No trend of consistency with separability is shown{where}",
            f"{numbers} Its interval includes 0. {speaks}",
        )
    direction = "rises" if trend["low"] > 0 else "falls"
    return f"Consistency {direction} with separability{where}", f"{numbers} {speaks}"


def sets_finding(sets: Json) -> tuple[str, str]:
    if not sets["n"]:
        return "Rating sets", str(sets["consistency"]["reason"])
    incomplete = (
        f" {sets['n_incomplete']} incomplete sets are left out." if sets["n_incomplete"] else ""
    )
    return (
        f"{sets['zero']['value']:.0%} of the rating sets point nowhere{_where(sets['zero'])}",
        f"Contradictory {sets['contradictory']['value']:.0%}, all ties"
        f" {sets['all_ties']['value']:.0%}; perfectly consistent {sets['perfect']['value']:.0%},"
        f" of {sets['n']} complete sets.{incomplete}",
    )


def win_rate_finding(rates: Json, selection: Json | None = None) -> tuple[str, str]:
    """Who wins more often than not: where instances were drawn, by the weighted rates alone."""
    if not rates:
        return "Win rates", "The ratings name no systems."
    first = next(iter(rates.values()))
    if selection or is_of_selected(first):
        return _weighted_finding(selection or {})
    ahead = [name for name, rate in sorted(rates.items()) if _is_above_half(rate)]
    explanation = (
        f"Expected win rate: P(win) + ½ P(tie) over all its comparisons. {speaks_of(first)}"
    )
    if len(ahead) == 1:
        return f"{ahead[0]} wins more often than not", explanation
    if ahead:
        return f"{', '.join(ahead)} win more often than not", explanation
    return NO_WINNER, f"{explanation}{_why_no_interval(rates)}"


NO_WINNER = "No system is shown to win more often than not"


def _is_above_half(rate: Json) -> bool:
    return rate["low"] is not None and rate["low"] > 0.5


def _why_no_interval(rates: Json) -> str:
    """Each reason once, where no rate has an interval."""
    if any(rate["low"] is not None for rate in rates.values()):
        return ""
    reasons = dict.fromkeys(rate["reason"] for rate in rates.values() if rate["reason"])
    return "".join(f" {reason}" for reason in reasons)


def _weighted_finding(selection: Json) -> tuple[str, str]:
    """Of drawn instances: the pairs whose weighted rate says which system is ahead."""
    ahead = [said for found in selection.values() if (said := _pair_ahead(found))]
    speaks = " ".join(
        f"{pair}: {speaks_of(found['win_rate'])}" for pair, found in selection.items()
    )
    explanation = (
        "Instances were drawn, so the heading looks only at rates in which each instance is"
        f" weighted by 1 / its chance of having been drawn. {speaks} The table shows the selected"
        " instances, unweighted."
    )
    return ("; ".join(ahead) if ahead else NO_WINNER), explanation


def _pair_ahead(found: Json) -> str:
    """Which of two systems wins more often than not, and where; nothing where it is not shown."""
    rate, (first, second) = found["win_rate"], found["systems"]
    if rate["low"] is None or rate["low"] <= 0.5 <= rate["high"]:
        return ""
    winner, loser = (first, second) if rate["low"] > 0.5 else (second, first)
    where = _where(rate) or OVER_DATASET
    return f"{winner} wins more often than not against {loser}{where}"


def selection_finding(pair: str, found: Json) -> tuple[str, str]:
    """What choosing instances brought against a uniform draw; a loss is said as one."""
    saved, whole = found["ratings_saved"], found["win_rate"]
    drawn = f"{found['instances']} instances rated, {found['control']} of them as a control."
    if found["without_preference"]:
        drawn += f" {NOT_PREFERRED.format(n=found['without_preference'])}"
    if whole["value"] is None:
        return NOT_TOLD.format(pair=pair), f"{drawn} {whole['reason']}"
    rate = f"{_weighted_rate(whole)} {drawn}"
    if saved["value"] is None:
        return NOT_TOLD.format(pair=pair), f"{rate} {saved['reason']}"
    if saved["low"] is None or saved["low"] <= 0 <= saved["high"]:
        return NOT_TOLD.format(pair=pair), f"{rate} {_saving_not_told(saved)}"
    heading = SAVED if saved["value"] > 0 else COST
    return (
        heading.format(n=f"{abs(saved['value']):.0f}", pair=pair),
        f"{rate} Ratings saved: {_count_interval(saved)}. A uniform draw with that interval's width"
        f" would have needed {found['instances'] + found['instances_saved']['value']:.0f}"
        " instances.",
    )


SAVED = "Choosing instances saved about {n} ratings, {pair}"
COST = "Choosing instances cost about {n} ratings, {pair}"
NOT_TOLD = "Selection, {pair}"
NOT_PREFERRED = "{n} more have no rating that says which system is better."


def _weighted_rate(whole: Json) -> str:
    """What the weighted rate is, and of which instances."""
    wins = f"the first wins {whole['value']:.0%}"
    if whole["low"] is not None:
        wins += f" ({whole['low']:.0%} to {whole['high']:.0%})"
    if is_of_selected(whole):
        said = (
            f"Among the selected instances, each weighted by 1 / its chance of having been drawn,"
            f" {wins}; of the others in the dataset this says nothing."
        )
    else:
        said = f"{WEIGHED_BACK}, {wins}."
    return said if whole["low"] is not None else f"{said} {whole['reason']}"


def _saving_not_told(saved: Json) -> str:
    if saved["low"] is None:
        return f"Whether choosing instances saved ratings cannot be told. {saved['reason']}"
    return (
        "Whether choosing instances saved or cost ratings cannot be told: ratings saved"
        f" {_count_interval(saved)}, which includes 0."
    )


def _count_interval(saved: Json) -> str:
    return f"{saved['value']:.0f} ({saved['low']:.0f} to {saved['high']:.0f})".replace("-", "−")


def perception_finding(section: Json) -> tuple[str, str]:
    bins = section["perception"]
    heading = "Perception: people and machines" if _machines(section) else "What people said"
    if not bins:
        return heading, "No unit has human ratings yet."
    if "0" not in bins[0]["humans"]:
        return heading, "All labels in each bin of the human majority."
    people = _overall(bins, lambda each: each["humans"].get("0"))
    for name in _machines(section):
        machine = _overall(bins, lambda each, name=name: each["machines"][name].get("0"))
        if people and machine is not None and machine < people / 2:
            return (
                heading,
                f"{name} calls a tie in {machine:.0%} of its answers, people in {people:.0%}.",
            )
    return heading, f"All labels in each bin of the human majority; people call {people:.0%} ties."


def _machines(section: Json) -> list[str]:
    return sorted(section["strata"][0]["machines"])


def _overall(bins: list[Json], pick: Any) -> float | None:
    pairs = [(each["share"], pick(each)) for each in bins if pick(each) is not None]
    weight = sum(share for share, _ in pairs)
    return sum(share * value for share, value in pairs) / weight if weight else None


def _stratum(section: Json, stratifier: str, name: str) -> Json:
    return next(
        each
        for each in section["strata"]
        if (each["stratifier"], each["stratum"]) == (stratifier, name)
    )
