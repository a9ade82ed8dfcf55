"""What an export has so that it can be verified without the server: digests, the log, the draw.

The server writes these files, and `tiebreak.verification` reads them, so both use the same digests.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tiebreak import __version__
from tiebreak.formats.errors import Problems
from tiebreak.formats.rows import Row, read_jsonl

MANIFEST, LOG, SELECTION, REPORT = "manifest.json", "log.jsonl", "selection.jsonl", "report.json"
MANIFEST_VERSION = 1
MACHINE_RATERS, SIMPLE_RATER = "machine_raters.jsonl", "simple rater"


def write_manifest(folder: Path, facts: Mapping[str, Any]) -> None:
    """Write the digests of all files in a folder, next to what else is known of the export."""
    about = {"manifest_version": MANIFEST_VERSION, "tiebreak_version": __version__, **facts}
    text = json.dumps({**about, "files": file_digests(folder)}, ensure_ascii=False, indent=1)
    (folder / MANIFEST).write_text(f"{text}\n", encoding="utf-8")


def file_digests(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file in a folder by its path, without the manifest's own."""
    digests = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name != MANIFEST:
            digests[name] = digest_of_file(path)
    return digests


def digest_of_file(path: Path) -> str:
    """Return the SHA-256 of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def simple_raters_in(folder: Path) -> tuple[str, ...]:
    """Return the machine raters that follow a simple rule, by what an export says of how they were made."""
    path = folder / MACHINE_RATERS
    if not path.is_file():
        return ()
    problems = Problems()
    rows = [row for _, row in read_jsonl(path, problems)]
    problems.check()
    return tuple(sorted({str(row["rater"]) for row in rows if row.get("kind") == SIMPLE_RATER}))


def chained(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield rows with a digest of each and of all before it: whoever knows the last one knows all."""
    last = ""
    for row in rows:
        last = _sha256([last, row])
        yield {**row, "sha256": last}


def design_digest(
    settings: Mapping[str, Any], defaults: Mapping[str, Any], **more: Sequence[Any]
) -> str:
    """Return the digest of a frozen design, which the log records when a study opens.

    Settings at their defaults are left out: a later version may have more of them.
    """
    chosen = {name: value for name, value in settings.items() if value != defaults[name]}
    return _sha256({**chosen, **more})


def texts_digest(units: Iterable[tuple[str, Any, Any, Any, Any]]) -> str:
    """Return a digest of units' texts: key, source, messages, text A, text B. Their order is free."""
    digests = sorted(_sha256([text or None for text in unit]) for unit in units)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _sha256(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()
