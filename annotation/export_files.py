"""What this app adds to exports beside the study itself."""

from annotation.exports.files import ExportFile, register_export_file
from annotation.services.settling import COLUMNS, settlements

register_export_file(ExportFile("settled.jsonl", COLUMNS, settlements))
