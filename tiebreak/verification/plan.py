"""Checks of the plan: the draw and the texts, and whether ratings are those that were planned."""

import math
from collections import Counter, defaultdict
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiebreak.formats.evidence import SELECTION, design_digest, texts_digest
from tiebreak.formats.rows import Row
from tiebreak.stats import generator_for
from tiebreak.stats.design.selection import Selection, floored_weights, logistic_weights, select
from tiebreak.stats.design.separability import normalised_separability
from tiebreak.verification.export import Export, Findings, NotChecked, check, needed

NOT_SERVED = "no rating belongs to a participation, so they were collected elsewhere"
NOT_OPENED = "the log does not say that the study was opened"
NO_LIMIT = "none"
PROBABILITIES = ("inclusion_probability", "conditional_inclusion_probability")


@check("design", "the design and the analysis plan fixed at opening")
def design(export: Export, findings: Findings) -> None:
    spec, file = export.bundle.spec, "study.toml"
    opened = needed(export.events_of("open"), NOT_OPENED)
    absent = export.manifest["frozen"]
    frozen = {name: spec.settings.get(name, value) for name, value in absent.items()}
    unlimited = [name for name in frozen if absent[name] is None and frozen[name] == NO_LIMIT]
    frozen |= dict.fromkeys(unlimited)
    frozen["criteria"] = [[one.name, one.question, one.scale] for one in spec.criteria]
    frozen["systems"] = list(spec.systems)
    digest = design_digest(frozen)
    for event in opened:
        logged = event.details["plan_sha256"]
        findings.equal(file, None, "the digest of criteria and frozen settings", digest, logged)
        now, then = spec.settings["ratings_per_hit"], event.details["ratings_per_hit"]
        findings.compare(file, None, "ratings_per_hit", now, f"{then} or more", same=now >= then)


@check("texts", "the texts that were shown")
def texts(export: Export, findings: Findings) -> None:
    units, text_of = _texts_of_units(export)
    table = export.ratings
    for side in "ab":
        of_unit = {key: text_of.get(row[f"text_{side}"]) for key, row in units.items()}
        column = table[f"chars_{side}"]
        for i in np.flatnonzero(~np.isnan(column)).tolist():
            text = of_unit.get(unit := table.value("unit", i))
            if text is not None:
                what = f"chars_{side} of {unit}"
                findings.equal(table.name, int(table.lines[i]), what, int(column[i]), len(text))
    opened = [event for event in export.events_of("open") if "texts_sha256" in event.details]
    needed(opened, "the log does not have the digest of the texts")
    instances = {row.id: row for row in export.bundle.instances}
    shown = []
    for key, row in units.items():
        if row["role"] == "main":
            one = instances.get(row["instance"] or "")
            about = (one.source, one.messages) if one else (None, None)
            shown.append((key, *about, text_of.get(row["text_a"]), text_of.get(row["text_b"])))
    digest = texts_digest(shown)
    for event in opened:
        logged = event.details["texts_sha256"]
        findings.equal("generations.jsonl", None, "the digest of the planned texts", digest, logged)


def _texts_of_units(export: Export) -> tuple[dict[str, Row], dict[Any, str]]:
    """Return the planned units with what identifies their two texts, and all texts."""
    texts = {
        (row.instance, row.system, row.sample_index): row.text for row in export.bundle.generations
    }
    sides = {
        unit: {
            f"text_{side}": (row["instance"], row[f"system_{side}"], row[f"sample_{side}"])
            for side in "ab"
        }
        for unit, row in export.design.items()
    }
    return {unit: {**row, **sides[unit]} for unit, row in export.design.items()}, texts


