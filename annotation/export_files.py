"""The file that this app adds to exports. `annotation` imports this module when Django starts."""

from annotation.exports.files import ExportFile, register_export_file
from annotation.pilot_doubts import pilot_machine_rows
from tiebreak.formats.bundle import PILOT_RATINGS
from tiebreak.formats.export_columns import RATINGS

register_export_file(ExportFile(PILOT_RATINGS, tuple(RATINGS), pilot_machine_rows))
