"""Checks of the plan: the draw and the texts, and whether ratings are those that were planned."""

import math
from collections import Counter, defaultdict
from dataclasses import fields
from itertools import combinations
from typing import Any

import numpy as np

from tiebreak.formats.evidence import SELECTION, design_digest, texts_digest
from tiebreak.formats.rows import Row
from tiebreak.similarity.scores import normalised_by_pair
from tiebreak.stats.design.drawing import WITHOUT_SCORES, Draw, SamplingFrame, draw_from
from tiebreak.verification.export import NOT_OPENED, Export, NotChecked, check, needed
from tiebreak.verification.results import Checked

NO_LIMIT = "none"
OLD_DIGEST = "the study was opened by a version that recorded no digest of the design"
IN_TASKS = ("main", "repeat", "gold")
PROBABILITIES = ("inclusion_probability", "conditional_inclusion_probability")
ALIGNMENTS = ("self_alignment_a", "self_alignment_b", "cross_alignment")


@check("design", "the design and the analysis plan fixed at opening")
def design(export: Export, findings: Checked) -> None:
    spec, known = export.bundle.spec, export.manifest["frozen"]
    frozen = {name: spec.settings.get(name, about["absent"]) for name, about in known.items()}
    unlimited = [n for n in frozen if known[n]["absent"] is None and frozen[n] == NO_LIMIT]
    digest = design_digest(
        frozen | dict.fromkeys(unlimited),
        {name: about["default"] for name, about in known.items()},
        criteria=[[one.name, one.question, one.scale] for one in spec.criteria],
        systems=list(spec.systems),
    )
    now = spec.settings["ratings_per_hit"]
    for event in needed(export.events_of("open"), NOT_OPENED):
        then = event.details["ratings_per_hit"]
        same, most = now >= then, f"{then} or more"
        findings.compare("study.toml", None, "ratings_per_hit", now, most, same=same)
        logged = needed(event.details.get("design_sha256"), OLD_DIGEST)
        what = "the digest of criteria and frozen settings"
        findings.equal("study.toml", None, what, digest, logged)


@check("texts", "the texts that were shown")
def texts(export: Export, findings: Checked) -> None:
    table, bundle = export.ratings, export.bundle
    text_of = {(row.instance, row.system, row.sample_index): row.text for row in bundle.generations}
    instances: dict[Any, Any] = {row.id: row for row in bundle.instances}
    shown: dict[str, list[str | None]] = {
        unit: [text_of.get((row["instance"], row[f"system_{s}"], row[f"sample_{s}"])) for s in "ab"]
        for unit, row in export.design.items()
    }
    for side, column in enumerate(("chars_a", "chars_b")):
        for unit, chars, line in zip(table["unit"], table[column], table.lines, strict=True):
            text = shown[unit][side]
            if text is not None and not math.isnan(chars):
                what = f"{column} of {unit}"
                findings.equal(table.name, int(line), what, int(chars), len(text))
    opened = [event for event in export.events_of("open") if "texts_sha256" in event.details]
    needed(opened, "the log does not have the digest of the texts")
    about = {None: (None, None)} | {key: (i.source, i.messages) for key, i in instances.items()}
    main = [(unit, row) for unit, row in export.design.items() if row["role"] == "main"]
    digest = texts_digest((unit, *about[row["instance"]], *shown[unit]) for unit, row in main)
    for event in opened:
        what, logged = "the digest of the planned texts", event.details["texts_sha256"]
        findings.equal("generations.jsonl", None, what, digest, logged)


@check("draw", "the draw of instances, again from its seed")
def draw(export: Export, findings: Checked) -> None:
    drawn: Row = needed(export.draw, f"no instances were drawn, or {SELECTION} is missing")
    for event in export.events_of("draw")[-1:]:
        for name in ("seed", "design"):
            findings.equal(SELECTION, 1, name, drawn[name], event.details[name])
    if drawn["design"] in WITHOUT_SCORES:
        of = WITHOUT_SCORES[drawn["design"]]
        raise NotChecked(f"the draw was one of {of}, with weights that no table has")
    planned: dict[tuple[Any, ...], dict[str, Row]] = defaultdict(dict)
    for row in export.design.values():
        if row["role"] == "main" and row["phase"]:
            planned[row["system_a"], row["system_b"]][row["instance"]] = row
    for pair in combinations(export.bundle.spec.systems, 2):
        key, names = (*pair, drawn["similarity"]), ("system_a", "system_b", "similarity")
        table = export.bundle.tables.separability.rows
        scores = [row for row in table if tuple(row[name] for name in names) == key]
        raw = {row["instance"]: row["separability_raw"] for row in scores}
        changed = [i for i, row in planned[pair].items() if raw.get(i) != row["separability_raw"]]
        if changed:
            findings.not_checked.append(f"δ of {len(changed)} items was scored after the draw")
        elif scores:
            again = _drawn_again(scores, pair, drawn)
            known = [name for name, value in raw.items() if value is not None]
            _compare_draw(export, findings, dict(zip(known, again, strict=True)), planned[pair])


