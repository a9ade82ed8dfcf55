"""What a writer of another format gets: an item with its texts, and what raters answered."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tiebreak.formats.rows import Row
from tiebreak.scales import Label, Scale


@dataclass(frozen=True)
class Vote:
    """A rater's answer about an item, by one criterion."""

    rater: str
    """The rater's name."""
    is_machine: bool
    """Whether the rater is a machine."""
    label: Label | None
    """The label, in system order; None for a nonresponse or an answer that could not be parsed."""
    raw: str = ""
    """A machine's answer that could not be parsed."""
    run: str = ""
    order: str = ""
    """Which pass of a machine it was."""
    side_a: str = ""
    """Where system A's text was: "left" (first), "right" (second), or "" if that is unknown."""
    probability_b: float | None = None
    """A machine's probability that system B's text is better."""
    nonresponse: str = ""
    """Why the answer has no label, as in a ratings file; "" if it is none of these."""

    @property
    def shows_a_first(self) -> bool | None:
        """Whether system A's text came first; None if that is unknown."""
        if self.side_a:
            return self.side_a == "left"
        return {"ab": True, "ba": False}.get(self.order)


@dataclass(frozen=True)
class JudgedItem:
    """An item and its votes by one criterion."""

    unit: str
    criterion: str
    instance: str
    category: str
    source: str
    """What was rated, and on which criterion."""
    scale: Scale
    """The criterion's scale."""
    system_a: str
    system_b: str
    """The systems; `system_b` is "" for a single text."""
    text_a: str
    text_b: str
    """The texts."""
    votes: Sequence[Vote]
    """The answers."""

    @classmethod
    def of_rows(cls, rows: Sequence[Row], scale: Scale) -> "JudgedItem":
        """Return the item that some ratings, in the columns of an export with texts, are about."""
        names = ("unit", "criterion", "instance", "category", "source")
        sides = ("system_a", "system_b", "text_a", "text_b")
        facts = {name: str(rows[0].get(name) or "") for name in (*names, *sides)}
        return cls(**facts, scale=scale, votes=[_vote(row) for row in rows])


def _vote(row: Row) -> Vote:
    texts = {
        name: str(row.get(name) or "") for name in ("raw", "run", "order", "side_a", "nonresponse")
    }
    shares = json.loads(row.get("probabilities") or "{}")
    is_binary = set(shares) == {"-1", "1"}
    return Vote(
        rater=str(row["rater"]),
        is_machine=row.get("kind") == "machine",
        label=row["label"],
        probability_b=float(shares["1"]) if is_binary else None,
        **texts,
    )
