"""Limits on the size of untrusted files."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits of one file: characters per cell, rows, and bytes after unpacking.

    `advice` is a sentence that is appended to the message if a limit is exceeded.
    """

    cell: int = 1_000_000
    rows: int = 2_000_000
    unpacked: int = 2 * 1024**3
    advice: str = ""

    @property
    def line(self) -> int:
        """Bytes per line. A character has at most four bytes in UTF-8."""
        return self.cell * 4

    def refusal(self, what: str) -> str:
        return f"{what}. {self.advice}".strip()


LIMITS = Limits()
