"""How much is read of a file that a stranger sent."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """What a file may hold at most. `advice` is the sentence that follows a refusal.

    `cell` is in characters, `rows` counts the rows of one file, `unpacked` is in bytes.
    """

    cell: int = 1_000_000
    rows: int = 2_000_000
    unpacked: int = 2 * 1024**3
    advice: str = ""

    @property
    def line(self) -> int:
        """Bytes of one line: a character has at most four."""
        return self.cell * 4

    def refusal(self, what: str) -> str:
        return f"{what}. {self.advice}".strip()


LIMITS = Limits()
