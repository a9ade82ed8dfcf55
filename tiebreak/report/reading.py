"""Reading the source of a report, which is a ratings file or a bundle with ratings."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path

from tiebreak.formats import (
    FormatError,
    RatingTable,
    is_ratings_file,
    read_bundle,
    read_ratings,
)
from tiebreak.formats.bundle import open_bundle
from tiebreak.report.model import AnalysisPlan, Origin
from tiebreak.report.plan import plan_of


@dataclass(frozen=True)
class Source:
    """Ratings, with their declared scales and their origin."""

    table: RatingTable
    scales: dict[str, str] = field(default_factory=dict)
    origin: Origin | None = None
    plan: AnalysisPlan | None = None

    @property
    def order(self) -> tuple[str, ...]:
        """Criteria in the order in which the study or bundle declares them."""
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
        Ratings, with their declared scales and their origin.

    Raises
    ------
    FormatError
        If the path does not exist, has no ratings or has invalid content.

    See Also
    --------
    build_report : Build the report of the ratings.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "ratings.csv"
    ...     _ = path.write_text("unit,rater,label\nu,r,1\n")
    ...     read_source(path).origin.kind
    'file'
    """
    if is_ratings_file(path):
        return Source(read_ratings(path), origin=Origin("file", _sha256(path)))
    if not path.exists():
        reason = "does not exist; it must be a ratings file, a bundle (folder or .zip) or a study"
        raise FormatError.of(str(path), None, "no_such_source", reason)
    with open_bundle(path) as folder:
        bundle = read_bundle(folder)
        if bundle.ratings is None or bundle.ratings_path is None:
            reason = "the bundle contains no ratings"
            raise FormatError.of(path.name, None, "no_ratings", reason)
        scales = {criterion.name: criterion.scale for criterion in bundle.spec.criteria}
        origin, plan = Origin("bundle", _sha256(bundle.ratings_path)), plan_of(bundle.spec.settings)
        table, pilot = bundle.ratings, bundle.pilot_ratings
        return Source(table if pilot is None else table.joined(pilot), scales, origin, plan)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
