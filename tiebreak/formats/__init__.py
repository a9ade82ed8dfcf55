"""Study bundles and ratings files: strict reading and atomic writing."""

from tiebreak.field_docs import list_fields
from tiebreak.formats.bundle import (
    Bundle,
    CriterionSpec,
    GenerationRow,
    InstanceRow,
    StudySpec,
    read_bundle,
    write_bundle,
)
from tiebreak.formats.errors import FormatError, Problem
from tiebreak.formats.ratings import RatingTable, is_ratings_file, read_ratings
from tiebreak.formats.writing import atomic_folder, atomic_path, write_rows

__all__ = [
    "Bundle",
    "CriterionSpec",
    "FormatError",
    "GenerationRow",
    "InstanceRow",
    "Problem",
    "RatingTable",
    "StudySpec",
    "atomic_folder",
    "atomic_path",
    "is_ratings_file",
    "read_bundle",
    "read_ratings",
    "write_bundle",
    "write_rows",
]

list_fields(globals())
