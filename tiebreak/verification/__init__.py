"""Verifying an exported study without its server: every number, draw and digest, again."""

from pathlib import Path

from tiebreak.formats import FormatError
from tiebreak.formats.bundle import open_bundle

# In the order in which they are made and listed.
from tiebreak.verification import files, plan, log  # noqa: F401  # isort: skip
from tiebreak.verification.export import Export, made
from tiebreak.verification.results import Checked, Deviation, Verification

__all__ = ["Checked", "Deviation", "Verification", "verify"]


def verify(path: Path | str) -> Verification:
    """Compare an exported study with its own plan, log, seeds and digests.

    Parameters
    ----------
    path : Path or str
        Export of a study: a folder, or its .zip.

    Returns
    -------
    Verification
        What was checked, and every deviation with its file, line, and what it should say. Checks
        whose evidence is missing, as in old exports, say why they were not made.

    Raises
    ------
    FormatError
        If the path does not exist or is no export.

    See Also
    --------
    tiebreak.formats.comparison.compare_ratings : Compare two exports.
    """
    path = Path(path)
    if not path.exists():
        reason = "does not exist; it must be an exported study (folder or .zip)"
        raise FormatError.of(str(path), None, "no_such_export", reason)
    with open_bundle(path) as folder:
        if not (folder / "study.toml").is_file():
            reason = "has no study.toml, so it is no exported study"
            raise FormatError.of(path.name, None, "file_missing", reason)
        return Verification(tuple(made(Export(folder))))
