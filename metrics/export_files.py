"""The files that this app adds to exports. `annotation` imports this module when Django starts."""

from annotation.exports.files import ExportFile, register_export_file
from metrics.licensing.exported import COLUMNS, licence_rows

register_export_file(ExportFile("licences.jsonl", COLUMNS, licence_rows))
