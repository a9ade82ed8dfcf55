"""Machines' verdicts alone, from one file of a benchmark's format, to be added to a study."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tiebreak.formats.errors import FormatError
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.pandalm import read_pandalm_verdicts
from tiebreak.formats.rows import Row

# Formats whose files may lack the name of the machine.
NAMELESS = ("llmbar", "lmarena", "pandalm")
RESULT = "result"  # how all of LLMBar's files are called


@dataclass(frozen=True)
class Verdict:
    """A verdict as its file has it.

    `rating` has columns of ratings, in the file's order of the systems, and `line`. Texts are "" if
    the file does not have them.
    """

    rating: Row
    source: str = ""
    text_a: str = ""
    text_b: str = ""

    @property
    def line(self) -> int:
        """Where the verdict is in its file."""
        return int(self.rating.get("line", 1))


def verdicts_of(converted: Converted) -> Iterator[Verdict]:
    """Yield what a reader read, with the texts."""
    sources = {instance.id: _source(instance) for instance in converted.instances}
    texts = {(g.instance, g.system, g.sample_index): g.text for g in converted.generations}
    for row in converted.ratings:
        instance = row.get("instance", "")
        a, b = (
            texts.get((instance, row.get(f"system_{side}", ""), row.get(f"sample_{side}", 0)), "")
            for side in "ab"
        )
        yield Verdict(row, sources.get(instance, ""), a, b)


def pandalm_verdicts(path: Path) -> Iterator[Verdict]:
    """Yield the verdicts of one machine's file, which has no texts."""
    yield from map(Verdict, read_pandalm_verdicts(path))


def named(verdicts: Iterator[Verdict], name: str, rater: str, file: str) -> Iterator[Verdict]:
    """Yield the verdicts of this machine, for a format whose files do not name machines."""
    if rater and name not in NAMELESS:
        reason = "names its raters itself, so leave the machine's name empty"
        raise FormatError.of(file, None, "names_raters", reason)
    for verdict in verdicts:
        row = verdict.rating
        is_gold = name == "llmbar" and row["kind"] == "human"
        if is_gold:  # the correct answer, which nobody gave as a rating
            continue
        if name == "llmbar" and not rater and row["rater"] == RESULT:
            reason = "does not name its evaluator; give the machine's name along with the file"
            raise FormatError.of(file, None, "rater_needed", reason)
        # A file that calls its voters people is not overruled.
        if rater and "states_kind" not in row:
            row = row | {"rater": rater, "kind": "machine"}
            # The passes of a machine are told apart by the order.
            order = {"left": "ab", "right": "ba"}.get(row.get("side_a", ""))
            if order and not row.get("order"):
                row["order"] = order
        yield Verdict(row, verdict.source, verdict.text_a, verdict.text_b)


def _source(instance: object) -> str:
    source = str(getattr(instance, "source", ""))
    messages = getattr(instance, "messages", None) or []
    return source or "\n\n".join(str(message["content"]) for message in messages)