@check("draw", "the draw of instances, again from its seed")
def draw(export: Export, findings: Findings) -> None:
    drawn: Row = needed(export.draw, f"no instances were drawn, or {SELECTION} is missing")
    for event in export.events_of("draw")[-1:]:
        for name in ("seed", "design"):
            findings.equal(SELECTION, 1, name, drawn[name], event.details[name])
    if drawn["design"] == "doubt":
        raise NotChecked("it used the machine ratings of a pilot")
    planned = defaultdict(dict)  # type: ignore[var-annotated]
    for row in export.design.values():
        if row["role"] == "main" and row["phase"]:
            planned[row["system_a"], row["system_b"]][row["instance"]] = row
    changed = 0
    for pair in combinations(export.bundle.spec.systems, 2):
        scores = _scores(export, pair, drawn["similarity"])
        known = {row["instance"]: row["separability_raw"] for row in scores}
        of_pair = planned[pair]
        changed += sum(known.get(i) != row["separability_raw"] for i, row in of_pair.items())
        if scores and not changed:
            _compare_draw(export, findings, scores, _drawn_again(scores, pair, drawn), of_pair)
    if changed:
        findings.not_checked.append(f"δ of {changed} planned items was scored again after the draw")


def _scores(export: Export, pair: tuple[str, ...], similarity: str) -> list[Row]:
    return [
        row
        for row in export.bundle.tables.separability.rows
        if (row["system_a"], row["system_b"], row["similarity"]) == (*pair, similarity)
    ]


def _drawn_again(scores: list[Row], pair: tuple[str, ...], drawn: Row) -> Selection:
    """Draw from a pair's scores as the server did; instances without δ are not in the draw."""
    sides = ("self_alignment_a", "self_alignment_b", "cross_alignment")
    columns = (np.array([row[name] for row in scores], dtype=float) for name in sides)
    delta = normalised_separability(*columns, scope="one pair of systems on one dataset").delta
    raw = np.array([row["separability_raw"] for row in scores], dtype=float)
    is_scored: NDArray[np.bool_] = ~np.isnan(raw)
    raw, delta = raw[is_scored], delta[is_scored]
    weights = None
    if drawn["design"] == "proportional":
        is_logistic = drawn["weights"] == "logistic"
        weights = (
            logistic_weights(delta) if is_logistic else floored_weights(raw, floor=drawn["floor"])
        )
    return select(
        raw,
        drawn["instances"],
        design=drawn["design"],
        rng=generator_for(drawn["seed"], "selection", " ".join(pair)),
        weights=weights,
        control_share=drawn["control_share"],
    )


def _compare_draw(
    export: Export,
    findings: Findings,
    scores: list[Row],
    again: Selection,
    planned: dict[str, Row],
) -> None:
    """Compare the planned items of a pair with the instances that were drawn again."""
    names = [row["instance"] for row in scores if row["separability_raw"] is not None]
    numbers = zip(again.phase, again.inclusion, again.conditional, strict=True)
    known = dict(zip(names, numbers, strict=True))
    file, settings = export.bundle.tables.design.name, export.bundle.spec.settings
    for instance, row in planned.items():
        phase, *chances = known[instance]
        what = f"of {row['unit']}"
        findings.equal(file, row["line"], f"phase {what}", row["phase"], str(phase) or "not drawn")
        for name, chance in zip(PROBABILITIES, chances, strict=True):
            found, expected = row[name], None if np.isnan(chance) else float(chance)
            same = found == expected
            if found is not None and expected is not None:
                same = math.isclose(found, expected)
            findings.compare(file, row["line"], f"{name} {what}", found, expected, same=same)
    # Designs that compare a part of the pairs of each instance leave out instances that were drawn.
    if settings.get("pairing") in ("all", "baseline") and not settings.get("pairs_per_instance"):
        for instance, (phase, *_) in known.items():
            if phase:
                is_planned = instance in planned
                findings.compare(file, None, instance, "not planned", "drawn", same=is_planned)


