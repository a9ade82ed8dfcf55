"""The rows of instances.jsonl and generations.jsonl: what a line may hold, and its reasons."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from studies.formats.columns import check_id, check_text
from studies.formats.limits import Limits

_LARGEST_SAMPLE = 32_767
_LARGEST_SEED = 2**63


@dataclass(frozen=True, slots=True)
class InstanceRow:
    """One input. `line` is 0 where it was not read from a file."""

    id: str
    source: str = ""
    messages: tuple[Mapping[str, str], ...] = ()
    category: str = ""
    reference: str = ""
    metadata: Mapping[str, object] = field(default_factory=dict)
    line: int = 0


@dataclass(frozen=True, slots=True)
class GenerationRow:
    """One output of one system for one instance: sample `sample_index` of K."""

    instance: str
    system: str
    sample_index: int
    text: str
    seed: int | None = None
    params: Mapping[str, object] = field(default_factory=dict)
    line: int = 0


def parse_instance(row: Mapping[str, object], line: int, limits: Limits) -> InstanceRow:
    """Raise ValueError, a sentence with the key that is wrong."""
    cells = _Cells(row, limits)
    cells.refuse_unknown("id", "source", "messages", "category", "reference", "metadata")
    return InstanceRow(
        id=cells.id("id"),
        source=cells.text("source"),
        messages=cells.messages(),
        category=cells.id("category", optional=True),
        reference=cells.text("reference"),
        metadata=cells.nested("metadata"),
        line=line,
    )


def parse_generation(row: Mapping[str, object], line: int, limits: Limits) -> GenerationRow:
    """Raise ValueError, a sentence with the key that is wrong."""
    cells = _Cells(row, limits)
    cells.refuse_unknown("instance", "system", "sample_index", "text", "seed", "params")
    text = cells.text("text")
    if not text.strip():
        raise ValueError("text: it is empty; leave a generation without text out.")
    return GenerationRow(
        instance=cells.id("instance"),
        system=cells.id("system"),
        sample_index=cells.whole("sample_index", 0, _LARGEST_SAMPLE),
        text=text,
        seed=cells.whole("seed", -_LARGEST_SEED, _LARGEST_SEED - 1)
        if row.get("seed") is not None
        else None,
        params=cells.nested("params"),
        line=line,
    )


class _Cells:
    """The cells of one row by key, each checked for its type and size."""

    def __init__(self, row: Mapping[str, object], limits: Limits) -> None:
        self.row = row
        self.limits = limits

    def refuse_unknown(self, *known: str) -> None:
        for key in self.row:
            if key not in known:
                raise ValueError(
                    f"the key {key[:50]!r} is not known; known are {', '.join(known)}."
                )

    def text(self, key: str) -> str:
        value = self.row.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            raise ValueError(f"{key}: a text is needed, not {_short(value)}.")
        self._checked(key, lambda: check_text(value, self.limits.cell_characters))
        return value

    def id(self, key: str, *, optional: bool = False) -> str:
        value = self.text(key)
        if not value and optional:
            return ""
        if key not in self.row:
            raise ValueError(f"{key}: it is missing.")
        self._checked(key, lambda: check_id(value))
        return value

    def _checked(self, key: str, check: Callable[[], None]) -> None:
        try:
            check()
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from None

    def whole(self, key: str, low: int, high: int) -> int:
        value = self.row.get(key)
        if type(value) is not int or not low <= value <= high:
            raise ValueError(f"{key}: a whole number from {low} is needed, not {_short(value)}.")
        return value

    def nested(self, key: str) -> Mapping[str, object]:
        value = self.row.get(key)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise ValueError(f'{key}: an object {{"…": …}} is needed, not {_short(value)}.')
        self._check_nested(key, value, self.limits.depth)
        return value

    def _check_nested(self, key: str, value: object, depth: int) -> None:
        if depth == 0:
            raise ValueError(f"{key}: it is nested more than {self.limits.depth} levels deep.")
        if isinstance(value, str):
            self._checked(key, lambda: check_text(value, self.limits.cell_characters))
        members = [*value.keys(), *value.values()] if isinstance(value, dict) else value
        for member in members if isinstance(members, list) else ():
            self._check_nested(key, member, depth - 1)

    def messages(self) -> tuple[Mapping[str, str], ...]:
        value = self.row.get("messages")
        if value is None:
            return ()
        turns = value if isinstance(value, list) else [None]
        return tuple(self._message(turn) for turn in turns)

    def _message(self, turn: object) -> Mapping[str, str]:
        if not isinstance(turn, dict) or set(turn) != {"role", "content"}:
            raise ValueError(
                'messages: a list of {"role": "user", "content": "…"} is needed, nothing else.'
            )
        cells = _Cells(turn, self.limits)
        return {"role": cells.id("role"), "content": cells.text("content")}


def _short(value: object) -> str:
    text = "nothing" if value is None else repr(value)
    return text if len(text) <= 50 else f"{text[:50]}…"
