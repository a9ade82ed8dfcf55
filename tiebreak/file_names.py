"""Names of files from texts that people typed."""

# Disks allow 255 bytes; temporary files put some characters around a name.
MAX_BYTES = 150


def file_name(text: str, otherwise: str = "file", most: int = MAX_BYTES) -> str:
    """Return the end of a text, with its suffix, that any disk takes as a name.

    Disks count bytes, and a character has up to four; none is cut in the middle.

    Examples
    --------
    >>> file_name("…notes.csv", most=10), file_name(".", "table")
    ('notes.csv', 'table')
    """
    printable = "".join(character for character in text if character.isprintable())
    kept = printable.encode(errors="replace")[-most:].decode(errors="ignore")
    return kept.lstrip(".") or otherwise
