"""Separability of a file of generations: what the server's job computes, with the same digits."""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import combinations, groupby, islice
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from tiebreak.batch.texts import Source, open_texts
from tiebreak.batch.unfinished import Unfinished, digest_of, unfinished
from tiebreak.digits import counted, in_digits, percent
from tiebreak.errors import DomainError
from tiebreak.formats.bundle import GENERATIONS, INSTANCES
from tiebreak.formats.errors import Problems
from tiebreak.formats.export_columns import SCOPE, SCORES
from tiebreak.formats.rows import Row
from tiebreak.gateway.cluster import Cluster
from tiebreak.reading.figures.figure import Figure
from tiebreak.reading.figures.separability import (
    alignments_figure,
    distributions_of,
    figure_of_distributions,
)
from tiebreak.reading.terminal import as_table
from tiebreak.similarity import Similarity, similarity_title
from tiebreak.similarity.alignment import Instance
from tiebreak.similarity.scores import Score, normalised_by_pair, score_many
from tiebreak.similarity.spec import score_on
from tiebreak.stats.core.results import none_if_nan
from tiebreak.stats.core.validation import FloatArray
from tiebreak.stats.design.separability import TOO_FEW, NormalisedSeparability, scenario_shares

LOT = 100
QUANTILES = (0.05, 0.5, 0.95)
ONE_SYSTEM = (
    "There are texts of one system only. Separability compares two; add the texts of another."
)
NO_TEXTS = "There is no generation of system {systems}."
MEASURED = tuple(column.name for column in fields(Score))
TABLES = (
    "CREATE TABLE IF NOT EXISTS instances (number INTEGER PRIMARY KEY, name TEXT UNIQUE)",
    "CREATE TABLE IF NOT EXISTS texts (instance INTEGER, system INTEGER, sample INTEGER, line INTEGER,"
    " text TEXT, PRIMARY KEY (instance, system, sample)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS scores (pair INTEGER, instance INTEGER, self_alignment_a,"
    " self_alignment_b, cross_alignment, delta, delta_standard_error, samples_a, samples_b, truncated,"
    " PRIMARY KEY (pair, instance)) WITHOUT ROWID",
)
# How many instances and pairs of systems have texts to compare.
ALL_SCORES = (
    "WITH present AS (SELECT DISTINCT instance, system FROM texts) SELECT COUNT(*) FROM present AS a"
    " JOIN present AS b ON a.instance = b.instance AND a.system < b.system WHERE b.system < ?"
)
LINE = "SELECT line FROM texts WHERE instance = ? AND system = ? AND sample = ?"
STORE = "INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
IS_SCORED = "SELECT 1 FROM scores WHERE instance = ? AND pair = ?"
NUMBERS = (
    "SELECT delta, cross_alignment, self_alignment_a, self_alignment_b FROM scores WHERE pair = ?"
    " ORDER BY instance"
)
ROWS = (
    "SELECT name, (SELECT COUNT(*) FROM texts WHERE instance = number AND system = ?),"
    " (SELECT COUNT(*) FROM texts WHERE instance = number AND system = ?), scores.* FROM instances"
    " LEFT JOIN scores ON instance = number AND pair = ? ORDER BY number"
)
LEAST = 2  # systems to compare, and texts that a self-alignment needs
Names = tuple[str, str]
Pair = tuple[int, int]
Place = tuple[int, int]  # numbers of an instance and of a pair
Report = Callable[[int, int], None]
Scorer = Callable[[Iterator[tuple[Place, Instance]]], Iterator[tuple[Place, Score]]]


@dataclass(frozen=True)
class PairScores:
    """The scores of a pair of systems, an element for each instance that has texts of both.

    What is undefined is NaN; ``reasons`` counts why, of all instances.
    """

    names: Names
    delta: FloatArray
    cross: FloatArray
    best_self: FloatArray
    normalised: NormalisedSeparability
    truncated: int
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def known(self) -> FloatArray:
        """δ where it is defined."""
        values: FloatArray = self.delta[~np.isnan(self.delta)]
        return values

    def summary(self) -> dict[str, Any]:
        """Return how δ is distributed over the instances that have one, and why others have none."""
        known = self.known
        spread = np.quantile(known, QUANTILES).tolist() if len(known) else [None] * len(QUANTILES)
        return {
            "scored": len(known),
            "mean": float(known.mean()) if len(known) else None,
            "quantiles": spread,
            "above_zero": float((known > 0).mean()) if len(known) else None,
            "scenarios": scenario_shares(self.normalised.scenarios),
            "undefined": dict(self.reasons),
            "truncated": self.truncated,
        }

    def figure(self) -> Figure:
        known = ~np.isnan(self.delta)
        cross, best_self = self.cross[known].tolist(), self.best_self[known].tolist()
        shares = scenario_shares(self.normalised.scenarios)
        return alignments_figure(self.names, cross, best_self, shares)


