"""The files that this app adds to exports. `annotation` imports this module when Django starts."""

from annotation.exports.files import ExportFile, register_export_file
from machine_raters import exported_raters, exported_synthetic

for file in (
    ExportFile("machine_raters.jsonl", exported_raters.COLUMNS, exported_raters.machine_rater_rows),
    ExportFile(
        "synthetic_texts.jsonl", exported_synthetic.TEXT_COLUMNS, exported_synthetic.text_rows
    ),
    ExportFile(
        "synthetic_items.jsonl", exported_synthetic.ITEM_COLUMNS, exported_synthetic.item_rows
    ),
):
    register_export_file(file)
