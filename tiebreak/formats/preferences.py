"""Preferences for training: a prompt with a chosen and a rejected text, as TRL reads them."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from tiebreak.formats.rows import Row

Ties = Literal["drop", "half", "both"]
TIES: tuple[Ties, ...] = get_args(Ties)


@dataclass(frozen=True)
class Comparison:
    """Two texts for one prompt, with the votes of the annotators who compared them."""

    unit: str
    criterion: str
    instance: str
    category: str
    """What was compared, and by which criterion."""
    prompt: str | Sequence[dict[str, str]]
    """Source text, or a conversation as messages with ``role`` and ``content``."""
    system_a: str
    system_b: str
    """Systems that produced the texts."""
    text_a: str
    text_b: str
    """The texts."""
    votes_a: int = 0
    votes_b: int = 0
    votes_tie: int = 0
    votes_bad: int = 0
    """How many annotators preferred A, preferred B, had no preference, or found both bad."""
    separability_raw: float | None = None
    separability: float | None = None
    """How far the two systems' texts can be told apart, as frozen at planning: δ, and normalised."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Further texts of the instance, by the names of their columns."""

    @property
    def winner(self) -> int:
        """−1 if A won, 1 if B won, 0 for a tie."""
        if self.votes_a == self.votes_b or self.votes_tie > max(self.votes_a, self.votes_b):
            return 0
        return 1 if self.votes_b > self.votes_a else -1

    @property
    def is_bad(self) -> bool:
        """Whether "both are bad" got more votes than every other answer."""
        return self.votes_bad > max(self.votes_a, self.votes_b, self.votes_tie)


def preference_rows(comparisons: Iterable[Comparison], *, ties: Ties = "drop") -> Iterator[Row]:
    """Yield the rows of a preference dataset.

    Parameters
    ----------
    comparisons : iterable of Comparison
        Compared texts with their votes.
    ties : {"drop", "half", "both"}, default "drop"
        What becomes of a tie. "drop" leaves it out; "half" writes one row, in half of all ties with
        A as the chosen text, decided by a hash of the unit; "both" writes one row in each
        direction.

    Yields
    ------
    dict
        Row with the columns of `tiebreak.formats.export_columns.PREFERENCE`.

    Notes
    -----
    A comparison gives one row, however many annotators voted: one row per vote would contain the
    same two texts in both directions wherever annotators disagree, and would weight comparisons by
    their number of annotators. Votes and separability are in their own columns so that rows can be
    filtered or weighted by them. Comparisons in which most annotators found both texts bad are left out.

    Examples
    --------
    >>> texts = {"prompt": "2 + 2?", "text_a": "5", "text_b": "4"}
    >>> names = {"unit": "u", "criterion": "c", "instance": "i", "category": ""}
    >>> pair = Comparison(**names, **texts, system_a="x", system_b="y", votes_a=1, votes_b=2)
    >>> [row["chosen"] for row in preference_rows([pair])]
    ['4']
    """
    for comparison in comparisons:
        for winner in _directions(comparison, ties):
            yield _row(comparison, winner)


def _directions(comparison: Comparison, ties: Ties) -> tuple[int, ...]:
    """Return the winner of each row that a comparison gives."""
    if comparison.is_bad or (comparison.winner == 0 and ties == "drop"):
        return ()
    if comparison.winner:
        return (comparison.winner,)
    if ties == "both":
        return (-1, 1)
    name = f"{comparison.criterion}/{comparison.unit}".encode()
    return (-1,) if hashlib.sha256(name).digest()[0] % 2 else (1,)


def _row(comparison: Comparison, winner: int) -> Row:
    a = (comparison.text_a, comparison.system_a, comparison.votes_a)
    b = (comparison.text_b, comparison.system_b, comparison.votes_b)
    chosen, rejected = (a, b) if winner < 0 else (b, a)
    return {
        "prompt": comparison.prompt,
        "chosen": _answer(comparison, chosen[0]),
        "rejected": _answer(comparison, rejected[0]),
        "criterion": comparison.criterion,
        "unit": comparison.unit,
        "instance": comparison.instance,
        "category": comparison.category,
        "chosen_system": chosen[1],
        "rejected_system": rejected[1],
        "votes_chosen": chosen[2],
        "votes_rejected": rejected[2],
        "votes_tie": comparison.votes_tie,
        "is_tie": comparison.winner == 0,
        "separability_raw": comparison.separability_raw,
        "separability": comparison.separability,
        **comparison.fields,
    }


def _answer(comparison: Comparison, text: str) -> Any:
    """Return a text as the prompt is: plain, or as the reply in a conversation."""
    if isinstance(comparison.prompt, str):
        return text
    return [{"role": "assistant", "content": text}]
