"""The further texts of instances that a study shows, such as a passage: the setting `fields`.

Their values are metadata of the instance; the setting says which are shown, to whom, and where.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from tiebreak.errors import InvalidInput
from tiebreak.formats.cells import check_field_name, check_name

MAX_FIELDS, MAX_LABEL = 20, 80
MARK = "|"
Reader = Literal["raters", "judges"]
READERS: dict[str, frozenset[str]] = {
    "raters and judges": frozenset({"raters", "judges"}),
    "raters": frozenset({"raters"}),
    "judges": frozenset({"judges"}),
}
PLACES = {"before": True, "after": False}
MAX_SHOWN = 4000


@dataclass(frozen=True)
class ShownField:
    """A further text of the instances: its key in their metadata, and how it is shown."""

    name: str
    label: str
    readers: frozenset[str]
    is_before: bool


@dataclass(frozen=True)
class FieldText:
    """What one instance has in a field."""

    name: str
    label: str
    text: str
    is_before: bool

    @property
    def is_long(self) -> bool:
        """Whether pages fold the text, so that those after it can be reached."""
        return len(self.text) > MAX_SHOWN


@lru_cache(maxsize=256)
def parsed_fields(setting: str) -> tuple[ShownField, ...]:
    """Return the fields of a setting, a line each: `NAME | LABEL | READERS | PLACE`.

    All but the name may be left out. Raises `InvalidInput`.
    """
    fields = tuple(_field(line) for line in setting.splitlines() if line.strip())
    if len(fields) > MAX_FIELDS:
        raise InvalidInput("too_many_fields", f"a study has at most {MAX_FIELDS} fields")
    if len({field.name for field in fields}) < len(fields):
        raise InvalidInput("repeated_name", "two fields have the same name")
    return fields


def known_fields(setting: str) -> tuple[ShownField, ...]:
    """Return the fields of a setting that may be mistyped: then there are none."""
    try:
        return parsed_fields(setting)
    except InvalidInput:
        return ()


def _field(line: str) -> ShownField:
    name, label, *options = (part.strip() for part in f"{line}{MARK}".split(MARK))
    options = [option for option in options if option]
    readers = [option for option in options if option in READERS]
    places = [option for option in options if option in PLACES]
    is_known = len(readers) + len(places) == len(options) and max(len(readers), len(places)) < 2
    if not is_known or len(label) > MAX_LABEL:
        known = ", ".join([*READERS, *PLACES])
        reason = f"each line must be NAME | LABEL | one of {known}; this is not: {line[:200]!r}"
        raise InvalidInput("bad_field", reason)
    return ShownField(
        check_field_name(name),
        check_name("the label of a field", label) or default_label(name),
        READERS[readers[0] if readers else "raters and judges"],
        PLACES[places[0] if places else "before"],
    )


def default_label(name: str) -> str:
    """Return the label of a field that has none: its name in words."""
    words = name.replace("_", " ").strip() or name
    return f"{words[0].upper()}{words[1:]}"[:MAX_LABEL]


def setting_of(names: Iterable[str]) -> str:
    """Return the setting that shows these fields to everybody, in this order."""
    return "\n".join(names)


def field_columns(setting: str) -> dict[str, str]:
    """Return the columns of exports that have the fields, with what they are, by their names."""
    meaning = "a further text of the instance that raters or judges read"
    return {f"field_{field.name}": meaning for field in parsed_fields(setting)}


def field_cells(setting: str, metadata: Mapping[str, Any]) -> dict[str, str]:
    """Return what an instance has in the columns of `field_columns`."""
    return {
        f"field_{field.name}": metadata_text(metadata.get(field.name))
        for field in parsed_fields(setting)
    }


def field_texts(
    setting: str, metadata: Mapping[str, Any], reader: Reader | None = None
) -> Iterator[FieldText]:
    """Yield the fields that an instance has, in the study's order; without a reader, all of them."""
    for field in parsed_fields(setting) if setting else ():
        text = metadata_text(metadata.get(field.name))
        if text.strip() and (reader is None or reader in field.readers):
            yield FieldText(field.name, field.label, text, field.is_before)


def metadata_text(value: Any) -> str:
    """Return a value of an instance's metadata as text: a list of texts as paragraphs, others as JSON.

    Of a text that a language model wrote, it is the text without its origin.
    """
    if origin_of(value) is not None:
        return str(value["text"])
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        return "\n\n".join(value)
    return json.dumps(value, ensure_ascii=False)


def written_value(text: str, origin: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of metadata that has a text which a language model wrote, and how it did."""
    return {"text": text, "written_by": dict(origin)}


def origin_of(value: Any) -> Mapping[str, Any] | None:
    """Return how a language model wrote a value of metadata, or None if it came with the instance."""
    if not isinstance(value, Mapping) or value.keys() != {"text", "written_by"}:
        return None
    text, origin = value["text"], value["written_by"]
    return origin if isinstance(text, str) and isinstance(origin, Mapping) else None
