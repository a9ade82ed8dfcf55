"""Prolific's demographic export, which is about people and has no ratings, so it is refused in words."""

from collections.abc import Sequence
from pathlib import Path

from tiebreak.digits import counted
from tiebreak.formats import FormatError
from tiebreak.formats.readers.converted import Converted
from tiebreak.formats.readers.pairs import required, table_rows
from tiebreak.formats.readers.recognition import Reader

COLUMNS = ("Submission id", "Participant id", "Status", "Started at", "Completed at")
# As exports before 2023 have them.
EARLIER = ("session_id", "participant_id", "status", "started_datetime", "time_taken")


def read_prolific(paths: Sequence[Path], systems: tuple[str, str] | None = None) -> Converted:
    """Refuse the export, and say what it is and what it is for."""
    rows = [
        required(row, path, line, COLUMNS[1], EARLIER[1]) for path, line, row in table_rows(paths)
    ]
    reason = (
        f"is Prolific's demographic export of {counted(len(rows), 'submission')}: it says who took"
        " part, and has no ratings. Give the file with the answers of these participants instead"
    )
    raise FormatError.of(", ".join(path.name for path in paths), None, "no_ratings", reason)


READER: Reader = Reader(read_prolific, lambda head: head.has(*COLUMNS) or head.has(*EARLIER))
