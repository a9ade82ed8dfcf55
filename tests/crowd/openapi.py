"""Prolific's own description of its API, and requests checked against it."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

from tests.shared_data import shared_path

URI = "urn:prolific"


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
    found = [
        (template, operations[method.lower()])
        for template, operations in document()["paths"].items()
        if method.lower() in operations and re.fullmatch(_pattern(template), path)
    ]
    assert found, f"{method} {path} is not documented"
    # A path without parameters goes before one that has them.
    return min(found, key=lambda pair: pair[0].count("{"))


def _pattern(template: str) -> str:
    parts = re.split(r"\{[^}]+\}", template)
    return r"[^/]+".join(re.escape(part) for part in parts)


def _properties(operation: dict[str, Any]) -> set[str]:
    """The names that the body's schema, or any of its alternatives, knows."""
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


def document() -> dict[str, Any]:
    return _load(shared_path("data", "prolific", "openapi.yml"))


@cache
def _load(path: Path) -> dict[str, Any]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), Loader=loader)


@cache
def _registry() -> Registry[Any]:
    resource = Resource.from_contents(document(), default_specification=DRAFT202012)
    return Registry().with_resource(URI, resource)
