"""What a case is: a situation, what must be stated in it, and what must not.

What must not be stated in a case is stated in another one, so that no case is satisfied by a text
that the code cannot make. Texts have the systems' names, the direction and the scope.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tiebreak.reading.figures.figure import Figure


@dataclass(frozen=True)
class Case:
    """What is stated in a situation, and what is stated elsewhere but must not be here."""

    situation: str
    text: Callable[[], str]
    states: tuple[str, ...]
    never: tuple[str, ...] = ()


def of(*finding: str) -> str:
    return " | ".join(finding)


def figure_text(figure: Figure) -> str:
    return of(figure.finding, figure.sentence)


# Who the figures apply to, and headings that several modules need.
SIMILAR_RATERS = "This holds for new instances and annotators like these."
THESE_RATERS = "This holds for new instances, not for other annotators."
SELECTED, DATASET = ", on the selected instances", ", over the dataset"
A_WINS, B_WINS = "a wins more often than it loses", "b wins more often than it loses"
HERE = "With these annotators, "
