"""The files that this app adds to exports. `annotation` imports this module when Django starts."""

from annotation.exports import evidence
from annotation.exports.files import ExportFile, register_export_file
from annotation.pilot_doubts import pilot_machine_rows
from annotation.services.settling import COLUMNS, settlements
from tiebreak.formats.bundle import PILOT_RATINGS
from tiebreak.formats.evidence import LOG, SELECTION
from tiebreak.formats.export_columns import RATINGS

for file in (
    ExportFile(PILOT_RATINGS, tuple(RATINGS), pilot_machine_rows),
    ExportFile(LOG, evidence.LOG_COLUMNS, evidence.log_rows),
    ExportFile(SELECTION, evidence.SELECTION_COLUMNS, evidence.selection_rows),
    ExportFile("settled.jsonl", COLUMNS, settlements),
):
    register_export_file(file)
