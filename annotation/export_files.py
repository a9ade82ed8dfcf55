"""The files that this app adds to exports. `annotation` imports this module when Django starts."""

from annotation import exported_machines, exported_synthetic
from annotation.exported_files import ExportFile, register_export_file
from annotation.pilot_doubts import pilot_machine_rows
from tiebreak.formats.bundle import PILOT_RATINGS
from tiebreak.formats.export_columns import RATINGS

for file in (
    ExportFile(
        "machine_raters.jsonl", exported_machines.COLUMNS, exported_machines.machine_rater_rows
    ),
    ExportFile(PILOT_RATINGS, tuple(RATINGS), pilot_machine_rows),
    ExportFile(
        "synthetic_texts.jsonl", exported_synthetic.TEXT_COLUMNS, exported_synthetic.text_rows
    ),
    ExportFile(
        "synthetic_items.jsonl", exported_synthetic.ITEM_COLUMNS, exported_synthetic.item_rows
    ),
):
    register_export_file(file)