@dataclass(frozen=True)
class Scored:
    """What was scored: the number of instances, how many scores are new, and each pair's scores."""

    similarity: str
    instances: int
    new: int
    pairs: tuple[PairScores, ...]

    def as_json(self) -> dict[str, Any]:
        pairs = {" – ".join(one.names): one.summary() for one in self.pairs}
        about = {"similarity": self.similarity, "instances": self.instances, "new": self.new}
        return {**about, "pairs": pairs}

    def lines(self) -> Iterator[str]:
        """Yield what was found, as a table with a row for each pair."""
        yield (
            f"Separability (δ) by {similarity_title(self.similarity)}:"
            f" {counted(self.instances, 'instance')}, {counted(self.new, 'new score')}."
        )
        yield ""
        rows = []
        for pair, one in self.as_json()["pairs"].items():
            numbers = [one["mean"], *one["quantiles"]]
            shown = ["–" if number is None else in_digits(number) for number in numbers]
            above = "–" if one["above_zero"] is None else percent(one["above_zero"])
            rows.append([pair, f"{one['scored']:,}", *shown, above])
        yield from as_table(("", "scored", "mean δ", "5%", "median", "95%", "above 0"), rows)

    def problems(self) -> Iterator[str]:
        """Yield a sentence about what has no δ, with the reason, and about texts that were cut."""
        for pair, one in self.as_json()["pairs"].items():
            for reason, n in one["undefined"].items():
                yield f"{pair}: {counted(n, 'instance')} without δ. {reason}"
            if cut := one["truncated"]:
                yield f"{pair}: only the beginning of {counted(cut, 'text')} was read."

    def figures(self) -> list[Figure]:
        """Return the figures of pairs that have a δ."""
        rows = distributions_of({one.names: one.delta for one in self.pairs})
        drawn = [one.figure() for one in self.pairs if len(one.known)]
        return [figure_of_distributions(rows, self.similarity), *drawn] if rows else []


def score_file(
    path: Path,
    out: Path,
    measure: Similarity,
    *,
    systems: Sequence[str] = (),
    workers: int = 1,
    cluster: Cluster | None = None,
    report: Report,
) -> Scored:
    """Score all pairs of systems of a file of generations, and write the scores to ``out``.

    ``systems`` are compared in their order, by default all of the file. With a ``cluster`` of
    `SimilaritySpec`, its actors compute. ``report`` is called with the number of scores done and their total. Raises `DomainError`, or `FormatError` with the lines
    of all rows that are not valid.
    """
    alone = partial(score_many, measure=measure, workers=workers)
    scored_by: Scorer = partial(score_on, cluster) if cluster else alone
    with open_texts(path, GENERATIONS) as source:
        about = {
            "generations": digest_of(source.files),
            "similarity": dict(measure.settings),
            "systems": list(systems),
        }
        with unfinished(out, about, TABLES) as begun:
            if begun.fact("systems") is None:
                _load(begun, source, systems)
            names = begun.fact("systems")
            pairs = list(combinations(range(len(names)), 2))
            new = _score_missing(begun, pairs, scored_by, report)
            scored = tuple(
                _pair_scores(begun, place, (names[a], names[b]))
                for place, (a, b) in enumerate(pairs)
            )
            [instances] = begun.execute("SELECT COUNT(*) FROM instances").fetchone()
            begun.finish(out, _rows(begun, pairs, scored, measure), SCORES)
            return Scored(measure.name, instances, new, scored)


def _load(begun: Unfinished, source: Source, chosen: Sequence[str]) -> None:
    """Copy the texts, so that those of an instance can be read together whatever their order is."""
    problems = Problems()
    listed, controls = source.systems(problems)
    systems = {name: number for number, name in enumerate(chosen or listed)}
    if source.folder is not None and (source.folder / INSTANCES).is_file():
        for _, row in source.instances(problems):
            begun.execute("INSERT OR IGNORE INTO instances (name) VALUES (?)", [row.id])
    last, number = "", 0
    for line, text in source.generations(problems):
        if text.system not in controls:
            if text.instance != last:
                last, number = text.instance, _number_of(begun, text.instance)
            key = (number, systems.setdefault(text.system, len(systems)), text.sample_index)
            values = [*key, line, text.text]
            if not begun.execute(
                "INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?, ?)", values
            ).rowcount:
                [earlier] = begun.execute(LINE, key).fetchone()
                reason = f"the same sample is already on line {earlier}"
                problems.add(source.table.name, line, "duplicate_sample", reason)
    problems.check()
    present = {system for (system,) in begun.rows("SELECT DISTINCT system FROM texts")}
    if unknown := [name for name in chosen if systems[name] not in present]:
        known = ", ".join(name for name, number in systems.items() if number in present)
        sentence = f"No row has the system {unknown[0]!r}. The systems are: {known}."
        raise DomainError("unknown_system", sentence, status=400)
    compared = list(chosen or systems)
    if len(compared) < LEAST:
        raise DomainError("one_system", ONE_SYSTEM, status=400)
    begun.note("systems", compared)
    begun.commit()