def _drawn_again(scores: list[Row], pair: tuple[str, str], drawn: Row) -> list[tuple[Any, ...]]:
    """Draw from a pair's scores as the server did; instances without δ are not in the draw."""
    columns = (np.array([row[name] for row in scores], dtype=float) for name in ALIGNMENTS)
    delta = normalised_by_pair(*columns).delta
    raw = np.array([row["separability_raw"] for row in scores], dtype=float)
    names = np.array([row["instance"] for row in scores])
    settings = {column.name: drawn[column.name] for column in fields(Draw)}
    again = draw_from(SamplingFrame.of_scores(pair, names, raw, delta), Draw(**settings))
    return list(zip(again.phase, again.inclusion, again.conditional, strict=True))


def _compare_draw(
    export: Export, findings: Checked, known: dict[str, tuple[Any, ...]], planned: dict[str, Row]
) -> None:
    """Compare the planned items of a pair with the instances that were drawn again."""
    file, settings = export.bundle.tables.design.name, export.bundle.spec.settings
    for instance, row in planned.items():
        (phase, *chances), of, line = known[instance], f"of {row['unit']}", row["line"]
        findings.equal(file, line, f"phase {of}", row["phase"], str(phase) or "not drawn")
        for name, chance in zip(PROBABILITIES, chances, strict=True):
            found = math.nan if row[name] is None else row[name]
            same = bool(np.isclose(found, chance, rtol=1e-9, atol=0, equal_nan=True))
            findings.compare(file, line, f"{name} {of}", row[name], float(chance), same=same)
    # Designs that compare a part of the pairs of each instance leave out instances that were drawn.
    # A reference item is not rated, too.
    apart = {row["instance"] for row in export.design.values() if row["role"] != "main"}
    if settings.get("pairing") in ("all", "baseline") and not settings.get("pairs_per_instance"):
        for instance in (name for name, (phase, *_) in known.items() if phase):
            same = instance in planned or instance in apart
            findings.compare(file, None, instance, "not planned", "planned", same=same)


@check("plan", "the ratings against the plan")
def plan(export: Export, findings: Checked) -> None:
    name, settings = export.ratings.name, export.bundle.spec.settings
    main = [row for row in export.design.values() if row["role"] == "main"]
    sizes = Counter(row["hit"] for row in main for _ in range(1 + row["repeats"]))
    first: dict[Any, Any] = {}  # what the first answer with some facts says, which all others must
    n: Counter[Any] = Counter()
    columns = ("unit", "role", "repeat", "participation", "hit_position", "position", "line")
    for unit, role, repeat, part, task, position, line, criterion, counts in export.answers(
        *columns, "criterion", "counts"
    ):
        row, of = export.design[unit], f"of {unit} in participation {part}"
        if role not in IN_TASKS:
            continue
        same: list[tuple[str, Any, Any]] = [("position", (unit, repeat, task), position)]
        if not math.isnan(position):
            same.append(("item at this position", (position, task), (unit, repeat)))
        if role != "gold":
            same += [("task", task, row["hit"]), ("hit_position", row["hit"], task)]
            most = row["repeats"]
            findings.compare(name, line, f"repeat {of}", repeat, most, same=repeat <= most)
            # A gold check may be one more.
            most, is_in = (
                sizes[row["hit"]] + 1,
                not (position < 1 or position > sizes[row["hit"]] + 1),
            )
            findings.compare(name, line, f"position {of}", position, f"1 to {most}", same=is_in)
        for what, where, found in same:
            expected = first.setdefault((part, what, where), found)
            is_same = found == expected or found != found  # noqa: PLR0124  NaN
            findings.compare(name, line, f"{what} {of}", found, expected, same=is_same)
        n[unit, criterion] += counts
        further = row["further"] * settings.get("further_ratings", 0)
        most = settings.get("ratings_per_hit", 3) + further
        what, found = f"the number of counted ratings of {unit} ({criterion})", n[unit, criterion]
        findings.compare(name, line, what, found, most, same=not counts or found <= most)


@check("sides", "the sides on which systems were shown")
def sides(export: Export, findings: Checked) -> None:
    """All items of a task are shown as they were to others, or all with their sides exchanged."""
    of_task: dict[Any, dict[str, list[tuple[str, bool, int]]]] = {}
    columns = ("unit", "role", "repeat", "participation", "side_a", "line")
    for unit, role, repeat, part, side, line in export.answers(*columns):
        if role in ("main", "repeat") and side:
            # A planned repeat is shown with its sides exchanged.
            is_left = (side == "left") ^ bool(repeat)
            by_part = of_task.setdefault(export.design[unit]["hit"], defaultdict(list))
            by_part[part].append((unit, is_left, line))
    for by_part in of_task.values():
        _check_sides(export.ratings.name, findings, list(by_part.values()))
    needed(findings.n_compared, "each task has one item, which may have either side")


def _check_sides(file: str, findings: Checked, parts: list[list[tuple[str, bool, int]]]) -> None:
    """Compare each answer's side with the one that most answers to its task imply."""
    votes: dict[str, Counter[bool]] = defaultdict(Counter)
    for part in parts:
        for unit, is_left, _ in part:
            votes[unit][is_left ^ part[0][1]] += 1
    usual = {unit: counts.most_common(1)[0][0] for unit, counts in votes.items()}
    for part in (part for part in parts if len(part) > 1):
        exchanged = sum(is_left ^ usual[unit] for unit, is_left, _ in part) * 2 > len(part)
        for unit, is_left, line in part:
            shown = [("right", "left")[side] for side in (is_left, usual[unit] ^ exchanged)]
            findings.equal(file, line, f"side_a of {unit}", *shown)
