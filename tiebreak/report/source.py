"""Reading the source of a report, which is a ratings file or a bundle with ratings."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from tiebreak.errors import InvalidInput
from tiebreak.formats import (
    FormatError,
    RatingTable,
    read_bundle,
)
from tiebreak.formats.archive import is_bundle
from tiebreak.formats.bundle import INSTANCES, open_bundle
from tiebreak.formats.evidence import digest_of_file, simple_raters_in
from tiebreak.formats.layouts import Choice, Existing, read_existing
from tiebreak.formats.ratings import canonical_digest
from tiebreak.formats.rows import Row
from tiebreak.formats.spec import STUDY_FILE
from tiebreak.report.analysis_plan import elo_constants_of, plan_of
from tiebreak.report.families import parsed_families
from tiebreak.report.model.report import AnalysisPlan, Origin
from tiebreak.stats import EloConstants
from tiebreak.stats.rankings.elo import PAPER


@dataclass(frozen=True)
class Source:
    """Ratings, with their declared scales, their origin, and what the study says about them.

    ``is_closed`` says that collection has ended, ``main_machine`` names the machine rater
    that was chosen to lead, and ``simple_raters`` those that follow a simple rule. ``separability_ends`` are those of the study of which this
    is a part (`build_report`), and ``elo_constants`` and ``families`` those of its settings. ``read`` says in a sentence what was read, and ``notes`` how.
    """

    table: RatingTable
    scales: dict[str, str] = field(default_factory=dict)
    origin: Origin | None = None
    plan: AnalysisPlan | None = None
    is_closed: bool = True
    main_machine: str = ""
    simple_raters: tuple[str, ...] = ()
    read: str = ""
    notes: tuple[str, ...] = ()
    separability_ends: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    elo_constants: EloConstants = PAPER
    families: Mapping[str, str] = field(default_factory=dict)

    @property
    def order(self) -> tuple[str, ...]:
        """Criteria in the order in which the study or bundle declares them."""
        return tuple(self.scales)

    def with_machines(self, names: Collection[str]) -> "Source":
        """Return the source with the ratings of only these machine raters, and of all annotators.

        Raises `InvalidInput` if one of them has no ratings.
        """
        raters, is_human = self.table.coded("rater"), self.table.coded("kind").equals("human")
        machines = sorted(raters[~is_human].in_order)
        if unknown := sorted({*names} - {*machines}):
            raise InvalidInput(
                "unknown_machine",
                f"There are no ratings of a machine rater {', '.join(unknown)}. Those of the source"
                f" are: {', '.join(machines)}.",
            )
        chosen = np.logical_or.reduce([raters.equals(name) for name in names])
        return replace(self, table=self.table.select(is_human | chosen))


def read_source(path: Path, choice: Choice | None = None) -> Source:
    r"""Read the ratings of a report.

    Parameters
    ----------
    path : Path
        Folder or .zip of a bundle, or a file of ratings in any usual layout.
    choice : Choice, optional
        How to read a file's columns; what is not chosen is guessed.

    Returns
    -------
    Source
        Ratings, with their declared scales and their origin.

    Raises
    ------
    FormatError
        If the path does not exist, has no ratings or has invalid content.
    DomainError
        If it is not clear who rated what.

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
    if not path.exists():
        reason = "does not exist; it must be a ratings file, a bundle (folder or .zip) or a study"
        raise FormatError.of(str(path), None, "no_such_source", reason)
    if not _is_bundle(path):
        existing = read_existing(path, choice=choice)
        return _of_existing(existing, digest_of_file(path))
    with open_bundle(path) as folder:
        bundle = read_bundle(folder)
        if bundle.ratings is None or bundle.ratings_path is None:
            reason = "the bundle contains no ratings"
            raise FormatError.of(path.name, None, "no_ratings", reason)
        scales = {criterion.name: criterion.scale for criterion in bundle.spec.criteria}
        origin, plan = (
            Origin("bundle", digest_of_file(bundle.ratings_path)),
            plan_of(bundle.spec.settings),
        )
        table, pilot = bundle.ratings, bundle.pilot_ratings
        table = table if pilot is None else table.joined(pilot)
        main_machine = str(bundle.spec.settings.get("main_machine", ""))
        return Source(
            *(table, scales, origin, plan),
            main_machine=main_machine,
            simple_raters=simple_raters_in(folder),
            elo_constants=elo_constants_of(bundle.spec.settings),
            families=parsed_families(str(bundle.spec.settings.get("families", ""))),
        )


def source_of_rows(rows: Iterable[Row], name: str, choice: Choice | None = None) -> Source:
    """Read rows in any usual layout, as `read_source` reads a file of them."""
    existing = read_existing(rows, choice=choice, name=name)
    return _of_existing(existing, canonical_digest(existing.table))


def _of_existing(existing: Existing, sha256: str) -> Source:
    origin, scales = Origin("file", sha256, notes=existing.notes or None), dict(existing.scales)
    return Source(existing.table, scales, origin, read=existing.sentence, notes=existing.notes)


def _is_bundle(path: Path) -> bool:
    if path.is_dir():
        return any((path / name).exists() for name in (STUDY_FILE, INSTANCES))
    return path.suffix == ".zip" and is_bundle(path)