@check("plan", "the ratings against the plan")
def plan(export: Export, findings: Findings) -> None:
    needed(len(export.served), NOT_SERVED)
    rows, design, name = export.rows, export.design, export.ratings.name
    sizes = Counter(row["hit"] for row in design.values() if row["role"] == "main")
    sizes.update(row["hit"] for row in design.values() if row["role"] == "main" and row["repeats"])
    hit_at: dict[object, object] = {}
    task_of: dict[object, object] = {}
    item_at: dict[object, object] = {}
    columns = ("unit", "role", "repeat", "participation", "hit_position", "position", "line")
    for unit, role, repeat, part, task, position, line in zip(
        *(rows[name] for name in columns), strict=True
    ):
        if role not in ("main", "repeat", "gold"):
            continue
        what = f"of {unit} in participation {part}"
        if role != "gold":
            planned = design[unit]
            most = planned["repeats"]
            findings.compare(name, line, f"repeat {what}", repeat, most, same=repeat <= most)
            hit = planned["hit"]
            findings.equal(
                name, line, f"the task {what}", hit, hit_at.setdefault((part, task), hit)
            )
            first = task_of.setdefault((part, hit), task)
            findings.equal(name, line, f"hit_position {what}", task, first)
        if not math.isnan(position):
            at = (part, task, role == "gold", unit, repeat)
            findings.equal(
                name, line, f"position {what}", position, item_at.setdefault(at, position)
            )
            item = item_at.setdefault((part, task, position), (unit, repeat))
            findings.equal(name, line, f"the item at position {position:g}", (unit, repeat), item)
            most = sizes[hit_at.get((part, task))] + 1
            same = role == "gold" or 1 <= position <= most
            findings.compare(name, line, f"position {what}", position, f"1 to {most}", same=same)
    _check_counts(export, findings)


def _check_counts(export: Export, findings: Findings) -> None:
    """Check that no item has more counted labels of people than were planned."""
    settings, is_counted = export.bundle.spec.settings, export.ratings.is_counted[export.served]
    rows = export.rows
    n: Counter[tuple[str, str]] = Counter()
    columns = (rows["unit"], rows["criterion"], rows["line"], is_counted)
    for unit, criterion, line, counts in zip(*columns, strict=True):
        n[unit, criterion] += counts
        row = export.design[unit]
        most = settings["ratings_per_hit"] + row["further"] * settings.get("further_ratings", 0)
        what = f"the number of counted ratings of {unit} ({criterion})"
        found, file = n[unit, criterion], export.ratings.name
        same = not counts or found <= most
        findings.compare(file, line, what, found, f"{most} or less", same=same)


@check("sides", "the sides on which systems were shown")
def sides(export: Export, findings: Findings) -> None:
    """All items of a task are shown as they were to others, or all with their sides exchanged."""
    needed(len(export.served), NOT_SERVED)
    rows = export.rows
    of_task: dict[object, dict[object, list[tuple[str, bool, int]]]] = {}
    columns = ("unit", "role", "repeat", "participation", "side_a", "line")
    for unit, role, repeat, part, side, line in zip(*(rows[c] for c in columns), strict=True):
        if role in ("main", "repeat") and side:
            # A planned repeat is shown with its sides exchanged.
            is_left = (side == "left") ^ bool(repeat)
            by_part = of_task.setdefault(export.design[unit]["hit"], {})
            by_part.setdefault(part, []).append((unit, is_left, line))
    for by_part in of_task.values():
        _check_sides(export, findings, list(by_part.values()))
    if not findings.n_compared:
        raise NotChecked("each task has one item, which may have either side")


def _check_sides(
    export: Export, findings: Findings, parts: list[list[tuple[str, bool, int]]]
) -> None:
    """Compare each answer's side with the one that most answers to its task imply."""
    votes: dict[str, Counter[bool]] = defaultdict(Counter)
    for part in parts:
        for unit, is_left, _ in part:
            votes[unit][is_left ^ part[0][1]] += 1
    usual = {unit: counts.most_common(1)[0][0] for unit, counts in votes.items()}
    for part in parts:
        if len(part) > 1:
            exchanged = sum(is_left ^ usual[unit] for unit, is_left, _ in part) * 2 > len(part)
            for unit, is_left, line in part:
                expected = usual[unit] ^ exchanged
                what = f"side_a of {unit}"
                shown = ("right", "left")
                same = is_left == expected
                found, side = shown[is_left], shown[expected]
                findings.compare(export.ratings.name, line, what, found, side, same=same)
