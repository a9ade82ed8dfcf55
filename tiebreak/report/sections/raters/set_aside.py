"""Annotators' ratings that were set aside, compared with those that count."""

from dataclasses import replace
from math import nan

import numpy as np

from tiebreak.formats import RatingTable
from tiebreak.formats.rating_cells import EXCLUDING_FLAGS
from tiebreak.report.criterion import Criterion, read_criteria
from tiebreak.report.generators import Seeds
from tiebreak.report.model.raters import SetAsideSection, VoteCounts
from tiebreak.report.registry import section
from tiebreak.report.sections.systems.comparisons import Comparisons
from tiebreak.report.sections.systems.pair_counts import pair_counts
from tiebreak.report.sections.systems.systems import rates_of_systems


@section(
    "set_aside",
    "Ratings that were set aside",
    question="raters",
    of_rated_items="votes and means are of the answers as they were given; only win rates are weighted",
    takes=("seeds",),
    on_request=True,
    asks="Would the result be another one with the ratings that were left out?",
    shows_outcome=True,
    after_closing=True,
)
def set_aside_section(criterion: Criterion, seeds: Seeds) -> SetAsideSection | None:
    """Return the votes that were set aside, by reason, or None if there are none.

    They have no intervals, because nobody drew at random whose ratings are left out. Late answers that
    nobody has accepted or declined are only counted so that the decision cannot depend on them.
    """
    table, people = criterion.set_aside, criterion.rows.select(criterion.is_human)
    if not len(table) or not len(people):
        return None
    late, excluded, superseded = (table[flag] for flag in ("late", "excluded", "superseded"))
    # Declining also supersedes answers; of several to one unit, the newest is the annotator's.
    unit, rater = table.coded("unit").codes.tolist(), table.coded("rater").codes.tolist()
    by_age = np.argsort(table.ranked("created_at")[1], kind="stable").tolist()
    newest = {(unit[row], rater[row]): row for row in by_age if late[row]}
    late = np.isin(np.arange(len(table)), [*newest.values()])
    masks, rest = {"late": late & excluded}, ~table["late"] & ~superseded
    for flag in ("excluded", "partial", "surplus"):  # a rating has the first reason only
        masks[flag], rest = rest & table[flag], rest & ~table[flag]
    if sum(mask.any() for mask in masks.values()) > 1:
        masks["all"] = np.logical_or.reduce([*masks.values()])
    parts = {name: table.select(mask) for name, mask in masks.items() if mask.any()}
    return SetAsideSection(
        counted=_votes(criterion, people, people, seeds),
        reasons={
            n: _votes(criterion, part, people.joined(part), seeds) for n, part in parts.items()
        },
        undecided=int((late & ~excluded).sum()),
    )


def _votes(
    criterion: Criterion, rows: RatingTable, counted: RatingTable, seeds: Seeds
) -> VoteCounts:
    """Return what rows say, and the win rates of the systems if these others counted."""
    own, with_others = _counting(criterion, rows), _counting(criterion, counted)
    is_preference, numbers = own.scale.kind == "preference", own.numbers
    votes, pairs = own.votes, pair_counts(own).values() if is_preference else ()
    if pairs:
        votes = dict.fromkeys(sorted({name for pair in pairs for name in pair.systems}), 0)
    for pair in pairs:
        votes[pair.systems[0]] += pair.first
        votes[pair.systems[1]] += pair.second
    rates = rates_of_systems(Comparisons.of(with_others), seeds, 0)[0] if is_preference else {}
    return VoteCounts(
        ratings=len(rows),
        votes={} if own.has_many_values else votes,
        ties=sum(pair.ties for pair in pairs),
        mean=nan if is_preference or numbers is None else float(numbers[own.label].mean()),
        win_rate={name: rate.value for name, rate in rates.items()},
    )


def _counting(criterion: Criterion, rows: RatingTable) -> Criterion:
    """Return the criterion as it would be if these ratings counted, and no others."""
    unflagged = dict.fromkeys(EXCLUDING_FLAGS, np.zeros(len(rows), dtype=bool))
    table = replace(rows, columns={**rows.columns, **unflagged})
    (made,), _ = read_criteria(table, {criterion.name: criterion.scale.spec}, None)
    return made
