"""How large an incoming file may be, so that reading it needs bounded memory."""

from dataclasses import dataclass

MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds that hold while a file is read, before anything of it is kept.

    `cell_characters` bounds a text, `line_bytes` a physical line, `depth` the nesting of JSON,
    `archive_*` what a .zip may unfold to. `problems` is how many an error lists.
    """

    cell_characters: int = 1_000_000
    line_bytes: int = 16 * MEGABYTE
    columns: int = 500
    depth: int = 20
    problems: int = 20
    archive_bytes: int = 2048 * MEGABYTE
    archive_ratio: int = 200


DEFAULT_LIMITS = Limits()
ID_CHARACTERS = 200
