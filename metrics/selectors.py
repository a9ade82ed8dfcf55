"""What the analytics read: a study's ratings as the same table that its export gives."""

from annotation.exporting import rating_rows
from studies.models import Study
from tiebreak.formats import FormatError, RatingTable
from tiebreak.formats.ratings import canonical_digest
from tiebreak.report.reading import Source


def rating_table(study: Study) -> RatingTable:
    """The study's ratings, flagged ones too."""
    return RatingTable.from_rows(rating_rows(study), name=study.title)


def source_of(study: Study) -> Source:
    """The study as a source of a report."""
    table = rating_table(study)
    scales = {criterion.name: criterion.scale for criterion in study.criteria.all()}
    about = {"kind": "study", "sha256": canonical_digest(table)}
    return Source(table, scales, about)


def study_source(public_id: str) -> Source:
    """The same by public id, for the command line."""
    study = Study.objects.filter(pk=public_id).first()
    if study is None:
        reason = "there is no such file, bundle or study"
        raise FormatError.of(public_id, None, "no_such_source", reason)
    return source_of(study)
