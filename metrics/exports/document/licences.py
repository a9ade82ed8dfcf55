"""The licences of machine raters as a section of a document, including those that have ended."""

from metrics.licensing.messages import SPEAKS_OF
from metrics.licensing.services import licences_of
from metrics.models import Licence
from studies.models import Study
from tiebreak.digits import in_digits
from tiebreak.reading.document.content import DataTable, DocumentSection, Paragraph

TITLE = "Licences of machine raters"
NOT_RECORDED = "not recorded"
COLUMNS = (
    *("machine rater", "criterion and items", "granted", "valid until", "state"),
    *("ω", "a coin's ω", "ε", "annotators", "labels", "labels by bots"),
)


def licence_sections(study: Study) -> list[DocumentSection]:
    """Return the section, or nothing if no licence was ever granted."""
    rows = tuple(map(_row, licences_of(study).order_by("pk")))
    if not rows:
        return []
    return [DocumentSection(TITLE, (Paragraph(SPEAKS_OF), DataTable(TITLE, COLUMNS, rows)))]


def _row(licence: Licence) -> tuple[str, ...]:
    evidence = licence.evidence
    ended = f" on {licence.ended_at:%Y-%m-%d}" if licence.ended_at else ""
    return (
        licence.rater.pseudonym,
        f"{licence.criterion.name}, {licence.items}",
        f"{licence.granted_at:%Y-%m-%d}",
        licence.valid_until.isoformat(),
        f"{licence.state}{ended}",
        in_digits(evidence["winning_rate"]),
        in_digits(evidence["coin_winning_rate"])
        if "coin_winning_rate" in evidence
        else NOT_RECORDED,
        in_digits(evidence["epsilon"]),
        str(evidence["annotators"]),
        str(evidence["labels"]),
        str(evidence.get("simulated", NOT_RECORDED)),
    )
