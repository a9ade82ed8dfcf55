"""What the writers of all formats share."""

from collections import defaultdict
from collections.abc import Iterable

from tiebreak.formats.writers.files import ObjectFiles
from tiebreak.formats.writers.items import JudgedItem, Vote
from tiebreak.formats.writers.left_out import LeftOut


class Writer:
    """Writes judged items one after another."""

    def __init__(self, files: ObjectFiles, left_out: LeftOut) -> None:
        self.files, self.left_out = files, left_out

    def add(self, item: JudgedItem) -> None:
        """Write an item, or count what of it is left out."""
        raise NotImplementedError

    def close(self) -> None:
        """Write what could not be written before all items are known, if there is anything."""


def by_pass(votes: Iterable[Vote]) -> dict[tuple[str, str], dict[str, Vote]]:
    """Return the votes on an item by rater and run, and within these by the order of the texts."""
    passes: dict[tuple[str, str], dict[str, Vote]] = defaultdict(dict)
    for vote in votes:
        order = vote.order or {True: "ab", False: "ba", None: ""}[vote.shows_a_first]
        passes[vote.rater, vote.run][order] = vote
    return passes
