"""Labels by rater and item, as the alternative annotator test reads them."""

import json
from collections import defaultdict

from tiebreak.formats.writers.files import ObjectFiles
from tiebreak.formats.writers.items import JudgedItem
from tiebreak.formats.writers.left_out import LeftOut
from tiebreak.formats.writers.writer import Writer
from tiebreak.scales import Label

ENDINGS = {False: "human", True: "llm"}


class AltTestWriter(Writer):
    """Writes two files for each criterion: the labels of people and those of machines.

    Labels of any scale are carried. They are in memory until the end, because a rater's labels stand
    together in the files.
    """

    def __init__(self, files: ObjectFiles, left_out: LeftOut) -> None:
        super().__init__(files, left_out)
        self._labels: dict[tuple[str, bool], dict[str, dict[str, Label]]] = {}

    def add(self, item: JudgedItem) -> None:
        """Keep the labels of an item."""
        for vote in item.votes:
            if vote.label is None:
                self.left_out.add("unreadable")
                continue
            of_rater = self._labels.setdefault(
                (item.criterion, vote.is_machine), defaultdict(dict)
            )[vote.rater]
            if item.unit in of_rater:
                self.left_out.add("further_pass")
            else:
                of_rater[item.unit] = vote.label

    def close(self) -> None:
        """Write the files."""
        for (criterion, is_machine), labels in self._labels.items():
            name = f"{self.files.name_for(criterion)}-{ENDINGS[is_machine]}.json"
            path = self.files.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("w", encoding="utf-8") as file:
                json.dump(labels, file, ensure_ascii=False, indent=1)
            self.files.rows[name] = sum(map(len, labels.values()))
