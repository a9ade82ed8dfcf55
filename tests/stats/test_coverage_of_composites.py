"""What a composite's cross-validated agreement promises for new items holds, and its interval, too.

Each board is drawn by code of its own and passes through the report as rows of a file. Its composite is
then chosen from all of its items, as one that rates is, and scored on thousands of new ones.
"""

from typing import NamedTuple

import numpy as np
import pytest

from tiebreak.formats import RatingTable
from tiebreak.report.criterion import read_criteria
from tiebreak.report.generators import Seeds
from tiebreak.report.sections.machines.composite import composite_section
from tiebreak.stats import Comparison, Estimate, composite_shares

BOARDS, REPLICATES, NEW_ITEMS = 300, 400, 8_000
PEOPLE, MACHINES, LABELS = 4, 5, (-1, 0, 1)
SCALE = "preference:tie"


class Board(NamedTuple):
    """How often people and each machine find the label of an item, by category."""

    people: np.ndarray
    machines: np.ndarray

    @classmethod
    def drawn(cls, rng: np.random.Generator) -> "Board":
        """Return a board whose machines are between equally good and very different."""
        categories, differ = int(rng.integers(2, 7)), rng.uniform(0, 0.3)
        skill = rng.uniform(0.45, 0.75) + rng.normal(0, differ, (categories, MACHINES))
        return cls(rng.uniform(0.6, 0.9, categories), np.clip(skill, 0.1, 0.95))

    def answers(self, category: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Return the answers of people and machines to items, by item and rater."""
        p = np.column_stack([np.tile(self.people, (PEOPLE, 1)).T, self.machines])[category]
        label = rng.integers(0, 3, (len(category), 1))
        other = (label + rng.integers(1, 3, p.shape)) % 3
        return np.where(rng.random(p.shape) < p, label, other)


def counted(answers: np.ndarray) -> np.ndarray:
    return (answers[..., None] == np.arange(3)).sum(axis=1)


def credits(humans: np.ndarray, machine: np.ndarray) -> np.ndarray:
    compared = Comparison.of(humans, machine)
    statistic = compared.pairs(level="ordinal").leave_one_out_statistic()
    return statistic.features(np.column_stack([humans, machine, np.zeros(len(humans))]))[:, 1]


def cross_validated(category: np.ndarray, answers: np.ndarray, seed: int) -> Estimate:
    rows = [
        {"unit": f"u{unit:03}", "instance": f"u{unit:03}", "category": f"c{category[unit]}"}
        | {"rater": f"r{rater}", "kind": "human" if rater < PEOPLE else "machine"}
        | {"label": LABELS[label]}
        for unit, of_unit in enumerate(answers)
        for rater, label in enumerate(of_unit)
    ]
    table = RatingTable.from_rows(rows)
    ((criterion,), _) = read_criteria(table, {"preference": SCALE}, None)
    return composite_section(criterion, Seeds(seed), REPLICATES).composite.all_units


def on_new_items(
    board: Board, category: np.ndarray, answers: np.ndarray, rng: np.random.Generator
) -> float:
    """Return the agreement on new items of the composite that is chosen from all of these."""
    humans, machines = counted(answers[:, :PEOPLE]), answers[:, PEOPLE:]
    known = [credits(humans, counted(one[:, None])) for one in machines.T]
    new = np.tile(category, NEW_ITEMS // len(category))
    given = board.answers(new, rng)
    is_used = composite_shares(np.column_stack(known), category, of=new) > 0
    combined = ((given[:, PEOPLE:, None] == np.arange(3)) * is_used[..., None]).sum(axis=1)
    return float(credits(counted(given[:, :PEOPLE]), combined).mean())


@pytest.mark.slow
def test_the_cross_validated_agreement_is_that_on_new_items_and_its_interval_holds_it():
    errors, held = [], []
    for number in range(BOARDS):
        rng = np.random.default_rng([number, 54])
        board = Board.drawn(rng)
        category = np.repeat(np.arange(len(board.people)), int(rng.integers(15, 50)))
        answers = board.answers(category, rng)
        estimate = cross_validated(category, answers, number)
        fresh = on_new_items(board, category, answers, rng)
        errors.append(estimate.value - fresh)
        held.append(estimate.low <= fresh <= estimate.high)
    assert abs(np.mean(errors)) < 0.01
    assert 0.91 <= np.mean(held) <= 0.98
