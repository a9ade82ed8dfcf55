"""Adds machines' verdicts in a benchmark's format to a study, each to the item that it is about."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from machine_raters.uploads.ratings import AddedRatings, store_machine_ratings
from studies.models import Study, Unit
from tiebreak.errors import DomainError, InvalidInput
from tiebreak.formats import FormatError, RatingTable
from tiebreak.formats.errors import Problems
from tiebreak.formats.limits import LIMITS, Limits
from tiebreak.formats.rating_cells import read_probabilities, written_probabilities
from tiebreak.formats.readers import VERDICT_FORMATS, Verdict, read_verdicts
from tiebreak.formats.rows import Row

BATCH = 2000
# What a verdict's row takes from its file; the rest comes from the item.
TAKEN = ("rater", "kind", "run", "order", "raw")
SWAPPED_ORDER = {"ab": "ba", "ba": "ab"}


def add_verdicts(
    *,
    study: Study,
    path: Path,
    format: str,
    criterion: str = "",
    rater: str = "",
    limits: Limits = LIMITS,
) -> AddedRatings:
    """Read a file of verdicts and store all of them as machine ratings, or nothing.

    A verdict belongs to the item that its file names, or else to the only one with its texts or,
    where the file has no texts, its instance and systems. `criterion` is not needed if the study has
    one that fits; `rater` names the machine where the format does not. Raises a `FormatError` that
    lists every bad row, and `DomainError` for a draft, an unknown format or criterion. Locks the
    study.
    """
    if format not in VERDICT_FORMATS:
        names = ", ".join(VERDICT_FORMATS)
        raise DomainError("unknown_format", f"Please choose the format from {names}.", status=400)
    verdicts = read_verdicts(format, path, rater)
    if len(verdicts) > limits.rows:
        reason = f"has more than {limits.rows:,} verdicts, which is the limit for one file"
        raise FormatError.of(path.name, None, "too_many_rows", limits.refusal(reason))
    problems = Problems()
    chosen = _criterion(
        study, criterion, {str(v.rating.get("criterion", "")) for v in verdicts}, format
    )
    placed = list(_placed(study, verdicts, chosen, path.name, problems))
    lines, rows = [line for line, _ in placed], [row for _, row in placed]
    table = RatingTable.from_rows(rows, name=path.name, lines=lines, problems=problems)
    return store_machine_ratings(study, table, problems)


def _criterion(study: Study, asked: str, in_file: set[str], name: str) -> str:
    scales = {c.name: c.parsed_scale for c in study.criteria.all()}
    if asked and asked not in scales:
        raise DomainError(
            "unknown_criterion",
            f"This study has no criterion {asked[:200]!r}. Please choose from {', '.join(scales)}.",
            status=400,
        )
    preferences = [one for one, scale in scales.items() if scale.kind == "preference"]
    is_of_pairs = name != "alttest" and "score" not in in_file
    fitting = preferences if is_of_pairs else list(scales)
    same = in_file & set(scales)
    candidates = [asked] if asked else (fitting if len(fitting) == 1 else sorted(same))
    if len(candidates) != 1:
        raise DomainError(
            "criterion_needed",
            "The file does not say which of this study's criteria its verdicts are about. Please name"
            f" one of {', '.join(scales)}.",
            status=400,
        )
    return candidates[0]


def _placed(
    study: Study, verdicts: Sequence[Verdict], criterion: str, file: str, problems: Problems
) -> Iterator[tuple[int, Row]]:
    """Yield the rating that each verdict means, and add those that have no item to problems."""
    items = _Items(study)
    for verdict in verdicts:
        with problems.at(file, verdict.line):
            if verdict.rating["kind"] != "machine":
                raise InvalidInput(
                    "human_rating",
                    "is the vote of a person, but only verdicts of machines can be added; people"
                    " rate on the study's pages",
                )
            item = items.of(verdict)
            yield verdict.line, _rating(verdict, item, criterion)


@dataclass(frozen=True)
class _Item:
    """The part of an item that is needed to recognise it."""

    unit: str
    instance: str
    systems: tuple[str, str]
    texts: tuple[int, int]

    def is_turned(self, verdict: Verdict) -> bool:
        """Whether the file has the two texts the other way round."""
        there = (hash(verdict.text_a), hash(verdict.text_b))
        if verdict.text_a and there[0] != there[1] and set(there) == set(self.texts):
            return there != self.texts
        return _systems(verdict) == self.systems[::-1] != self.systems


class _Items:
    """A study's items, by their ids, by their texts, and by instance and systems."""

    def __init__(self, study: Study) -> None:
        self.by_unit: dict[str, _Item] = {}
        self.by_texts: dict[Any, list[_Item]] = defaultdict(list)
        self.by_systems: dict[Any, list[_Item]] = defaultdict(list)
        self.names: set[str] = set()
        for unit in _units(study):
            self._add(unit)

    def of(self, verdict: Verdict) -> _Item:
        """Return the item of a verdict; raise `InvalidInput` if there is none, or several."""
        known = self._named(verdict)
        if known is not None:
            return known
        candidates = self._candidates(verdict)
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            raise InvalidInput(
                "ambiguous_unit",
                f"fits {len(candidates)} items of this study; add a field unit with the item's id from"
                " the study's export",
            )
        raise InvalidInput(
            "unknown_unit",
            "fits no item of this study, by the field unit, the texts, or instance and systems",
        )

    def _add(self, unit: Unit) -> None:
        instance = unit.instance
        systems = unit.system_names
        source = instance.source if instance else ""
        if instance and not source:
            source = "\n\n".join(message["content"] for message in instance.messages)
        texts = (*(generation.text for generation in unit.generations), "", "")
        hashes = (hash(texts[0]), hash(texts[1]))
        item = _Item(unit.key, instance.key if instance else "", systems, hashes)
        self.by_unit[item.unit] = item
        self.by_texts[hash(source), frozenset(hashes)].append(item)
        self.by_systems[item.instance, frozenset(systems)].append(item)
        self.names |= set(systems)

    def _named(self, verdict: Verdict) -> _Item | None:
        """Return the item with the file's id, unless its texts or systems are others."""
        row = verdict.rating
        plain = str(row["unit"]).removeprefix(f"{row.get('criterion', '')}/")
        item = self.by_unit.get(str(row["unit"])) or self.by_unit.get(plain)
        if item is None:
            return None
        if verdict.text_a and {hash(verdict.text_a), hash(verdict.text_b)} != set(item.texts):
            return None
        return item if not self._knows(verdict) or self._has_systems(item, verdict) else None

    def _candidates(self, verdict: Verdict) -> list[_Item]:
        if verdict.text_a:
            texts = frozenset((hash(verdict.text_a), hash(verdict.text_b)))
            same = self.by_texts.get((hash(verdict.source), texts), [])
            if not self._knows(verdict):
                return same
            return [item for item in same if self._has_systems(item, verdict)]
        key = (str(verdict.rating.get("instance", "")), frozenset(_systems(verdict)))
        return self.by_systems.get(key, [])

    def _knows(self, verdict: Verdict) -> bool:
        """Whether the file names its systems as the study does."""
        return bool(set(filter(None, _systems(verdict))) & self.names)

    def _has_systems(self, item: _Item, verdict: Verdict) -> bool:
        return set(item.systems) == set(_systems(verdict))


def _units(study: Study) -> Iterator[Unit]:
    main = study.units.filter(role=Unit.Role.MAIN)
    yield from main.with_texts().order_by("pk").iterator(BATCH)


def _systems(verdict: Verdict) -> tuple[str, str]:
    return str(verdict.rating.get("system_a") or ""), str(verdict.rating.get("system_b") or "")


def _rating(verdict: Verdict, item: _Item, criterion: str) -> Row:
    """Return a verdict as a rating of an item, with its label in the study's order of systems."""
    row = verdict.rating
    rating: Row = {name: row[name] for name in TAKEN if row.get(name)}
    rating |= {"unit": item.unit, "criterion": criterion, "label": row["label"]}
    shares = row.get("probabilities")
    if not item.is_turned(verdict):
        return rating | ({"probabilities": shares} if shares else {})
    if isinstance(row["label"], int):
        rating["label"] = -row["label"]
    if row.get("order"):
        rating["order"] = SWAPPED_ORDER.get(row["order"], row["order"])
    if shares:
        turned = {"-1": "1", "1": "-1"}
        read = read_probabilities(shares)
        rating["probabilities"] = written_probabilities({turned.get(k, k): read[k] for k in read})
    return rating
