"""How judges did on synthetic items, as a separate section of a document, apart from all results."""

from typing import Any

from machine_raters.synthetic.accuracy import ABOUT, CAUTION
from machine_raters.synthetic.summaries import summaries
from studies.models import Study
from tiebreak.digits import counted
from tiebreak.reading.document.content import Block, DocumentSection, Paragraph
from tiebreak.reading.document.estimates import estimate_table

TITLE = "Judges on synthetic items"


def synthetic_sections(study: Study) -> list[DocumentSection]:
    """Return the section, or nothing if no judge was tested on synthetic items."""
    tested = [one for one in summaries(study) if one.judges]
    if not tested:
        return []
    blocks = [block for one in tested for block in _blocks(one)]
    return [DocumentSection(TITLE, (Paragraph(f"{ABOUT} {CAUTION}"), *blocks))]


def _blocks(made: Any) -> list[Block]:
    dropped = "; ".join(f"{row.number} {row.kind}: {row.reason}" for row in made.dropped)
    text = (
        f"Synthetic set {made.name}: {counted(made.questions, 'question')} were made from passages of"
        f" the study by {made.language_model or 'a language model'}, of which {made.kept} brought back"
        f" their own passage; {counted(made.n_items, 'synthetic item')}."
        f" Dropped texts: {dropped or 'none'}."
    )
    tables = [
        estimate_table(
            f"Share of right answers on {made.name} (synthetic): {tested.judge.name}, {tested.criterion}",
            {"all items": tested.overall, **dict(tested.by_kind)}
            | (
                {"the answer shown first is preferred": tested.first_shown}
                if tested.first_shown
                else {}
            ),
        )
        for tested in made.judges
    ]
    return [Paragraph(text), *tables]
