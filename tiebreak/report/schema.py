"""The JSON schema of the report, generated from its classes and their descriptions.

`python -m tiebreak.report.schema` writes it to standard output.
"""

import inspect
import json
import sys
import types
from dataclasses import MISSING, dataclass, fields, is_dataclass
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

from tiebreak.field_docs import field_docs
from tiebreak.report.model.report import Report
from tiebreak.scales import Label
from tiebreak.stats import Estimate
from tiebreak.stats.core.results import NarrowerInterval, Scope

Schema = dict[str, Any]
NumberOrNull = Annotated[float, {"type": ["number", "null"]}]

SCALARS: dict[Any, Schema] = {
    bool: {"type": "boolean"},
    int: {"type": "integer", "minimum": 0},
    float: {"type": "number"},
    str: {"type": "string"},
    Label: {"type": ["number", "string"]},
}


@dataclass(frozen=True)
class EstimateKeys:
    """A value with its 95% interval. If the value is null, `reason` says why."""

    value: NumberOrNull
    low: NumberOrNull
    high: NumberOrNull
    n: int
    reason: Annotated[str, {"type": ["string", "null"]}]
    standard_error: NumberOrNull
    method: str
    scope: Scope
    narrower: tuple[NarrowerInterval, ...] = ()


UNDEFINED_HAS_REASON: Schema = {
    "if": {"properties": {"value": {"type": "null"}}},
    "then": {"properties": {"reason": {"type": "string", "minLength": 1}}},
}


def report_schema() -> Schema:
    """Return the JSON schema of a report."""
    definitions: dict[str, Schema] = {}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tiebreak report",
        **_object(Report, definitions),
        "$defs": dict(sorted(definitions.items())),
    }


def _schema(kind: Any, definitions: dict[str, Schema]) -> Schema:
    """Return the schema of a type; schemas of classes are added to the definitions."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        constrained = _schema(parts[0], definitions) | parts[1]
        return {name: value for name, value in constrained.items() if value is not None}
    if origin in (dict, tuple):
        return _container(origin, parts, definitions)
    if origin is types.UnionType and parts[1] is types.NoneType:
        return _schema(parts[0], definitions)
    if is_dataclass(kind):
        return _reference(kind, definitions)
    return {"enum": list(parts)} if origin is Literal else SCALARS[kind]


def _container(origin: Any, parts: tuple[Any, ...], definitions: dict[str, Schema]) -> Schema:
    if origin is dict:
        return {"type": "object", "additionalProperties": _schema(parts[1], definitions)}
    array = {"type": "array", "items": _schema(parts[0], definitions)}
    if parts[1] is Ellipsis:
        return array
    return array | {"minItems": len(parts), "maxItems": len(parts)}


def _reference(kind: Any, definitions: dict[str, Schema]) -> Schema:
    name = kind.__name__
    if name not in definitions:
        definitions[name] = {}  # holds the place so that a class is described once
        if kind is Estimate:
            keys = _object(EstimateKeys, definitions, described_by=Estimate)
            definitions[name] = keys | UNDEFINED_HAS_REASON
        else:
            definitions[name] = _object(kind, definitions)
    return {"$ref": f"#/$defs/{name}"}


def _object(
    kind: Any, definitions: dict[str, Schema], *, described_by: type | None = None
) -> Schema:
    hints = get_type_hints(kind, include_extras=True)
    described = {
        name: _in_json(described.text)
        for base in reversed((described_by or kind).__mro__[:-1])
        for name, described in field_docs(base).items()
    }
    summary = (inspect.getdoc(kind) or "").partition("\n\n")[0]
    required = [field.name for field in fields(kind) if field.default is MISSING]
    for name in required:
        hints[name] = _with_null(hints[name])
    return {
        "description": _in_json(summary),
        "type": "object",
        "required": required,
        "properties": {
            field.name: {"description": described[field.name]}
            | _schema(hints[field.name], definitions)
            for field in fields(kind)
        },
        "additionalProperties": False,
    }


def _with_null(hint: Any) -> Any:
    """Return the type of a field without a default, which is written as null if it is None."""
    parts = get_args(hint)
    if get_origin(hint) is not types.UnionType or parts[1] is not types.NoneType:
        return hint
    return Annotated[parts[0], {"type": [SCALARS[parts[0]]["type"], "null"]}]


def _in_json(text: str) -> str:
    return " ".join(text.split()).replace("NaN", "null")


if __name__ == "__main__":
    sys.stdout.write(json.dumps(report_schema(), indent=2, ensure_ascii=False) + "\n")
