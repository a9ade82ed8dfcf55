"""Reads the source of a report: a ratings file, or a bundle with ratings."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiebreak.formats import (
    FormatError,
    RatingTable,
    is_ratings_file,
    read_bundle,
    read_ratings,
)
from tiebreak.formats.bundle import find_ratings, open_bundle


@dataclass(frozen=True)
class Source:
    """Ratings with the scales that were declared for them and where they came from."""

    table: RatingTable
    scales: dict[str, str] = field(default_factory=dict)
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def order(self) -> tuple[str, ...]:
        """The criteria in the order of the study or bundle that declares them."""
        return tuple(self.scales)


def read_source(path: Path) -> Source:
    r"""Read the ratings of a report.

    Parameters
    ----------
    path : Path
        Ratings file, folder of a bundle, or .zip of a bundle.

    Returns
    -------
    Source
        The ratings, the scales that are declared for them, and where they came from.

    Raises
    ------
    FormatError
        If there is no such file, it holds no ratings, or anything in it is wrong.

    See Also
    --------
    build_report : The report of the ratings.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ratings.csv"
    ...     _ = path.write_text("unit,rater,label\nu,r,1\n")
    ...     read_source(path).about["kind"]
    'file'
    """
    if is_ratings_file(path):
        return Source(read_ratings(path), about={"kind": "file", "sha256": _sha256(path)})
    if not path.exists():
        reason = "is not a file, bundle or study"
        raise FormatError.of(str(path), None, "no_such_source", reason)
    with open_bundle(path) as folder:
        bundle, ratings = read_bundle(folder), find_ratings(folder)
        if bundle.ratings is None or ratings is None:
            reason = "the bundle contains no ratings"
            raise FormatError.of(path.name, None, "no_ratings", reason)
        scales = {criterion.name: criterion.scale for criterion in bundle.spec.criteria}
        return Source(bundle.ratings, scales, {"kind": "bundle", "sha256": _sha256(ratings)})


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
