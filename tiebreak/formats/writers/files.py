"""Files of objects, as a JSON list or as lines, that are written a few rows at a time."""

import json
import re
from collections import defaultdict
from pathlib import Path

from tiebreak.formats.rows import Row

AT_ONCE = 1000
LONGEST_NAME = 100


class ObjectFiles:
    """Writes objects to files of a folder; what it keeps in memory does not grow with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows: dict[str, int] = {}
        self._pending: dict[str, list[str]] = defaultdict(list)
        self._waiting = 0
        self._names: dict[tuple[str, ...], str] = {}

    def add(self, name: str, row: Row) -> None:
        """Add an object to a file that ends in .json or .jsonl."""
        self._pending[name].append(json.dumps(row, ensure_ascii=False))
        self._waiting += 1
        if self._waiting >= AT_ONCE:
            self._write()

    def close(self) -> None:
        """Write what is left, and the ends of the lists."""
        self._write()
        for name in self.rows:
            if name.endswith(".json"):
                with (self.folder / name).open("a", encoding="utf-8") as file:
                    file.write("\n]\n")

    def name_for(self, *parts: str) -> str:
        """Return a name for a file or folder for these parts, and for no others."""
        if parts not in self._names:
            plain = re.sub(r"[^A-Za-z0-9.,()+ -]", "-", " ".join(filter(None, parts)))
            name = plain.strip(". ")[:LONGEST_NAME] or "rater"
            taken = {known.lower() for known in self._names.values()}
            candidates = [name, *(f"{name} {n}" for n in range(2, len(taken) + 3))]
            self._names[parts] = next(one for one in candidates if one.lower() not in taken)
        return self._names[parts]

    def _write(self) -> None:
        for name, lines in self._pending.items():
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a", encoding="utf-8") as file:
                file.write(self._text(name, lines))
            self.rows[name] = self.rows.get(name, 0) + len(lines)
        self._pending.clear()
        self._waiting = 0

    def _text(self, name: str, lines: list[str]) -> str:
        if name.endswith(".jsonl"):
            return "".join(f"{line}\n" for line in lines)
        start = ",\n" if name in self.rows else "[\n"
        return start + ",\n".join(lines)