def _number_of(begun: Unfinished, instance: str) -> int:
    begun.execute("INSERT OR IGNORE INTO instances (name) VALUES (?)", [instance])
    found = begun.execute("SELECT number FROM instances WHERE name = ?", [instance])
    return int(found.fetchone()[0])


def _score_missing(begun: Unfinished, pairs: Sequence[Pair], scored: Scorer, report: Report) -> int:
    """Score what has no score yet, and store it in lots. Return the number of new scores."""
    [done] = begun.execute("SELECT COUNT(*) FROM scores").fetchone()
    [of] = begun.execute(ALL_SCORES, [len(begun.fact("systems"))]).fetchone()
    scores, new = scored(_missing(begun, pairs)), 0
    report(done, of)
    while lot := list(islice(scores, LOT)):
        for (instance, pair), score in lot:
            begun.execute(STORE, [pair, instance, *(getattr(score, name) for name in MEASURED)])
        begun.commit()
        new += len(lot)
        report(done + new, of)
    return new


def _missing(begun: Unfinished, pairs: Sequence[Pair]) -> Iterator[tuple[Place, Instance]]:
    """Yield the texts of each instance and pair that has no score yet, in order.

    Without a text of one of the systems there is nothing to compare.
    """
    rows = begun.rows("SELECT instance, system, text FROM texts ORDER BY instance, system, sample")
    for instance, of_instance in groupby(rows, itemgetter(0)):
        texts: dict[int, list[str]] = {}
        for _, system, text in of_instance:
            texts.setdefault(system, []).append(text)
        for pair, (a, b) in enumerate(pairs):
            is_scored = begun.execute(IS_SCORED, [instance, pair]).fetchone()
            if a in texts and b in texts and not is_scored:
                yield (instance, pair), (texts[a], texts[b])


def _pair_scores(begun: Unfinished, place: int, names: Names) -> PairScores:
    rows = begun.rows(NUMBERS, [place])
    values = (math.nan if value is None else value for row in rows for value in row)
    delta, cross, a, b = np.fromiter(values, dtype=float).reshape(-1, 4).T
    [cut] = begun.execute("SELECT SUM(truncated) FROM scores WHERE pair = ?", [place]).fetchone()
    normalised = normalised_by_pair(a, b, cross)
    return PairScores(names, delta, cross, np.maximum(a, b), normalised, cut or 0)


def _rows(
    begun: Unfinished, pairs: Sequence[Pair], scored: Sequence[PairScores], measure: Similarity
) -> Iterator[Row]:
    """Yield a row for each pair and instance, in which a number is missing only with a reason."""
    settings = json.dumps(dict(measure.settings), sort_keys=True, ensure_ascii=False)
    for place, (pair, of_pair) in enumerate(zip(pairs, scored, strict=True)):
        a, b = of_pair.names
        scope = {
            "scope": SCOPE.format(a=a, b=b, similarity=measure.name),
            "scope_instances": len(of_pair.delta),
        }
        about = {"system_a": a, "system_b": b, "similarity": measure.name}
        about |= {"similarity_settings": settings}
        of_scope = zip(of_pair.normalised.delta.tolist(), of_pair.normalised.scenarios, strict=True)
        for name, n_a, n_b, _, _, *measured in begun.rows(ROWS, [*pair, place]):
            row = {"instance": name, **about, **dict(zip(MEASURED, measured, strict=True))}
            if row["truncated"] is None:
                row |= {"samples_a": n_a, "samples_b": n_b}
            else:
                delta, scenario = next(of_scope)
                row |= {"separability": none_if_nan(delta), "scenario": scenario, **scope}
            row["separability_raw"] = row["delta"]
            row["separability_standard_error"] = row["delta_standard_error"]
            row["reason"] = _reason(row, (n_a, n_b), of_pair.names)
            of_pair.reasons.update(filter(None, [row["reason"]]))
            yield row


def _reason(row: Row, n: tuple[int, int], names: Names) -> str | None:
    """Return why there is no δ: without a text of a system, or without two."""
    if row["delta"] is not None:
        return None
    without = [name for name, number in zip(names, n, strict=True) if not number]
    if without:
        return NO_TEXTS.format(systems=" and ".join(without))
    few = [name for name, number in zip(names, n, strict=True) if number < LEAST]
    return TOO_FEW.format(systems=" and ".join(few))
