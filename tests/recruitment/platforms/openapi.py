"""Check requests against Prolific's description of its API."""

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tests.paths import GOLDEN

URI = "urn:prolific"
# What decides whether a body is admitted; titles, descriptions and defaults do not.
LISTED, NESTED = ("oneOf",), ("items", "additionalProperties")
KEPT = ("$ref", "type", "enum", "required")


def check_request(method: str, path: str, body: object) -> None:
    """Fail unless the operation is documented and its schema admits the body."""
    template, operation = _operation(method, path.split("?", maxsplit=1)[0])
    if "requestBody" not in operation:
        assert body is None, f"{method} {template} takes no body"
        return
    pointer = "/".join(_escaped(part) for part in ("paths", template, method.lower()))
    schema = {"$ref": f"{URI}#/{pointer}/requestBody/content/application~1json/schema"}
    errors = list(Draft202012Validator(schema, registry=_registry()).iter_errors(body))
    assert not errors, f"{method} {template}: {[error.message for error in errors]}"
    unknown = set(body or {}) - _properties(operation)  # type: ignore[call-overload]
    assert not unknown, f"{method} {template} does not document {sorted(unknown)}"


def _operation(method: str, path: str) -> tuple[str, dict[str, Any]]:
    matching = [
        (template, operations[method.lower()])
        for template, operations in document()["paths"].items()
        if method.lower() in operations and re.fullmatch(_pattern(template), path)
    ]
    assert matching, f"{method} {path} is not documented"
    # A path without parameters goes before one that has them.
    return min(matching, key=lambda pair: pair[0].count("{"))


def _pattern(template: str) -> str:
    parts = re.split(r"\{[^}]+\}", template)
    return r"[^/]+".join(re.escape(part) for part in parts)


def _properties(operation: dict[str, Any]) -> set[str]:
    """The names that the body's schema or any of its alternatives defines."""
    return _names(operation["requestBody"]["content"]["application/json"]["schema"])


def _names(schema: dict[str, Any]) -> set[str]:
    if "$ref" in schema:
        return _names(document()["components"]["schemas"][schema["$ref"].rsplit("/", 1)[-1]])
    names = set(schema.get("properties", {}))
    for kind in ("allOf", "anyOf", "oneOf"):
        names |= {name for part in schema.get(kind, ()) for name in _names(part)}
    return names


def _escaped(part: str) -> str:
    """A JSON pointer inside a URI fragment."""
    pointer = part.replace("~", "~0").replace("/", "~1")
    return pointer.replace("{", "%7B").replace("}", "%7D")


@cache
def document() -> dict[str, Any]:
    return json.loads((GOLDEN / "prolific.json").read_text(encoding="utf-8"))


def reduced(description: dict[str, Any], operations: dict[str, Any]) -> dict[str, Any]:
    """The part of a description with these methods of these paths and the schemas they refer to."""
    paths = {
        template: {method: _body(description["paths"][template][method]) for method in methods}
        for template, methods in operations.items()
    }
    schemas: dict[str, Any] = {}
    waiting = list(_references(paths))
    while waiting:
        name = waiting.pop()
        if name not in schemas:
            schemas[name] = _bare(description["components"]["schemas"][name])
            waiting += _references(schemas[name])
    return {"paths": paths, "components": {"schemas": schemas}}


def _body(operation: dict[str, Any]) -> dict[str, Any]:
    if "requestBody" not in operation:
        return {}
    schema = _bare(operation["requestBody"]["content"]["application/json"]["schema"])
    return {"requestBody": {"content": {"application/json": {"schema": schema}}}}


def _bare(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return schema
    bare = {key: schema[key] for key in KEPT if key in schema}
    bare |= {key: _bare(schema[key]) for key in NESTED if key in schema}
    bare |= {key: [_bare(part) for part in schema[key]] for key in LISTED if key in schema}
    if "properties" in schema:
        bare["properties"] = {name: _bare(part) for name, part in schema["properties"].items()}
    return bare


def _references(schema: Any) -> Iterator[str]:
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].rsplit("/", 1)[-1]
        schema = list(schema.values())
    if isinstance(schema, list):
        for part in schema:
            yield from _references(part)


@cache
def _registry() -> Registry[Any]:
    """The schemas, with `anyOf` for `oneOf`: the description means it.

    It admits an integer or a number as a bound, and 95 is both.
    """
    contents = json.loads(json.dumps(document()).replace('"oneOf"', '"anyOf"'))
    resource = Resource.from_contents(contents, default_specification=DRAFT202012)
    return Registry().with_resource(URI, resource)
