"""Writers of ratings in the formats of published benchmarks.

To add a writer, write a module with a subclass of `Writer`, and list the class in
`WRITERS`. What a format cannot carry is left out and counted; nothing is guessed.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from tiebreak.formats.writers.alpacaeval import AlpacaEvalWriter
from tiebreak.formats.writers.alttest import AltTestWriter
from tiebreak.formats.writers.files import ObjectFiles
from tiebreak.formats.writers.items import JudgedItem, Vote
from tiebreak.formats.writers.left_out import LeftOut
from tiebreak.formats.writers.llmbar import LLMBarWriter
from tiebreak.formats.writers.lmarena import LMArenaWriter
from tiebreak.formats.writers.mtbench import MTBenchWriter
from tiebreak.formats.writers.pandalm import PandaLMWriter
from tiebreak.formats.writers.writer import Writer

WRITERS: dict[str, type[Writer]] = {
    "alpacaeval": AlpacaEvalWriter,
    "alttest": AltTestWriter,
    "llmbar": LLMBarWriter,
    "lmarena": LMArenaWriter,
    "mtbench": MTBenchWriter,
    "pandalm": PandaLMWriter,
}

__all__ = ["WRITERS", "JudgedItem", "LeftOut", "Vote", "Writer", "WrittenFormat", "write_format"]


@dataclass(frozen=True)
class WrittenFormat:
    """What was written in a format: the rows of each file, and what was left out."""

    name: str
    """Name of the format."""
    files: dict[str, int]
    """How many rows, or labels, each file has."""
    left_out: list[dict[str, object]]
    """``code``, ``reason`` and the number of ``ratings`` for each reason."""


def write_format(name: str, items: Iterable[JudgedItem], folder: Path) -> WrittenFormat:
    """Write judged items in a published format, into a folder that is created.

    The name is from `WRITERS`. Items come with their votes, each once for every criterion. Returns
    the files, and what the format cannot carry.

    Examples
    --------
    >>> import tempfile
    >>> from tiebreak.scales import Scale
    >>> texts = {"source": "2 + 2?", "text_a": "5", "text_b": "4"}
    >>> names = {"unit": "u", "criterion": "c", "instance": "i", "category": ""}
    >>> systems = {"system_a": "x", "system_b": "y", "scale": Scale.parse("preference:tie")}
    >>> item = JudgedItem(**names, **texts, **systems, votes=[Vote("judge", True, 0)])
    >>> with tempfile.TemporaryDirectory() as path:
    ...     write_format("alpacaeval", [item], Path(path)).files
    {'annotations.json': 1}
    """
    folder.mkdir(parents=True, exist_ok=True)
    files, left_out = ObjectFiles(folder), LeftOut()
    writer = WRITERS[name](files, left_out)
    for item in items:
        votes = [vote for vote in item.votes if not vote.nonresponse]
        if without := len(item.votes) - len(votes):
            left_out.add("nonresponse", without)
        if votes or not without:
            writer.add(replace(item, votes=votes))
    files.close()
    writer.close()
    return WrittenFormat(name, dict(files.rows), left_out.rows())
