"""The scores of the two texts of an item."""

from dataclasses import dataclass

from studies.models import Unit

# Scores are equal if they are the same to so many decimals. An encoder's arithmetic depends on which
# texts it reads together.
DECIMALS = 6


@dataclass(frozen=True)
class Scored:
    """The scores of a unit's texts, in system order; None if the unit has no usable reference.

    `order` is empty if the rule does not look at the order of the texts.
    """

    unit: Unit
    order: str
    scores: tuple[float, float] | None

    @property
    def side(self) -> int | None:
        """−1 if system A's text has the higher score, 1 if system B's, 0 if they are equal."""
        if self.scores is None:
            return None
        difference = round(self.scores[1] - self.scores[0], DECIMALS)
        return (difference > 0) - (difference < 0)


def reference_of(unit: Unit) -> str:
    return unit.instance.reference if unit.instance is not None else ""
